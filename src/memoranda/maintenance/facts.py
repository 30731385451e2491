"""Facts as they stand at one moment, and where they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter

from memoranda.errors import InvalidInput
from memoranda.learning.known_facts import when_said
from memoranda.maintenance import decay
from memoranda.model.checks import clean, limited
from memoranda.model.models import Change, Kind, Record, is_active
from memoranda.model.query import Filter, Order, RecordRelation
from memoranda.records.service import RecordService
from memoranda.search.search import Retriever

CATEGORY = "category"
BELIEVED, SUPERSEDED, ENDED, WAITING = "believed", "superseded", "ended", "waiting"
# Hits beyond the limit that are asked for, as some of them may be superseded.
SPARE = 20


@dataclass(frozen=True, slots=True)
class FactVersion:
    """An earlier or later version of a fact: one it superseded, or one that superseded it."""

    id: str
    content: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact, and what can be said of it at one moment.

    Attributes:
        record: the fact.
        state: ``believed``; ``superseded`` by another one, behind which it is still found;
            ``ended``: forgotten, corrected or faded; or ``waiting`` for a person's approval.
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
    supersedes: tuple[FactVersion, ...] = ()
    superseded_by: FactVersion | None = None


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
        history: what was done to it and to its other versions, oldest first.
    """

    fact: Fact
    sources: tuple[Source, ...]
    history: tuple[Change, ...]


class FactService:
    """Shows all facts of one scope as they are now: how far each is believed, and its origin."""

    def __init__(self, records: RecordService, retriever: Retriever, threshold: float) -> None:
        """Read the facts, active or not.

        Args:
            records: where they are.
            retriever: finds those that answer a query.
            threshold: confidence below which a fact is retired.
        """
        self._records, self._retriever, self._threshold = records, retriever, threshold
        self._now = records.now()
        self._facts: dict[str, Record] = {}
        self._replaced: defaultdict[str, list[Record]] = defaultdict(list)

    def _look_up(self, chosen: Iterable[Record]) -> None:
        """Look up what facts took the place of, and what took theirs, directly or not."""
        store, scope = self._records.store, self._records.scope
        self._facts = {record.id: record for record in chosen}
        found = store.related(scope, list(self._facts), RecordRelation.REPLACED)
        self._facts |= store.get(scope, found)
        for record in sorted(self._facts.values(), key=attrgetter("id")):
            if record.superseded_by is not None:
                self._replaced[record.superseded_by].append(record)

    def _latest(self, where: Filter) -> Iterator[Record]:
        """Yield facts, the last said first among as many as are read at once."""
        for page in self._records.store.pages(self._records.scope, where, Order.LATEST):
            yield from sorted(page, key=lambda each: (when_said(each), each.id), reverse=True)

    def find(self, query: str | None, *, everything: bool, limit: int) -> list[Fact]:
        """Return facts: those that answer ``query``, best first; without one the last said first.

        That is so among the last thousand that were stored; what was stored before, such as an
        import of old talks, comes after them.

        Raises:
            InvalidInput: the limit is none.
        """
        most = limited(limit, "limit")
        where = Filter(now=self._now, kinds=(Kind.FACT,), retired=everything)
        if query is None:
            found = self._latest(where)
        else:
            scope, asked = self._records.scope, clean(query, "query")
            hits = self._retriever.search(scope, asked, where, limit=most + SPARE)
            found = (hit.record for hit in hits)
        wanted = (each for each in found if everything or self._state(each) == BELIEVED)
        chosen = [*islice(wanted, most)]
        self._look_up(chosen)
        return [*map(self._fact, chosen)]

    def waiting(self, query: str | None, *, limit: int) -> list[Fact]:
        """Return the facts that wait for approval, the latest first; those with words of a query.

        Raises:
            InvalidInput: the limit is none.
        """
        most, words = limited(limit, "limit"), (query or "").casefold().split()
        found = [
            each
            for each in self._records.proposals()
            if all(word in each.content.casefold() for word in words)
        ]
        self._look_up(found[:most])
        return [self._fact(each, WAITING) for each in found[:most]]

    def trace(self, id: str) -> Provenance:
        """Return where a fact comes from.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it is no fact.
        """
        record = self._records.existing(id)
        if record.kind is not Kind.FACT:
            message = f"{id} is not a fact but of kind {record.kind.value}"
            raise InvalidInput(f"{message}; memoranda show {id} shows it")
        store, scope = self._records.store, self._records.scope
        self._look_up([record])
        there = store.get(scope, record.source_ids)
        return Provenance(
            fact=self._fact(record),
            sources=tuple(_source(source, there.get(source)) for source in record.source_ids),
            history=tuple(store.history(scope, id)),
        )

    def _state(self, record: Record) -> str:
        if not is_active(record, self._now):
            return WAITING if self._records.is_proposal(record) else ENDED
        return BELIEVED if record.superseded_by is None else SUPERSEDED

    def _fact(self, record: Record, state: str | None = None) -> Fact:
        """Return what can be said of a record now, whose state may be known."""
        heir, kind = self._facts.get(record.superseded_by or ""), record.metadata.get(CATEGORY)
        state = state or self._state(record)
        over = state in {ENDED, WAITING}
        return Fact(
            record=record,
            state=state,
            confidence=record.confidence if over else decay.confidence(record, self._now),
            category=kind if isinstance(kind, str) else None,
            said_at=when_said(record),
            said=max(1, len(record.source_ids)),
            fades_on=None if over else decay.retirement_date(record, self._threshold),
            supersedes=tuple(map(_version, self._replaced.get(record.id, ()))),
            superseded_by=None if heir is None else _version(heir),
        )


def _source(id: str, record: Record | None) -> Source:
    if record is None:
        return Source(id)
    speaker, said_at = record.source_role or record.kind.value, record.event_time
    return Source(id, record.content, speaker, said_at, record.session_id, record.position)


def _version(record: Record) -> FactVersion:
    return FactVersion(record.id, record.content, when_said(record))
