"""The Markdown notes: MEMORY.md and the history."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime, Field
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory, answer
from memoranda.http.resources import RequestModel, example, resource
from memoranda.rendering.structured import HistoryLine

router = resource("/notes", "notes")


class NewNotes(RequestModel, json_schema_extra=example(content="- Ana is vegetarian\n")):
    """MEMORY.md as it is to be; lines that are not in it any more are forgotten."""

    content: str


class NewEntry(RequestModel, json_schema_extra=example(entry="Booked the ferry.")):
    """An entry of the history, of now or of a moment."""

    entry: str
    at: AwareDatetime | None = None


class HistoryQuery(RequestModel):
    """Which entries: those with a keyword, those since a moment, or all."""

    keyword: str | None = None
    since: AwareDatetime | None = None
    limit: int | None = Field(default=None, ge=1)


@router.get("/memory", response_model=dict[str, str])
def read_memory(memory: ReadMemory) -> Response:
    """Give MEMORY.md, in step with the store."""
    return answer({"text": memory.notes.read_memory()})


@router.put("/memory", response_model=dict[str, bool])
def write_memory(new: NewNotes, memory: WriteMemory) -> Response:
    """Put a text in the place of MEMORY.md, as a person would who edits it."""
    return answer({"changed": memory.notes.write_memory(new.content)})


@router.get("/history", response_model=list[HistoryLine])
def history(memory: ReadMemory, asked: Annotated[HistoryQuery, Query()]) -> Response:
    """List entries of the history, the newest first."""
    if asked.keyword is None:
        return answer(memory.notes.history(since=asked.since, limit=asked.limit))
    return answer(memory.notes.search(asked.keyword, limit=asked.limit))


@router.post("/history", status_code=201, response_model=HistoryLine)
def append_history(new: NewEntry, memory: WriteMemory, *, rotated: bool = False) -> Response:
    """Add an entry to the history; ``rotated`` files it under its month, too."""
    append = memory.notes.append_history_rotated if rotated else memory.notes.append_history
    return answer(append(new.entry, at=new.at), 201)
