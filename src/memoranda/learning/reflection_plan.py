"""Plans the weekly reflection: whether one is due, and which records it covers.

Without a model it is a digest of the records; with one, the model's own words over the same
records. Either names its sources, so that erasing one of these erases the reflection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from memoranda.learning.weekly_digest import (
    LONGEST,
    DigestReaders,
    WeekRecords,
    statement_category,
    write_digest,
)
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.records.drafts import Draft
from memoranda.text.recalled import without_recalled

__all__ = [
    "DigestReaders",
    "ReflectionDue",
    "ReflectionPlan",
    "WeekRecords",
    "due",
    "evidence",
    "plan",
    "week",
]

SPAN = timedelta(days=7)
"""What a reflection looks back on."""
REST = timedelta(days=6)
"""Time between two reflections at least."""
LEAST_FACTS = 3
"""Facts of the week without which there is none."""
LIMIT = 200
"""Records of the week at most."""
TAG = "weekly"
ORIGIN = "reflection"
ROLE = "agent"
"""Who says it: so it is trusted as an agent's word, and is no person's evidence for anything."""
DIGEST = "digest"
EXCERPT = 400
"""Characters of a record that a model is shown."""


@dataclass(frozen=True, slots=True)
class ReflectionDue:
    """Whether a reflection is due, and why or why not."""

    due: bool
    why: str


@dataclass(frozen=True, slots=True)
class ReflectionPlan:
    """The result of planning: a draft to be stored, or why there is none."""

    draft: Draft | None
    why: str


def due(last: datetime | None, facts: Iterable[Record], now: datetime) -> ReflectionDue:
    """Return whether a reflection is due, and why or why not.

    Args:
        last: when the last reflection was recorded.
        facts: what was learned lately; only the last seven days count.
        now: the present.
    """
    # A last one far in the future is of a clock that was wrong then; it must not block for ever.
    if last is not None and abs(now - last) < REST:
        return ReflectionDue(
            due=False, why=f"the last reflection is of {last:%Y-%m-%d}, under 6 days ago"
        )
    number = sum(_counts(fact, now) and fact.kind is Kind.FACT for fact in facts)
    if number < LEAST_FACTS:
        return ReflectionDue(
            due=False, why=f"{number} new facts in 7 days; {LEAST_FACTS} are needed"
        )
    return ReflectionDue(due=True, why=f"{number} new facts in 7 days")


def week(
    facts: Iterable[Record],
    episodes: Iterable[Record],
    *,
    ahead: Iterable[Record] = (),
    now: datetime,
    zone: tzinfo,
    limit: int = LIMIT,
) -> WeekRecords:
    """Return the newest records of the last seven days.

    Half of ``limit`` is the facts' and half the episodes'; what one kind leaves is the other's.
    Records that have ended or were superseded, and what only external text says, are left out:
    a reflection is told in every talk, and must not carry a stranger's words there.

    Args:
        facts: facts of the last seven days.
        episodes: episodes of the last seven days.
        ahead: facts of any age that happen later than ``now``; up to a tenth of ``limit``, the
            soonest.
        now: the present.
        zone: the user's time zone.
        limit: how many records of the week at most.
    """
    learned, said = _newest(facts, Kind.FACT, now), _newest(episodes, Kind.EPISODE, now)
    known = {fact.id for fact in learned}
    plans = [
        fact
        for fact in ahead
        if _sound(fact, now) and fact.event_time > now and fact.id not in known
    ]
    plans = sorted(plans, key=lambda fact: (fact.event_time, fact.id))[: limit // 10]
    room = limit - len(plans)
    share = max(room // 2, room - len(said))
    learned = learned[:share]
    records = sorted([*learned, *said[: room - len(learned)]], key=_age, reverse=True)
    return WeekRecords(records=records, ahead=plans, since=now - SPAN, now=now, zone=zone)


def plan(
    week: WeekRecords, readers: DigestReaders, *, text: str | None = None, by: str | None = None
) -> ReflectionPlan:
    """Plan the reflection on a week.

    Args:
        week: the records.
        readers: what reads them for the digest.
        text: the words of a model that was given :func:`evidence`, in place of the digest;
            cut where they are longer than a digest may be.
        by: the model.
    """
    if text is None:
        made = write_digest(week, readers)
        if not made.text:
            return ReflectionPlan(None, "the facts of the week say too little for a reflection")
        return ReflectionPlan(_draft(week, made.text, made.sources, DIGEST), "a digest of the week")
    words = without_recalled(text).strip()
    if not words:
        return ReflectionPlan(None, f"{by or 'the model'} had nothing to say")
    # It was shown all of them, and any may be behind any word.
    sources = tuple(record.id for record in (*week.ahead, *week.records))
    return ReflectionPlan(_draft(week, _bounded(words), sources, by or "model"), "a model's words")


def evidence(week: WeekRecords) -> str:
    """Return the records of a week as lines of data for a model's prompt, oldest first."""
    return "\n".join(_told(week, record) for record in (*reversed(week.records), *week.ahead))


def _told(week: WeekRecords, record: Record) -> str:
    said = record.source_role or record.kind.value
    kind = statement_category(record) or record.kind.value
    text = " ".join(without_recalled(record.content).split())[:EXCERPT]
    return f"- [{week.date(record.event_time)}, {kind}, {said}] {text}"


def _draft(week: WeekRecords, text: str, sources: Sequence[str], by: str) -> Draft:
    return Draft(
        content=text,
        kind=Kind.REFLECTION,
        tags=(TAG,),
        metadata={"since": week.since.isoformat(), "until": week.now.isoformat(), "by": by},
        role=ROLE,
        decay_rate=0.0,
        source_ids=tuple(sources),
        origin=ORIGIN,
    )


def _bounded(text: str) -> str:
    """Return ``text`` cut after its last whole line or sentence that fits."""
    if len(text) <= LONGEST:
        return text
    head = text[: LONGEST - 1]
    end = max(head.rfind(mark) for mark in ("\n", ". ", "。"))
    return f"{head[: end + 1].rstrip() if end > LONGEST // 2 else head}…"


def _newest(records: Iterable[Record], kind: Kind, now: datetime) -> list[Record]:
    chosen = {record.id: record for record in records if record.kind is kind}
    return sorted(
        (record for record in chosen.values() if _counts(record, now)), key=_age, reverse=True
    )


def _age(record: Record) -> tuple[datetime, str]:
    return record.created_at, record.id


def _counts(record: Record, now: datetime) -> bool:
    return now - SPAN < record.created_at <= now and _sound(record, now)


def _sound(record: Record, now: datetime) -> bool:
    """Return whether a record is believed, and more than a stranger's word."""
    return (
        is_active(record, now)
        and record.superseded_by is None
        and record.trust is not Trust.EXTERNAL
    )
