"""Writes the weekly insight, with a model or as a digest made by rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from secrets import token_hex

from memoranda.entities.names import RuleNameMatcher
from memoranda.errors import LLMError
from memoranda.learning import reflection_plan as reflection
from memoranda.learning.llm.model_reflector import ModelReflector
from memoranda.learning.stage_models import StageModels
from memoranda.model.models import Kind
from memoranda.model.ports import EntityExtractor
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.records.service import RecordService
from memoranda.text.terms import TermAnalyzer

REFLECT = "reflect"
PAGE = 1_000
LEASE = timedelta(minutes=10)
"""How long after a process was killed another may write its insight."""


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
        if not dry_run and not store.lease(name, holder, now=now, until=now + LEASE):
            return StageReport(stage=REFLECT, skipped="another process writes it now")
        try:
            return self._write(now, dry_run=dry_run)
        finally:
            if not dry_run:
                store.lease(name, holder, now=now, until=now)

    def _write(self, now: datetime, *, dry_run: bool) -> StageReport:
        scope, store = self.records.scope, self.records.store
        last = store.latest(scope, Filter(now=now, kinds=(Kind.REFLECTION,)))
        since = now - reflection.SPAN
        facts = store.recorded(scope, Kind.FACT, now=now, since=since)
        due = reflection.due(None if last is None else last.created_at, facts, now)
        if not due.due:
            return StageReport(stage=REFLECT, skipped=due.why, dry_run=dry_run)
        ahead = Filter(now=now, kinds=(Kind.FACT,), since=now)
        week = reflection.week(
            facts,
            store.recorded(scope, Kind.EPISODE, now=now, since=since),
            ahead=store.page(scope, ahead, limit=PAGE, after=None),
            now=now,
            zone=self.zone,
        )
        model = self.models.model
        try:
            text = None if dry_run else self._ask_model(week)
        except LLMError as error:
            return StageReport(stage=REFLECT, failed={"insight": str(error)})
        readers = reflection.DigestReaders(
            names=self.names, matcher=RuleNameMatcher(), words=TermAnalyzer()
        )
        plan = reflection.plan(week, readers, text=text, by=None if model is None else model.name)
        if plan.draft is None:
            return StageReport(stage=REFLECT, skipped=plan.why, dry_run=dry_run)
        if not dry_run:
            self.records.add(plan.draft, reason=plan.why)
        lines = tuple(plan.draft.content.splitlines())
        return StageReport(
            stage=REFLECT, count=1, counts={"written": 1}, lines=lines, dry_run=dry_run
        )

    def _ask_model(self, week: reflection.WeekRecords) -> str | None:
        """Return what the model sees in a week; ``None`` without a model, or if it sees nothing.

        Raises:
            LLMError: the model failed.
        """
        model = self.models.for_stage(self.records.scope, REFLECT)
        if model is None:
            return None
        records = [*reversed(week.records), *week.ahead]
        found = self.models.wait(ModelReflector(model).reflect(records, week.zone))
        return None if found is None else found.text
