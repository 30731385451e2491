"""Facts as a person looks at them: how far each is believed, since when, and on whose word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoranda.errors import InvalidInput, NotFound
from memoranda.learning.claims import Category
from memoranda.maintenance import decay
from memoranda.memory import Memory, parts_of
from memoranda.model.checks import limited
from memoranda.model.life import believed
from memoranda.model.models import Change, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.model.text import clean
from memoranda.transfer.batches import BATCH

CATEGORY = "category"
CATEGORIES: tuple[str, ...] = tuple(category.value for category in Category)
"""The kinds of statements that facts are drawn from."""
BELIEVED, SUPERSEDED, ENDED = "believed", "superseded", "ended"
SPARE = 20
"""Hits beyond the limit that are asked for, as some of them may be superseded."""


@dataclass(frozen=True, slots=True)
class Version:
    """Another fact in whose place one stands, or which took its place."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A turn that says a fact, as it was said.

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


def facts(
    memory: Memory,
    query: str | None = None,
    *,
    category: str | None = None,
    everything: bool = False,
    limit: int = 20,
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
    kind, most = _category(category), limited(limit, "limit")
    shelf = _Shelf.of(memory)
    found: Sequence[Record] = shelf.newest_first()
    if query is not None:
        where = Filter(
            now=shelf.now,
            kinds=(Kind.FACT,),
            retired=everything,
            metadata={} if kind is None else {CATEGORY: kind},
        )
        found = _answering(memory, clean(query, "query"), where, most + SPARE)
    shown = [shelf.fact(record) for record in found]
    chosen = (
        fact
        for fact in shown
        if (everything or fact.state == BELIEVED) and kind in {None, fact.category}
    )
    return [fact for _, fact in zip(range(most), chosen, strict=False)]


def provenance(memory: Memory, id: str) -> Provenance:
    """Return where a fact comes from.

    Raises:
        NotFound: there is no such record.
        InvalidInput: it is no fact.
    """
    record = memory.get(id)
    if record is None:
        message = f"there is no record {id!r} for user {memory.user!r}"
        raise NotFound(message)
    if record.kind is not Kind.FACT:
        message = f"{id} is no fact but of kind {record.kind.value}; memoranda show {id} shows it"
        raise InvalidInput(message)
    shelf = _Shelf.of(memory)
    store, scope = parts_of(memory).store, _scope(memory)
    there = {item.id: item for item in store.get_many(scope, record.source_ids)}
    return Provenance(
        fact=shelf.fact(record),
        sources=tuple(_source(source, there.get(source)) for source in record.source_ids),
        before=tuple(map(shelf.fact, shelf.before(record))),
        after=tuple(map(shelf.fact, shelf.after(record))),
        history=tuple(memory.history(id)),
    )


def _scope(memory: Memory) -> Scope:
    return memory._scope  # noqa: SLF001 - it sees inside, so that no door has to


def _category(given: str | None) -> str | None:
    if given is None or given in CATEGORIES:
        return given
    message = f"category={given!r:.80} does not exist; use {', '.join(CATEGORIES)}"
    raise InvalidInput(message)


def _answering(memory: Memory, query: str, where: Filter, limit: int) -> list[Record]:
    searcher = parts_of(memory).searcher(_scope(memory))
    return [hit.record for hit in searcher.search(query, where, limit=limit)]


def _source(id: str, record: Record | None) -> Source:
    if record is None:
        return Source(id=id)
    return Source(
        id=id,
        text=record.content,
        speaker=record.source_role or record.kind.value,
        said_at=record.event_time,
        session=record.session_id,
        position=record.position,
    )


@dataclass(frozen=True, slots=True)
class _Shelf:
    """All facts of a scope, and which took whose place."""

    records: Mapping[str, Record]
    heirs: Mapping[str, Sequence[Record]]
    now: datetime
    threshold: float

    @classmethod
    def of(cls, memory: Memory) -> _Shelf:
        """Read the facts of ``memory``, believed or not."""
        records = {record.id: record for record in _all(memory)}
        heirs: defaultdict[str, list[Record]] = defaultdict(list)
        for record in records.values():
            if record.superseded_by is not None:
                heirs[record.superseded_by].append(record)
        return cls(records, heirs, parts_of(memory).now(), memory.settings.decay.threshold)

    def newest_first(self) -> list[Record]:
        """Return all facts, the one said last first."""
        return sorted(
            self.records.values(), key=lambda record: (said_at(record), record.id), reverse=True
        )

    def fact(self, record: Record) -> Fact:
        """Return what can be said of a record now."""
        by = None if record.superseded_by is None else self.records.get(record.superseded_by)
        kind = record.attributes.get(CATEGORY)
        state = self._state(record)
        return Fact(
            record=record,
            state=state,
            confidence=record.confidence if state == ENDED else decay.confidence(record, self.now),
            category=kind if isinstance(kind, str) else None,
            said_at=said_at(record),
            said=max(1, len(record.source_ids)),
            fades_on=None if state == ENDED else decay.fades_on(record, self.threshold),
            supersedes=tuple(map(_version, self.heirs.get(record.id, ()))),
            superseded_by=None if by is None else _version(by),
        )

    def before(self, record: Record) -> list[Record]:
        """Return what a record took the place of, directly or not, oldest first."""
        found: dict[str, Record] = {}
        waiting = [record]
        while waiting:
            for old in self.heirs.get(waiting.pop().id, ()):
                if old.id not in found:
                    found[old.id] = old
                    waiting.append(old)
        return sorted(found.values(), key=lambda old: (said_at(old), old.id))

    def after(self, record: Record) -> list[Record]:
        """Return what took the place of a record, directly or not, in that order."""
        found: dict[str, Record] = {}
        heir = self.records.get(record.superseded_by or "")
        while heir is not None and heir.id not in found:
            found[heir.id] = heir
            heir = self.records.get(heir.superseded_by or "")
        return list(found.values())

    def _state(self, record: Record) -> str:
        if not believed(record, self.now):
            return ENDED
        return BELIEVED if record.superseded_by is None else SUPERSEDED


def said_at(record: Record) -> datetime:
    """Return when what a record says was said: not when it was drawn from what was said."""
    given = record.attributes.get("said_at")
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        moment = None
    if moment is not None and moment.tzinfo is not None:
        return moment
    return min(record.created_at, record.event_time)


def _version(record: Record) -> Version:
    return Version(record.id, record.content, said_at(record))


def _all(memory: Memory) -> Iterator[Record]:
    parts, scope = parts_of(memory), _scope(memory)
    where, after = Filter(now=parts.now(), kinds=(Kind.FACT,), retired=True), None
    while page := parts.store.page(scope, where, limit=BATCH, after=after):
        yield from page
        after = page[-1].id
