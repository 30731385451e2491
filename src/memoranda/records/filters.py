"""The filters of a caller: given once, checked once, and handed on as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

from memoranda.model.checks import known, named, refuse_unknown
from memoranda.model.models import Kind
from memoranda.model.query import Filter, parse_metadata_filter
from memoranda.records.drafts import parse_kind, parse_tags
from memoranda.records.items import parse_namespace


class RecordFilters(TypedDict, total=False):
    """Which records a caller asks for; a record has to meet all that is given.

    Attributes:
        kind: of this kind.
        namespace: items in this namespace, or below it.
        session: of this session.
        tags: with all of these.
        metadata: with these values, or with values that operators describe.
        since, until: what happened at or after, and before.
    """

    kind: str | None
    namespace: Iterable[str] | None
    session: str | None
    tags: Iterable[str] | None
    metadata: Mapping[str, Any] | None
    since: datetime | None
    until: datetime | None


def parse_filters(now: datetime, otherwise: Iterable[Kind], given: RecordFilters) -> Filter:
    """Return the filter of a store that these are.

    Args:
        now: the present.
        otherwise: the kinds that are meant where none is given; none of them is every kind of
            memory, or items, with a namespace.
        given: the filters.

    Raises:
        InvalidInput: a filter is unknown, or a value cannot be used; the message names it.
    """
    refuse_unknown(given, RecordFilters.__annotations__, "argument")
    kind, namespace, tags = given.get("kind"), given.get("namespace"), given.get("tags")
    meant = (Kind.ITEM,) if namespace else tuple(otherwise)
    return Filter(
        now=now,
        kinds=meant if kind is None else (parse_kind(kind),),
        namespace=None if namespace is None else parse_namespace(namespace),
        session=named(given.get("session"), "session"),
        tags=() if tags is None else parse_tags(tags),
        metadata=parse_metadata_filter(given.get("metadata")),
        since=known(given.get("since"), "since"),
        until=known(given.get("until"), "until"),
    )
