"""Reflection: the weekly insight, in a model's words or as a digest (seed 004)."""

from __future__ import annotations

from datetime import datetime, timedelta
from secrets import token_hex

from memoranda.entities.names import RuleNameMatcher
from memoranda.errors import LLMError
from memoranda.learning import reflect as reflection
from memoranda.learning.stages import asking
from memoranda.model.models import Kind, Record
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.text.analysis import TermAnalyzer

REFLECT = "reflect"
PAGE = 1_000
LEASE = timedelta(minutes=10)
"""How long after a process was killed another may write its insight."""


def reflect(parts: Parts, scope: Scope, *, dry_run: bool = False) -> StageReport:
    """Write the insight of the week, if one is due and there is something to say.

    A model that fails leaves the insight to be written later. Of several processes one writes
    it: the others find its lease taken, or the insight there.
    """
    now, holder = parts.now(), token_hex(8)
    name = f"reflect:{scope.user}:{scope.agent or ''}"
    if not dry_run and not parts.store.lease(name, holder, now=now, until=now + LEASE):
        return StageReport(stage=REFLECT, skipped="another process writes it now")
    try:
        return _reflected(parts, scope, now, dry_run=dry_run)
    finally:
        if not dry_run:
            parts.store.lease(name, holder, now=now, until=now)


def _reflected(parts: Parts, scope: Scope, now: datetime, *, dry_run: bool) -> StageReport:
    last = parts.store.latest(scope, Filter(now=now, kinds=(Kind.REFLECTION,)))
    since = now - reflection.SPAN
    facts = parts.store.recorded(scope, Kind.FACT, now=now, since=since)
    due = reflection.due(None if last is None else last.created_at, facts, now)
    if not due.due:
        return StageReport(stage=REFLECT, skipped=due.why, dry_run=dry_run)
    week = reflection.week(
        facts,
        parts.store.recorded(scope, Kind.EPISODE, now=now, since=since),
        ahead=_ahead(parts, scope, now),
        now=now,
        zone=parts.settings.zone,
    )
    model = parts.language.model
    text = None
    if model is not None and not dry_run:
        try:
            text = asking.insight(parts, scope, week)
        except LLMError as error:
            return StageReport(stage=REFLECT, failed={"insight": str(error)})
    readers = reflection.Readers(
        names=parts.extractor, matcher=RuleNameMatcher(), words=TermAnalyzer()
    )
    plan = reflection.plan(week, readers, text=text, by=None if model is None else model.name)
    if plan.draft is None:
        return StageReport(stage=REFLECT, skipped=plan.why, dry_run=dry_run)
    if not dry_run:
        parts.records(scope).add(plan.draft, reason=plan.why)
    lines = tuple(plan.draft.content.splitlines())
    return StageReport(stage=REFLECT, count=1, counts={"written": 1}, lines=lines, dry_run=dry_run)


def _ahead(parts: Parts, scope: Scope, now: datetime) -> list[Record]:
    where = Filter(now=now, kinds=(Kind.FACT,), since=now)
    return parts.store.page(scope, where, limit=PAGE, after=None)
