"""All records of a scope, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import Store
from memoranda.model.query import Filter

PAGE = 500
"""Records of one page."""


def record_pages(
    store: Store, scope: Scope, now: datetime, kinds: tuple[Kind, ...] = ()
) -> Iterator[list[Record]]:
    """Yield the records of the scope, active or not, in the order they were recorded.

    All, or only those of ``kinds``.
    """
    where, after = Filter(now=now, retired=True, kinds=kinds), None
    while page := store.page(scope, where, limit=PAGE, after=after):
        yield page
        after = page[-1].id
