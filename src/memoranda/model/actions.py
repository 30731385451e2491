"""Every change to a store is a list of these values, applied in one transaction.

A plan of actions can be shown before it is run, tested without a store, and
leaves one history entry for each record that it changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoranda.model.erasure import TextCut
from memoranda.model.models import (
    UNSET,
    Calibration,
    ConversationInfo,
    Erasure,
    Mention,
    Message,
    Pruning,
    Record,
    TextPlace,
    Tombstone,
    Unset,
)
from memoranda.model.notes import NotesBase
from memoranda.model.query import Filter, TokenVectors, Vector
from memoranda.model.traces import AuditTrail, UserMetadata
from memoranda.model.usage import Usage


class Action:
    """One change; what it does is told by its type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Insert(Action):
    """Add a record. Its position is given by the store.

    Attributes:
        record: what is added.
        mentions: the entities it mentions; ``None`` where these are to be found later.
        reason: why, for its history.
        unless_known: pass over a fact that is known already (see :func:`says_all`). The known one
            gets its tags; if a person says it, it is also as sure and as lasting as the new one.
        trail: what was done to it in another store, of which it keeps also its position, if that
            is free: a copy.
    """

    record: Record
    mentions: tuple[Mention, ...] | None = ()
    reason: str = "remembered"
    unless_known: bool = False
    trail: AuditTrail | None = None


@dataclass(frozen=True, slots=True)
class KnownFact:
    """Says that an ``Insert`` was passed over.

    Attributes:
        id: of the record that was not stored.
        known: id of the fact that says the same.
    """

    id: str
    known: str


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """Says which position of its session an ``Insert`` gave its record.

    Attributes:
        id: of the record.
        position: counts from 0.
    """

    id: str
    position: int


@dataclass(frozen=True, slots=True)
class ReplacedItem:
    """Says that a ``PutItem`` took the place of an item, which keeps its id and its age.

    Attributes:
        id: the id that the new item came with.
        known: the id that it has.
        created_at: when its key was first written.
    """

    id: str
    known: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Redaction:
    """Says where a ``Redact`` cut something out."""

    places: tuple[TextPlace, ...]


# What a store tells of an action that it carried out, where that needs telling.
Outcome = KnownFact | PlacedRecord | ReplacedItem | Erasure | Redaction | Tombstone


@dataclass(frozen=True, slots=True)
class PutItem(Insert):
    """Add an item, or let it take the place of the one under its namespace and key.

    Which of these is decided inside the transaction. The one that is there keeps its id and the
    moment it was created at; of its former content nothing stays, nor a line of history.
    """


@dataclass(frozen=True, slots=True)
class Close(Action):
    """End the validity of a record; it stays for ``as_of`` and history.

    Attributes:
        id: the record.
        at: when.
        reason: why, for its history.
        superseded_by: what takes its place.
        only_open: refuse the plan with ``InvalidInput`` where it was closed meanwhile.
    """

    id: str
    at: datetime
    reason: str
    superseded_by: str | None = None
    only_open: bool = False


@dataclass(frozen=True, slots=True)
class Reweigh(Action):
    """Set confidence and decay rate, from which it fades anew: a confirmation, a conflict."""

    id: str
    at: datetime
    confidence: float
    decay_rate: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRecord(Action):
    """Change what a caller attached to a record, in place; what is not given stays."""

    id: str
    at: datetime
    metadata: Mapping[str, Any] | Unset = UNSET
    tags: tuple[str, ...] | Unset = UNSET
    valid_until: datetime | Unset | None = UNSET
    reason: str = "updated"


@dataclass(frozen=True, slots=True)
class Touch(Action):
    """Count one recall of each record, whose confidence goes back to its full strength.

    Leaves no history; unknown ids are passed over.

    Attributes:
        ids: the records.
        at: when they were recalled.
        session: the conversation into which they were recalled, if it was one.
    """

    ids: tuple[str, ...]
    at: datetime
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Fade(Action):
    """Set the confidence that decay has left of a record's strength. Leaves no history.

    Passed over where the record was recalled or said again after ``at``.
    """

    id: str
    at: datetime
    confidence: float


