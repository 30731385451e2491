"""A whole memory as a file: its export, and the import of files of this and other programs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory
from memoranda.http.answers import answer
from memoranda.http.bulk import JSON_LINES, Lines
from memoranda.http.resources import raw_body, resource
from memoranda.rendering.forms import format_json
from memoranda.transfer.sources import PortingReport

router = resource("", "transfer")
BYTES = "application/octet-stream"


@router.get("/export", response_class=Response, responses={200: {"content": {JSON_LINES: {}}}})
def export(
    memory: ReadMemory, conversation: str | None = None, format: str | None = None
) -> Response:
    """Give all as JSON lines, one conversation, or a document of MIF; a header has the report."""
    with tempfile.TemporaryFile() as file:
        report = memory.export(file, conversation=conversation, format=format)
        file.seek(0)
        told = {"Memoranda-Report": format_json(report, ascii_only=True)}
        return Response(file.read(), headers=told, media_type=JSON_LINES)


@router.post("/import", response_model=PortingReport, openapi_extra=raw_body(BYTES))
def import_(
    content: Lines,
    memory: WriteMemory,
    name: Annotated[str, Query(description="The name of the file, whose end tells its kind.")] = "",
    format: Annotated[
        str | None, Query(description="Its format; recognised, if not given.")
    ] = None,
    *,
    strict: bool = False,
) -> Response:
    """Read a file of memoranda, or what another program keeps; a second time adds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"import{Path(name).suffix}"
        file.write_bytes(content)
        return answer(memory.import_(file, format, strict=strict))
