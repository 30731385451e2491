"""Adds many drafts at once: in batches, and only those that are not there yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import NamedTuple

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.transcript import StoredTranscript
from memoranda.errors import InvalidInput
from memoranda.model.actions import Insert
from memoranda.model.checks import located
from memoranda.model.models import ConversationInfo, Kind, Mention, Scope
from memoranda.model.ports import EntityExtractor, Progress, Store
from memoranda.notes.service import NotesService
from memoranda.records.drafts import Draft
from memoranda.records.pages import record_pages
from memoranda.records.secret_policies import SecretPolicy, admit_draft, holds_secret
from memoranda.records.service import RecordService
from memoranda.text.secrets import has_secret
from memoranda.transfer.json_files import LeftOut

# Records of one transaction.
BATCH = 500


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The memory that an import goes to.

    Attributes:
        records: changes the records of its scope.
        conversations: opens the stored conversations of a scope.
        zone: the zone of times that name none.
        extractor: finds the names in a text.
        notes: finds the notes of a scope.
        secrets: what becomes of records that hold secrets; a memoranda export is stored as it is.
    """

    records: RecordService
    conversations: Callable[[Scope], ConversationStore]
    zone: tzinfo
    extractor: EntityExtractor
    notes: NotesService
    secrets: SecretPolicy = "keep"

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.records.scope

    @property
    def everyone(self) -> Scope:
        """The user with all agents: what another agent has is there already, too."""
        return self.scope.whole_user

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self.records.store

    def of(self, scope: Scope) -> ImportTarget:
        """Return the same for another scope."""
        return replace(self, records=self.records.of(scope))

    def trial_conversation(self, id: str, model: str | None = None) -> Conversation:
        """Return an empty conversation in memory, which refuses what a stored one would refuse."""
        return self.conversations(self.scope).unsaved(id, model=model)

    def transcript(self, id: str) -> StoredTranscript:
        """Return the transcript of a stored conversation."""
        return self.conversations(self.scope).transcript(id)

    def conversation(self, id: str, place: str, remedy: str) -> ConversationInfo | None:
        """Return the stored conversation of that name, if there is one.

        Raises:
            InvalidInput: it is another agent's.
        """
        found = self.store.conversations(self.scope, id).get(id)
        if found is None and self.store.conversations(self.everyone, id):
            raise InvalidInput(f"{place}: conversation {id!r} is another agent's; {remedy}")
        return found