@dataclass(frozen=True, slots=True)
class Retire(Action):
    """End the validity of a record, if it has not ended, and drop its vector and its links.

    It stays for ``as_of``, where words find it, and for history. Passed over if it was recalled
    after ``at``.
    """

    id: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Reinforce(Action):
    """Add sources to a record that was stated again; its decay starts anew from its strength.

    Sources that it has already are passed over; where none is left, nothing happens.
    """

    id: str
    at: datetime
    sources: tuple[str, ...]
    reason: str = "said again"


@dataclass(frozen=True, slots=True)
class Supersede(Action):
    """Record that ``by`` superseded a record, whose confidence is lowered.

    It is not closed: it stays findable, behind what replaced it, whose field ``supersedes``
    names it if it names no other (requirement S4.24).
    """

    id: str
    by: str
    at: datetime
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Enrich(Action):
    """Link a record to more entities, and stamp its ``enriched_at`` (S4.13)."""

    id: str
    at: datetime
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class LinkEntities(Action):
    """Link a record to the entities it mentions, and take it off the list of those that wait.

    Passed over where it waits no longer.
    """

    id: str
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class MergeEntities(Action):
    """Make two entities one: all names of ``other`` mean ``entity`` from now on.

    A decision of a person: it outlives a rebuild, and rules of names do not undo it.
    """

    entity: str
    other: str


@dataclass(frozen=True, slots=True)
class SplitEntity(Action):
    """Make an alias of an entity an entity of its own, for good, and so its mentions."""

    entity: str
    alias: str


@dataclass(frozen=True, slots=True)
class KeepNameDecision(Action):
    """Keep a decision on a name that was made elsewhere, unless there is one on it: an import.

    Attributes:
        name: the name that was decided upon.
        target: it belongs to the entity that this names; the same name: it stands alone.
    """

    name: str
    target: str


@dataclass(frozen=True, slots=True)
class AdvanceSession(Action):
    """Say how far the episodes of a session have become facts.

    Attributes:
        session: the session.
        through: position of the last episode that was read.
        at: when.
        finished: whether that was its last episode; not, if more have come by now.
        after: position up to which they had been read before. Where another process has read
            on since, this raises ``InvalidInput``, so that nothing is learned twice.
        unread: of the episodes up to here, those of which nothing was learned, as it took too
            long.
    """

    session: str
    through: int
    at: datetime
    finished: bool
    after: int | None = None
    unread: int = 0


@dataclass(frozen=True, slots=True)
class CountTry(Action):
    """Count that reading the next episodes of a session took too long.

    A session that is not there is passed over.
    """

    session: str


@dataclass(frozen=True, slots=True)
class AdvanceNotes(Action):
    """Record up to which episode the history of the notes covers a session; never back.

    A session that is not there is passed over.
    """

    session: str
    through: int


@dataclass(frozen=True, slots=True)
class KeepNotes(Action):
    """Store the last synced content of MEMORY.md, replacing that of the same scope and folder."""

    base: NotesBase


@dataclass(frozen=True, slots=True)
class KeepUserMetadata(Action):
    """Keep what another store has of the user as a whole: a copy.

    Sessions are as far as they are there, of usage the larger figures stay, and a record that is
    here was not erased. What agents own is not told by this.
    """

    kept: UserMetadata


@dataclass(frozen=True, slots=True)
class Spend(Action):
    """Add to what a stage has used of a language model."""

    stage: str
    model: str
    usage: Usage
    at: datetime


@dataclass(frozen=True, slots=True)
class Forget(Action):
    """End the validity of records in all their versions; they stay for ``as_of`` and history.

    Attributes:
        ids: the records; ``None`` is all that meet ``where``.
        at: when.
        reason: why, for their history.
        where: only those that meet this filter when the action is carried out.
        superseded_by: what takes their place.
    """

    ids: tuple[str, ...] | None
    at: datetime
    reason: str
    where: Filter | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Erase(Action):
    """Remove records and every trace of their text: index, vectors, links, messages, history.

    Their other versions and what was derived from any of these go with them (see
    ``RecordRelation``), and the summaries of prunings that covered their messages. ``purge()``
    then cleans the free space. Which records these are is said as in :class:`Forget`.

    Attributes:
        copies: records that go as well, as they say the same; one that is gone is passed over.
    """

    ids: tuple[str, ...] | None
    at: datetime
    reason: str
    where: Filter | None = None
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redact(Action):
    """Put a mark in the place of what was erased, in texts that otherwise stay.

    What is derived from them is made anew, and summaries that may quote them go. A place or a
    piece that is not there any more is passed over.
    """

    cuts: tuple[TextCut, ...]
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class DeleteConversation(Action):
    """Take a conversation off every list, with its episodes and what was learned only from them.

    Attributes:
        id: the conversation; one that is off the lists can still be erased.
        at: when.
        erase: remove all of it for good. Otherwise the records end, and whoever opens the
            conversation again begins with an empty view.
    """

    id: str
    at: datetime
    erase: bool
    reason: str = "conversation deleted"


