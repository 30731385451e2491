"""What every import goes through: ids that follow from the file, and only what is not there yet.

The id of what is imported is made of the user, the format and the key that it has in its file; what
has no key there has its text instead. So what is there already, is forgotten or was erased is known
again by its id, and importing again adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.transcript import StoredTranscript
from memoranda.errors import InvalidInput
from memoranda.model.changes import Insert
from memoranda.model.checks import EPOCH, located, to_ms
from memoranda.model.clock import RANDOM_BITS, encode_id
from memoranda.model.models import ConversationInfo, Kind, Mention, Scope
from memoranda.model.ports import Progress
from memoranda.model.query import Filter
from memoranda.model.traces import UserMetadata
from memoranda.notes.service import NotesService
from memoranda.records.drafts import Draft
from memoranda.records.secret_policies import SecretPolicy, admit_draft, holds_secret
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store
from memoranda.text.secrets import has_secret
from memoranda.transfer.json_files import LeftOut

# Records of one transaction.
BATCH = 500
# The last letters of an id, of five bits each: the digest. The millisecond is before it.
KEY_LETTERS = 16
Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of this size; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@dataclass(frozen=True)
class ImportTarget:
    """The memory that an import goes to.

    Attributes:
        records: changes the records of its scope.
        conversations: opens the stored conversations of a scope.
        zone: the zone of times that name none.
        notes: finds the notes of a scope.
        secrets: what becomes of records that hold secrets; a memoranda export is stored as it is.
    """

    records: RecordService
    conversations: Callable[[Scope], ConversationStore]
    zone: tzinfo
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

    @cached_property
    def erased(self) -> frozenset[str]:
        """The ids of the records that were erased before this import."""
        return frozenset(each.id for each in self._before.erased)

    @property
    def deleted(self) -> tuple[str, ...]:
        """The conversations that were deleted before this import."""
        return self._before.deleted

    @cached_property
    def _before(self) -> UserMetadata:
        return self.store.user_metadata(self.everyone)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Return which of these records are stored, believed or not, or were erased."""
        asked = list(ids)
        return {*self.store.get(self.everyone, asked), *self.erased.intersection(asked)}

    def id_of(self, prefix: str, format: str, key: str, at: datetime | None) -> str:
        """Return the id of what has this key in a file of this format, and happened then."""
        # Two users of one store may import the same file, and ids are unique in a store.
        text = f"{self.scope.user}\n{format}\n{key}".encode(errors="replace")
        number = int.from_bytes(blake2b(text, digest_size=10).digest())
        stamp = encode_id(to_ms(max(at or EPOCH, EPOCH)) << RANDOM_BITS)
        return f"{prefix}_{stamp[:-KEY_LETTERS]}{encode_id(number)[-KEY_LETTERS:]}"

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
        skipped: how many were there already, or were erased.
        users: whose; none where it is the user who imports.
        left_out: what was left out.
        total: how many units of work there are.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        """Start at nothing."""
        self.records = self.messages = self.skipped = self.total = self._done = 0
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
        once: whether a fact of this text is the same whenever and wherever it was learned.
        key: the name it has in its file; its text, if not given.
    """

    place: str
    scope: Scope
    draft: Draft
    mentions: tuple[Mention, ...] = ()
    once: bool = False
    key: str | None = None


# Reads the drafts of a file, and counts what it leaves out.
DraftReader = Callable[[LeftOut], Iterable[PlacedDraft]]


def import_drafts(
    target: ImportTarget, format: str, read: DraftReader, counts: ImportCounts
) -> None:
    """Store the drafts of a file, of which only those that are not there yet.

    Args:
        target: the memory.
        format: where the drafts come from.
        read: called once to check the drafts and once to store them, a transaction for each batch.
        counts: what was done.

    Raises:
        InvalidInput: a draft cannot be stored; nothing was written.
    """
    users: dict[str, None] = {}
    for placed in _admitted(read(counts.left_out), target.secrets, counts.left_out):
        with located(placed.place):
            target.records.planner.plan(placed.scope, placed.draft)
        users[placed.scope.user] = None
        counts.total += 1
    counts.users = tuple(users)
    drafts = _admitted(read(LeftOut()), target.secrets, LeftOut())
    for scope, group in groupby(drafts, lambda placed: placed.scope):
        for batch in batched(group, BATCH):
            stored = _store(target.of(scope), format, batch)
            counts.records += stored
            counts.skipped += len(batch) - stored
            counts.advance(len(batch))


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


def _store(target: ImportTarget, format: str, batch: Sequence[PlacedDraft]) -> int:
    """Store what is new of a batch for one scope; return how many records that are."""
    new: dict[str, Insert] = {}
    once: set[str] = set()
    for placed in batch:
        insert = _planned(target, format, placed)
        new.setdefault(insert.record.id, insert)
        if placed.once and insert.record.kind is Kind.FACT:
            once.add(insert.record.content_hash)

    with target.store.write(target.scope) as tx:
        known = target.known(new)
        where = Filter.at_any_time(hashes=list(once), kinds=(Kind.FACT,))
        told = target.store.records(target.everyone, where, limit=None) if once else ()
        said = once.intersection(each.content_hash for each in told)
        stored = tx.carry_out(
            [
                insert
                for name, insert in new.items()
                if name not in known and insert.record.content_hash not in said
            ]
        )
    return sum(each.is_new for each in stored)


def _planned(target: ImportTarget, format: str, placed: PlacedDraft) -> Insert:
    """Return what stores a draft, under the id that follows from its key."""
    draft = replace(placed.draft, origin=f"import:{format}")
    insert = target.records.plan(draft, reason="imported", unless_known=True)
    record, at = insert.record, placed.draft.event_time
    if placed.once and record.kind is Kind.FACT:
        at = None
    key = placed.key or f"{at}\n{record.content}"
    name = target.id_of(record.kind.prefix, format, key, at)
    mentions = placed.mentions or insert.mentions
    return replace(insert, record=replace(record, id=name), mentions=mentions)


def is_kept(text: str, left_out: LeftOut) -> bool:
    """Return whether a fact may be stored: what looks like a secret stays where it is."""
    if not has_secret(text):
        return True
    left_out.add("facts that look like secrets")
    return False
