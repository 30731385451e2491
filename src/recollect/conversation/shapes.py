"""Messages in the forms of the providers, in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.core.models import Message, ToolCall, ToolResult

ROLES = ("system", "user", "assistant", "tool")
TIMES = ("timestamp", "created_at", "create_time")
SAME_ROLE = {"developer": "system", "function": "tool", "model": "assistant", "human": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message that is not yet in a transcript."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    timestamp: datetime | None = None


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    if name not in ROLES:
        message = f"role={role!r} is unknown; use one of {', '.join(ROLES)}"
        raise InvalidInput(message)
    return str(name)


def turns(message: object) -> list[Turn]:
    """Return the turns in a message of the OpenAI chat or the Anthropic form.

    An Anthropic user message with several tool results gives one turn for each.

    Raises:
        InvalidInput: it has neither form; the message names the part.
    """
    if not isinstance(message, Mapping):
        text = f"a message must be a mapping with role and content, got {message!r:.80}"
        raise InvalidInput(text)
    role = parse_role(message.get("role"))
    content = message.get("content")
    if isinstance(content, list):
        return _from_blocks(role, content, message)
    if content is not None and not isinstance(content, str):
        text = f"content must be text or a list of blocks, got {content!r:.80}"
        raise InvalidInput(text)
    result = None
    if role == "tool":
        result = ToolResult(str(message.get("tool_call_id") or message.get("name") or ""))
    return [
        Turn(
            role=role,
            timestamp=_said_at(message),
            content=content or "",
            tool_calls=_openai_calls(message.get("tool_calls") or ()),
            tool_result=result,
        )
    ]


def _openai_calls(calls: object) -> tuple[ToolCall, ...]:
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        text = f"tool_calls must be a list, got {calls!r:.80}"
        raise InvalidInput(text)
    found = []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or "name" not in function:
            text = f"a tool call needs function.name, got {call!r:.80}"
            raise InvalidInput(text)
        arguments = function.get("arguments") or "{}"
        if not isinstance(arguments, str):
            arguments = _json(arguments)
        found.append(ToolCall(str(call.get("id") or ""), str(function["name"]), arguments))
    return tuple(found)


def _from_blocks(
    role: str, blocks: Sequence[Mapping[str, Any]], message: Mapping[str, Any]
) -> list[Turn]:
    texts: list[str] = []
    said_at = _said_at(message)
    calls = list(_openai_calls(message.get("tool_calls") or ()))
    results: list[Turn] = []
    for block in blocks:
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                texts.append(text)
            case {"type": "tool_use", "id": str(id), "name": str(name)}:
                calls.append(ToolCall(id, name, _json(block.get("input", {}))))
            case {"type": "tool_result", "tool_use_id": str(id)}:
                results.append(
                    Turn(
                        role="tool",
                        timestamp=said_at,
                        content=_plain(block.get("content")),
                        tool_result=ToolResult(id, bool(block.get("is_error"))),
                    )
                )
            case _:
                text = f"a content block of this form is not supported: {block!r:.80}"
                raise InvalidInput(text)
    if not texts and not calls:
        return results
    result = ToolResult(str(message.get("tool_call_id") or "")) if role == "tool" else None
    said = Turn(
        role=role,
        timestamp=said_at,
        content="\n".join(texts),
        tool_calls=tuple(calls),
        tool_result=result,
    )
    return [*results, said]


def _said_at(message: Mapping[str, Any]) -> datetime | None:
    """Return when a message was said, by the names under which exports give it."""
    given = next((message[name] for name in TIMES if message.get(name) is not None), None)
    try:
        match given:
            case None | datetime():
                return given
            case bool():
                pass
            case int() | float():
                return datetime.fromtimestamp(given, UTC)
            case str():
                return datetime.fromisoformat(given)
    except (ValueError, OverflowError, OSError):
        pass
    text = (
        f"a message has the time {given!r:.80}; write it with its time zone, such as "
        f"2025-03-31T18:30:00Z, or as seconds since 1970"
    )
    raise InvalidInput(text)


def _plain(content: object) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(
                block["text"]
                if isinstance(block, Mapping) and isinstance(block.get("text"), str)
                else _json(block)
                for block in content
            )
    return _json(content)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        text = f"a part of a message is no JSON ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def openai(message: Message) -> dict[str, Any]:
    """Return ``message`` in the form of OpenAI's chat completions."""
    shape: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shape["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        shape["tool_call_id"] = message.tool_result.call_id
    return shape
