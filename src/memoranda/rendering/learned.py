"""What consolidation learned, fact by fact, for a person to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.errors import NotFound
from memoranda.memory import Memory, services_of
from memoranda.model.actions import Insert, Reinforce, Supersede
from memoranda.model.models import Record
from memoranda.model.ports import Progress
from memoranda.model.reports import StageReport
from memoranda.rendering.facts import SHORT, name_source, place_of
from memoranda.rendering.layout import LONGEST, Column, Display, join, safe_text, table
from memoranda.rendering.plain import one_line


@dataclass(frozen=True, slots=True)
class NewFact:
    """A new fact, and the turn that says it first, where that is still there."""

    fact: Record
    source: Record | None


@dataclass(frozen=True, slots=True)
class RepeatedFact:
    """A fact that was stated again, and the first turn that states it."""

    fact: Record
    source: Record | None
    reason: str


@dataclass(frozen=True, slots=True)
class ReplacedFact:
    """A superseded fact, the fact that superseded it, and why."""

    fact: Record
    by: Record
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFacts:
    """What consolidation did, or would do.

    Attributes:
        sessions: how many sessions were read.
        new, again, replaced: what came of them.
        failed: session → what went wrong; it waits on.
        dry_run: whether nothing was changed: then the ids of new facts are of no use.
    """

    sessions: int
    new: tuple[NewFact, ...]
    again: tuple[RepeatedFact, ...]
    replaced: tuple[ReplacedFact, ...]
    failed: Mapping[str, str]
    dry_run: bool


def consolidate_sessions(
    memory: Memory,
    session: str | None = None,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> LearnedFacts:
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
    return summarize_reports(memory, reports, dry_run=dry_run)


def summarize_reports(
    memory: Memory, reports: Iterable[StageReport], *, dry_run: bool
) -> LearnedFacts:
    """Return what the reports of consolidations of ``memory`` say, fact by fact."""
    reports = list(reports)
    actions = [action for report in reports for action in report.actions]
    made = [action.record for action in actions if isinstance(action, Insert)]
    wanted = [source for record in made for source in record.source_ids[:1]]
    for action in actions:
        if isinstance(action, Reinforce):
            wanted += [action.id, *action.sources[:1]]
        elif isinstance(action, Supersede):
            wanted += [action.id, action.by]
    known = _records(memory, wanted) | {record.id: record for record in made}
    return LearnedFacts(
        sessions=sum((Counter(report.counts) for report in reports), Counter())["sessions"],
        new=tuple(NewFact(record, _first(known, record.source_ids)) for record in made),
        again=tuple(
            RepeatedFact(known[action.id], _first(known, action.sources), action.reason)
            for action in actions
            if isinstance(action, Reinforce) and action.id in known
        ),
        replaced=tuple(
            ReplacedFact(known[action.id], known[action.by], action.reason)
            for action in actions
            if isinstance(action, Supersede) and {action.id, action.by} <= known.keys()
        ),
        failed={what: why for report in reports for what, why in report.failed.items()},
        dry_run=dry_run,
    )


def _records(memory: Memory, ids: Sequence[str]) -> dict[str, Record]:
    scope = memory._scope  # noqa: SLF001 - it sees inside, so that no door has to
    found = services_of(memory).store.get_many(scope, list(dict.fromkeys(ids)))
    return {record.id: record for record in found}


def _first(known: Mapping[str, Record], ids: Sequence[str]) -> Record | None:
    return known.get(ids[0]) if ids else None


SIGNS = {"+": "bold green", "=": "bold cyan", "-": "bold red", "~": "bold yellow"}
COLUMNS = (
    Column("", lambda row, _: Text(row[0], SIGNS.get(row[0], "")), whole=True),
    Column("said", lambda row, view: row[1] and view.day(row[1]), whole=True),
    Column("who", lambda row, _: row[2], "cyan"),
    Column("what", lambda row, _: row[3]),
)
Row = tuple[str, datetime | None, str, RenderableType]


def show_learned(found: LearnedFacts, view: Display, limit: int | None = None) -> RenderableType:
    """Return what was learned: new (+), said again (=), replaced (-)."""
    rows = list(_rows(found))
    more = [] if limit is None else rows[limit:]
    if more:
        rows[limit:] = [("", None, "", Text(f"… {len(more):,} more", "dim"))]
    empty = "nothing new was said" if found.sessions else "nothing waits to be read"
    return table(rows, COLUMNS, view, empty=empty)


def _rows(found: LearnedFacts) -> Iterator[Row]:
    for new in found.new:
        kind = new.fact.attributes.get("category")
        category = one_line(kind, 20) if isinstance(kind, str) else ""
        yield _row("+", new.fact, new.source, category, "" if found.dry_run else new.fact.id)
    for again in found.again:
        yield _row("=", again.fact, again.source, again.fact.id, one_line(again.reason))
    for old in found.replaced:
        yield _row("-", old.fact, None, old.fact.id, f"now: {one_line(old.by.content, SHORT)}")


def _row(sign: str, fact: Record, source: Record | None, *about: str) -> Row:
    place = "" if source is None else place_of(source.session_id, source.position)
    content = safe_text(one_line(fact.content, LONGEST), "dim strike" if sign == "-" else "")
    what = Group(content, safe_text(join(*about, place), "dim"))
    said = fact.event_time if source is None else source.event_time
    return sign, said, name_source(fact), what
