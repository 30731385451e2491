"""Shows facts with their confidence, date and source, and what consolidation learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memoranda.errors import InvalidInput, NotFound
from memoranda.learning.claims import Category
from memoranda.learning.consolidation_plan import when_said
from memoranda.maintenance import decay
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.actions import Insert, Reinforce, Supersede
from memoranda.model.checks import clean, limited
from memoranda.model.models import Change, Kind, Record, is_active
from memoranda.model.ports import Progress
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.records.pages import record_pages
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.plain import DOT, join, one_line, pluralize
from memoranda.rendering.records import NAME, show_changes

CATEGORY = "category"
# The kinds of statements that facts are drawn from.
CATEGORIES: tuple[str, ...] = tuple(category.value for category in Category)
BELIEVED, SUPERSEDED, ENDED = "believed", "superseded", "ended"
# Hits beyond the limit that are asked for, as some of them may be superseded.
SPARE = 20


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier or later version of a fact: one it superseded, or one that superseded it."""

    id: str
    content: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact, and what can be said of it at one moment.

    Attributes:
        record: the fact.
        state: ``believed``; ``superseded`` by another one, behind which it is still found; or
            ``ended``: forgotten, corrected or faded.
        confidence: how far it is believed now, 0 to 1.
        category: what kind of statement it is, where that is known.
        said_at: when it was said first.
        said: how often it was said.
        fades_on: when it will be retired if nobody asks for it; ``None`` is never.
        supersedes: what it took the place of, oldest first.
        superseded_by: what took its place.
    """

    record: Record
    state: str
    confidence: float
    category: str | None
    said_at: datetime
    said: int
    fades_on: datetime | None
    supersedes: tuple[Version, ...] = ()
    superseded_by: Version | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A turn that states a fact, word for word.

    Attributes:
        id: the episode.
        text: its words; ``None`` where they were erased.
        speaker: who said it.
        said_at: when.
        session: the conversation.
        position: its place there.
    """

    id: str
    text: str | None = None
    speaker: str | None = None
    said_at: datetime | None = None
    session: str | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """All that is known of where a fact comes from and what became of it.

    Attributes:
        fact: the fact.
        sources: the turns it was drawn from.
        before: what it took the place of, and what that had, oldest first.
        after: what took its place, and what took that one's, in that order.
        history: what was done to it, oldest first.
    """

    fact: Fact
    sources: tuple[Source, ...]
    before: tuple[Fact, ...]
    after: tuple[Fact, ...]
    history: tuple[Change, ...]


def list_facts(
    memory: Memory, query: str | None, *, category: str | None, everything: bool, limit: int
) -> list[Fact]:
    """Return facts: those that answer ``query``, best first; without one the last said first.

    Args:
        memory: where they are.
        query: a question or words.
        category: only of this :class:`~memoranda.learning.claims.Category`.
        everything: also those that were superseded or have ended.
        limit: how many at most.

    Raises:
        InvalidInput: there is no such category, or the limit is none.
    """
    if category is not None and category not in CATEGORIES:
        raise InvalidInput(f"category={category!r:.80} does not exist; use {', '.join(CATEGORIES)}")
    most, index = limited(limit, "limit"), FactIndex(memory)
    found: Iterable[Record] = sorted(
        index.records.values(), key=lambda record: (when_said(record), record.id), reverse=True
    )
    if query is not None:
        where = Filter(
            now=index.now,
            kinds=(Kind.FACT,),
            retired=everything,
            metadata={} if category is None else {CATEGORY: category},
        )
        hits = services_of(memory).lazy.retriever.search(
            scope_of(memory), clean(query, "query"), where, limit=most + SPARE
        )
        found = [hit.record for hit in hits]
    chosen = (
        fact
        for fact in map(index.fact, found)
        if (everything or fact.state == BELIEVED) and category in {None, fact.category}
    )
    return list(islice(chosen, most))


