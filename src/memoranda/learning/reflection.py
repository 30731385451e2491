"""The weekly reflection: whether one is due, which records it covers, and what it says.

Without a model it is a digest of the records; with one, the model's own words over the same
records. Either names its sources, so that erasing one of these erases the reflection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from secrets import token_hex

from memoranda.entities.names import RuleNameMatcher
from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import write_insight
from memoranda.learning.stage_models import StageModels
from memoranda.learning.weekly_digest import DigestReaders, WeekRecords, write_digest
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.model.ports import EntityExtractor
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.terms import TermAnalyzer

REFLECT = "reflect"
# What a reflection looks back on.
SPAN = timedelta(days=7)
# Time between two reflections at least.
REST = timedelta(days=6)
# Facts of the week without which there is none.
LEAST_FACTS = 3
# Records of the week at most.
LIMIT = 200
PAGE = 1_000
# How long after a process was killed another may write its insight.
LEASE = timedelta(minutes=10)


def why_not_due(last: datetime | None, facts: Iterable[Record], now: datetime) -> str | None:
    """Return why no reflection is due; ``None`` if one is.

    Args:
        last: when the last reflection was recorded.
        facts: what was learned lately; only the last seven days count.
        now: the present.
    """
    # A last one far in the future is of a clock that was wrong then; it must not block for ever.
    if last is not None and abs(now - last) < REST:
        return f"the last reflection is of {last:%Y-%m-%d}, under 6 days ago"
    number = len(_newest(facts, Kind.FACT, now))
    if number < LEAST_FACTS:
        return f"{number} new facts in 7 days; {LEAST_FACTS} are needed"
    return None


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
    later = (fact for fact in ahead if fact.event_time > now and fact.id not in known)
    plans = sorted(
        (fact for fact in later if _is_sound(fact, now)),
        key=lambda fact: (fact.event_time, fact.id),
    )[: limit // 10]
    room = limit - len(plans)
    learned = learned[: max(room // 2, room - len(said))]
    records = sorted([*learned, *said[: room - len(learned)]], key=_age, reverse=True)
    return WeekRecords(records=records, ahead=plans, since=now - SPAN, now=now, zone=zone)


def plan(
    week: WeekRecords, readers: DigestReaders, *, text: str | None = None, by: str | None = None
) -> tuple[Draft | None, str]:
    """Plan the reflection on a week: a draft to be stored, if there is one, and why.

    Args:
        week: the records.
        readers: what reads them for the digest.
        text: the words of a model that was shown all of them, in place of the digest.
        by: the model.
    """
    # A model was shown all of them, and any may be behind any word.
    sources = tuple(record.id for record in (*week.ahead, *week.records))
    why = "a model's words"
    if text is None:
        text, sources = write_digest(week, readers)
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
        if now - SPAN < record.created_at <= now and _is_sound(record, now)
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
                scope, Filter(now=now, kinds=(kind,), recorded_since=now - SPAN), order=Order.NEWEST
            )[::-1]
            for kind in (Kind.FACT, Kind.EPISODE)
        )
        not_due = why_not_due(last[0].created_at if last else None, facts, now)
        if not_due is not None:
            return StageReport(stage=REFLECT, skipped=not_due, dry_run=dry_run)
        ahead = Filter(now=now, kinds=(Kind.FACT,), since=now)
        looked_back = week(
            facts,
            episodes,
            ahead=store.records(scope, ahead, limit=PAGE),
            now=now,
            zone=self.zone,
        )
        model = None if dry_run else self.models.for_stage(scope, REFLECT)
        text = None
        if model is not None:
            shown = [*reversed(looked_back.records), *looked_back.ahead]
            try:
                text = self.models.wait(write_insight(model, shown, self.zone))
            except LLMError as error:
                return StageReport(stage=REFLECT, failed={"insight": str(error)})
        readers = DigestReaders(names=self.names, matcher=RuleNameMatcher(), words=TermAnalyzer())
        draft, why = plan(looked_back, readers, text=text, by=model.name if model else None)
        if draft is None:
            return StageReport(stage=REFLECT, skipped=why, dry_run=dry_run)
        if not dry_run:
            self.records.add(draft, reason=why)
        lines = tuple(draft.content.splitlines())
        return StageReport(
            stage=REFLECT, count=1, counts={"written": 1}, lines=lines, dry_run=dry_run
        )
