"""The tools by which an agent uses a memory, for programs that call them by name."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body
from starlette.responses import Response

from memoranda.http.access import ReadMemory, WriteMemory, answer
from memoranda.http.resources import resource

router = resource("/tools", "tools")


@router.get("", response_model=list[dict[str, Any]])
def tools(memory: ReadMemory) -> Response:
    """List the tools, as OpenAI's chat completions take them."""
    return answer([each.openai() for each in memory.tools()])


@router.post("/{name}", response_model=dict[str, str])
def call(
    name: str,
    arguments: Annotated[dict[str, Any], Body(examples=[{"query": "green tea"}])],
    memory: WriteMemory,
) -> Response:
    """Call a tool with what a model gave as arguments; what is wrong with them is in the text."""
    return answer({"text": memory.tools().find(name).call(arguments)})