def trace_fact(memory: Memory, id: str) -> Provenance:
    """Return where a fact comes from.

    Raises:
        NotFound: there is no such record.
        InvalidInput: it is no fact.
    """
    parts, scope = services_of(memory), scope_of(memory)
    record = parts.records(scope).existing(id)
    if record.kind is not Kind.FACT:
        message = f"{id} is no fact but of kind {record.kind.value}; memoranda show {id} shows it"
        raise InvalidInput(message)
    index = FactIndex(memory)
    there = parts.store.get(scope, record.source_ids)
    return Provenance(
        fact=index.fact(record),
        sources=tuple(_source(source, there.get(source)) for source in record.source_ids),
        before=tuple(map(index.fact, index.predecessors(record))),
        after=tuple(map(index.fact, index.successors(record))),
        history=tuple(memory.history(id)),
    )


def _source(id: str, record: Record | None) -> Source:
    if record is None:
        return Source(id)
    speaker, said_at = record.source_role or record.kind.value, record.event_time
    return Source(id, record.content, speaker, said_at, record.session_id, record.position)


class FactIndex:
    """All facts of a memory, active or not, and which superseded which."""

    def __init__(self, memory: Memory) -> None:
        """Read them."""
        parts = services_of(memory)
        self.now, self._threshold = parts.clock.now(), memory.settings.decay.threshold
        self.records: dict[str, Record] = {}
        self._replaced: defaultdict[str, list[Record]] = defaultdict(list)
        for page in record_pages(parts.store, scope_of(memory), self.now, (Kind.FACT,)):
            self.records |= {record.id: record for record in page}
        for record in self.records.values():
            if record.superseded_by is not None:
                self._replaced[record.superseded_by].append(record)

    def fact(self, record: Record) -> Fact:
        """Return what can be said of a record now."""
        heir, kind = self.records.get(record.superseded_by or ""), record.metadata.get(CATEGORY)
        state = BELIEVED if record.superseded_by is None else SUPERSEDED
        if not is_active(record, self.now):
            state = ENDED
        return Fact(
            record=record,
            state=state,
            confidence=record.confidence if state == ENDED else decay.confidence(record, self.now),
            category=kind if isinstance(kind, str) else None,
            said_at=when_said(record),
            said=max(1, len(record.source_ids)),
            fades_on=None if state == ENDED else decay.retirement_date(record, self._threshold),
            supersedes=tuple(map(_version, self._replaced.get(record.id, ()))),
            superseded_by=None if heir is None else _version(heir),
        )

    def predecessors(self, record: Record) -> list[Record]:
        """Return what a record took the place of, directly or not, oldest first."""
        found: dict[str, Record] = {}
        waiting = [record]
        while waiting:
            new = [old for old in self._replaced.get(waiting.pop().id, ()) if old.id not in found]
            found |= {old.id: old for old in new}
            waiting += new
        return sorted(found.values(), key=lambda old: (when_said(old), old.id))

    def successors(self, record: Record) -> list[Record]:
        """Return what took the place of a record, directly or not, in that order."""
        found: dict[str, Record] = {}
        while (heir := self.records.get(record.superseded_by or "")) and heir.id not in found:
            found[heir.id] = record = heir
        return list(found.values())


def _version(record: Record) -> Version:
    return Version(record.id, record.content, when_said(record))


BLOCKS = " ▏▎▍▌▋▊▉█"
EIGHTHS = 8
CONFIDENCE = 6  # columns of a confidence
SHORT = 80
QUOTE = "▎ "
LEVELS = ((0.7, "green"), (0.4, "yellow"), (0.0, "red"))
FACTS = (
    Column("confidence", lambda fact, _: confidence_bar(fact.confidence), whole=True),
    Column("said", lambda fact, view: view.day(fact.said_at), whole=True),
    Column("what", lambda fact, view: view.stack(*_lines(fact, view))),
)


def confidence_bar(value: float, *, width: int = CONFIDENCE) -> Text:
    """Return a confidence as a bar of ``width`` columns, and its figure."""
    share = min(max(value, 0.0), 1.0)
    eighths = max(1, round(share * width * EIGHTHS)) if share > 0 else 0
    full, rest = divmod(eighths, EIGHTHS)
    blocks = (BLOCKS[-1] * full + (BLOCKS[rest] if rest else "")).ljust(width)
    colour = next(colour for least, colour in LEVELS if share >= least)
    return Text(blocks, colour).append(f" {value:.2f}", "not bold")


def show_facts(found: Sequence[Fact], view: Display) -> RenderableType:
    """Return facts with how far they are believed, since when and on whose word."""
    return table(found, FACTS, view, empty="no facts")


