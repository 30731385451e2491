"""Results as structured content: what a program gets that calls a tool, with its schema."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from memoranda.model.models import Entity, Hit, Kind, Recall, Record
from memoranda.model.reports import MemoryStats

# Characters of a memory that are told among others.
LONGEST = 4_000
# Kinds that the tools call by another name (requirement S1.33).
TYPES = {Kind.EPISODE: "conversation"}
MOST_LINKED = 20

# As the command line writes it.
Moment = Annotated[datetime, PlainSerializer(datetime.isoformat, return_type=str)]
Id = Annotated[str, Field(description="Id of the memory, for forget_memory and others.")]
Remembered = Annotated[str, Field(description="What is remembered.")]
Type = Annotated[str, Field(description="conversation, fact, context or reflection.")]
Created = Annotated[Moment, Field(description="When it was recorded.")]


class StoredMemory(BaseModel):
    """A memory that is kept."""

    id: Id
    content: Remembered
    type: Type
    created_at: Created

    @classmethod
    def of(cls, record: Record, **more: Any) -> Self:
        """Return a record in the form that ``store_memory`` gives (requirement S1.31)."""
        named = TYPES.get(record.kind, record.kind.value)
        about = {"id": record.id, "content": record.content, "created_at": record.created_at}
        return cls.model_validate({**about, "type": named, **more})

    @classmethod
    def in_part(cls, record: Record, **more: Any) -> Self:
        """Return a record among others: what is long in part, so that a model is not flooded."""
        content, left = record.content, len(record.content) - LONGEST
        if left > 0:
            rest = f"[…{left:,} more characters; read memoranda://records/{record.id}]"
            content = f"{content[:LONGEST]} {rest}"
        return cls.of(record, content=content, **more)


class FoundMemory(StoredMemory):
    """A memory that answers a query."""

    score: Annotated[float, Field(description="How well it answers, 0 to 1.")]
    metadata: Annotated[dict[str, Any], Field(description="What was stored with it.")]


class FoundMemories(BaseModel):
    """What answers a query, best first."""

    # Its schema stands here whole: a client takes a third longer to check results by a reference.
    result: Annotated[
        list[FoundMemory],
        WithJsonSchema({"type": "array", "items": FoundMemory.model_json_schema()}),
    ]

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Self:
        """Return hits in the form of requirement S1.30, with the id of each."""
        found = (
            FoundMemory.in_part(hit.record, score=hit.score, metadata=dict(hit.record.metadata))
            for hit in hits
        )
        return cls(result=list(found))


class ForgottenMemory(BaseModel):
    """What became of a forgetting."""

    success: Annotated[bool, Field(description="False if there is no such memory.")]
    id: Id


class RecalledBlock(BaseModel):
    """A block of memory for a prompt."""

    text: Annotated[str, Field(description="Fenced as data; empty if nothing answers.")]
    ids: Annotated[list[str], Field(description="The memories in it, best first.")]
    tokens: Annotated[int, Field(description="Its length.")]

    @classmethod
    def of(cls, recall: Recall) -> Self:
        """Return a block with the ids of what it quotes."""
        ids = [hit.record.id for hit in recall.hits]
        return cls(text=recall.text, ids=ids, tokens=recall.tokens)


class CorrectedFact(StoredMemory):
    """A fact that takes the place of another."""

    replaces: Annotated[str, Field(description="Id of the fact that was wrong.")]


class ConfirmedFact(StoredMemory):
    """A fact that never fades."""

    confidence: Annotated[float, Field(description="How far it is believed, 0 to 1.")]


class MemoryFigures(BaseModel):
    """What memory holds."""

    memories: Annotated[dict[str, int], Field(description="How many there are, by type.")]
    conversations: Annotated[int, Field(description="How many transcripts are stored.")]
    last_recorded: Annotated[Moment | None, Field(description="When the newest was recorded.")]
    pending_vectors: Annotated[int, Field(description="Memories that still wait for vectors.")]
    vectors: Annotated[str, Field(description="The embedding model, or off.")]

    @classmethod
    def of(cls, stats: MemoryStats) -> Self:
        """Return the figures that a model needs."""
        counts = {TYPES.get(Kind(kind), kind): count for kind, count in stats.records.items()}
        return cls(
            memories=counts,
            conversations=stats.conversations,
            last_recorded=stats.newest,
            pending_vectors=stats.pending_vectors,
            # Why they are off is for whoever runs the server: memoranda doctor.
            vectors="off" if stats.vectors.startswith("off") else stats.vectors,
        )


class EntityInfo(BaseModel):
    """What is known of a person, place or thing."""

    known: Annotated[bool, Field(description="False if nothing is known under this name.")]
    name: str
    type: str | None = None
    aliases: list[str] = []
    mentions: Annotated[int, Field(description="How many memories speak of it.")] = 0
    summary: str | None = None
    memories: Annotated[list[StoredMemory], Field(description="Facts first, then the newest.")] = []

    @classmethod
    def of(cls, entity: Entity | None, name: str) -> Self:
        """Return a profile; under a ``name`` that nothing is known of, one that says so."""
        if entity is None:
            return cls(known=False, name=name)
        return cls(
            known=True,
            name=entity.name,
            type=entity.type,
            aliases=list(entity.aliases),
            mentions=entity.mention_count,
            summary=entity.summary,
            memories=[StoredMemory.in_part(each) for each in entity.records[:MOST_LINKED]],
        )


class HistoryLine(BaseModel):
    """An entry of the history."""

    model_config = ConfigDict(from_attributes=True)

    at: Annotated[Moment, Field(description="When it was written.")]
    text: str


class FoundHistory(BaseModel):
    """What the history says, newest first."""

    entries: list[HistoryLine]


class ExpandedMessage(BaseModel):
    """A message that was removed from view."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    role: str
    content: str
    timestamp: Annotated[Moment, Field(description="When it was said.")]


class ExpandedMessages(BaseModel):
    """What a marker stands for."""

    messages: list[ExpandedMessage]
