"""Writes a context in the form of a provider, such that the provider takes it.

OpenAI's chat completions: only a user's message can hold pictures, so those of any other message
follow as a user message of their own, after all results of the exchange.

OpenAI's responses: an assistant's text is one plain text, as the API takes it from a caller.
Empty texts are left out. A tool's result can hold pictures; those of an assistant or system
message follow in a user's.

What was given in the form in which it is sent goes out as it came in, reasoning included. To any
other provider goes what its fields say.

Anthropic's messages: user and assistant alternate, the user begins, and results come first in
the message after their calls. What would stand twice in a row under one role becomes one message
of several blocks. Blank texts are left out: they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoranda.conversation.formats.parse import arguments_object, known_detail, unread_parts
from memoranda.conversation.formats.raw import (
    FORM_ROLES,
    FORMS,
    Json,
    continues,
    exact_item,
    forms_of,
    is_item,
    send_item,
)
from memoranda.errors import InvalidInput
from memoranda.model.chat import FAILED, MEDIA, OPENING, sendable_id
from memoranda.model.checks import EPOCH, refuse_unknown
from memoranda.model.models import Image, Marker, Message, ToolCall
from memoranda.text.patterns import compile_pattern

NAME = compile_pattern(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64
UNNAMED = "unnamed"
PLAIN_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,64}")
CHAT_ID = compile_pattern(r".{1,40}", re.DOTALL)
LONGEST_ID = 64
ID_FORMS = {"openai": CHAT_ID, "responses": PLAIN_ID, "anthropic": PLAIN_ID}
INLINE = compile_pattern(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,(?=.)", re.IGNORECASE)
WEB = compile_pattern(r"https?://.", re.IGNORECASE | re.DOTALL)
SECURE = compile_pattern(r"https://.", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RenderedContext:
    """A context in the form of a provider.

    Attributes:
        messages: the messages, or the input items of OpenAI's responses.
        system: the system text where it is an argument of its own (``instructions``,
            ``system``); ``None`` where there is none, or it is among the messages.
    """

    messages: list[Json]
    system: str | None


# One message, or an assistant's answer with calls and, directly after, the result of each.
ContextPart = tuple[Message, ...]
# A part with the ids under which its calls are sent.
SentPart = tuple[ContextPart, Mapping[str, str]]


def render(
    entries: Sequence[Message | Marker],
    *,
    form: str,
    system: str | None,
    recalled: str | None,
    prompt: str | None,
    recalled_last: bool = False,
) -> RenderedContext:
    """Return a view with prompt, markers and recalled memory in a form that the provider accepts.

    Nothing that was said is lost or changes its place, but: markers and later system messages
    go where the form has room for them; ids and names of calls are changed where the provider
    would refuse them; and whether a tool failed can only be said to Anthropic.

    Args:
        entries: the view in order: messages, and markers for what is left out.
        form: ``openai`` (chat completions), ``responses`` or ``anthropic``.
        system: the system prompt.
        recalled: what memory says on the prompt.
        prompt: what the user says now.
        recalled_last: put ``recalled`` directly before the prompt, or before the user's last
            message if there is no prompt, so that all that precedes it can stay the same.

    Raises:
        InvalidInput: there is no such form, or a tool call was parted from its results.
    """
    refuse_unknown([form], FORMS, "form")
    # Anthropic takes a system text at the start alone: notes in between are the user's there.
    note_role = "user" if form == "anthropic" else "system"
    parts = [part for each in _parts(entries, note_role) if (part := _sent_part(each, form))]
    if recalled and recalled_last:
        last = entries[-1] if entries and not prompt else None
        asked = isinstance(last, Message) and last.role == "user"
        parts.insert(len(parts) - asked, _inserted(recalled, note_role))
    if prompt:
        parts.append(_inserted(prompt, "user"))
    head = _join([system, None if recalled_last else recalled])
    sent = list(_with_ids(parts, form))
    if form == "openai":
        return RenderedContext(_chat(sent, head), None)
    if form == "responses":
        return RenderedContext(_input_items(sent), head)
    messages, texts = _alternating(sent)
    return RenderedContext(messages, _join([head if head and head.strip() else None, *texts]))


def dump_messages(messages: Iterable[Message], form: str) -> list[Json]:
    """Return messages as the items of a form that were given; others are converted.

    Items that became several messages are put together again. Nothing is left out but what only
    another provider can read.

    Raises:
        InvalidInput: there is no such form.
    """
    refuse_unknown([form], FORMS, "form")
    items: list[Json] = []
    others: list[Message] = []
    before: Message | None = None
    for message in messages:
        item = exact_item(message, form)
        if item is None:
            others.append(message)
        else:
            if others:
                items += _convert(others, form)
                others = []
            if before is not None and message.part > before.part > 0:
                items[-1]["content"] += item["content"]
            else:
                items.append(item)
        before = message if item is not None else None
    return items + _convert(others, form)


def _convert(messages: Sequence[Message], form: str) -> list[Json]:
    """Return messages in a form in which they were not given."""
    parts: list[ContextPart] = []
    for message in messages:
        if parts and continues(parts[-1][-1], message):
            parts[-1] = (*parts[-1], message)
        else:
            parts.append((message,))
    parts = [part for each in parts if (part := _sent_part(each, form))]
    named = [call.id for message in messages for call in message.tool_calls]
    named += [_answered(message) for message in messages if message.role == "tool"]
    known = {name: sendable_id(name, set(), ID_FORMS[form].fullmatch, LONGEST_ID) for name in named}
    sent = [(part, known) for part in parts]
    if form == "openai":
        return _chat(sent, None)
    return _input_items(sent) if form == "responses" else _alternating(sent, whole=False)[0]


def _join(texts: Sequence[str | None]) -> str | None:
    return "\n\n".join(text for text in texts if text) or None


def _inserted(text: str, role: str) -> ContextPart:
    """Return a text that stands between the messages: a marker, recalled memory, the prompt."""
    return (Message(id="", role=role, content=text, timestamp=EPOCH, tokens=0),)


def _parts(entries: Iterable[Message | Marker], note_role: str) -> list[ContextPart]:
    """Return the entries with each call and its results as one part.

    A marker that quotes the conversation or the user is sent in the user's role, any other in
    ``note_role``.
    """
    found: list[ContextPart] = []
    for entry in entries:
        last = found[-1] if found else None
        if isinstance(entry, Marker):
            found.append(_inserted(entry.text, "user" if entry.quotes else note_role))
        elif entry.role != "tool" and last and continues(last[-1], entry):
            found[-1] = (*last, entry)
        elif entry.role != "tool":
            found.append((entry,))
        elif last and _calls(last):
            found[-1] = (*last, entry)
        else:
            raise _separated(entry)
    for part in found:
        calls = [call.id for call in _calls(part)]
        answers = [_answered(message) for message in part if message.role == "tool"]
        if len(set(calls)) < len(calls) or sorted(calls) != sorted(answers):
            raise _separated(part[0])
    return found


def _calls(part: ContextPart) -> list[ToolCall]:
    return [call for message in part for call in message.tool_calls]


def _sent_part(part: ContextPart, form: str) -> ContextPart:
    """Return a part in which what is not sent as it was given is one message of the answer.

    An answer in OpenAI's responses form is several items anyway. What says nothing, as another
    provider's reasoning, is left out.
    """
    if len(part) == 1 and part[0].raw is None:
        return part
    answer = [message for message in part if message.role != "tool"]
    kept = [item for item in answer if item.raw is None or _is_sendable(item, form)]
    others = [item for item in answer if item not in kept and _says(item)]
    if form == "responses":
        kept = [item for item in answer if item in kept or item in others]
    elif others:
        whole = replace(
            others[0],
            content="\n".join(item.content for item in others if item.content),
            tool_calls=tuple(call for item in others for call in item.tool_calls),
            images=tuple(image for item in others for image in item.images),
            raw=None,
        )
        kept = sorted([*kept, whole], key=lambda item: bool(item.tool_calls))
    return (*kept, *(message for message in part if message.role == "tool"))


def _says(message: Message) -> bool:
    return bool(message.content.strip() or message.tool_calls or message.images)


def _with_ids(parts: Iterable[ContextPart], form: str) -> Iterator[SentPart]:
    """Yield each part with the ids to send for its calls; in chat only those of a part differ.

    The same view gives the same ids.
    """
    taken: set[str] = set()
    for part in parts:
        own, ids = set[str]() if form == "openai" else taken, ID_FORMS[form].fullmatch
        yield part, {call.id: sendable_id(call.id, own, ids, LONGEST_ID) for call in _calls(part)}


def _is_sendable(message: Message, form: str) -> bool:
    """Whether the given item is sent in this form, as the fields do not say what it holds."""
    raw = message.raw
    if raw is None or form not in forms_of(raw):
        return False
    if is_item(raw):
        return True
    moved = (form == "openai" and message.role != "user") or (
        form == "anthropic" and _is_error(message)
    )
    if raw.get("role") not in FORM_ROLES[form] or (message.images and moved):
        return False
    special = form == "responses" and "id" in raw
    return bool(special or unread_parts(raw) or _special_calls(raw) or _special_results(raw))


def _given(message: Message, form: str) -> Json | None:
    """Return the given item as it is sent; ``None`` where what the fields say is sent."""
    is_sent = message.raw is not None and _is_sendable(message, form)
    return send_item(message.raw or {}, form) if is_sent else None


def _special_calls(raw: Mapping[str, Any]) -> bool:
    """Whether calls of OpenAI's chat form are none of functions, or carry a signature."""
    calls = raw.get("tool_calls") or ()
    return any(call.keys() - {"id", "type", "function", "index"} for call in calls)


