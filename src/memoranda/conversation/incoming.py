"""Messages as callers give them, made into turns that can be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from memoranda.conversation.shapes import Turn, parse_role, turns, turns_of
from memoranda.errors import InvalidInput
from memoranda.model.checks import known, several
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.model.text import clean, storable

DETAILS = ("auto", "low", "high", "original")
PLACES = ("https://", "http://", "data:image/")


def turn(
    role: str,
    content: str,
    *,
    tool_calls: Iterable[ToolCall | Mapping[str, Any]],
    tool_result: ToolResult | str | None,
    images: Iterable[Image | str],
    timestamp: datetime | None,
    task: str | None,
) -> Turn:
    """Return the turn of the arguments of ``Conversation.add``.

    Raises:
        InvalidInput: an argument cannot be used.
    """
    calls = tuple(
        call if isinstance(call, ToolCall) else _call(call)
        for call in several(tool_calls, "tool_calls")
    )
    pictures = tuple(
        Image(image) if isinstance(image, str) else image for image in several(images, "images")
    )
    result = ToolResult(tool_result) if isinstance(tool_result, str) else tool_result
    return Turn(
        role=parse_role(role),
        content=content,
        tool_calls=calls,
        tool_result=result,
        images=pictures,
        timestamp=timestamp,
        task=task,
    )


def many(messages: Iterable[Message | Mapping[str, Any]]) -> list[Turn]:
    """Return the turns of messages of another conversation or of a provider's form.

    Raises:
        InvalidInput: a message has no form that is known.
    """
    found: list[Turn] = []
    foreign: list[Any] = []
    for message in several(messages, "messages"):
        if isinstance(message, Message):
            found += turns_of(foreign)
            foreign = []
            found += turns(message)
        else:
            foreign.append(message)
    return found + turns_of(foreign)


def checked_turn(turn: Turn) -> Turn:
    """Return a turn if it can be kept.

    Raises:
        InvalidInput: a part of it cannot; the message says which.
    """
    storable(turn.content, "content")
    for text in _tool_texts(turn):
        storable(*text)
    for image in turn.images:
        _check_image(image)
    if turn.task is not None:
        clean(turn.task, "task")
    known(turn.timestamp, "timestamp")
    empty = not turn.content.strip() and not turn.images
    if empty and not turn.tool_calls and turn.tool_result is None:
        message = "content is empty; give the message some text or a tool call"
        raise InvalidInput(message)
    return turn


def _tool_texts(turn: Turn) -> Iterator[tuple[object, str]]:
    if turn.tool_calls and turn.role != "assistant":
        message = f"role={turn.role!r} cannot make tool calls; only the assistant does"
        raise InvalidInput(message)
    for call in turn.tool_calls:
        for name in ("id", "name", "arguments"):
            yield getattr(call, name), f"{name} of a tool call"
    result: object = turn.tool_result
    if result is None:
        return
    if not isinstance(result, ToolResult):
        message = f"tool_result must be a ToolResult or the id of the call, got {result!r:.80}"
        raise InvalidInput(message)
    if turn.role != "tool":
        message = f"role={turn.role!r} cannot answer a tool call; use role='tool'"
        raise InvalidInput(message)
    yield result.call_id, "tool_result"


def _check_image(image: object) -> None:
    if not isinstance(image, Image) or not isinstance(image.url, str):
        message = f"images must be Image values or their addresses, got {image!r:.80}"
        raise InvalidInput(message)
    storable(image.url, "url of an image")
    if not image.url.startswith(PLACES):
        message = (
            f"the image {image.url!r:.60} is no address; "
            f"use https://… or data:image/png;base64,… with the picture in it"
        )
        raise InvalidInput(message)
    if image.detail not in DETAILS:
        names = ", ".join(DETAILS)
        message = f"detail={image.detail!r} of an image is unknown; use one of {names}"
        raise InvalidInput(message)


def _call(call: Mapping[str, Any]) -> ToolCall:
    shape = {"role": "assistant", "content": None, "tool_calls": [call]}
    return turns(shape)[0].tool_calls[0]
