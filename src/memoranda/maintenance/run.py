"""All stages of upkeep for one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from memoranda.entities.pipeline import ACCURATE, EntityPipeline
from memoranda.errors import LLMError
from memoranda.learning.background import Request
from memoranda.learning.stages.consolidating import MOST_LINES
from memoranda.learning.stages.reflecting import reflect
from memoranda.maintenance import decay, enrich, expire
from memoranda.model.actions import Action, Enrich, Fade, Retire
from memoranda.model.models import Mention, Record
from memoranda.model.reports import StageReport
from memoranda.model.scope import Scope
from memoranda.notes.sessions import consolidate
from memoranda.parts import Parts
from memoranda.wiring import retention

BATCH = 500
"""Actions of one transaction: others may write in between."""


class Stages:
    """Runs the stages. Each can be run again at any time, also after a crash."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        """Work with ``parts`` on what ``scope`` sees."""
        self._parts = parts
        self._scope = scope

    def run(self, stage: str, *, dry_run: bool = False) -> StageReport:
        """Run the stage of that name."""
        verbs: dict[str, Callable[[], StageReport]] = {
            "expire": partial(self.expire, dry_run=dry_run),
            "enrich": partial(self.enrich, dry_run=dry_run),
            "consolidate": partial(self.consolidate, dry_run=dry_run),
            "decay": partial(self.decay, dry_run=dry_run),
            "reflect": partial(self.reflect, dry_run=dry_run),
        }
        return verbs[stage]()

    def consolidate(self, session: str | None = None, *, dry_run: bool = False) -> StageReport:
        """Turn sessions into facts."""
        return consolidate(self._parts, Request(self._scope, session=session), dry_run=dry_run)

    def reflect(self, *, dry_run: bool = False) -> StageReport:
        """Write the weekly insight, if it is due."""
        return reflect(self._parts, self._scope, dry_run=dry_run)

    def expire(self, *, dry_run: bool = False) -> StageReport:
        """Retire what is past its retention (seed 001)."""
        parts, now = self._parts, self._parts.now()
        policy = retention(parts.settings)
        older = {
            kind: parts.store.recorded(self._scope, kind, now=now, before=before)
            for kind, before in expire.cutoffs(policy, now).items()
        }
        plan = expire.plan(parts.store.lapsed(self._scope, now), older, policy, now)
        self._apply(plan.actions, dry_run=dry_run)
        return StageReport(
            stage="expire",
            count=len(plan.actions),
            counts={kind.value: number for kind, number in plan.counts.items()},
            lines=_told(plan.actions),
            dry_run=dry_run,
        )

    def decay(self, *, dry_run: bool = False) -> StageReport:
        """Let facts fade (seed 004)."""
        parts, now = self._parts, self._parts.now()
        faded = parts.store.fading(self._scope, now)
        actions = decay.plan(faded, now, parts.settings.decay.threshold)
        self._apply(actions, dry_run=dry_run)
        retired = sum(isinstance(action, Retire) for action in actions)
        return StageReport(
            stage="decay",
            count=len(actions),
            counts={"faded": len(actions) - retired, "retired": retired},
            lines=_told(actions),
            dry_run=dry_run,
        )

    def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names anew, accurately (seed 004)."""
        names = self._parts.names(self._scope)
        if not names.accurate_available:
            return StageReport(stage="enrich", skipped=enrich.UNAVAILABLE, dry_run=dry_run)
        candidates = self._candidates()
        if dry_run:
            lines = tuple(f"{record.id} is read again" for record in candidates)
            counts = {"records": len(candidates)}
            return StageReport(
                stage="enrich", count=len(candidates), counts=counts, lines=lines, dry_run=True
            )
        plan = enrich.plan(candidates, partial(_read, names), self._parts.now())
        self._apply(plan.actions, dry_run=False)
        return StageReport(
            stage="enrich",
            count=len(plan.actions),
            counts={
                "records": len(plan.actions),
                "mentions": sum(len(action.mentions) for action in plan.actions),
            },
            lines=_told(plan.actions),
            failed=plan.failed,
            skipped=plan.skipped,
        )

    def _candidates(self) -> list[Record]:
        return self._parts.store.unenriched(
            self._scope,
            kinds=enrich.KINDS,
            most=enrich.MOST,
            limit=enrich.LIMIT,
            now=self._parts.now(),
        )

    def _apply(self, actions: Sequence[Action], *, dry_run: bool) -> None:
        if dry_run:
            return
        for start in range(0, len(actions), BATCH):
            self._parts.store.apply(self._scope, actions[start : start + BATCH])


def _read(names: EntityPipeline, text: str) -> list[Mention]:
    """Return the names in a text; a text that a provider failed on is read another night."""
    reading = names.read(ACCURATE, text)
    if reading.failed:
        message = f"{', '.join(reading.failed)} failed on it; it is read again next time"
        raise LLMError(message)
    return reading.mentions


def _told(actions: Iterable[Action]) -> tuple[str, ...]:
    told = []
    for action in actions:
        if isinstance(action, Retire):
            told.append(f"- {action.id}: {action.reason}")
        elif isinstance(action, Fade):
            told.append(f"~ {action.id}: confidence {action.confidence:.2f}")
        elif isinstance(action, Enrich):
            told.append(f"+ {action.id}: {len(action.mentions)} names")
    return tuple(told[:MOST_LINES])