@dataclass(frozen=True, slots=True)
class DeleteUser(Action):
    """Take the scope's user off every list, and make every scope of theirs unusable.

    Attributes:
        at: when.
        erase: remove every row of theirs, their name included. Otherwise their records and
            conversations end, as ``Close`` and ``DeleteConversation`` do it.
    """

    at: datetime
    erase: bool
    reason: str = "user deleted"


@dataclass(frozen=True, slots=True)
class PutVectors(Action):
    """Store the embeddings of records and take these off the pending list.

    Attributes:
        model: name of the model that made them.
        vectors: record id → its vector. Records that are gone by now are passed over.
        hashes: record id → the hash of the content that the vector is of, where that can change.
            A record with another content by now waits on.
        tokens: record id → the vectors of its tokens, where the model gives some.
    """

    model: str
    vectors: Mapping[str, Vector]
    hashes: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, TokenVectors] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenConversation(Action):
    """Create a conversation, or update the settings of the one with this id.

    Attributes:
        info: the settings.
        agent: whose it is, where the scope names no agent.
    """

    info: ConversationInfo
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Append(Action):
    """Add a message at the end of a transcript."""

    conversation: str
    message: Message


@dataclass(frozen=True, slots=True)
class ReplaceMessages(Action):
    """Remove messages from a transcript, and put others in their place.

    What is removed leaves a tombstone, and its episodes are closed. Where nothing is there to be
    removed, nothing happens.

    Attributes:
        conversation: its id.
        tombstone: id of the tombstone.
        at: when.
        ids: the messages; one that is not there raises ``NotFound``.
        newest: without ``ids``, so many of the newest since the last ``clear``.
        messages: what stands from then on where the first of them stood.
    """

    conversation: str
    tombstone: str
    at: datetime
    ids: tuple[str, ...] = ()
    newest: int = 0
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class KeepTombstone(Action):
    """Keep a tombstone that another transcript has, unless it is there: an import."""

    conversation: str
    tombstone: Tombstone


@dataclass(frozen=True, slots=True)
class Pin(Action):
    """Keep a message in every view, or stop keeping it."""

    conversation: str
    message: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class UpdateConversation(Action):
    """Change what is kept of a conversation beside its settings; what is not given stays.

    Attributes:
        conversation: its id.
        clear: leave all messages so far out of every later view; the transcript keeps them.
        calibration: of its token counts, by those of the provider.
        ended_at: when it was finished.
    """

    conversation: str
    clear: bool = False
    calibration: Calibration | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Prune(Action):
    """Keep the receipt of a pruning: what its cuts name is out of every later view.

    A cut that holds fewer messages than it says, as some were removed, loses its summary.
    """

    conversation: str
    pruning: Pruning


@dataclass(frozen=True, slots=True)
class Summarize(Action):
    """Give cuts of a pruning their summaries; what is gone by now is passed over.

    So is a cut that is torn: its summary may hold what was removed.

    Attributes:
        summaries: first position of a cut → its summary.
    """

    conversation: str
    pruning: str
    summaries: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Recount(Action):
    """Set the token counts of messages, by their ids: the model, and so the tokenizer, changed.

    Ids that are not there are passed over.
    """

    conversation: str
    tokens: Mapping[str, int]


def only_erasure(outcomes: Sequence[Outcome]) -> Erasure:
    """Return what the only action that erases or deletes took out."""
    (done,) = (each for each in outcomes if isinstance(each, Erasure))
    return done
