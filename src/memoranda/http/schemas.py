"""The schemas of answers that no other door gives; ``rendering/structured.py`` has the others.

What a schema does not name may be there, too: a record has all its fields that are not empty.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memoranda.model.models import Change
from memoranda.rendering.structured import Moment, Result, StoredMemory


class VersionedRecord(StoredMemory):
    """A record with its version."""

    version: str


class RecordPage(BaseModel):
    """A page of records, and the cursor of the next one where there may be one."""

    records: list[VersionedRecord]
    next: str | None


class BulkLine(BaseModel):
    """What became of a line: the record, or why it was not stored."""

    line: int
    status: int
    record: VersionedRecord | None = None
    detail: str | None = None


class FactForm(Result):
    """A fact as it stands now."""

    record: StoredMemory
    state: str
    confidence: float
    said_at: Moment
    said: int


class FactOrigin(Result):
    """Where a fact comes from: the turns that state it, and what was done to it."""

    fact: FactForm
    sources: list[dict[str, Any]]
    history: list[Change]


class BuiltContext(Result):
    """The messages for a model, what they take, and why."""

    messages: list[dict[str, Any]]
    tokens: int
    receipt: dict[str, Any]


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
