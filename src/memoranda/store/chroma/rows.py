"""What is stored: one immutable row for each thing, and its text in JSON.

Every row belongs to one user; those of the store itself to ``NOBODY``. A row is replaced, never
changed, so that what a reader holds stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import TypeAdapter

from memoranda.model.life import Usage
from memoranda.model.models import NO_ATTRIBUTES, Change, ConversationInfo, Message, Pruning, Record
from memoranda.model.notes import NotedLine
from memoranda.model.times import from_ms, to_ms

NOBODY = ""
"""The user of what belongs to the store: its model, its leases, its jobs."""


def joined(*parts: str | None) -> str:
    """Return the key of several parts; none of others is the same."""
    return json.dumps(parts, ensure_ascii=False)


def cut_time(moment: datetime) -> datetime:
    """Return a moment as it is stored: in UTC, cut to the millisecond."""
    return from_ms(to_ms(moment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record, and what the store alone knows of it.

    Attributes:
        record: the record, with its place in the session, its strength and since when.
        ordinal: its number among the user's; later ones are higher, none is given twice.
        terms: how many terms its content has.
        links: the entities it mentions: (id of the entity, folded name).
        recalls: the sessions into which it was recalled, and when last.
        indexed: whether it has a vector or waits for one; not, once it is retired.
        closed_at: when it was forgotten or replaced; ``None`` if its validity ended by itself.
        vector: the number of its vector among the user's; later ones are higher.
        generation: of which model of the store that vector is; -1 without one.
    """

    table: ClassVar[str] = "records"
    record: Record
    ordinal: int
    terms: int = 0
    links: tuple[tuple[str, str], ...] = ()
    recalls: tuple[tuple[str, datetime], ...] = ()
    indexed: bool = True
    closed_at: datetime | None = None
    vector: int = 0
    generation: int = -1

    @property
    def key(self) -> str:
        """The id of the record."""
        return self.record.id


def new_record(item: Record, *, position: int | None) -> Record:
    """Return a record as it is stored.

    What says nothing of its strength fades from its confidence, since it was recorded.
    """
    return replace(
        item,
        position=position,
        event_time=cut_time(item.event_time),
        created_at=cut_time(item.created_at),
        valid_until=_optional_time(item.valid_until),
        last_accessed=_optional_time(item.last_accessed),
        strength=item.confidence if item.strength is None else item.strength,
        strength_at=cut_time(item.strength_at or item.created_at),
        source_ids=tuple(item.source_ids),
        tags=tuple(item.tags),
        attributes=_copied(item.attributes),
    )


def new_message(item: Message, *, position: int) -> Message:
    """Return a message as it is stored."""
    return replace(
        item,
        position=position,
        timestamp=cut_time(item.timestamp),
        tool_calls=tuple(item.tool_calls),
        images=tuple(item.images),
    )


def _optional_time(moment: datetime | None) -> datetime | None:
    return None if moment is None else cut_time(moment)


