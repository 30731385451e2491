"""Decay: the confidence of facts falls while nobody recalls them (Ebbinghaus's curve).

What is left of a fact is ``strength × exp(-decay_rate × days)``, counted from the strength it
had when it was last said or recalled, and never from what an earlier night left of it. So a
plan is a function of the moment alone: made twice, or after a night was missed, it gives the
same. Episodes, reflections and facts with a decay rate of 0 never fade.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from memoranda.model.changes import Fade, RecordChange, Retire
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Kind, Record, is_active

# A smaller change of confidence is none.
ROUNDING = 1e-3
DAY = timedelta(days=1)
DAY_MS = DAY // timedelta(milliseconds=1)


def curve(strength: float, rate: float, days: float) -> float:
    """Return the confidence that is left after ``days``.

    Args:
        strength: the confidence from which it fades, 0 to 1.
        rate: per day; 0 is never.
        days: since it was last said or recalled. Before that, nothing has faded.
    """
    if rate <= 0 or days <= 0:
        return strength
    return strength * math.exp(-rate * days)


def confidence(record: Record, now: datetime) -> float:
    """Return the confidence of a record at ``now``, if it is not recalled until then."""
    if not is_decaying(record):
        return record.confidence
    # In UTC: two times on one wall clock may be an hour closer or farther than they look.
    days = (to_ms(now) - to_ms(_since(record))) / DAY_MS
    return curve(_strength(record), record.decay_rate, days)


def is_decaying(record: Record) -> bool:
    """Return whether a record's confidence falls with time."""
    return record.kind is Kind.FACT and record.decay_rate > 0


def retirement_date(record: Record, threshold: float) -> datetime | None:
    """Return when a record will be below ``threshold`` if nobody recalls it, to the second or so.

    ``None`` where that is never, or where it has ended before.
    """
    strength = _strength(record)
    if not is_decaying(record) or threshold <= 0:
        return None
    days = max(0.0, math.log(strength / threshold) / record.decay_rate) if strength > 0 else 0.0
    try:
        at = from_ms(to_ms(_since(record)) + math.ceil(days * DAY_MS))
    except OverflowError:  # Beyond the calendar, so never.
        return None
    return at if is_active(record, at) else None


def plan(records: Iterable[Record], now: datetime, threshold: float) -> list[RecordChange]:
    """Plan the confidence that each record has left, and which records retire.

    Args:
        records: what may have faded (``Subset.DECAYING``), superseded facts among them. What
            does not fade, and what has ended, is passed over.
        now: the present. If the clock was set back, less has faded, and nothing is retired
            for it.
        threshold: confidence below which a record is retired.
    """
    actions: list[RecordChange] = []
    for record in records:
        if not is_decaying(record) or not is_active(record, now):
            continue
        left = confidence(record, now)
        if left < threshold:
            reason = f"faded: confidence {left:.3g} is below {threshold:g}"
            actions.append(Retire(record.id, now, reason))
        elif abs(left - record.confidence) > ROUNDING:
            actions.append(Fade(record.id, now, left))
    return actions


def _strength(record: Record) -> float:
    return record.confidence if record.strength is None else record.strength


def _since(record: Record) -> datetime:
    """Return since when a record fades: what it tells of the future, from then on."""
    since = record.strength_at or record.last_accessed or record.created_at
    return max(since, record.event_until or record.event_time)
