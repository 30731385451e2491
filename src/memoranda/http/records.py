"""Records: stored, listed, read, changed and forgotten."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.responses import Response

from memoranda.errors import NotFound
from memoranda.http.access import ReadMemory, WriteMemory
from memoranda.http.answers import answer, record_answer, record_form
from memoranda.memory import Memory
from memoranda.model.models import ForgetReceipt, Record
from memoranda.rendering.structured import StoredMemory

router = APIRouter(prefix="/records", tags=["records"])

Erase = Annotated[bool, Query(description="Remove every trace of the text for good.")]
Id = Annotated[str, Path(description="The id of a record.", examples=["fact_01KB6"])]


class NewRecord(BaseModel):
    """What is to be remembered; see ``Memory.remember``."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"content": "Ana is vegetarian", "tags": ["diet"]}]},
    )

    content: str
    kind: str = "fact"
    namespace: list[str] = []
    key: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] | None = None
    event_time: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    session: str | None = None
    role: str | None = None
    trust: str | None = None
    origin: str | None = None
    confidence: float = 1.0
    decay_rate: float | None = None


class RecordQuery(BaseModel):
    """Which records are meant; see ``Memory.records``."""

    model_config = ConfigDict(extra="forbid")

    kind: str | None = None
    session: str | None = None
    namespace: list[str] | None = None
    tags: list[str] | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None


class PageQuery(RecordQuery):
    """Which of them are listed."""

    newest_first: bool = False
    limit: int = Field(default=100, ge=1, le=1_000)
    cursor: str | None = None


class VersionedRecord(StoredMemory):
    """A record with its version."""

    version: str


class RecordPage(BaseModel):
    """A page of records, and the cursor of the next one where there may be one."""

    records: list[VersionedRecord]
    next: str | None


def existing(memory: Memory, id: str) -> Record:
    """Return a record of the caller.

    Raises:
        NotFound: there is none; another user's is as if it were not there.
    """
    found = memory.get(id)
    if found is None:
        raise NotFound(f"there is no record {id!r:.80} for user {memory.user!r}")
    return found


@router.post("", status_code=201, response_model=VersionedRecord)
def remember(new: NewRecord, memory: WriteMemory) -> Response:
    """Store a record; a fact that is known already is returned, and not stored again."""
    details = new.model_dump(exclude_unset=True, exclude={"content"})
    return record_answer(memory.remember(new.content, **details), 201)


@router.get("", response_model=RecordPage)
def records(asked: Annotated[PageQuery, Query()], memory: ReadMemory) -> Response:
    """List active records in the order they were recorded, a page at a time."""
    filters = asked.model_dump(exclude_unset=True, exclude={"limit", "cursor"})
    found = memory.records(limit=asked.limit + 1, after=asked.cursor, **filters)
    page, more = found[: asked.limit], len(found) > asked.limit
    return answer({"records": [*map(record_form, page)], "next": page[-1].id if more else None})


@router.get("/{id}", response_model=VersionedRecord)
def show(id: Id, memory: ReadMemory) -> Response:
    """Show a record, active or not."""
    return record_answer(existing(memory, id))


@router.delete("/{id}", response_model=ForgetReceipt)
def forget(id: Id, memory: WriteMemory, *, erase: Erase = False) -> Response:
    """Stop believing a record in all its versions, or erase every trace of it."""
    return answer(memory.forget(id, erase=erase))
