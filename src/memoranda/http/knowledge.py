"""What is known: entities, facts and notes, and the tools by which an agent uses them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Path, Query, Request
from pydantic import AwareDatetime, Field
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory, answer, require_scope
from memoranda.http.resources import Id, Limit, RequestModel, example, resource
from memoranda.model.models import Change
from memoranda.model.tokens import TokenScope
from memoranda.rendering.structured import EntityInfo, HistoryLine, Moment, Result, StoredMemory
from memoranda.serving.existing import require_entity
from memoranda.tools.definitions import DEFINITIONS

router = resource("", "entities and facts")


class MergeBody(RequestModel, json_schema_extra=example(name="Ana", other="Anna")):
    """Two names of one entity; it keeps the first."""

    name: str
    other: str


class SplitBody(RequestModel, json_schema_extra=example(name="Ana", others=["Anna"])):
    """An entity, and the names that were merged with it, that of the other one first."""

    name: str
    others: list[str]


class FactQuestion(RequestModel, json_schema_extra=example(query="where does Ana live?")):
    """Which facts are wanted: those that answer a question, or the last said first."""

    query: str | None = None
    everything: bool = False
    waiting: bool = False
    limit: int = 100


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


@router.get("/entities", response_model=list[EntityInfo])
def entities(memory: ReadMemory, type: str | None = None, limit: Limit = 100) -> Response:
    """List the entities that records mention, most mentioned first."""
    return answer(memory.entities(type=type, limit=limit))


@router.post("/entities/merge", response_model=EntityInfo)
def merge(both: MergeBody, memory: WriteMemory) -> Response:
    """Make two entities one."""
    return answer(memory.merge_entities(both.name, both.other))


@router.post("/entities/split", response_model=EntityInfo)
def split(merged: SplitBody, memory: WriteMemory) -> Response:
    """Take back that names were merged with an entity; show the one that they are again."""
    return answer(memory.split_entity(merged.name, merged.others))


@router.get("/entities/{name:path}", response_model=EntityInfo)
def entity(name: Annotated[str, Path(examples=["Ana"])], memory: ReadMemory) -> Response:
    """Show a person, place or thing by its name or alias, with records about it."""
    return answer(require_entity(memory, name))


@router.post("/facts/search", response_model=list[FactForm])
def facts(asked: FactQuestion, memory: ReadMemory) -> Response:
    """List facts with how far each is believed, since when, and what it replaced."""
    return answer(memory.facts(**asked.model_dump()))


@router.get("/facts/{id:path}", response_model=FactOrigin)
def trace_fact(id: Id, memory: ReadMemory) -> Response:
    """Tell where a fact comes from: the turns that say it, its versions, its history."""
    return answer(memory.trace_fact(id))


notes_router = resource("/notes", "notes")


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


@notes_router.get("/memory", response_model=dict[str, str])
def read_memory(memory: ReadMemory) -> Response:
    """Give MEMORY.md, in step with the store."""
    return answer({"text": memory.notes.read_memory()})


@notes_router.put("/memory", response_model=dict[str, bool])
def write_memory(new: NewNotes, memory: WriteMemory) -> Response:
    """Put a text in the place of MEMORY.md, as a person would who edits it."""
    return answer({"changed": memory.notes.write_memory(new.content)})


@notes_router.get("/history", response_model=list[HistoryLine])
def history(memory: ReadMemory, asked: Annotated[HistoryQuery, Query()]) -> Response:
    """List entries of the history, the newest first."""
    if asked.keyword is None:
        return answer(memory.notes.history(since=asked.since, limit=asked.limit))
    return answer(memory.notes.search(asked.keyword, limit=asked.limit))


@notes_router.post("/history", status_code=201, response_model=HistoryLine)
def append_history(new: NewEntry, memory: WriteMemory, *, rotated: bool = False) -> Response:
    """Add an entry to the history; ``rotated`` files it under its month, too."""
    append = memory.notes.append_history_rotated if rotated else memory.notes.append_history
    return answer(append(new.entry, at=new.at), 201)


tools_router = resource("/tools", "tools")


@tools_router.get("", response_model=list[dict[str, Any]])
def tools(memory: ReadMemory) -> Response:
    """List the tools, as OpenAI's chat completions take them."""
    return answer([each.openai() for each in memory.tools()])


@tools_router.post("/{name}", response_model=dict[str, str])
def call(
    name: str,
    arguments: Annotated[dict[str, Any], Body(examples=[{"query": "green tea"}])],
    memory: ReadMemory,
    request: Request,
) -> Response:
    """Call a tool with what a model gave as arguments; what is wrong with them is in the text."""
    tool = memory.tools().find(name)
    if not DEFINITIONS[tool.name].reads:
        require_scope(request, TokenScope.WRITE)
    return answer({"text": tool.call(arguments)})
