"""Entities and facts: who and what records speak of, how far facts are believed, and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory, answer
from memoranda.http.resources import Id, Limit, RequestModel, example, resource
from memoranda.model.models import Change
from memoranda.rendering.structured import EntityInfo, Moment, Result, StoredMemory
from memoranda.serving.existing import require_entity

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
