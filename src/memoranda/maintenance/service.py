"""The upkeep of what one scope sees: expiry, enrichment, consolidation, decay, reflection.

Each stage reads what its plan needs, plans, and applies the plan. Each can be run again at any
time, also after a crash.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Protocol

from memoranda.entities.pipeline import ACCURATE, EntityPipeline
from memoranda.errors import InvalidInput, LLMError, MemorandaError
from memoranda.maintenance import decay, enrich, expire
from memoranda.model.actions import Action, Enrich, Fade, Retire
from memoranda.model.models import Mention, Scope
from memoranda.model.ports import Store
from memoranda.model.reports import MaintenanceReport, StageReport
from memoranda.records.drafts import Retention

log = logging.getLogger("memoranda.maintenance")

STAGES = ("expire", "enrich", "consolidate", "decay", "reflect")
"""In the order of a night: names are found before facts are drawn, and these before they fade."""
BATCH = 500
"""Actions of one transaction: others may write in between."""
MOST_LINES = 200
"""Lines of a report."""


class ConsolidateSessions(Protocol):
    """Turns sessions into facts."""

    def __call__(self, session: str | None = None, *, dry_run: bool = False) -> StageReport:
        """Consolidate one session, or all that wait; report what was done."""


class WriteReflection(Protocol):
    """Writes the weekly insight."""

    def __call__(self, *, dry_run: bool = False) -> StageReport:
        """Write it, if one is due; report what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Runs the stages of upkeep for one scope.

    Attributes:
        scope: whose memory.
        store: where it is.
        now: gives the present.
        retention: how long records of each kind are kept.
        decay_threshold: confidence below which a fact is retired.
        names: gives what finds names.
        link_entities: links what waits for it to its entities.
        consolidate_sessions: the stage ``consolidate``.
        write_reflection: the stage ``reflect``.
    """

    scope: Scope
    store: Store
    now: Callable[[], datetime]
    retention: Retention
    decay_threshold: float
    names: Callable[[], EntityPipeline]
    link_entities: Callable[[], None]
    consolidate_sessions: ConsolidateSessions
    write_reflection: WriteReflection

    def run(
        self, stages: Iterable[str] | None = None, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Run all stages, or some, in the order of a night.

        Raises:
            InvalidInput: there is no such stage.
        """
        wanted = STAGES if stages is None else tuple(stages)
        for name in wanted:
            if name not in STAGES:
                message = f"stage={name!r:.80} does not exist; use {', '.join(STAGES)}"
                raise InvalidInput(message)
        chosen = (name for name in STAGES if name in wanted)
        return MaintenanceReport(
            stages=tuple(self.run_stage(name, dry_run=dry_run) for name in chosen)
        )

    def run_stage(self, stage: str, *, dry_run: bool = False) -> StageReport:
        """Run the stage of that name."""
        verbs: dict[str, Callable[[], StageReport]] = {
            "expire": partial(self.expire, dry_run=dry_run),
            "enrich": partial(self.enrich, dry_run=dry_run),
            "consolidate": partial(self.consolidate_sessions, dry_run=dry_run),
            "decay": partial(self.decay, dry_run=dry_run),
            "reflect": partial(self.write_reflection, dry_run=dry_run),
        }
        return verbs[stage]()

    def run_scheduled(self, stage: str) -> StageReport:
        """Run a stage that is due.

        Raises:
            MemorandaError: the reflection is due, and sessions of the week are no facts yet.
        """
        if stage == "reflect" and self._pending():
            # Both are due on Sunday at three, and the week is to be seen with all its facts.
            self.consolidate_sessions()
            if self._pending():
                raise MemorandaError("sessions are still being consolidated; it is tried again")
        return self.run_stage(stage)

    def clean_up(self) -> None:
        """Retire what is past its time, and log how many records that were, if any.

        It reads before it writes, so that who opens a memory in which nothing has ended waits
        for nobody. Two processes at once do it as one would. A failure is logged and keeps
        nobody from the memory: what has ended is not found anyway.
        """
        try:
            report = self.expire()
        except MemorandaError as error:
            log.warning("memory_cleanup failed: %s; it is tried again at the next start", error)
            return
        if report.count:
            log.info("memory_cleanup deleted=%d (%s)", report.count, report)

    def expire(self, *, dry_run: bool = False) -> StageReport:
        """Retire what is past its retention."""
        now = self.now()
        older = {
            kind: self.store.recorded(self.scope, kind, now=now, before=before)
            for kind, before in expire.cutoffs(self.retention, now).items()
        }
        plan = expire.plan(self.store.expired(self.scope, now), older, self.retention, now)
        self._apply(plan.actions, dry_run=dry_run)
        counts = {kind.value: number for kind, number in plan.counts.items()}
        return _report("expire", plan.actions, counts, dry_run=dry_run)

    def decay(self, *, dry_run: bool = False) -> StageReport:
        """Lower the confidence of decaying facts; retire those below the threshold."""
        now = self.now()
        actions = decay.plan(self.store.decaying(self.scope, now), now, self.decay_threshold)
        self._apply(actions, dry_run=dry_run)
        retired = sum(isinstance(action, Retire) for action in actions)
        counts = {"faded": len(actions) - retired, "retired": retired}
        return _report("decay", actions, counts, dry_run=dry_run)

    def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names again, more accurately, in records with few of them."""
        names, now = self.names(), self.now()
        if not names.accurate_available:
            return StageReport(stage="enrich", skipped=enrich.UNAVAILABLE, dry_run=dry_run)
        self.link_entities()
        candidates = self.store.unenriched(
            self.scope, kinds=enrich.KINDS, most=enrich.MOST, limit=enrich.LIMIT, now=now
        )
        if dry_run:
            lines = tuple(f"{record.id} is read again" for record in candidates)
            counts = {"records": len(candidates)}
            return StageReport(
                stage="enrich", count=len(candidates), counts=counts, lines=lines, dry_run=True
            )
        plan = enrich.plan(candidates, partial(_read_names, names), now)
        self._apply(plan.actions, dry_run=False)
        mentions = sum(len(action.mentions) for action in plan.actions)
        counts = {"records": len(plan.actions), "mentions": mentions}
        return _report("enrich", plan.actions, counts, failed=plan.failed)

    def _pending(self) -> bool:
        return bool(self.store.sessions(self.scope, pending=True))

    def _apply(self, actions: Sequence[Action], *, dry_run: bool) -> None:
        if dry_run:
            return
        for start in range(0, len(actions), BATCH):
            self.store.apply(self.scope, actions[start : start + BATCH])


def _report(
    stage: str,
    actions: Sequence[Action],
    counts: Mapping[str, int],
    *,
    failed: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> StageReport:
    lines = (line for action in actions if (line := _describe(action)))
    return StageReport(
        stage=stage,
        count=len(actions),
        counts=counts,
        lines=tuple(islice(lines, MOST_LINES)),
        failed=failed or {},
        dry_run=dry_run,
    )


def _read_names(names: EntityPipeline, text: str) -> list[Mention]:
    """Return the names in a text; a text that a provider failed on is read another night."""
    reading = names.read(ACCURATE, text)
    if reading.failed:
        message = f"{', '.join(reading.failed)} failed on it; it is read again next time"
        raise LLMError(message)
    return reading.mentions


def _describe(action: Action) -> str | None:
    match action:
        case Retire():
            return f"- {action.id}: {action.reason}"
        case Fade():
            return f"~ {action.id}: confidence {action.confidence:.2f}"
        case Enrich():
            return f"+ {action.id}: {len(action.mentions)} names"
    return None
