"""Records: stored, listed, read, changed and forgotten."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Query, Request
from pydantic import AwareDatetime, Field
from starlette.responses import Response

from memoranda.http import schemas
from memoranda.http.access import ReadMemory, WriteMemory
from memoranda.http.answers import answer, record_answer, record_form
from memoranda.http.resources import (
    Erase,
    Id,
    IfMatch,
    Metadata,
    RecordQuery,
    RequestModel,
    example,
    resource,
)
from memoranda.model.models import Change, ForgetReceipt
from memoranda.serving.existing import require_record

router = resource("/records", "records")


class NewRecord(
    RequestModel, json_schema_extra=example(content="Ana is vegetarian", tags=["diet"])
):
    """What is to be remembered; see ``Memory.remember``."""

    content: str
    kind: str = "fact"
    namespace: list[str] = Field(default=[])
    key: str | None = None
    tags: list[str] = Field(default=[])
    metadata: Metadata | None = None
    event_time: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    session: str | None = None
    role: str | None = None
    trust: str | None = None
    origin: str | None = None
    confidence: float = 1.0
    decay_rate: float | None = None


class NewRecords(RequestModel, json_schema_extra=example(items=[{"content": "Ana is vegetarian"}])):
    """Records that are stored together, or not at all."""

    items: list[NewRecord]


class ExpectedVersion(RequestModel, json_schema_extra=example(expected_version="9f86d081884c7d65")):
    """Which version is to be changed: where the record has another by now, nothing is."""

    expected_version: str | None = None


class CorrectionBody(ExpectedVersion, json_schema_extra=example(content="Ana is vegan")):
    """What a record says from now on."""

    content: str


class RecordUpdate(ExpectedVersion, json_schema_extra=example(tags=["diet", "food"])):
    """What is attached to a record from now on; what is not given stays as it is."""

    metadata: Metadata | None = None
    tags: list[str] | None = None
    valid_until: AwareDatetime | None = None


class ForgetFilter(RequestModel, json_schema_extra=example(session="trip")):
    """Which records are forgotten: those that meet every filter given."""

    ids: list[str] | None = None
    session: str | None = None
    namespace: list[str] | None = None
    metadata: Metadata | None = None
    erase: bool = False


class PageQuery(RecordQuery):
    """Which page of them is listed."""

    newest_first: bool = False
    limit: int = Field(default=100, ge=1, le=1_000)
    offset: int = Field(default=0, ge=0)
    after: str | None = None


@router.post("", status_code=201, response_model=schemas.VersionedRecord)
async def remember(new: NewRecord, request: Request, memory: WriteMemory) -> Response:
    """Store a record; a fact that is known already is returned, and not stored again."""
    store = partial(memory.remember, **new.given())
    return record_answer(await request.app.state.short_calls.run(store), 201)


@router.post("/batch", status_code=201, response_model=list[schemas.VersionedRecord])
def remember_many(new: NewRecords, memory: WriteMemory) -> Response:
    """Store many records in one transaction: all of them, or none."""
    stored = memory.remember_many([each.given() for each in new.items])
    return answer([*map(record_form, stored)], 201)


@router.get("", response_model=schemas.RecordPage)
def records(asked: Annotated[PageQuery, Query()], memory: ReadMemory) -> Response:
    """List active records in the order they were recorded, a page at a time."""
    found = memory.records(limit=asked.limit + 1, **asked.given("limit"))
    page, more = found[: asked.limit], len(found) > asked.limit
    return answer({"records": [*map(record_form, page)], "next": page[-1].id if more else None})


@router.get("/count", response_model=dict[str, int])
def count(asked: Annotated[RecordQuery, Query()], memory: ReadMemory) -> Response:
    """Count active records."""
    return answer({"count": memory.count(**asked.given())})


@router.post("/forget", response_model=ForgetReceipt)
def forget_many(which: ForgetFilter, memory: WriteMemory) -> Response:
    """Forget the records that meet every filter given: all of them, or none."""
    return answer(memory.forget_many(**which.given()))


@router.get("/{id:path}/history", response_model=list[Change])
def history(id: Id, memory: ReadMemory) -> Response:
    """Tell what was done to a record and its other versions, also where it was erased."""
    found = memory.history(id)
    if not found:
        require_record(memory, id)
    return answer(found)


@router.get("/{id:path}", response_model=schemas.VersionedRecord)
async def show(id: Id, request: Request, memory: ReadMemory) -> Response:
    """Show a record, active or not."""
    read = partial(require_record, memory, id)
    found = record_answer(await request.app.state.short_calls.read(read))
    if request.headers.get("if-none-match") == found.headers["etag"]:
        return Response(status_code=304, headers={"ETag": found.headers["etag"]})
    return found


@router.patch("/{id:path}", response_model=schemas.VersionedRecord)
def update(id: Id, changes: RecordUpdate, memory: WriteMemory, if_match: IfMatch) -> Response:
    """Change what is attached to a record; what it says is corrected instead."""
    return record_answer(memory.update(id, **changes.given() | asked_version(changes, if_match)))


@router.delete("/{id:path}", response_model=ForgetReceipt)
def forget(id: Id, memory: WriteMemory, if_match: IfMatch, *, erase: Erase = False) -> Response:
    """Stop believing a record in all its versions, or erase every trace of it."""
    return answer(memory.forget(id, erase=erase, expected_version=if_match))


@router.post("/{id:path}/corrections", status_code=201, response_model=schemas.VersionedRecord)
def correct(id: Id, new: CorrectionBody, memory: WriteMemory, if_match: IfMatch) -> Response:
    """Replace what a record says; the answer is the record that supersedes it."""
    return record_answer(memory.correct(id, new.content, **asked_version(new, if_match)), 201)


@router.post("/{id:path}/confirmation", response_model=schemas.VersionedRecord)
def confirm(
    id: Id, memory: WriteMemory, if_match: IfMatch, given: ExpectedVersion | None = None
) -> Response:
    """Believe a record fully and for ever."""
    return record_answer(memory.confirm(id, **asked_version(given or ExpectedVersion(), if_match)))


def asked_version(given: ExpectedVersion, if_match: str | None) -> dict[str, str | None]:
    """Return the version that a change asks for, in its body or by ``If-Match``."""
    return {"expected_version": if_match or given.expected_version}