def _special_results(raw: Mapping[str, Any]) -> bool:
    """Whether a result of Anthropic's form holds more than text and pictures."""
    blocks = raw.get("content")
    inner = [block.get("content") for block in blocks] if isinstance(blocks, list) else []
    kinds = [part.get("type") for each in inner if isinstance(each, list) for part in each]
    return bool(set(kinds) - {"text", "image"})


def _separated(message: Message) -> InvalidInput:
    return InvalidInput(
        f"message {message.id} is a tool call or a result that was parted from its "
        f"counterpart, which no provider takes; leave it out or bring both"
    )


def _answered(message: Message) -> str:
    return message.tool_result.call_id if message.tool_result else ""


def _function(call: ToolCall) -> dict[str, str]:
    """Return name and arguments; a name has letters, digits, ``_`` and ``-`` for all providers."""
    name = NAME.sub("_", call.name)[:LONGEST_NAME] or UNNAMED
    return {"name": name, "arguments": call.arguments if call.arguments.strip() else "{}"}


# Pictures


def _picture(image: Image, form: str) -> Json:
    """Return a picture as a part of a message; its name where the provider would refuse it all."""
    url, inline = image.url, INLINE.match(image.url)
    media = MEDIA.get(inline[1].lower()) if inline else None
    linked = (SECURE if form == "anthropic" else WEB).match(url)
    if not media and (inline or not linked):
        is_data = url[:5].lower() == "data:"
        name = f"[image: {inline[1] if inline else 'data' if is_data else url}]"
        return {"type": "input_text" if form == "responses" else "text", "text": name}
    detail = known_detail(image.detail)
    if form == "responses":
        return {"type": "input_image", "image_url": url, "detail": detail}
    if form == "openai":
        place = {"url": url} if detail == "auto" else {"url": url, "detail": detail}
        return {"type": "image_url", "image_url": place}
    source = {"type": "url", "url": url}
    if inline and media:
        source = {"type": "base64", "media_type": media, "data": url[inline.end() :]}
    return {"type": "image", "source": source}


