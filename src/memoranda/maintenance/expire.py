"""Expiry: retires records whose retention is over, by a policy for each kind.

A record carries its end from when it was stored, and the policy of the present may end it
sooner, never later: what had ended stays ended. The end of a day is the user's midnight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from types import MappingProxyType

from memoranda.model.actions import Retire
from memoranda.model.checks import require_aware
from memoranda.model.models import Kind, Record, is_active
from memoranda.records.drafts import Retention

UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))


@dataclass(frozen=True, slots=True)
class Expiry:
    """The records whose retention is over.

    Attributes:
        actions: one for each record, in the order they were given.
        counts: how many they are by kind; kinds without any are left out.
    """

    actions: tuple[Retire, ...] = ()
    counts: Mapping[Kind, int] = field(default_factory=lambda: MappingProxyType({}))


def cutoffs(retention: Retention, now: datetime) -> dict[Kind, datetime]:
    """Return since when records of each kind are all still to be kept.

    Whatever was recorded before may be over, and is to be given to :func:`plan`
    (``LifeStore.recorded``). Kinds that are kept for ever are left out.
    """
    found: dict[Kind, datetime] = {}
    for kind in Kind:
        if kind in retention.until_midnight:
            today = datetime.combine(now.astimezone(retention.zone).date(), time(), retention.zone)
            found[kind] = require_aware(today, "midnight")
        elif kind in retention.spans:
            try:
                # One more, as what is as old as the span is over, too.
                found[kind] = now - retention.spans[kind] + timedelta(milliseconds=1)
            except OverflowError:  # Longer than the calendar, so for ever.
                continue
    return found


def plan(
    expired: Iterable[Record],
    older: Mapping[Kind, Sequence[Record]],
    retention: Retention,
    now: datetime,
) -> Expiry:
    """Plan the retirement of all records past their retention.

    Args:
        expired: records whose validity ended by itself (``LifeStore.lapsed``).
        older: believed records by kind, of which some may be past the present policy, which
            was another when they were stored (``LifeStore.recorded`` before :func:`cutoffs`).
            Facts among them, also confirmed ones, end only if the policy sets facts an end.
        retention: the present policy.
        now: the present.
    """
    ended: dict[str, tuple[Record, Retire]] = {}
    for record, reason in _ended(expired, older, retention, now):
        ended.setdefault(record.id, (record, Retire(record.id, now, f"expired: {reason}")))
    counts = Counter(record.kind for record, _ in ended.values())
    return Expiry(tuple(action for _, action in ended.values()), MappingProxyType(dict(counts)))


def _ended(
    expired: Iterable[Record],
    older: Mapping[Kind, Sequence[Record]],
    retention: Retention,
    now: datetime,
) -> Iterator[tuple[Record, str]]:
    for record in expired:
        until = record.valid_until
        if until is not None and until <= now:
            own = until == retention.end(record.kind, record.created_at)
            stored = f"it was stored to be kept until {until:%Y-%m-%d %H:%M} UTC"
            yield record, _policy(record.kind, retention) if own else stored
    for record in (record for records in older.values() for record in records):
        end = retention.end(record.kind, record.created_at)
        if is_active(record, now) and end is not None and end <= now:
            yield record, _policy(record.kind, retention)


def _policy(kind: Kind, retention: Retention) -> str:
    """Say how long a kind is kept."""
    if kind in retention.until_midnight:
        return f"{kind.value} is kept until the day ends in {retention.zone}"
    span = retention.spans[kind]
    for unit, name in UNITS:
        if span % unit == timedelta():
            number = span // unit
            return f"{kind.value} is kept for {number} {name}{'s' if number != 1 else ''}"
    return f"{kind.value} is kept for {span.total_seconds():g} seconds"
