"""Adds many drafts at once: in batches, and only those that are not there yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import NamedTuple

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.transcript import MemoryTranscript, StoredTranscript
from memoranda.errors import InvalidInput
from memoranda.model.actions import Insert
from memoranda.model.checks import located
from memoranda.model.clock import IdFactory
from memoranda.model.models import ConversationInfo, Mention, Record, Scope
from memoranda.model.ports import EntityExtractor, Progress, Store
from memoranda.records.drafts import Draft
from memoranda.records.pages import record_pages
from memoranda.records.service import RecordService
from memoranda.text.secrets import secret_kind
from memoranda.tokens.catalog import Catalog
from memoranda.transfer.json_files import LeftOut

BATCH = 500
"""Records of one transaction."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The memory that an import goes to.

    Attributes:
        records: changes the records of its scope.
        conversations: opens the stored conversations of a scope.
        catalog: counts the tokens of messages.
        ids: makes the ids of messages.
        zone: the zone of times that name none.
        extractor: finds the names in a text.
    """

    records: RecordService
    conversations: Callable[[Scope], ConversationStore]
    catalog: Catalog
    ids: IdFactory
    zone: tzinfo
    extractor: EntityExtractor

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.records.scope

    @property
    def everyone(self) -> Scope:
        """The user with all agents: what another agent has is there already, too."""
        return Scope(self.scope.user)

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self.records.store

    def of(self, scope: Scope) -> ImportTarget:
        """Return the same for another scope."""
        return replace(self, records=self.records.of(scope))

    def trial_conversation(self, id: str, model: str | None = None) -> Conversation:
        """Return an empty conversation in memory, which refuses what a stored one would refuse."""
        info = ConversationInfo(id=id, created_at=self.records.now(), model=model)
        return Conversation.over(
            MemoryTranscript(info), catalog=self.catalog, clock=self.records.clock, ids=self.ids
        )

    def transcript(self, id: str) -> StoredTranscript:
        """Return the transcript of a stored conversation."""
        return self.conversations(self.scope).transcript(id)

    def conversation(self, id: str, place: str, remedy: str) -> ConversationInfo | None:
        """Return the stored conversation of that name, if there is one.

        Raises:
            InvalidInput: it is another agent's.
        """
        found = self.store.conversation(self.scope, id)
        if found is None and self.store.conversation(self.everyone, id) is not None:
            raise InvalidInput(f"{place}: conversation {id!r} is another agent's; {remedy}")
        return found


class Moved(NamedTuple):
    """How many records and messages were moved, and how many were there already."""

    records: int = 0
    messages: int = 0
    skipped: int = 0

    def plus(self, other: Moved) -> Moved:
        """Return the sums."""
        return Moved(*(one + two for one, two in zip(self, other, strict=True)))


class PlacedDraft(NamedTuple):
    """A draft, the place in a file from which it comes, and the names that this says are in it."""

    place: str
    draft: Draft
    mentions: tuple[Mention, ...] = ()


class Steps:
    """Counts the units of work that are done and tells of each batch."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        """Start at none of ``total``."""
        self._done = 0
        self._total = total
        self._progress = progress

    def advance(self, units: int) -> None:
        """Count ``units`` more as done."""
        self._done += units
        if self._progress is not None:
            self._progress(self._done, self._total)


class RecordKey(NamedTuple):
    """What makes a record of a file the same as a stored one.

    Attributes:
        session: its session.
        content_hash: hash of its content.
        event_time: when it happened; ``None`` where the file does not say.
    """

    session: str | None
    content_hash: str
    event_time: datetime | None


class Additions:
    """The drafts of a file for one user, of which only the new ones are stored.

    A draft is there already if a record, active or not, of the same session, content and
    event time is; what the file holds several times is stored as often. So importing again
    adds nothing, also after a crash in between, and what was forgotten stays forgotten.

    Args:
        target: the memory.
        drafts: gives the drafts; called once to check them and once to store them.

    Raises:
        InvalidInput: a draft cannot be stored; nothing was written.
    """

    def __init__(self, target: ImportTarget, drafts: Callable[[], Iterable[PlacedDraft]]) -> None:
        """Check every draft; store nothing yet."""
        self._target = target
        self._drafts = drafts
        self._wanted: set[RecordKey] = set()
        self.total = 0
        for placed in drafts():
            self._wanted.add(self._key(placed))
            self.total += 1

    def store(self, steps: Steps) -> Moved:
        """Store what is new, a transaction for each batch."""
        held = _held(self._target, self._wanted)
        batch: list[Insert] = []
        moved, seen = Moved(), 0
        for placed in self._drafts():
            key = self._key(placed)
            if held[key]:
                held[key] -= 1
            else:
                batch.append(self._plan(placed))
            seen += 1
            if seen == BATCH:
                moved = moved.plus(self._flush(batch, seen, steps))
                batch, seen = [], 0
        return moved.plus(self._flush(batch, seen, steps)) if seen else moved

    def _flush(self, batch: list[Insert], seen: int, steps: Steps) -> Moved:
        self._target.store.apply(self._target.scope, batch)
        steps.advance(seen)
        return Moved(records=len(batch), skipped=seen - len(batch))

    def _plan(self, placed: PlacedDraft) -> Insert:
        with located(placed.place):
            insert = self._target.records.plan(placed.draft, reason="imported")
        if not placed.mentions:
            return insert
        own = placed.mentions
        others = (
            item
            for item in self._target.extractor.extract(placed.draft.content)
            if not any(_overlap(item, one) for one in own)
        )
        return replace(insert, mentions=(*own, *others))

    def _key(self, placed: PlacedDraft) -> RecordKey:
        with located(placed.place):
            record = self._target.records.planner.record(self._target.scope, placed.draft)
        happened = None if placed.draft.event_time is None else record.event_time
        return RecordKey(record.session_id, record.content_hash, happened)


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def _held(target: ImportTarget, wanted: set[RecordKey]) -> Counter[RecordKey]:
    """Count which of ``wanted`` the store holds, also those of the user's other agents."""
    held: Counter[RecordKey] = Counter()
    for page in record_pages(target.store, target.everyone, target.records.now()):
        for record in page:
            held.update(_keys(record) & wanted)
    return held