class ImportCounts:
    """Counts what an import stores and what it passes over, and tells how far it is.

    Attributes:
        records, messages: how many were stored.
        skipped: how many were there already.
        updated: how many records and conversations that were there were brought up to date.
        users: whose; none where it is the user who imports.
        left_out: what was left out.
        total: how many units of work there are.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        """Start at nothing."""
        self.records = self.messages = self.skipped = self.updated = 0
        self.total = self._done = 0
        self.users: tuple[str, ...] = ()
        self.left_out = LeftOut()
        self._progress = progress

    def advance(self, units: int) -> None:
        """Count ``units`` more as done, and tell of it."""
        self._done += units
        if self._progress is not None:
            self._progress(self._done, self.total)


class PlacedDraft(NamedTuple):
    """A draft as a file tells it.

    Attributes:
        place: where it stands, for messages.
        scope: whose it is.
        draft: what is to be stored.
        mentions: the names that the file says are in it.
        once: whether a fact that is there already is the same whenever it was learned, and
            one that the file holds several times is one.
    """

    place: str
    scope: Scope
    draft: Draft
    mentions: tuple[Mention, ...] = ()
    once: bool = False


class RecordKey(NamedTuple):
    """What makes a record of a file the same as a stored one.

    Attributes:
        content_hash: hash of its content.
        session: its session.
        event_time: when it happened; ``None`` where the file does not say.
        always: whether it is a fact that is the same in any session and at any time.
    """

    content_hash: str
    session: str | None = None
    event_time: datetime | None = None
    always: bool = False


# Reads the drafts of a file, and counts what it leaves out.
DraftReader = Callable[[LeftOut], Iterable[PlacedDraft]]


def import_drafts(
    target: ImportTarget, format: str, read: DraftReader, counts: ImportCounts
) -> None:
    """Store the drafts of a file, of which only those that are not there yet.

    A draft is there already if a record, active or not, of the same session, content and event
    time is; what the file holds several times is stored as often. So importing again adds
    nothing, also after a crash in between, and what was forgotten stays forgotten.

    Args:
        target: the memory.
        format: where the drafts come from.
        read: called once to check the drafts and once to store them, a transaction for each batch.
        counts: what was done.

    Raises:
        InvalidInput: a draft cannot be stored; nothing was written.
    """
    wanted: defaultdict[Scope, set[RecordKey]] = defaultdict(set)
    for placed in _admitted(read(counts.left_out), target.secrets, counts.left_out):
        wanted[placed.scope].add(_key(target, placed))
        counts.total += 1
    counts.users = tuple(dict.fromkeys(scope.user for scope in wanted))
    held = {scope: _held(target.of(scope), keys) for scope, keys in wanted.items()}
    batches: defaultdict[Scope, list[PlacedDraft]] = defaultdict(list)
    for found in _admitted(read(LeftOut()), target.secrets, LeftOut()):
        placed = found._replace(draft=replace(found.draft, origin=f"import:{format}"))
        batches[placed.scope].append(placed)
        if len(batches[placed.scope]) == BATCH:
            batch = batches.pop(placed.scope)
            _store(target.of(placed.scope), batch, held[placed.scope], counts)
    for scope, batch in batches.items():
        _store(target.of(scope), batch, held[scope], counts)


def _admitted(
    drafts: Iterable[PlacedDraft], policy: SecretPolicy, left_out: LeftOut
) -> Iterator[PlacedDraft]:
    """Yield drafts as they may be stored, without those that are refused for a secret."""
    for placed in drafts:
        with located(placed.place):
            if policy == "refuse" and holds_secret(placed.draft):
                left_out.add("records that hold secrets")
                continue
            draft = admit_draft(placed.draft, policy)
        same = draft.content == placed.draft.content
        yield placed._replace(draft=draft, mentions=placed.mentions if same else ())


def _store(
    target: ImportTarget,
    batch: Sequence[PlacedDraft],
    held: Counter[RecordKey],
    counts: ImportCounts,
) -> None:
    """Store what is new of a batch for one scope; of ``held``, use up what is not."""
    new: list[Insert] = []
    for placed in batch:
        key = _key(target, placed)
        if held[key]:
            held[key] -= not placed.once
            continue
        held[key] += placed.once
        insert = target.records.plan(placed.draft, reason="imported")
        own = placed.mentions
        if own:
            others = (
                item
                for item in target.extractor.extract(placed.draft.content)
                if not any(item.start < one.end and one.start < item.end for one in own)
            )
            insert = replace(insert, mentions=(*own, *others))
        new.append(insert)
    target.store.apply(target.scope, new)
    counts.records += len(new)
    counts.skipped += len(batch) - len(new)
    counts.advance(len(batch))


def _key(target: ImportTarget, placed: PlacedDraft) -> RecordKey:
    with located(placed.place):
        record = target.records.planner.plan(placed.scope, placed.draft).record
    if placed.once and record.kind is Kind.FACT:
        return RecordKey(record.content_hash, always=True)
    happened = None if placed.draft.event_time is None else record.event_time
    return RecordKey(record.content_hash, record.session_id, happened)


def _held(target: ImportTarget, wanted: set[RecordKey]) -> Counter[RecordKey]:
    """Count which of ``wanted`` the store holds, also those of the user's other agents."""
    held: Counter[RecordKey] = Counter()
    for page in record_pages(target.store, target.everyone, target.records.now()):
        for record in page:
            key = RecordKey(record.content_hash, record.session_id, record.event_time)
            keys = {key}
            if record.event_time == record.created_at:  # It was stored without one.
                keys.add(key._replace(event_time=None))
            if record.kind is Kind.FACT:
                keys.add(RecordKey(record.content_hash, always=True))
            held.update(keys & wanted)
    return held


def is_kept(text: str, left_out: LeftOut) -> bool:
    """Return whether a fact may be stored: what looks like a secret stays where it is."""
    if not has_secret(text):
        return True
    left_out.add("facts that look like secrets")
    return False
