"""What consolidation learned from sessions: what is new, what was said again, what is replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from memoranda.model.changes import Insert, Reinforce, Supersede
from memoranda.model.models import Record, Scope
from memoranda.model.reports import StageReport
from memoranda.store.sql.store import Store


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact that was learned, and the turn that says it first, where that is there."""

    fact: Record
    source: Record | None


@dataclass(frozen=True, slots=True)
class RepeatedFact:
    """A known fact that was said again: in which turn, and how that was told."""

    fact: Record
    source: Record | None
    reason: str


@dataclass(frozen=True, slots=True)
class ReplacedFact:
    """A fact that another took the place of, and why."""

    fact: Record
    by: Record
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFacts:
    """What consolidation did, or would do.

    Attributes:
        sessions: how many sessions were read.
        new: the facts that were learned.
        again: those that were said again.
        replaced: those that others took the place of.
        failed: session → what went wrong; it waits on.
        dry_run: whether nothing was changed: then the ids of new facts are of no use.
    """

    sessions: int
    new: tuple[NewFact, ...]
    again: tuple[RepeatedFact, ...]
    replaced: tuple[ReplacedFact, ...]
    failed: Mapping[str, str]
    dry_run: bool


def collect_learned(report: StageReport, store: Store, scope: Scope) -> LearnedFacts:
    """Return what the report of a consolidation says was learned, with the records it names."""
    made = {each.record.id: each.record for each in report.actions if isinstance(each, Insert)}
    repeated = [each for each in report.actions if isinstance(each, Reinforce)]
    superseded = [each for each in report.actions if isinstance(each, Supersede)]
    wanted = chain(
        *(record.source_ids[:1] for record in made.values()),
        *((action.id, *action.sources[:1]) for action in repeated),
        *((action.id, action.by) for action in superseded),
    )
    known = {**store.get(scope, list(dict.fromkeys(wanted))), **made}

    def first(ids: Sequence[str]) -> Record | None:
        return known.get(ids[0]) if ids else None

    return LearnedFacts(
        sessions=report.counts.get("sessions", 0),
        new=tuple(NewFact(record, first(record.source_ids)) for record in made.values()),
        again=tuple(
            RepeatedFact(known[action.id], first(action.sources), action.reason)
            for action in repeated
            if action.id in known
        ),
        replaced=tuple(
            ReplacedFact(known[action.id], known[action.by], action.reason)
            for action in superseded
            if {action.id, action.by} <= known.keys()
        ),
        failed=report.failed,
        dry_run=report.dry_run,
    )
