"""The schemas of what the tools of MCP return; ``forms`` beside this makes it.

What a schema does not name may be there, too: a record has all its fields that are not empty.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Id = Annotated[str, Field(description="Id of the memory, for forget_memory and others.")]


class Result(BaseModel):
    """What a tool returns; it may have more than its schema says."""

    model_config = ConfigDict(extra="allow")


class StoredMemory(Result):
    """A memory that is kept, as ``memoranda show --json`` prints it."""

    id: Id
    content: Annotated[str, Field(description="What is remembered.")]
    type: Annotated[str, Field(description="conversation, fact, context or reflection.")]
    created_at: Annotated[Moment, Field(description="When it was recorded.")]
    event_time: Annotated[Moment, Field(description="When it happened.")]
    tags: list[str]
    metadata: Annotated[dict[str, Any], Field(description="What was stored with it.")]
    confidence: Annotated[float, Field(description="How far it is believed, 0 to 1.")]
    supersedes: Annotated[str, Field(description="Id of what it takes the place of.")] = ""


class FoundMemory(StoredMemory):
    """A memory that answers a query."""

    score: Annotated[float, Field(description="How well it answers, 0 to 1.")]


class FoundMemories(Result):
    """What answers a query, best first."""

    # Its schema stands here whole: a client takes a third longer to check results by a reference.
    result: Annotated[
        list[FoundMemory],
        WithJsonSchema({"type": "array", "items": FoundMemory.model_json_schema()}),
    ]


class ForgottenMemory(Result):
    """What became of a forgetting."""

    success: Annotated[bool, Field(description="False if there is no such memory.")]
    id: Id


class RecalledBlock(Result):
    """A block of memory for a prompt."""

    text: Annotated[str, Field(description="Fenced as data; empty if nothing answers.")]
    ids: Annotated[list[str], Field(description="The memories in it, best first.")]
    tokens: Annotated[int, Field(description="Its length.")]


class MemoryFigures(Result):
    """What memory holds."""

    records: Annotated[dict[str, int], Field(description="How many memories there are, by kind.")]
    conversations: Annotated[int, Field(description="How many transcripts are stored.")]
    newest: Annotated[Moment | None, Field(description="When the newest was recorded.")]
    pending_vectors: Annotated[int, Field(description="Memories that still wait for vectors.")]
    vectors: Annotated[str, Field(description="The embedding model, or off.")]


class EntityInfo(Result):
    """What is known of a person, place or thing."""

    known: Annotated[bool, Field(description="False if nothing is known under this name.")]
    name: str
    type: str = ""
    aliases: list[str] = []
    mention_count: Annotated[int, Field(description="How many memories speak of it.")] = 0
    summary: str | None = None
    records: Annotated[list[StoredMemory], Field(description="Facts first, then the newest.")] = []


class HistoryLine(Result):
    """An entry of the history."""

    at: Annotated[Moment, Field(description="When it was written.")]
    text: str


class FoundHistory(Result):
    """What the history says, newest first."""

    entries: list[HistoryLine]


class ExpandedMessage(Result):
    """A message that was removed from view."""

    id: str
    role: str
    content: str
    timestamp: Annotated[Moment, Field(description="When it was said.")]


class ExpandedMessages(Result):
    """What a marker stands for."""

    messages: list[ExpandedMessage]
