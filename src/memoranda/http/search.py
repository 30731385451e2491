"""Searching and recalling: the questions stand in bodies, which no proxy logs."""

from __future__ import annotations

from typing import Any

from pydantic import AwareDatetime
from starlette.responses import Response

from memoranda.http.access import ReadMemory
from memoranda.http.answers import answer, asked_form
from memoranda.http.resources import Metadata, RecordFilter, RequestModel, example, resource
from memoranda.rendering.forms import explain_hit
from memoranda.rendering.structured import FoundMemory, RecalledBlock

router = resource("", "search")


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


@router.post("/search", response_model=list[FoundMemory])
def search(asked: SearchBody, memory: ReadMemory) -> Response:
    """Find the records that best answer a question, best first; ``why`` gives the reasons."""
    form: Any = explain_hit if asked.why else asked_form.get()
    return answer([form(hit) for hit in memory.search(**asked.given("why"))])


@router.post("/recall", response_model=RecalledBlock)
def recall(asked: RecallBody, memory: ReadMemory) -> Response:
    """Give what memory has for a prompt as a block of Markdown, fenced as data."""
    return answer(memory.recall(**asked.model_dump()))
