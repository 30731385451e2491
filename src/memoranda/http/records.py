"""Records and items: stored, found, listed, changed and forgotten, one or many at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import AwareDatetime, BaseModel, Field, ValidationError
from starlette.responses import Response

from memoranda.errors import InvalidInput
from memoranda.http.access import (
    ReadMemory,
    WriteMemory,
    answer,
    asked_form,
    record_answer,
    record_form,
)
from memoranda.http.problems import field_problems
from memoranda.http.resources import (
    Erase,
    Id,
    IfMatch,
    Metadata,
    RecordFilter,
    RecordQuery,
    RequestModel,
    example,
    raw_body,
    resource,
)
from memoranda.memory import Memory
from memoranda.model.models import Change, ForgetReceipt
from memoranda.rendering.forms import explain_hit, format_json
from memoranda.rendering.structured import FoundMemory, RecalledBlock, StoredMemory
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


class VersionedRecord(StoredMemory):
    """A record with its version."""

    version: str


class RecordPage(BaseModel):
    """A page of records, and the cursor of the next one where there may be one."""

    records: list[VersionedRecord]
    next: str | None


@router.post("", status_code=201, response_model=VersionedRecord)
async def remember(new: NewRecord, request: Request, memory: WriteMemory) -> Response:
    """Store a record; a fact that is known already is returned, and not stored again."""
    store = partial(memory.remember, **new.given())
    return record_answer(await request.app.state.short_calls.run(store), 201)


@router.post("/batch", status_code=201, response_model=list[VersionedRecord])
def remember_many(new: NewRecords, memory: WriteMemory) -> Response:
    """Store many records in one transaction: all of them, or none."""
    stored = memory.remember_many([each.given() for each in new.items])
    return answer([*map(record_form, stored)], 201)


@router.get("", response_model=RecordPage)
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


@router.get("/{id:path}", response_model=VersionedRecord)
async def show(id: Id, request: Request, memory: ReadMemory) -> Response:
    """Show a record, active or not."""
    read = partial(require_record, memory, id)
    found = record_answer(await request.app.state.short_calls.read(read))
    if request.headers.get("if-none-match") == found.headers["etag"]:
        return Response(status_code=304, headers={"ETag": found.headers["etag"]})
    return found


@router.patch("/{id:path}", response_model=VersionedRecord)
def update(id: Id, changes: RecordUpdate, memory: WriteMemory, if_match: IfMatch) -> Response:
    """Change what is attached to a record; what it says is corrected instead."""
    return record_answer(memory.update(id, **changes.given() | asked_version(changes, if_match)))


@router.delete("/{id:path}", response_model=ForgetReceipt)
def forget(id: Id, memory: WriteMemory, if_match: IfMatch, *, erase: Erase = False) -> Response:
    """Stop believing a record in all its versions, or erase every trace of it."""
    return answer(memory.forget(id, erase=erase, expected_version=if_match))


@router.post("/{id:path}/corrections", status_code=201, response_model=VersionedRecord)
def correct(id: Id, new: CorrectionBody, memory: WriteMemory, if_match: IfMatch) -> Response:
    """Replace what a record says; the answer is the record that supersedes it."""
    return record_answer(memory.correct(id, new.content, **asked_version(new, if_match)), 201)


@router.post("/{id:path}/confirmation", response_model=VersionedRecord)
def confirm(
    id: Id, memory: WriteMemory, if_match: IfMatch, given: ExpectedVersion | None = None
) -> Response:
    """Believe a record fully and for ever."""
    return record_answer(memory.confirm(id, **asked_version(given or ExpectedVersion(), if_match)))


def asked_version(given: ExpectedVersion, if_match: str | None) -> dict[str, str | None]:
    """Return the version that a change asks for, in its body or by ``If-Match``."""
    return {"expected_version": if_match or given.expected_version}


JSON_LINES = "application/jsonl"
EXAMPLE = '{"content": "Ana is vegetarian"}\n{"content": "Ana never flies"}\n'


async def read_body(request: Request) -> bytes:
    """Return the body of a request."""
    return await request.body()


Lines = Annotated[bytes, Depends(read_body)]


class BulkLine(BaseModel):
    """What became of a line: the record, or why it was not stored."""

    line: int
    status: int
    record: VersionedRecord | None = None
    detail: str | None = None


@router.post(
    "/bulk",
    response_class=Response,
    responses={200: {"model": BulkLine, "content": {JSON_LINES: {}}}},
    openapi_extra=raw_body(JSON_LINES, example=EXAMPLE),
)
def add_lines(lines: Lines, memory: WriteMemory) -> Response:
    """Store the records of JSON lines; a line that cannot be stored keeps no other from it."""
    told = "".join(f"{format_json(each)}\n" for each in _store(lines, memory))
    return Response(told, media_type=JSON_LINES)


def _store(lines: bytes, memory: Memory) -> Iterator[dict[str, Any]]:
    """Yield what became of each line that is not blank."""
    for number, line in enumerate(lines.splitlines(), 1):
        if not line.strip():
            continue
        try:
            new = NewRecord.model_validate_json(line)
            stored = memory.remember(**new.given())
        except ValidationError as error:
            wrong = "; ".join(
                f"{each.field}: {each.message}" for each in field_problems(error.errors())
            )
            yield {"line": number, "status": 422, "detail": wrong}
        except InvalidInput as error:
            yield {"line": number, "status": 422, "detail": str(error)}
        else:
            yield {"line": number, "status": 201, "record": record_form(stored)}


search_router = resource("", "search")


class SearchBody(RecordFilter, json_schema_extra=example(query="what does she eat?", limit=3)):
    """What is looked for; see ``Memory.search``."""

    query: str
    limit: int = 5
    offset: int = 0
    min_score: float | None = None
    exclude_session: str | None = None
    metadata: Metadata | None = None
    as_of: AwareDatetime | None = None
    why: bool = False


class RecallBody(RequestModel, json_schema_extra=example(prompt="Book me something to Lisbon.")):
    """What a model is asked next, and how many tokens memory may take."""

    prompt: str
    budget: int = 1_000
    exclude_session: str | None = None


@search_router.post("/search", response_model=list[FoundMemory])
def search(asked: SearchBody, memory: ReadMemory) -> Response:
    """Find the records that best answer a question, best first; ``why`` gives the reasons."""
    form: Any = explain_hit if asked.why else asked_form.get()
    return answer([form(hit) for hit in memory.search(**asked.given("why"))])


@search_router.post("/recall", response_model=RecalledBlock)
def recall(asked: RecallBody, memory: ReadMemory) -> Response:
    """Give what memory has for a prompt as a block of Markdown, fenced as data."""
    return answer(memory.recall(**asked.model_dump()))


items_router = resource("", "items")

Namespace = Annotated[list[str], Query(description="Its parts, from the widest to the narrowest.")]
Key = Annotated[str, Query(description="The name of an item in its namespace.")]
ContextKey = Annotated[str, Path(examples=["mood"])]


class NewValue(RequestModel, json_schema_extra=example(value="cheerful")):
    """A value of the day."""

    value: str


@items_router.get("/items", response_model=VersionedRecord)
def item(key: Key, memory: ReadMemory, namespace: Namespace = []) -> Response:  # noqa: B006
    """Show the item that is kept under exactly this namespace and key."""
    return record_answer(require_record(memory, namespace=namespace, key=key))


@items_router.delete("/items", response_model=ForgetReceipt)
def forget_item(
    key: Key,
    memory: WriteMemory,
    if_match: IfMatch,
    namespace: Namespace = [],  # noqa: B006
    *,
    erase: Erase = False,
) -> Response:
    """Forget the item that is kept under exactly this namespace and key."""
    done = memory.forget(namespace=namespace, key=key, erase=erase, expected_version=if_match)
    return answer(done)


@items_router.get("/namespaces", response_model=list[list[str]])
def namespaces(
    memory: ReadMemory,
    prefix: Namespace = [],  # noqa: B006
    depth: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """List the namespaces that have items, in order."""
    return answer(memory.namespaces(prefix, depth))


@items_router.get("/context/{key:path}", response_model=dict[str, str | None])
def get_context(key: ContextKey, memory: ReadMemory) -> Response:
    """Give the newest value of a key; ``null`` where there is none or its day is over."""
    return answer({"value": memory.get_context(key)})


@items_router.put("/context/{key:path}", response_model=VersionedRecord)
def set_context(key: ContextKey, new: NewValue, memory: WriteMemory) -> Response:
    """Keep a value under a key until the day ends in the user's time zone."""
    return record_answer(memory.set_context(key, new.value))
