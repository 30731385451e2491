"""A memory as a whole: what it learns, its upkeep, how it is, and its file."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from fastapi import Path as PathPart
from fastapi import Query
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory, answer
from memoranda.http.records import JSON_LINES, Lines
from memoranda.http.resources import DryRun, example, raw_body, resource
from memoranda.maintenance.audit import Audit
from memoranda.memory import import_path
from memoranda.model.reports import MaintenanceReport, MemoryStats, StageReport
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage
from memoranda.rendering.forms import format_json
from memoranda.transfer.sources import PortingReport, import_received

router = resource("", "upkeep")

Stage = Annotated[
    Literal["expire", "decay", "enrich", "reflect", "derive"],
    PathPart(description="What is to be done."),
]


class ConsolidateBody(DryRun, json_schema_extra=example(session="trip", dry_run=True)):
    """Which session becomes facts; all that wait, if none is named."""

    session: str | None = None


class MaintainBody(DryRun, json_schema_extra=example(stages=["expire", "decay"], dry_run=True)):
    """The stages of a round; all of them, if none is named."""

    stages: list[str] | None = None


@router.post("/consolidate", response_model=StageReport)
def consolidate(asked: ConsolidateBody, memory: WriteMemory) -> Response:
    """Turn finished sessions into facts; tell what was done, or would be."""
    return answer(memory.consolidate(asked.session, dry_run=asked.dry_run))


@router.post("/maintain", response_model=MaintenanceReport)
def maintain(asked: MaintainBody, memory: WriteMemory) -> Response:
    """Run all stages of upkeep, or some, in the order of a night."""
    return answer(memory.maintain(asked.stages, dry_run=asked.dry_run))


@router.post("/stages/{stage}", response_model=StageReport)
def run_stage(stage: Stage, asked: DryRun, memory: WriteMemory) -> Response:
    """Run one stage of upkeep."""
    return answer(getattr(memory, stage)(dry_run=asked.dry_run))


@router.get("/sessions", response_model=list[SessionInfo])
def sessions(memory: ReadMemory, *, pending: bool = False) -> Response:
    """List sessions, and how far each became facts; only those that wait, if asked."""
    return answer(memory.sessions(pending=pending))


@router.get("/usage", response_model=list[StageUsage])
def usage(memory: ReadMemory) -> Response:
    """Tell what the stages have used of language models."""
    return answer(memory.usage())


@router.get("/audit", response_model=Audit)
def audit(memory: ReadMemory) -> Response:
    """Look for junk: duplicates, contradictions, loops, secrets and more."""
    return answer(memory.audit())


@router.get("/stats", response_model=MemoryStats)
def stats(memory: ReadMemory) -> Response:
    """Tell what the memory holds, and what waits; nothing of the machine."""
    return answer(replace(memory.stats(), location="", notes="", size=0, missing={}))


transfer_router = resource("", "transfer")
BYTES = "application/octet-stream"


@transfer_router.get(
    "/export", response_class=Response, responses={200: {"content": {JSON_LINES: {}}}}
)
def export(
    memory: ReadMemory, conversation: str | None = None, format: str | None = None
) -> Response:
    """Give all as JSON lines, one conversation, or a document of MIF; a header has the report."""
    with tempfile.TemporaryFile() as file:
        report = memory.export(file, conversation=conversation, format=format)
        file.seek(0)
        told = {"Memoranda-Report": format_json(report, ascii_only=True)}
        return Response(file.read(), headers=told, media_type=JSON_LINES)


@transfer_router.post("/import", response_model=PortingReport, openapi_extra=raw_body(BYTES))
def import_(
    content: Lines,
    memory: WriteMemory,
    name: Annotated[str, Query(description="The name of the file, which tells its kind.")] = "",
    format: Annotated[
        str | None, Query(description="Its format; recognised, if not given.")
    ] = None,
    *,
    strict: bool = False,
) -> Response:
    """Read a file of memoranda, or what another program keeps; a second time adds nothing."""
    read = partial(import_path, memory, format=format, strict=strict, own_only=True)
    return answer(import_received(content, name, read))
