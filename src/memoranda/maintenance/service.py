"""The upkeep of what one scope sees: expiry, enrichment, consolidation, decay, reflection.

Each stage reads what its plan needs, plans, and applies the plan. Each can be run again at any
time, also after a crash.

Expiry retires records whose retention is over. A record carries its end from when it was stored,
and the policy of the present may end it sooner, never later: what had ended stays ended. The end
of a day is the user's midnight. With ``retention.remove`` the stage takes what has expired or was
forgotten out for good, with its messages; what was learned from it stays, and so do the former
versions of what is believed, as far as the retention of their kind keeps them.

Enrichment reads records with few entities again, once, by providers that are too slow for each
message, and stamps them, also where these found nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any

from memoranda.entities.pipeline import ACCURATE, EntityPipeline, EntityReading
from memoranda.errors import MemorandaError, StoreClosed, UserDeleted
from memoranda.maintenance import decay
from memoranda.model.changes import Enrich, Fade, RecordChange, Retire
from memoranda.model.checks import MILLISECOND, refuse_unknown, several
from memoranda.model.models import Kind, Record, Scope, is_active
from memoranda.model.query import Filter, Subset
from memoranda.model.reports import MaintenanceReport, StageReport
from memoranda.records.drafts import Retention
from memoranda.store.sql.store import Store

log = logging.getLogger("memoranda.maintenance")

# In the order of a night: names are found before facts are drawn, and these before they fade.
STAGES = ("expire", "enrich", "consolidate", "decay", "reflect")
# Actions of one transaction: others may write in between.
BATCH = 500
# Lines of a report.
MOST_LINES = 200
# What is enriched.
ENRICHED = (Kind.FACT, Kind.EPISODE)
# Entities that a record has at most to be read again.
FEW = 2
# Records of one run.
A_NIGHT = 50
REMOVED = "expired or forgotten, and removed for good (retention.remove)"
UNAVAILABLE = "no accurate provider of names is set up (spacy or llm)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Runs the stages of upkeep for one scope.

    Attributes:
        scope: whose memory.
        store: where it is.
        now: gives the present.
        retention: how long records of each kind are kept.
        remove: whether what has expired or was forgotten is taken out for good.
        wipe: clears caches and free space of what was removed.
        decay_threshold: confidence below which a fact is retired.
        names: gives what finds names.
        link_entities: links what waits for it to its entities.
        consolidate: turns all sessions that wait into facts.
        reflect: writes the weekly insight, if one is due.
    """

    scope: Scope
    store: Store
    now: Callable[[], datetime]
    retention: Retention
    remove: bool
    wipe: Callable[[], object]
    decay_threshold: float
    names: Callable[[], EntityPipeline]
    link_entities: Callable[[], None]
    consolidate: Callable[..., StageReport]
    reflect: Callable[..., StageReport]

    def run(
        self, stages: Iterable[str] | None = None, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Run all stages, or some, in the order of a night; one that fails keeps no other back.

        Raises:
            InvalidInput: there is no such stage.
            StoreClosed: the memory was closed.
            UserDeleted: the user was deleted.
        """
        chosen = STAGES if stages is None else parse_stages(stages)
        done: list[StageReport] = []
        for stage in chosen:
            try:
                done.append(getattr(self, stage)(dry_run=dry_run))
            except (StoreClosed, UserDeleted):
                raise
            except MemorandaError as error:
                failed = {stage: str(error)}
                done.append(StageReport(stage=stage, failed=failed, dry_run=dry_run))
        return MaintenanceReport(stages=tuple(done))

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
        """Retire what is past its retention; with ``remove``, take what is retired out for good."""
        now = self.now()
        ended = self._records(now=now, kinds=tuple(Kind), retired=True, subset=Subset.ENDED)
        over = plan_expiry(chain(ended, self._older(now)), self.retention, now)
        if self.remove:
            return self._remove(over, now, dry_run=dry_run)
        counts = Counter(record.kind.value for record, _ in over)
        return self._finish("expire", [each for _, each in over], counts, dry_run=dry_run)

    def _remove(
        self, over: Sequence[tuple[Record, Retire]], now: datetime, *, dry_run: bool
    ) -> StageReport:
        """Take what is past its retention, and what had been retired before, out for good."""
        found = chain(self._retired(now), (record for record, _ in over))
        kinds = {record.id: record.kind.value for record in found}
        why = {each.id: each.reason for _, each in over}
        ids = [] if dry_run else list(kinds)
        for start in range(0, len(ids), BATCH):
            with self.store.write(self.scope) as tx:
                tx.remove(ids[start : start + BATCH], at=now, reason=REMOVED)
        if ids:
            self.wipe()
        return StageReport(
            stage="expire",
            count=len(kinds),
            counts=Counter(kinds.values()),
            lines=tuple(f"- {id_}: {why.get(id_, 'retired before')}" for id_ in kinds)[:MOST_LINES],
            dry_run=dry_run,
        )

    def _retired(self, now: datetime) -> Iterator[Record]:
        """Yield what has expired or was forgotten; a former version only if it would have, too."""
        yield from self._records(now=now, kinds=tuple(Kind), retired=True, subset=Subset.OVER)
        old = self._older(now, retired=True)
        yield from (record for record in old if not is_active(record, now))

    def _older(self, now: datetime, **conditions: Any) -> Iterator[Record]:
        """Yield the records from before the cutoff of their kind."""
        for kind, before in cutoffs(self.retention, now).items():
            yield from self._records(now=now, kinds=(kind,), recorded_before=before, **conditions)

    def _records(self, **conditions: Any) -> list[Record]:
        return self.store.records(self.scope, Filter(**conditions))

    def decay(self, *, dry_run: bool = False) -> StageReport:
        """Lower the confidence of decaying facts; retire those below the threshold."""
        now = self.now()
        decaying = self._records(now=now, subset=Subset.DECAYING)
        actions = decay.plan(decaying, now, self.decay_threshold)
        retired = sum(isinstance(action, Retire) for action in actions)
        counts = {"faded": len(actions) - retired, "retired": retired}
        return self._finish("decay", actions, counts, dry_run=dry_run)

    def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names again, more accurately, in records with few of them."""
        names, now = self.names(), self.now()
        if not names.accurate_available:
            return StageReport(stage="enrich", skipped=UNAVAILABLE, dry_run=dry_run)
        self.link_entities()  # Links are derived: a plan may make them, as it needs them.
        where = Filter(now=now, kinds=ENRICHED, subset=Subset.UNENRICHED, most_entities=FEW)
        candidates = self.store.records(self.scope, where, limit=A_NIGHT)
        if dry_run:
            lines = tuple(f"{record.id} is read again" for record in candidates)
            counts = {"records": len(candidates)}
            return StageReport(
                stage="enrich", count=len(candidates), counts=counts, lines=lines, dry_run=True
            )
        actions, failed = plan_enrichment(candidates, partial(names.read, ACCURATE), now)
        mentions = sum(len(action.mentions) for action in actions)
        counts = {"records": len(actions), "mentions": mentions}
        return self._finish("enrich", actions, counts, failed=failed)

    def _finish(
        self,
        stage: str,
        actions: Sequence[RecordChange],
        counts: Mapping[str, int],
        *,
        failed: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> StageReport:
        """Apply the actions of a stage, if they are not only to be shown, and report them."""
        for start in range(0, 0 if dry_run else len(actions), BATCH):
            self.store.apply(self.scope, actions[start : start + BATCH])
        return StageReport(
            stage=stage,
            count=len(actions),
            counts=counts,
            lines=tuple(islice(_describe(actions), MOST_LINES)),
            failed=failed or {},
            dry_run=dry_run,
        )


def parse_stages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the stages of these names, in the order of a night.

    Raises:
        InvalidInput: there is no such stage.
    """
    wanted = tuple(several(names, "stages"))
    refuse_unknown(wanted, STAGES, "stage")
    return tuple(name for name in STAGES if name in wanted)


def _describe(actions: Iterable[RecordChange]) -> Iterator[str]:
    for action in actions:
        match action:
            case Retire():
                yield f"- {action.id}: {action.reason}"
            case Fade():
                yield f"~ {action.id}: confidence {action.confidence:.2f}"
            case Enrich():
                yield f"+ {action.id}: {len(action.mentions)} names"


def cutoffs(retention: Retention, now: datetime) -> dict[Kind, datetime]:
    """Return since when records of each kind are all still to be kept.

    Whatever was recorded before may be over, and is to be given to :func:`plan_expiry`.
    Kinds that are kept for ever are left out.
    """
    found: dict[Kind, datetime] = {}
    for kind, span in retention.spans.items():
        with suppress(OverflowError):  # Longer than the calendar, so for ever.
            # One more, as what is as old as the span is over, too.
            found[kind] = retention.midnight(now) if span is None else now - span + MILLISECOND
    return found


def plan_expiry(
    records: Iterable[Record], retention: Retention, now: datetime
) -> list[tuple[Record, Retire]]:
    """Plan the retirement of all records past their retention, each once.

    Args:
        records: those whose validity ended by itself, and believed ones of which some may be
            past the present policy, which was another when they were stored. Facts among
            them, also confirmed ones, end only if the policy sets facts an end.
        retention: the present policy.
        now: the present.
    """
    ended: dict[str, tuple[Record, Retire]] = {}
    for record in records:
        end, until = retention.end(record.kind, record.created_at), record.valid_until
        if not any(each is not None and each <= now for each in (end, until)):
            continue
        if until == end or is_active(record, now):
            reason = _policy(record.kind, retention)
        else:
            reason = f"it was stored to be kept until {until:%Y-%m-%d %H:%M} UTC"
        ended.setdefault(record.id, (record, Retire(record.id, now, f"expired: {reason}")))
    return list(ended.values())


def _policy(kind: Kind, retention: Retention) -> str:
    """Say how long a kind is kept."""
    span = retention.spans[kind]
    if span is None:
        return f"{kind.value} is kept until the day ends in {retention.zone}"
    return f"{kind.value} is kept for {str(span).removesuffix(', 0:00:00')}"


def plan_enrichment(
    records: Iterable[Record], read: Callable[[str], EntityReading], now: datetime
) -> tuple[list[Enrich], dict[str, str]]:
    """Plan what names records are linked to as well, and tell which could not be read, and why.

    Args:
        records: what was never enriched and has few entities.
        read: finds the names in a text; may be slow. Where a provider failed, the record is not
            stamped, and so is read another night.
        now: the present.
    """
    actions: list[Enrich] = []
    failed: dict[str, str] = {}
    for record in records:
        reading = read(record.content)
        if reading.failed:
            wrong = f"{', '.join(reading.failed)} failed on it; it is read again next time"
            failed[record.id] = wrong
        else:
            actions.append(Enrich(record.id, now, tuple(reading.mentions)))
    return actions, failed
