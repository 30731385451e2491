"""What consolidation learned, fact by fact, for a person to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoranda.errors import NotFound
from memoranda.memory import Memory, parts_of
from memoranda.model.actions import Credit, Insert, Supersede
from memoranda.model.models import Record
from memoranda.model.ports import Progress
from memoranda.model.reports import StageReport


@dataclass(frozen=True, slots=True)
class New:
    """A new fact, and the turn that says it first, where that is still there."""

    fact: Record
    source: Record | None


@dataclass(frozen=True, slots=True)
class Again:
    """A fact that was said again, and the first turn that does."""

    fact: Record
    source: Record | None
    reason: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """A fact that is believed less, what took its place, and why."""

    fact: Record
    by: Record
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What consolidation did, or would do.

    Attributes:
        sessions: how many sessions were read.
        new, again, replaced: what came of them.
        failed: session → what went wrong; it waits on.
        dry_run: whether nothing was changed: then the ids of new facts are of no use.
    """

    sessions: int
    new: tuple[New, ...]
    again: tuple[Again, ...]
    replaced: tuple[Replaced, ...]
    failed: Mapping[str, str]
    dry_run: bool


def learn(
    memory: Memory,
    session: str | None = None,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Learned:
    """Consolidate one session, or all that wait, and return what was learned.

    Args:
        memory: where the sessions are.
        session: only this one.
        dry_run: change nothing. What two sessions say both then counts twice, as neither
            becomes a fact before the other is read.
        progress: told after each session.

    Raises:
        NotFound: there is no such session.
    """
    waiting = [info.id for info in memory.sessions(pending=True)] if session is None else [session]
    reports: list[StageReport] = []
    for done, each in enumerate(waiting, 1):
        try:
            reports.append(memory.consolidate(each, dry_run=dry_run))
        except NotFound:
            if session is not None:
                raise
            # It was erased since the list was made.
        if progress is not None:
            progress(done, len(waiting))
    return told(memory, reports, dry_run=dry_run)


def told(memory: Memory, reports: Iterable[StageReport], *, dry_run: bool) -> Learned:
    """Return what the reports of consolidations of ``memory`` say, fact by fact."""
    reports = list(reports)
    actions = [action for report in reports for action in report.actions]
    made = [action.record for action in actions if isinstance(action, Insert)]
    wanted = [source for record in made for source in record.source_ids[:1]]
    for action in actions:
        if isinstance(action, Credit):
            wanted += [action.id, *action.sources[:1]]
        elif isinstance(action, Supersede):
            wanted += [action.id, action.by]
    known = _records(memory, wanted) | {record.id: record for record in made}
    return Learned(
        sessions=sum((Counter(report.counts) for report in reports), Counter())["sessions"],
        new=tuple(New(record, _first(known, record.source_ids)) for record in made),
        again=tuple(
            Again(known[action.id], _first(known, action.sources), action.reason)
            for action in actions
            if isinstance(action, Credit) and action.id in known
        ),
        replaced=tuple(
            Replaced(known[action.id], known[action.by], action.reason)
            for action in actions
            if isinstance(action, Supersede) and {action.id, action.by} <= known.keys()
        ),
        failed={what: why for report in reports for what, why in report.failed.items()},
        dry_run=dry_run,
    )


def _records(memory: Memory, ids: Sequence[str]) -> dict[str, Record]:
    scope = memory._scope  # noqa: SLF001 - it sees inside, so that no door has to
    found = parts_of(memory).store.get_many(scope, list(dict.fromkeys(ids)))
    return {record.id: record for record in found}


def _first(known: Mapping[str, Record], ids: Sequence[str]) -> Record | None:
    return known.get(ids[0]) if ids else None