def _lines(fact: Fact, view: Display) -> Iterator[Text]:
    gone = fact.state != BELIEVED
    yield safe_text(view.brief(fact.record.content), "dim strike" if gone else "")
    who = safe_text(name_source(fact.record), "cyan")
    yield who.append(DOT.join(["", *_marks(fact, view), fact.record.id]), "dim")
    for old in fact.supersedes:
        yield _link("replaces", old, view)
    if fact.superseded_by is not None:
        yield _link("replaced by", fact.superseded_by, view)


def name_source(record: Record) -> str:
    """Return who said a fact; how far they are trusted where nobody is named."""
    return one_line(record.source_role or record.trust.value, NAME)


def _marks(fact: Fact, view: Display) -> Iterator[str]:
    if fact.state == ENDED and fact.record.valid_until is not None:
        yield f"ended {view.day(fact.record.valid_until)}"
    elif fact.state != BELIEVED:
        yield fact.state
    if fact.category:
        yield one_line(fact.category, 20)
    happened = view.day(fact.record.event_time)
    if happened != view.day(fact.said_at):
        yield f"of {happened}"
    if fact.said > 1:
        yield f"said {fact.said} times"
    if fact.state != ENDED:
        yield _fading(fact, view)


def _fading(fact: Fact, view: Display) -> str:
    return "never fades" if fact.fades_on is None else f"fades {view.day(fact.fades_on)}"


def _link(how: str, other: Version, view: Display) -> Text:
    content = f"{view.brief(other.content, SHORT)} ({view.day(other.said_at)})"
    return Text(f"{how}: ", "yellow").append_text(safe_text(content, "dim"))


def show_provenance(found: Provenance, view: Display) -> Iterator[RenderableType]:
    """Yield a fact, the turns it rests on as they were said, its versions and its history."""
    fact = found.fact
    yield safe_text(fact.record.content, "bold" if fact.state == BELIEVED else "bold strike")
    yield details(_about(fact, view))
    yield from _sources(found.sources, view)
    for title, versions in (("it replaces", found.before), ("it was replaced by", found.after)):
        if versions:
            yield Text(f"\n{title}", "bold")
            yield show_facts(versions, view)
    yield Text("\nhistory", "bold")
    yield show_changes(found.history, view)


def _about(fact: Fact, view: Display) -> Iterator[tuple[str, RenderableType | None]]:
    record, until, fades = fact.record, fact.record.valid_until, None
    if fact.state != ENDED:
        rate = f"{record.decay_rate:g} a day; {_fading(fact, view)} if nobody asks"
        fades = rate if record.decay_rate else "never"
    yield "id", Text(record.id)
    yield "state", fact.state if until is None else f"{fact.state}, until {view.minute(until)}"
    yield "confidence", confidence_bar(fact.confidence, width=2 * CONFIDENCE)
    yield "fades", fades
    yield "said", f"{view.minute(fact.said_at)}, by {name_source(record)}"
    yield "happened", view.minute(record.event_time)
    subject = record.metadata.get("subject")
    yield "about", subject if isinstance(subject, str) else None
    yield "category", fact.category
    yield "session", record.session_id
    yield "origin", f"{record.origin}, {record.trust.value}"
    yield "recalled", pluralize(record.access_count, "time")


def _sources(sources: Sequence[Source], view: Display) -> Iterator[RenderableType]:
    if not sources:
        yield Text("\nit rests on no turn: it was told as it is", "dim")
        return
    yield Text("\nsaid in" if len(sources) == 1 else f"\nsaid {len(sources)} times", "bold")
    room = None if view.width is None else view.width - len(QUOTE)
    for source in sources:
        yield Text()
        if source.text is None or source.said_at is None:
            yield safe_text(f"{source.id} is no longer there", "dim")
            continue
        place = place_of(source.session, source.position)
        head = [
            safe_text(one_line(source.speaker or "", SHORT), "bold cyan"),
            Text(view.minute(source.said_at)),
            *(safe_text(each, "dim") for each in (place, source.id) if each),
        ]
        yield from view.flow(head)
        for line in view.wrap(map(safe_text, source.text.splitlines()), room):
            yield Text(QUOTE, "cyan").append_text(safe_text(line.plain, "not cyan default"))