def _keys(record: Record) -> set[RecordKey]:
    key = RecordKey(record.session_id, record.content_hash, record.event_time)
    without_time = record.event_time == record.created_at  # It was stored without one.
    return {key, key._replace(event_time=None)} if without_time else {key}


def is_kept(text: str, left_out: LeftOut) -> bool:
    """Return whether a fact may be stored: what looks like a secret stays where it is."""
    if secret_kind(text) is None:
        return True
    left_out.add("facts that look like secrets")
    return False


def import_facts(
    target: ImportTarget,
    read: Callable[[LeftOut], Iterable[tuple[Scope, PlacedDraft]]],
    progress: Progress | None,
) -> tuple[tuple[str, ...], Moved, tuple[str, ...]]:
    """Store what ``read`` gives, each in its scope; what is there already is skipped.

    Everything is checked before anything is written. A batch is one transaction, so an import
    that was cut short goes on with the next.

    Returns:
        the users; how many facts were stored; a line for each kind of thing that was left out.

    Raises:
        InvalidInput: a fact cannot be stored; nothing was written.
    """
    left_out = LeftOut()
    found: defaultdict[Scope, list[PlacedDraft]] = defaultdict(list)
    for scope, placed in read(left_out):
        found[scope].append(placed)
    additions = [Additions(target.of(scope), partial(iter, each)) for scope, each in found.items()]
    moved = store_additions(additions, progress)
    users = tuple(dict.fromkeys(scope.user for scope in found))
    return users or (target.scope.user,), moved, left_out.lines()


def store_additions(additions: Iterable[Additions], progress: Progress | None) -> Moved:
    """Store what is new of several users' drafts, all of which were checked."""
    each = list(additions)
    steps, moved = Steps(sum(found.total for found in each), progress), Moved()
    for found in each:
        moved = moved.plus(found.store(steps))
    return moved
