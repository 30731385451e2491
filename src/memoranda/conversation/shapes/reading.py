"""Reads messages of the providers: OpenAI's chat and responses, Anthropic's messages.

Mappings are understood as well as the objects of the SDKs, whole or in parts.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memoranda.conversation.shapes.blocks import Outcome, chat_calls, legacy_call, outcome, said
from memoranda.conversation.shapes.turn import Turn, parse_role
from memoranda.conversation.shapes.values import arguments_text, unwrapped
from memoranda.errors import InvalidInput
from memoranda.model.models import Message, ToolCall, ToolResult

TIMES = ("timestamp", "created_at", "create_time")


def turns(message: object) -> list[Turn]:
    """Return the turns in one message, or in one item of OpenAI's responses form.

    An Anthropic user message with several tool results gives one turn for each. A
    ``function_call`` item gives an assistant turn with that call. A model's reasoning gives
    none: it is not kept.

    Args:
        message: a mapping or an object of a provider's SDK; a ``Message`` or ``Turn`` of ours.

    Raises:
        InvalidInput: it has no known form; the message names the part.
    """
    match message:
        case Turn():
            return [message]
        case Message():
            return [_turn(message)]
    shape = unwrapped(message)
    if not isinstance(shape, Mapping):
        text = f"a message must be a mapping with role and content, got {shape!r:.80}"
        raise InvalidInput(text)
    if shape.get("role") is None and "type" in shape:
        return _from_item(shape)
    return _from_message(shape)


def turns_of(messages: Iterable[object]) -> list[Turn]:
    """Return the turns in a list of messages or items, in order.

    In OpenAI's responses form the text and the calls of one answer are items of their own:
    those that follow each other become one turn. Parallel calls that all came without an id,
    or under the same one, get ids by which their results, in order, find them.

    Raises:
        InvalidInput: a message has no known form; the message names the part.
    """
    found: list[Turn] = []
    for message in messages:
        shape = message if isinstance(message, Turn | Message) else unwrapped(message)
        new = turns(shape)
        if found and new and _continues(found[-1], shape, new):
            found[-1] = _joined(found[-1], new[0])
        else:
            found.extend(new)
    return _with_ids(found)


def _turn(message: Message) -> Turn:
    return Turn(
        role=message.role,
        content=message.content,
        tool_calls=message.tool_calls,
        tool_result=message.tool_result,
        timestamp=message.timestamp,
        images=message.images,
        task=message.task,
    )


def _from_item(item: Mapping[str, Any]) -> list[Turn]:
    said_at = _said_at(item)
    own_id = str(item.get("call_id") or item.get("id") or "")
    match item:
        case {"type": "reasoning"}:
            return []
        case {"type": "function_call", "name": str(name)}:
            call = ToolCall(own_id, name, arguments_text(item.get("arguments")))
            return [Turn(role="assistant", content="", tool_calls=(call,), timestamp=said_at)]
        case {"type": "function_call_output"}:
            answered = ToolResult(str(item.get("call_id") or ""))
            return [_answer(outcome(answered, item.get("output")), said_at)]
        case {"type": "message"}:
            parse_role(item.get("role"))
    text = (
        f"an item of this form is not supported: {item!r:.80}; take it out (supported are "
        f"message, function_call, function_call_output and reasoning, which is passed over)"
    )
    raise InvalidInput(text)


def _from_message(message: Mapping[str, Any]) -> list[Turn]:
    role = parse_role(message.get("role"))
    said_at = _said_at(message)
    if role == "tool":
        return [_answer(outcome(_answered(message), message.get("content")), said_at)]
    content = message.get("content")
    found = said(content)
    if isinstance(refusal := message.get("refusal"), str):
        found.texts.append(refusal)
    found.calls += chat_calls(message.get("tool_calls") or ())
    if isinstance(function := unwrapped(message.get("function_call")), Mapping):
        found.calls.append(legacy_call(function))
    answers = [_answer(item, said_at) for item in found.outcomes]
    if not found and isinstance(content, list | tuple):
        return answers
    turn = Turn(
        role=role,
        content=found.text,
        tool_calls=tuple(found.calls),
        timestamp=said_at,
        images=tuple(found.images),
    )
    return [*answers, turn]


def _answered(message: Mapping[str, Any]) -> ToolResult:
    # Of calls without ids, old files and some servers give the name alone.
    answered = message.get("tool_call_id")
    return ToolResult(str(message.get("name") or "" if answered is None else answered))


def _answer(found: Outcome, said_at: datetime | None) -> Turn:
    return Turn(
        role="tool",
        content=found.text,
        tool_result=found.result,
        timestamp=said_at,
        images=found.images,
    )


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


def _continues(before: Turn, shape: object, new: Sequence[Turn]) -> bool:
    """Whether an item belongs to the answer of which ``before`` is the beginning."""
    if before.role != "assistant" or new[0].role != "assistant" or not isinstance(shape, Mapping):
        return False
    kind = shape.get("type")
    return kind == "function_call" or (kind == "message" and bool(before.tool_calls))


def _joined(before: Turn, after: Turn) -> Turn:
    return replace(
        before,
        content="\n".join(text for text in (before.content, after.content) if text),
        tool_calls=before.tool_calls + after.tool_calls,
        images=before.images + after.images,
    )


def _with_ids(found: list[Turn]) -> list[Turn]:
    """Return the turns with ids for parallel calls whose ids do not tell them apart."""
    for index, turn in enumerate(found):
        old = [call.id for call in turn.tool_calls]
        if len(set(old)) == len(old) and (len(old) == 1 or "" not in old):
            continue
        results: list[Turn] = []
        for item in found[index + 1 : index + 1 + len(old)]:
            if item.tool_result is None:
                break
            results.append(item)
        if sorted(old) == sorted(_call_id(item) for item in results):
            _rename(found, index, old)
    return found


def _rename(found: list[Turn], index: int, old: Sequence[str]) -> None:
    turn = found[index]
    new = [f"{known or 'call'}_{place}" for place, known in enumerate(old, 1)]
    calls = zip(turn.tool_calls, new, strict=True)
    told_apart = tuple(replace(call, id=after) for call, after in calls)
    found[index] = replace(turn, tool_calls=told_apart)
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    for before, after in zip(old, new, strict=True):
        waiting[before].append(after)
    for place in range(index + 1, index + 1 + len(old)):
        item = found[place]
        if item.tool_result is not None:
            after = waiting[item.tool_result.call_id].popleft()
            found[place] = replace(item, tool_result=replace(item.tool_result, call_id=after))


def _call_id(turn: Turn) -> str:
    return turn.tool_result.call_id if turn.tool_result else ""
