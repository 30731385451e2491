"""The schemas of what the tools of MCP return; ``forms`` beside this makes it.

What a schema does not name may be there, too: a record has all its fields that are not empty.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Result(BaseModel):
    """What a tool returns; it may have more than its schema says."""

    model_config = ConfigDict(extra="allow")


class StoredMemory(Result):
    """A memory that is kept, as ``memoranda show --json`` prints it."""

    id: str
    content: str
    type: str
    created_at: Moment
    event_time: Moment
    tags: list[str]
    metadata: dict[str, Any]
    confidence: float
    supersedes: str = ""


class FoundMemory(StoredMemory):
    """A memory that answers a query; its score is from 0 to 1."""

    score: float


class FoundMemories(Result):
    """What answers a query, best first."""

    result: list[FoundMemory]


class ForgottenMemory(Result):
    """What became of a forgetting; without success there is no such memory."""

    success: bool
    id: str


class RecalledBlock(Result):
    """A block of memory for a prompt, fenced as data, and the memories in it, best first."""

    text: str
    ids: list[str]
    tokens: int


class MemoryFigures(Result):
    """What memory holds: memories by kind, and those that still wait for vectors."""

    records: dict[str, int]
    conversations: int
    newest: Moment | None
    pending_vectors: int
    vectors: str


class EntityInfo(Result):
    """What is known of a person, place or thing; its records are facts first, then the newest."""

    known: bool
    name: str
    type: str = ""
    aliases: list[str] = []
    mention_count: int = 0
    summary: str | None = None
    records: list[StoredMemory] = []


class HistoryLine(Result):
    """An entry of the history."""

    at: Moment
    text: str


class FoundHistory(Result):
    """What the history says, newest first."""

    entries: list[HistoryLine]


class ExpandedMessage(Result):
    """A message that was removed from view."""

    id: str
    role: str
    content: str
    timestamp: Moment


class ExpandedMessages(Result):
    """What a marker stands for."""

    messages: list[ExpandedMessage]
