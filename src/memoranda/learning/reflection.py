"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the records; with one, the model's own words over the same
records. Either names its sources, so that erasing one of these erases the reflection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from secrets import token_hex

from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.learning.weekly_digest import LEAST_FACTS, WEEK, WeekRecords, write_digest
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.ports import EntityExtractor
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService

REFLECT = "reflect"
# Time between two reflections at least.
REST = timedelta(days=6)
# Records of the week at most.
LIMIT = 200
PAGE = 1_000
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)


def why_not_due(last: datetime | None, week: WeekRecords) -> str | None:
    """Return why no reflection on a week is due; ``None`` if one is.

    Args:
        last: when the last reflection was recorded.
        week: the records of the last seven days.
    """
    # A last one far in the future is of a clock that was wrong then; it must not block for ever.
    if last is not None and abs(week.now - last) < REST:
        return f"the last reflection is of {last:%Y-%m-%d}, under 6 days ago"
    number = len(week.facts)
    enough = number >= LEAST_FACTS
    return None if enough else f"{number} new facts in 7 days; {LEAST_FACTS} are needed"


def week(
    facts: Iterable[Record],
    episodes: Iterable[Record],
    *,
    ahead: Iterable[Record] = (),
    now: datetime,
    zone: tzinfo,
) -> WeekRecords:
    """Return the newest records of the last seven days.

    Half of the room is the facts' and half the episodes'; what one kind leaves is the other's.
    Records that have ended or were superseded, and what only external text says, are left out:
    a reflection is told in every talk, and must not carry a stranger's words there.

    Args:
        facts: facts of the last seven days.
        episodes: episodes of the last seven days.
        ahead: facts of any age that happen later than ``now``; up to a tenth of the room, the
            soonest.
        now: the present.
        zone: the user's time zone.
    """
    learned, said = _newest(facts, Kind.FACT, now), _newest(episodes, Kind.EPISODE, now)
    known = {fact.id for fact in learned}
    later = (fact for fact in ahead if fact.event_time > now and fact.id not in known)
    plans = sorted(
        (fact for fact in later if _is_sound(fact, now)),
        key=lambda fact: (fact.event_time, fact.id),
    )[: LIMIT // 10]
    room = LIMIT - len(plans)
    learned = learned[: max(room // 2, room - len(said))]
    records = sorted([*learned, *said[: room - len(learned)]], key=_age, reverse=True)
    return WeekRecords(records=records, ahead=plans, now=now, zone=zone)


def plan(
    week: WeekRecords, names: EntityExtractor, *, text: str | None = None, by: str | None = None
) -> tuple[Draft | None, str]:
    """Plan the reflection on a week: a draft to be stored, if there is one, and why.

    Args:
        week: the records.
        names: finds names in them for the digest.
        text: the words of a model that was shown all of them, in place of the digest.
        by: the model.
    """
    # A model was shown all of them, and any may be behind any word.
    sources = tuple(record.id for record in (*week.ahead, *week.records))
    why = "a model's words"
    if text is None:
        text, sources = write_digest(week, names)
        by, why = "digest", "a digest of the week"
    if not text:
        return None, "the facts of the week say too little for a reflection"
    draft = Draft(
        content=text,
        kind=Kind.REFLECTION,
        tags=("weekly",),
        metadata={"since": week.since.isoformat(), "until": week.now.isoformat(), "by": by},
        # Its word is trusted as an agent's, and is no person's evidence for anything.
        role="agent",
        decay_rate=0.0,
        source_ids=sources,
        origin="reflection",
    )
    return draft, why


def _newest(records: Iterable[Record], kind: Kind, now: datetime) -> list[Record]:
    chosen = {record.id: record for record in records if record.kind is kind}
    fresh = (
        record
        for record in chosen.values()
        if now - WEEK < record.created_at <= now and _is_sound(record, now)
    )
    return sorted(fresh, key=_age, reverse=True)


def _age(record: Record) -> tuple[datetime, str]:
    return record.created_at, record.id


def _is_sound(record: Record, now: datetime) -> bool:
    """Return whether a record is believed, and more than a stranger's word."""
    current = is_active(record, now) and record.superseded_by is None
    return current and record.trust is not Trust.EXTERNAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionWriter:
    """Writes the weekly insight of one scope.

    Attributes:
        records: stores it.
        models: the language model, if there is one.
        names: finds names in records.
        zone: the user's time zone.
    """

    records: RecordService
    models: StageModels
    names: EntityExtractor
    zone: tzinfo

    def write(self, *, dry_run: bool = False) -> StageReport:
        """Write the insight of the week, if one is due and there is something to say.

        A model that fails leaves the insight to be written later. Of several processes one
        writes it: the others find its lease taken, or the insight there.
        """
        scope, store = self.records.scope, self.records.store
        now, holder = self.records.now(), token_hex(8)
        name = f"reflect:{scope.user}:{scope.agent or ''}"
        if not dry_run and not store.claim(name, holder, now=now, until=now + LEASE):
            return StageReport(stage=REFLECT, skipped="another process writes it now")
        try:
            return self._write(now, dry_run=dry_run)
        finally:
            if not dry_run:
                store.claim(name, holder, now=now, until=now)

    def _write(self, now: datetime, *, dry_run: bool) -> StageReport:
        scope, store = self.records.scope, self.records.store
        insights = Filter(now=now, kinds=(Kind.REFLECTION,))
        last = store.records(scope, insights, order=Order.LATEST, limit=1)
        facts, episodes = (
            store.records(
                scope, Filter(now=now, kinds=(kind,), recorded_since=now - WEEK), order=Order.NEWEST
            )[::-1]
            for kind in (Kind.FACT, Kind.EPISODE)
        )
        later = Filter(now=now, kinds=(Kind.FACT,), since=now)
        ahead = store.records(scope, later, limit=PAGE)
        looked_back = week(facts, episodes, ahead=ahead, now=now, zone=self.zone)
        not_due = why_not_due(last[0].created_at if last else None, looked_back)
        if not_due is not None:
            return StageReport(stage=REFLECT, skipped=not_due, dry_run=dry_run)
        model = None if dry_run else self.models.for_stage(scope, REFLECT)
        text = None
        if model is not None:
            shown = [*reversed(looked_back.records), *looked_back.ahead]
            try:
                text = self.models.wait(write_insight(model, shown, self.zone))
            except LLMError as error:
                return StageReport(stage=REFLECT, failed={"insight": str(error)})
        draft, why = plan(looked_back, self.names, text=text, by=model.name if model else None)
        if draft is None:
            return StageReport(stage=REFLECT, skipped=why, dry_run=dry_run)
        if not dry_run:
            self.records.add(draft, reason=why)
        lines = tuple(draft.content.splitlines())
        return StageReport(
            stage=REFLECT, count=1, counts={"written": 1}, lines=lines, dry_run=dry_run
        )
