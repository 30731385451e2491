"""Records in an order: all of a scope, page by page, and the episodes of a session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memoranda.model.models import Kind, Record, Scope
from memoranda.model.query import Filter, Order, Subset
from memoranda.store.sql.store import Store

# Records of one page.
PAGE = 500


def record_pages(
    store: Store, scope: Scope, now: datetime, kinds: tuple[Kind, ...] = ()
) -> Iterator[list[Record]]:
    """Yield the records of the scope, active or not, in the order they were recorded.

    All memory, or only records of ``kinds``.
    """
    where, after = Filter(now=now, retired=True, kinds=kinds), None
    while page := store.records(scope, where, limit=PAGE, after=after):
        after = page[-1].id
        yield page


def session_episodes(
    store: Store, scope: Scope, session: str, *, after: int, limit: int | None = None
) -> list[Record]:
    """Return the first episodes of a session beyond position ``after``, in order.

    Also those that have expired; not those that were forgotten or corrected.
    """
    where = Filter.at_any_time(
        kinds=(Kind.EPISODE,), session=session, beyond=after, subset=Subset.STANDING
    )
    return store.records(scope, where, order=Order.POSITION, limit=limit)
