"""The Markdown notes: MEMORY.md and the history."""

from __future__ import annotations

from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory
from memoranda.http.answers import answer
from memoranda.http.resources import Limit, RequestModel, example, resource
from memoranda.rendering.structured import HistoryLine

router = resource("/notes", "notes")


class NewNotes(RequestModel, json_schema_extra=example(text="- Ana is vegetarian\n")):
    """MEMORY.md as it is to be; lines that are not in it any more are forgotten."""

    text: str


class NewEntry(RequestModel, json_schema_extra=example(text="Booked the ferry.")):
    """An entry of the history; ``rotated`` files it under its month."""

    text: str
    rotated: bool = False


@router.get("/memory", response_model=dict[str, str])
def read_memory(memory: ReadMemory) -> Response:
    """Give MEMORY.md, in step with the store."""
    return answer({"text": memory.notes.read_memory()})


@router.put("/memory", response_model=dict[str, bool])
def write_memory(new: NewNotes, memory: WriteMemory) -> Response:
    """Put a text in the place of MEMORY.md, as a person would who edits it."""
    return answer({"changed": memory.notes.write_memory(new.text)})


@router.get("/history", response_model=list[HistoryLine])
def history(memory: ReadMemory, query: str = "", limit: Limit = 20) -> Response:
    """List entries of the history, the newest first: all, or those with the words of a query."""
    notes = memory.notes
    found = notes.search(query, limit=limit) if query else notes.history(limit=limit)
    return answer(found)


@router.post("/history", status_code=201, response_model=HistoryLine)
def append_history(new: NewEntry, memory: WriteMemory) -> Response:
    """Add an entry to the history."""
    append = memory.notes.append_history_rotated if new.rotated else memory.notes.append_history
    return answer(append(new.text), 201)
