"""Writes a context in the form of a provider, such that the provider takes it.

What was given in the form in which it is sent goes out as it came in, reasoning included. To any
other provider goes what its fields say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from memoranda.conversation.formats import anthropic, chat
from memoranda.conversation.formats.content import Json
from memoranda.conversation.formats.parse import FORMS, form_of, says, unread_parts
from memoranda.model.chat import sendable_id
from memoranda.model.checks import EPOCH, refuse_unknown
from memoranda.model.models import Marker, Message, ToolCall
from memoranda.text.patterns import compile_pattern

NO_FUNCTION_NAME = compile_pattern(r"[^a-zA-Z0-9_-]")


class RenderedContext(NamedTuple):
    """A context in the form of a provider.

    Attributes:
        messages: the messages, or the input items of OpenAI's responses.
        system: the system prompt where it is an argument of its own: a text for OpenAI's
            responses, blocks for Anthropic; ``None`` if there is none, or it is among the messages.
    """

    messages: list[Json]
    system: str | list[Json] | None


def render(
    entries: Sequence[Message | Marker],
    *,
    form: str,
    system: str | None,
    recalled: str | None,
    prompt: str | None,
) -> RenderedContext:
    """Return a view with prompt, markers and recalled memory in a form that the provider accepts.

    What changes from turn to turn stands behind the history: directly before the prompt, or
    before the user's last message if there is no prompt. Nothing that was said is lost or changes
    its place, but: markers and later system messages go where the form has room for them; ids and
    names of calls are changed where the provider would refuse them; a picture is named where a
    form has no room for it; and whether a tool failed can only be said to Anthropic.

    Args:
        entries: the view in order: messages, and markers for what is left out; a call is followed
            by its results.
        form: ``openai`` (chat completions), ``responses`` or ``anthropic``.
        system: the system prompt.
        recalled: what memory says on the prompt, and what else holds for this turn alone.
        prompt: what the user says now.

    Raises:
        InvalidInput: there is no such form.
    """
    refuse_unknown([form], FORMS, "form")
    # Anthropic takes a system text at the start alone: notes in between are the user's there.
    note_role = "user" if form == "anthropic" else "system"
    history = [
        _inserted(entry.text, "user" if entry.quotes else note_role)
        if isinstance(entry, Marker)
        else entry
        for entry in entries
    ]
    tail = [_inserted(prompt, "user")] if prompt else []
    if recalled:
        asked = not prompt and entries and isinstance(entries[-1], Message)
        last = [history.pop()] if asked and history[-1].role == "user" else []
        tail = [_inserted(recalled, note_role), *last, *tail]
    if system and form != "responses":
        history.insert(0, _inserted(system, "system"))
    history, tail = _prepare(history, form), _prepare(tail, form)
    if form == "anthropic":
        return RenderedContext(*anthropic.request(history, tail))
    instructions = (system or None) if form == "responses" else None
    return RenderedContext(FORMS[form].write([*history, *tail]), instructions)


def dump_messages(messages: Iterable[Message], form: str) -> list[Json]:
    """Return messages as the items of a form that were given; others are converted.

    Items that became several messages are put together again. Nothing is left out but what only
    another provider can read.

    Raises:
        InvalidInput: there is no such form.
    """
    refuse_unknown([form], FORMS, "form")
    items: list[Json] = []
    for exact, run in groupby(messages, lambda each: is_exact(each, form)):
        if not exact:
            items += _copy(FORMS[form].write(_prepare(run, form)))
            continue
        part = 0
        for message in run:
            given = _copy(message.raw) or chat.plain_item(message)
            if message.part > part > 0:
                items[-1]["content"] = [*items[-1]["content"], *given["content"]]
            else:
                items.append(given)
            part = message.part
    return items


def _copy(given: Any) -> Any:
    """Return a copy of JSON, so that messages stay as they are."""
    return given and json.loads(json.dumps(given))  # ``deepcopy`` takes twice as long.


def is_exact(message: Message, form: str) -> bool:
    """Whether a message was given in this form, or says the same in all."""
    if message.raw is not None:
        return form_of(message.raw) in (form, None)
    return form == "openai" or not (message.images or message.tool_calls or message.tool_result)


def _inserted(text: str, role: str) -> Message:
    """Return a text that stands between the messages: a marker, recalled memory, the prompt."""
    return Message(id="", role=role, content=text, timestamp=EPOCH, tokens=0)


def _prepare(messages: Iterable[Message], form: str) -> list[Message]:
    """Return messages as a form takes them: those in it as given, all others by their fields.

    What says nothing there, as another provider's reasoning, is left out. Calls that another form
    has one by one are one message. The same messages get the same ids.
    """
    found: list[Message] = []
    for message in filter(None, (_by_fields(each, form) for each in messages)):
        last = found[-1] if found else message
        more = last.tool_calls and last.raw is message.raw is None
        if last is not message and more and message.role == "assistant":
            found[-1] = _join(last, message)
        else:
            found.append(message)
    ids: dict[str, str] = {}
    taken = set[str]()
    return [_sendable(each, form, ids, taken) for each in found]


def _join(one: Message, other: Message) -> Message:
    return replace(
        one,
        content="\n".join(filter(None, [one.content, other.content])),
        tool_calls=one.tool_calls + other.tool_calls,
        images=one.images + other.images,
    )


def _by_fields(message: Message, form: str) -> Message | None:
    """Return a message without what only another provider reads; ``None`` if nothing is left."""
    if message.raw is None:
        return message
    own = form_of(message.raw) == form
    if not says(message) and not (own and unread_parts(message.raw)):
        return None
    text = f"{message.name}: {message.content}" if message.name else message.content
    return message if own else replace(message, content=text, raw=None)


def _sendable(message: Message, form: str, ids: dict[str, str], taken: set[str]) -> Message:
    """Return a message with the ids, names and pictures that the provider takes."""
    result, accepts = message.tool_result, FORMS[form].SENDABLE_ID.fullmatch
    for call in message.tool_calls:
        ids[call.id] = sendable_id(call.id, taken, accepts)
    shown = message.role == "user"
    if result and form != "openai":
        shown = not result.is_error
    named = (image.label for image in message.images if not shown)
    return replace(
        message,
        content="\n".join(filter(None, [message.content, *named])),
        tool_calls=tuple(
            ToolCall(
                ids[call.id],
                NO_FUNCTION_NAME.sub("_", call.name)[: chat.LONGEST_NAME] or "unnamed",
                call.arguments or "{}",
            )
            for call in message.tool_calls
        ),
        tool_result=result and replace(result, call_id=ids.get(result.call_id, result.call_id)),
        images=message.images if shown else (),
    )
