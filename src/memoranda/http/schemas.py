"""The schemas of answers that no other door gives; ``rendering/structured.py`` has the others.

What a schema does not name may be there, too: a record has all its fields that are not empty.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memoranda.maintenance.users import UserOverview
from memoranda.model.models import Change, ConversationInfo, Message
from memoranda.model.sessions import SessionInfo
from memoranda.model.tokens import ApiToken
from memoranda.model.usage import StageUsage
from memoranda.rendering.structured import (
    EntityInfo,
    FoundMemory,
    HistoryLine,
    Moment,
    Result,
    StoredMemory,
)


class VersionedRecord(StoredMemory):
    """A record with its version."""

    version: str


class RecordList(BaseModel):
    """Records that were stored together, in their order."""

    records: list[VersionedRecord]


class RecordPage(RecordList):
    """A page of records, and the cursor of the next one where there may be one."""

    next: str | None


class RecordCount(BaseModel):
    """How many records there are."""

    count: int


class BulkLine(BaseModel):
    """What became of a line: the record, or why it was not stored."""

    line: int
    status: int
    record: VersionedRecord | None = None
    detail: str | None = None


class HitList(BaseModel):
    """Records that answer a query, best first; with the reasons where they were asked for."""

    hits: list[FoundMemory]


class ChangeList(BaseModel):
    """What was done to a record and its other versions, oldest first."""

    changes: list[Change]


class NamespaceList(BaseModel):
    """Namespaces that have items."""

    namespaces: list[list[str]]


class ContextValue(BaseModel):
    """A value of the day; ``null`` where there is none."""

    value: str | None


class EntityList(BaseModel):
    """What records speak of, most mentioned first."""

    entities: list[EntityInfo]


class FactForm(Result):
    """A fact as it stands now."""

    record: StoredMemory
    state: str
    confidence: float
    said_at: Moment
    said: int


class FactList(BaseModel):
    """Facts with how far each is believed."""

    facts: list[FactForm]


class FactOrigin(Result):
    """Where a fact comes from: the turns that state it, and what was done to it."""

    fact: FactForm
    sources: list[dict[str, Any]]
    history: list[Change]


class ConversationList(BaseModel):
    """Conversations, the newest first."""

    conversations: list[ConversationInfo]


class MessageList(BaseModel):
    """Messages in their order."""

    messages: list[Message]


class BuiltContext(Result):
    """The messages for a model, what they take, and why."""

    messages: list[dict[str, Any]]
    tokens: int
    receipt: dict[str, Any]


class BuiltDump(BaseModel):
    """Messages in a provider's form."""

    messages: list[dict[str, Any]]


class ViewForm(Result):
    """A conversation as a model sees it, message by message."""

    budget: int
    strategy: str
    told: str
    lines: list[dict[str, Any]]


class PruningResult(BaseModel):
    """What left the view; ``null`` where nothing had to."""

    pruning: dict[str, Any] | None


class NotesText(BaseModel):
    """MEMORY.md."""

    text: str


class NotesChange(BaseModel):
    """Whether MEMORY.md changed."""

    changed: bool


class HistoryEntries(BaseModel):
    """Entries of the history."""

    entries: list[HistoryLine]


class SessionList(BaseModel):
    """Sessions, and how far each became facts."""

    sessions: list[SessionInfo]


class UsageList(BaseModel):
    """What stages have used of language models."""

    usage: list[StageUsage]


class ToolDefinitions(BaseModel):
    """The tools by which an agent uses a memory, in OpenAI's form."""

    tools: list[dict[str, Any]]


class ToolText(BaseModel):
    """What a tool gave, for a model."""

    text: str


class MemoryState(Result):
    """What a memory holds, and what waits."""

    user: str
    records: dict[str, int]
    conversations: int
    newest: Moment | None
    pending_vectors: int
    pending_sessions: int
    vectors: str


class LearnedForm(Result):
    """What consolidation did, or would do."""

    sessions: int
    new: list[dict[str, Any]]
    again: list[dict[str, Any]]
    replaced: list[dict[str, Any]]
    failed: dict[str, str]
    dry_run: bool


class AuditForm(Result):
    """The junk that was found, kind by kind."""

    entries: int
    clean: bool
    faults: list[dict[str, Any]]


class Ticket(BaseModel):
    """Opens the events of a memory once, within some seconds."""

    ticket: str
    expires_in: int


class Capabilities(BaseModel):
    """What this server can do for whoever asks, and what it takes."""

    version: str
    user: str
    scope: str
    kinds: list[str]
    events: list[str]
    limits: dict[str, float]
    vectors: str
    language_model: bool
    mcp: str | None


class CheckList(BaseModel):
    """What was looked at, and how it is."""

    checks: list[dict[str, Any]]


class ProblemLines(BaseModel):
    """A line for each problem; none where all is sound."""

    problems: list[str]


class UserList(BaseModel):
    """The users of the store, with what they have."""

    users: list[UserOverview]


class TokenList(BaseModel):
    """Tokens, without their texts."""

    tokens: list[ApiToken]


class NewTokenText(Result):
    """A token, which is shown this once."""

    token: str
    id: str
