"""The filters of a caller: given once, checked once, and handed on as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoranda.model.checks import known, named
from memoranda.model.models import Kind
from memoranda.model.query import Filter, parse_metadata_filter
from memoranda.records.drafts import parse_kind, parse_tags
from memoranda.records.items import parse_namespace


@dataclass(frozen=True, slots=True)
class RecordFilters:
    """Which records a caller asks for; a record has to meet all that is given.

    Attributes:
        kind: of this kind.
        namespace: items in this namespace, or below it.
        session: of this session.
        tags: with all of these.
        metadata: with these values, or with values that operators describe.
        since, until: what happened at or after, and before.
    """

    kind: str | None = None
    namespace: Iterable[str] | None = None
    session: str | None = None
    tags: Iterable[str] | None = None
    metadata: Mapping[str, Any] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def check(self, now: datetime, otherwise: Iterable[Kind] = (), **more: Any) -> Filter:
        """Return the filter of a store that these are; ``otherwise`` are the kinds without one.

        Raises:
            InvalidInput: a value cannot be used; the message names it.
        """
        return Filter(
            now=now,
            kinds=tuple(otherwise) if self.kind is None else (parse_kind(self.kind),),
            namespace=None if self.namespace is None else parse_namespace(self.namespace),
            session=named(self.session, "session"),
            tags=() if self.tags is None else parse_tags(self.tags),
            metadata=parse_metadata_filter(self.metadata),
            since=known(self.since, "since"),
            until=known(self.until, "until"),
            **more,
        )