def _pictures(messages: Iterable[Message], form: str) -> list[Json]:
    return [_picture(image, form) for message in messages for image in message.images]


# OpenAI's chat completions


def _chat(sent: Iterable[SentPart], head: str | None) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": head}] if head else []
    for part, ids in sent:
        messages += [_chat_message(message, ids) for message in part]
        images = _pictures([item for item in part if item.role != "user"], "openai")
        messages += [{"role": "user", "content": images}] if images else []
    return messages


def _chat_message(message: Message, ids: Mapping[str, str]) -> Json:
    if (given := _given(message, "openai")) is not None:
        return _given_chat(message, given, ids)
    shape: Json = {"role": message.role, "content": message.content}
    if message.role == "user" and message.images:
        text = [{"type": "text", "text": message.content}] if message.content else []
        shape["content"] = [*text, *_pictures([message], "openai")]
    if message.tool_calls:
        shape["tool_calls"] = [
            {"id": ids[call.id], "type": "function", "function": _function(call)}
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        shape["tool_call_id"] = ids[_answered(message)]
    return shape


def _given_chat(message: Message, shape: Json, ids: Mapping[str, str]) -> Json:
    for call, given in zip(message.tool_calls, shape.get("tool_calls") or (), strict=False):
        given["id"] = ids[call.id]
        if "function" in given:
            given["type"] = "function"
            given["function"] |= _function(call)
    if message.tool_result is not None and message.role == shape["role"]:
        shape["tool_call_id"] = ids[_answered(message)]
    return shape


# OpenAI's responses


def _input_items(sent: Iterable[SentPart]) -> list[Json]:
    items: list[Json] = []
    for part, ids in sent:
        for message in part:
            items += _message_items(message, ids)
            if message.role == "tool" and _answered(message) in _custom_calls(part):
                items[-1]["type"] = "custom_tool_call_output"
        if part[0].role != "user":
            shown = [each for each in part if each.role != "tool"]
            shown = [each for each in shown if not _is_sendable(each, "responses")]
            items += _input("user", _pictures(shown, "responses"))
    return items


def _custom_calls(part: ContextPart) -> list[str]:
    """Return the ids of calls whose input is text, and whose results have a type of their own."""
    custom = (item for item in part if item.raw and item.raw.get("type") == "custom_tool_call")
    return [call.id for item in custom for call in item.tool_calls]


def _message_items(message: Message, ids: Mapping[str, str]) -> list[Json]:
    if (given := _given(message, "responses")) is not None:
        return [_given_item(message, given, ids)]
    texts, images = _input_texts(message.content), _pictures([message], "responses")
    match message.role:
        case "user":
            return _input("user", texts + images)
        case "assistant":
            said = {"type": "message", "role": "assistant", "content": message.content}
            calls = [
                {"type": "function_call", "call_id": ids[call.id], **_function(call)}
                for call in message.tool_calls
            ]
            return [said, *calls] if message.content else calls
        case "tool":
            known, output = ids[_answered(message)], texts + images if images else message.content
            return [{"type": "function_call_output", "call_id": known, "output": output}]
    return _input("developer", texts)


def _given_item(message: Message, item: Json, ids: Mapping[str, str]) -> Json:
    if item.get("type") == "function_call":
        [call] = message.tool_calls
        item |= {"call_id": ids[call.id], **_function(call)}
    elif item.get("type") == "function_call_output":
        item["call_id"] = ids[_answered(message)]
        item.setdefault("output", message.content)
    return item


def _input(role: str, content: Sequence[Json]) -> list[Json]:
    return [{"type": "message", "role": role, "content": content}] if content else []


def _input_texts(text: str) -> list[Json]:
    return [{"type": "input_text", "text": text}] if text else []


# Anthropic's messages


def _alternating(sent: Iterable[SentPart], *, whole: bool = True) -> tuple[list[Json], list[str]]:
    """Return messages that alternate, and the system texts that were among them.

    Where nothing is said, there are no messages; Anthropic wants at least one. What is not a
    ``whole`` request may begin with the assistant, and keeps system texts in their places.
    """
    messages: list[Json] = []
    system: list[str] = []
    for part, ids in sent:
        answer = [message for message in part if message.role != "tool"]
        results = [message for message in part if message.role == "tool"]
        for message in answer:
            blocks = _message_blocks(message, ids)
            if message.role != "system":
                _say(messages, message.role, blocks, whole=whole)
            elif whole:
                system += [message.content] if message.content.strip() else []
            else:
                _say(messages, "system", blocks, whole=False)
        _say(messages, "user", [_tool_result(message, ids) for message in results], whole=whole)
        # Results come first, and that of an error holds text alone.
        shown = [item for item in answer if not _is_sendable(item, "anthropic")]
        pictures = _pictures([*shown, *filter(_is_error, results)], "anthropic")
        _say(messages, "user", pictures, whole=whole)
    if whole and messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].rstrip()  # At the end, white space is refused.
    return messages, system