def place_of(session: str | None, position: int | None) -> str:
    """Return a conversation and the place in it, as far as they are known."""
    if not session:
        return ""
    return one_line(session, 40) + ("" if position is None else f" #{position}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFacts:
    """What consolidation did, or would do.

    Attributes:
        sessions: how many sessions were read.
        new: each new ``fact``, and the ``source`` that says it first, where that is there.
        again: each ``fact`` that was stated again, with ``source`` and ``reason``.
        replaced: each superseded ``fact``, the fact ``by`` which it was, and the ``reason``.
        failed: session → what went wrong; it waits on.
        dry_run: whether nothing was changed: then the ids of new facts are of no use.
    """

    sessions: int
    new: Sequence[Mapping[str, Any]]
    again: Sequence[Mapping[str, Any]]
    replaced: Sequence[Mapping[str, Any]]
    failed: Mapping[str, str]
    dry_run: bool


def consolidate_sessions(
    memory: Memory, session: str | None, *, dry_run: bool, progress: Progress
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
        progress(done, len(waiting))
    actions = [action for report in reports for action in report.actions]
    made = {action.record.id: action.record for action in actions if isinstance(action, Insert)}
    repeated = [action for action in actions if isinstance(action, Reinforce)]
    superseded = [action for action in actions if isinstance(action, Supersede)]
    wanted = chain(
        *(record.source_ids[:1] for record in made.values()),
        *((action.id, *action.sources[:1]) for action in repeated),
        *((action.id, action.by) for action in superseded),
    )
    store = services_of(memory).store
    known = {**store.get(scope_of(memory), list(dict.fromkeys(wanted))), **made}
    return LearnedFacts(
        sessions=sum(report.counts.get("sessions", 0) for report in reports),
        new=[
            {"fact": record, "source": _first(known, record.source_ids)} for record in made.values()
        ],
        again=[
            {
                "fact": known[action.id],
                "source": _first(known, action.sources),
                "reason": action.reason,
            }
            for action in repeated
            if action.id in known
        ],
        replaced=[
            {"fact": known[action.id], "by": known[action.by], "reason": action.reason}
            for action in superseded
            if {action.id, action.by} <= known.keys()
        ],
        failed={what: why for report in reports for what, why in report.failed.items()},
        dry_run=dry_run,
    )


def _first(known: Mapping[str, Record], ids: Sequence[str]) -> Record | None:
    return known.get(ids[0]) if ids else None


SIGNS = {"+": "bold green", "=": "bold cyan", "-": "bold red", "~": "bold yellow"}
LEARNED = (
    Column("", lambda row, _: Text(row[0], SIGNS.get(row[0], "")), whole=True),
    Column("said", lambda row, view: row[1] and view.day(row[1]), whole=True),
    Column("who", lambda row, _: row[2], "cyan"),
    Column("what", lambda row, _: row[3]),
)
Row = tuple[str, datetime | None, str, RenderableType]


def show_learned(found: LearnedFacts, view: Display, limit: int) -> RenderableType:
    """Return what was learned: new (+), said again (=), replaced (-)."""
    rows = list(_rows(found, view))
    if more := rows[limit:]:
        rows[limit:] = [("", None, "", Text(f"… {len(more):,} more", "dim"))]
    empty = "nothing new was said" if found.sessions else "nothing waits to be read"
    return table(rows, LEARNED, view, empty=empty)


def _rows(found: LearnedFacts, view: Display) -> Iterator[Row]:
    for new in found.new:
        fact, kind = new["fact"], new["fact"].metadata.get("category")
        category = one_line(kind, 20) if isinstance(kind, str) else ""
        yield _row("+", fact, view, new["source"], category, "" if found.dry_run else fact.id)
    for again in found.again:
        fact, reason = again["fact"], one_line(again["reason"])
        yield _row("=", fact, view, again["source"], fact.id, reason)
    for old in found.replaced:
        now = f"now: {view.brief(old['by'].content, SHORT)}"
        yield _row("-", old["fact"], view, None, old["fact"].id, now)


def _row(sign: str, fact: Record, view: Display, source: Record | None, *about: str) -> Row:
    place = "" if source is None else place_of(source.session_id, source.position)
    content = safe_text(view.brief(fact.content), "dim strike" if sign == "-" else "")
    what = view.stack(content, safe_text(join(*about, place), "dim"))
    said = fact.event_time if source is None else source.event_time
    return sign, said, name_source(fact), what