def _copied(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return attributes as their JSON tells them, which the caller cannot change any more."""
    if not attributes:
        return NO_ATTRIBUTES
    return MappingProxyType(json.loads(json.dumps(dict(attributes))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message with its position, and the conversation it belongs to."""

    table: ClassVar[str] = "messages"
    message: Message
    conversation: str

    @property
    def key(self) -> str:
        """The id of the message; messages of two conversations may share one."""
        return joined(self.conversation, self.message.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation.

    Attributes:
        info: what was set; ``messages``, ``start`` and ``cleared_through`` are made when asked.
        number: later ones are higher.
        agent: whose it is; ``None`` is every agent's.
        cleared: position of the last message that is out of every view; -1 before any.
        next_position: of the next message; never given twice.
    """

    table: ClassVar[str] = "conversations"
    info: ConversationInfo
    number: int
    agent: str | None = None
    cleared: int = -1
    next_position: int = 0

    @property
    def key(self) -> str:
        """The caller's name for it."""
        return self.info.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The receipt of a pruning.

    Attributes:
        pruning: the receipt.
        conversation: of which conversation.
        number: later ones are higher.
        torn: first positions of the cuts that lost a message to an erasure: these have no
            summary, and get none any more.
    """

    table: ClassVar[str] = "prunings"
    pruning: Pruning
    conversation: str
    number: int
    torn: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """Conversation and id."""
        return joined(self.conversation, self.pruning.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """An entity.

    Attributes:
        id: ``ent_…``.
        number: later ones are higher.
        name: under which of its names it is shown.
        type: as in :class:`memoranda.model.models.Mention`.
        names: all its names: (folded, as it is written).
    """

    table: ClassVar[str] = "entities"
    id: str
    number: int
    name: str
    type: str
    names: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The id."""
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a person decided on a name: it belongs to the entity that ``target`` names."""

    table: ClassVar[str] = "decisions"
    folded: str
    target: str

    @property
    def key(self) -> str:
        """The name."""
        return self.folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an agent's episodes of a session are read and told; see ``SessionInfo``."""

    table: ClassVar[str] = "sessions"
    session: str
    agent: str | None
    first_seen_at: datetime
    consolidated_at: datetime | None = None
    through: int = -1
    noted: int = -1

    @property
    def key(self) -> str:
        """Session and agent."""
        return joined(self.session, self.agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What was done to a record, oldest first; it outlives the record."""

    table: ClassVar[str] = "history"
    record: str
    agent: str | None
    changes: tuple[Change, ...] = ()

    @property
    def key(self) -> str:
        """The id of the record."""
        return self.record


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a stage used of a language model for an agent."""

    table: ClassVar[str] = "usage"
    agent: str | None
    stage: str
    model: str
    usage: Usage

    @property
    def key(self) -> str:
        """Agent, stage and model."""
        return joined(self.agent, self.stage, self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What MEMORY.md of a folder last said of one scope."""

    table: ClassVar[str] = "notes"
    agent: str | None
    folder: str
    lines: tuple[NotedLine, ...] = ()

    @property
    def key(self) -> str:
        """Agent and folder."""
        return joined(self.agent, self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What is counted of a user. Written last: it says how far the rows are up to date.

    Attributes:
        commit: the last commit whose rows are all written.
        ordinal, vector, number: the last that was given to a record, a vector, anything else.
        epoch: changes when rows that readers of the index know changed or went away.
        standing: how often the facts of an agent (or of none, ``""``) that stand have changed.
        erasures: how many erasures nothing has purged since.
        excused: of how many of these it was told that they cannot be purged here: on a server.
    """

    table: ClassVar[str] = "counters"
    commit: int = 0
    ordinal: int = 0
    vector: int = 0
    number: int = 0
    epoch: int = 0
    standing: tuple[tuple[str, int], ...] = ()
    erasures: int = 0
    excused: int = 0

    @property
    def key(self) -> str:
        """There is one for each user."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the store itself.

    Attributes:
        model, dimensions: of the vectors; ``None`` before any.
        generation: how often the model was named; vectors of others do not count.
        analyzer: what made the terms that are counted.
    """

    table: ClassVar[str] = "facts"
    model: str | None = None
    dimensions: int = 0
    generation: int = 0
    analyzer: str | None = None

    @property
    def key(self) -> str:
        """There is one for each store."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who holds a lease, and until when."""

    table: ClassVar[str] = "leases"
    name: str
    holder: str
    until: datetime

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The last finished run of a job, and who runs it now."""

    table: ClassVar[str] = "runs"
    job: str
    due: datetime | None = None
    finished_at: datetime | None = None
    holder: str | None = None
    claimed_due: datetime | None = None
    claimed_until: datetime | None = None

    @property
    def key(self) -> str:
        """The name of the job."""
        return self.job


Row = (
    Stored
    | Said
    | Talk
    | Receipt
    | Thing
    | Decided
    | Progress
    | Log
    | Spent
    | Base
    | Counters
    | Facts
    | Lease
    | Run
)
KINDS: tuple[type[Row], ...] = (
    Stored,
    Said,
    Talk,
    Receipt,
    Thing,
    Decided,
    Progress,
    Log,
    Spent,
    Base,
    Counters,
    Facts,
    Lease,
    Run,
)
ADAPTERS: dict[str, TypeAdapter[Row]] = {kind.table: TypeAdapter(kind) for kind in KINDS}


def encode(row: Row) -> str:
    """Return the JSON of a row."""
    if isinstance(row, Stored):  # A mapping that cannot be changed is no JSON.
        row = replace(row, record=replace(row.record, attributes=dict(row.record.attributes)))
    return ADAPTERS[row.table].dump_json(row).decode()


def decode(table: str, text: str) -> Row:
    """Return the row of ``table`` that :func:`encode` made a text of.

    Raises:
        ValueError: it is no such text.
    """
    row = ADAPTERS[table].validate_json(text)
    match row:
        case Stored(record=record):
            held = record.attributes
            attributes = MappingProxyType(dict(held)) if held else NO_ATTRIBUTES
            return replace(row, record=replace(record, attributes=attributes))
        case Log(changes=changes):
            return replace(row, changes=tuple(changes))
        case _:
            return row