def _say(messages: list[Json], role: str, blocks: Sequence[Json], *, whole: bool) -> None:
    """Add blocks to the last message if it has that role, or as the next one."""
    if not blocks:
        return
    if whole and not messages and role == "assistant":
        messages.append({"role": "user", "content": _text_blocks(OPENING)})
    if not messages or messages[-1]["role"] != role:
        messages.append({"role": role, "content": []})
    messages[-1]["content"] += blocks


def _message_blocks(message: Message, ids: Mapping[str, str]) -> list[Json]:
    if (given := _given(message, "anthropic")) is not None:
        blocks: list[Json] = given["content"]
        uses = iter(_tool_uses(message, ids))
        return [
            block | next(uses) if block.get("type") == "tool_use" else block for block in blocks
        ]
    return _text_blocks(message.content) + _tool_uses(message, ids)


def _text_blocks(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool_uses(call: Message, ids: Mapping[str, str]) -> list[Json]:
    return [
        {
            "type": "tool_use",
            "id": ids[each.id],
            "name": _function(each)["name"],
            "input": arguments_object(each.arguments),
        }
        for each in call.tool_calls
    ]


def _is_error(message: Message) -> bool:
    return message.tool_result is not None and message.tool_result.is_error


def _tool_result(message: Message, ids: Mapping[str, str]) -> Json:
    if (given := _given(message, "anthropic")) is not None:
        [result] = given["content"]
        return {**result, "tool_use_id": ids[_answered(message)]}
    block: Json = {"type": "tool_result", "tool_use_id": ids[_answered(message)]}
    content = _text_blocks(message.content)
    if _is_error(message):
        block["is_error"] = True
        content = content or _text_blocks(FAILED)
    else:
        content += _pictures([message], "anthropic")
    return block | {"content": content} if content else block
