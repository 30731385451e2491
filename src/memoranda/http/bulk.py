"""Many records at once as JSON lines: each line is answered by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import ValidationError
from starlette.responses import Response

from memoranda.errors import InvalidInput
from memoranda.http import schemas
from memoranda.http.access import WriteMemory
from memoranda.http.answers import record_form
from memoranda.http.problems import field_problems
from memoranda.http.records import NewRecord
from memoranda.http.resources import raw_body, resource
from memoranda.memory import Memory
from memoranda.rendering.forms import format_json

router = resource("/records", "records")
JSON_LINES = "application/jsonl"
EXAMPLE = '{"content": "Ana is vegetarian"}\n{"content": "Ana never flies"}\n'


async def read_body(request: Request) -> bytes:
    """Return the body of a request."""
    return await request.body()


Lines = Annotated[bytes, Depends(read_body)]


@router.post(
    "/bulk",
    response_class=Response,
    responses={200: {"model": schemas.BulkLine, "content": {JSON_LINES: {}}}},
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
