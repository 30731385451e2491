"""Writes a context in the form of a provider, such that the provider takes it.

OpenAI's chat completions: only a user's message can hold pictures, so those of any other message
follow as a user message of their own, after all results of the exchange.

OpenAI's responses: an assistant's text is one plain text, as the API takes it from a caller.
Empty texts are left out. A tool's result can hold pictures; those of an assistant or system
message follow in a user's.

Anthropic's messages: user and assistant alternate, the user begins, and results come first in
the message after their calls. What would stand twice in a row under one role becomes one message
of several blocks. Blank texts are left out: they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoranda.conversation.formats.new_message import chat_part, image_block, input_part
from memoranda.conversation.formats.parse import arguments_object
from memoranda.errors import InvalidInput
from memoranda.model.checks import content_hash
from memoranda.model.models import Image, Marker, Message, ToolCall

FORMS = ("openai", "responses", "anthropic")
NAME = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64
UNNAMED = "unnamed"
PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]+")
ANY_ID = re.compile(r".+", re.DOTALL)
LONGEST_ID = 64
LONGEST_CHAT_ID = 40
OPENING = "(start)"
"""Stands for the user where a view would begin with the assistant."""
FAILED = "(The tool failed and said nothing.)"
"""Stands for the text of an error without any."""
Json = dict[str, Any]


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


@dataclass(frozen=True, slots=True)
class InsertedText:
    """A text that is inserted between the messages: a marker, recalled memory, the prompt.

    Attributes:
        text: what it says.
        quotes: whether it holds words of the conversation or the user, so that it is sent in the
            user's role; else it is a note of the system.
    """

    text: str
    quotes: bool


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """An assistant's calls and, directly after, the result of each."""

    call: Message
    results: tuple[Message, ...]

    @property
    def complete(self) -> bool:
        """Whether each call has one result."""
        answered = [item.tool_result.call_id for item in self.results if item.tool_result]
        calls = [call.id for call in self.call.tool_calls]
        return len(set(calls)) == len(calls) and sorted(answered) == sorted(calls)


ContextPart = Message | ToolExchange | InsertedText


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
    if form not in FORMS:
        raise InvalidInput(f"form={form!r} is unknown; use one of {', '.join(FORMS)}")
    body = _parts(entries)
    if recalled and recalled_last:
        last = body[-1] if body and not prompt else None
        asked = isinstance(last, Message) and last.role == "user"
        body.insert(len(body) - asked, InsertedText(recalled, quotes=False))
    if prompt:
        body.append(InsertedText(prompt, quotes=True))
    head = _join([system, None if recalled_last else recalled])
    if form == "openai":
        return RenderedContext(_chat(body, head), None)
    if form == "responses":
        return RenderedContext(_input_items(body), head)
    alternating = _AnthropicMessages(body)
    texts = [text for text in (head, *alternating.system) if text and text.strip()]
    return RenderedContext(alternating.messages, _join(texts))


def _join(texts: Sequence[str | None]) -> str | None:
    return "\n\n".join(text for text in texts if text) or None


def _parts(entries: Iterable[Message | Marker]) -> list[ContextPart]:
    """Return the entries with each call and its results as one part."""
    found: list[ContextPart] = []
    for entry in entries:
        last = found[-1] if found else None
        if isinstance(entry, Marker):
            found.append(InsertedText(entry.text, entry.quotes))
        elif entry.tool_calls:
            found.append(ToolExchange(entry, ()))
        elif entry.role != "tool":
            found.append(entry)
        elif isinstance(last, ToolExchange):
            found[-1] = ToolExchange(last.call, (*last.results, entry))
        else:
            raise _separated(entry)
    for part in found:
        if isinstance(part, ToolExchange) and not part.complete:
            raise _separated(part.call)
    return found


def _separated(message: Message) -> InvalidInput:
    return InvalidInput(
        f"message {message.id} is a tool call or a result that was parted from its "
        f"counterpart, which no provider takes; leave it out or bring both"
    )


class CallIds:
    """Ids of calls as a provider takes them. The same view gives the same ids.

    An id that the provider takes stays as it is; any other becomes a hash of itself, which
    does not depend on what else is in the view. Of ids that occur again in a later exchange,
    the later ones are numbered, unless ``repeated``.

    Args:
        form: what an id must match.
        longest: most characters of an id.
        repeated: whether later exchanges may use an id again.
    """

    def __init__(
        self, form: re.Pattern[str] = PLAIN_ID, longest: int = LONGEST_ID, *, repeated: bool = False
    ) -> None:
        """Start without any id taken."""
        self._form = form
        self._longest = longest
        self._repeated = repeated
        self._taken: set[str] = set()

    def of(self, calls: Sequence[ToolCall]) -> Mapping[str, str]:
        """Return the ids to send for those of ``calls``, which are answered together."""
        if self._repeated:
            self._taken.clear()
        return {call.id: self._free(self._sendable(call.id)) for call in calls}

    def _sendable(self, id: str) -> str:
        if self._form.fullmatch(id) and len(id) <= self._longest:
            return id
        return f"call_{content_hash(id)}"

    def _free(self, id: str) -> str:
        chosen, number = id, 1
        while chosen in self._taken:
            number += 1
            ending = f"_{number}"
            chosen = id[: self._longest - len(ending)] + ending
        self._taken.add(chosen)
        return chosen


def _function(call: ToolCall) -> dict[str, str]:
    """Return name and arguments; a name has letters, digits, ``_`` and ``-`` for all providers."""
    name = NAME.sub("_", call.name)[:LONGEST_NAME] or UNNAMED
    return {"name": name, "arguments": call.arguments if call.arguments.strip() else "{}"}


def _answered(message: Message) -> str:
    return message.tool_result.call_id if message.tool_result else ""


# OpenAI's chat completions


def _chat(parts: Sequence[ContextPart], head: str | None) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": head}] if head else []
    ids = CallIds(ANY_ID, LONGEST_CHAT_ID, repeated=True)
    for part in parts:
        match part:
            case InsertedText(text, quotes):
                messages.append({"role": "user" if quotes else "system", "content": text})
            case ToolExchange(call, results):
                known, said = ids.of(call.tool_calls), (call, *results)
                messages += [openai_message(message, known) for message in said]
                messages += _chat_images([image for item in said for image in item.images])
            case Message():
                messages.append(openai_message(part))
                messages += [] if part.role == "user" else _chat_images(part.images)
    return messages


def openai_message(message: Message, ids: Mapping[str, str] | None = None) -> Json:
    """Return ``message`` in the form of OpenAI's chat completions.

    Args:
        message: a message; its pictures come with it if it is the user's.
        ids: what to write for the ids of its calls.
    """
    known = ids or {}
    shape: Json = {"role": message.role, "content": message.content}
    if message.role == "user" and message.images:
        text = [{"type": "text", "text": message.content}] if message.content else []
        shape["content"] = [*text, *map(chat_part, message.images)]
    if message.tool_calls:
        shape["tool_calls"] = [
            {"id": known.get(call.id, call.id), "type": "function", "function": _function(call)}
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        shape["tool_call_id"] = known.get(_answered(message), _answered(message))
    return shape


def _chat_images(images: Sequence[Image]) -> list[Json]:
    return [{"role": "user", "content": [chat_part(image) for image in images]}] if images else []


# OpenAI's responses


def _input_items(parts: Sequence[ContextPart]) -> list[Json]:
    items: list[Json] = []
    ids = CallIds()
    for part in parts:
        match part:
            case InsertedText(text, quotes):
                items += _input("user" if quotes else "developer", text)
            case ToolExchange(call, results):
                items += _exchange_items(call, results, ids.of(call.tool_calls))
            case Message(role="user"):
                items += _input("user", part.content, part.images)
            case Message(role="assistant"):
                items += _output(part.content) + _input("user", "", part.images)
            case Message():
                items += _input("developer", part.content) + _input("user", "", part.images)
    return items


def _exchange_items(
    call: Message, results: Sequence[Message], ids: Mapping[str, str]
) -> list[Json]:
    items = _output(call.content)
    for each in call.tool_calls:
        items.append({"type": "function_call", "call_id": ids[each.id], **_function(each)})
    for result in results:
        output: str | list[Json] = result.content
        if result.images:
            output = [*_input_texts(result.content), *map(input_part, result.images)]
        known = ids[_answered(result)]
        items.append({"type": "function_call_output", "call_id": known, "output": output})
    return items + _input("user", "", call.images)


def _input(role: str, text: str, images: Sequence[Image] = ()) -> list[Json]:
    content = [*_input_texts(text), *map(input_part, images)]
    return [{"type": "message", "role": role, "content": content}] if content else []


def _input_texts(text: str) -> list[Json]:
    return [{"type": "input_text", "text": text}] if text else []


def _output(text: str) -> list[Json]:
    return [{"type": "message", "role": "assistant", "content": text}] if text else []


# Anthropic's messages


class _AnthropicMessages:
    """Messages that alternate, and the system texts that were among them.

    Where nothing is said, there are no messages; Anthropic wants at least one.
    """

    def __init__(self, parts: Sequence[ContextPart]) -> None:
        self.messages: list[Json] = []
        self.system: list[str] = []
        self._ids = CallIds()
        for part in parts:
            self._add(part)
        last = self.messages[-1]["content"][-1] if self.messages else {}
        if self.messages and self.messages[-1]["role"] == "assistant" and last["type"] == "text":
            last["text"] = last["text"].rstrip()  # At the end, white space is refused.

    def _add(self, part: ContextPart) -> None:
        match part:
            case InsertedText(text):
                self._say("user", _text_blocks(text))
            case ToolExchange(call, results):
                self._exchange(call, results)
            case Message(role="system"):
                self.system += [part.content] if part.content.strip() else []
                self._say("user", _image_blocks(part))
            case Message(role="assistant"):
                self._say("assistant", _text_blocks(part.content))
                self._say("user", _image_blocks(part))
            case Message():
                self._say("user", _text_blocks(part.content) + _image_blocks(part))

    def _say(self, role: str, blocks: Sequence[Json]) -> None:
        """Add blocks to the last message if it has that role, or as the next one."""
        if not blocks:
            return
        if not self.messages and role == "assistant":
            self._say("user", _text_blocks(OPENING))
        if not self.messages or self.messages[-1]["role"] != role:
            self.messages.append({"role": role, "content": []})
        self.messages[-1]["content"] += blocks

    def _exchange(self, call: Message, results: Sequence[Message]) -> None:
        ids = self._ids.of(call.tool_calls)
        self._say("assistant", _text_blocks(call.content) + _tool_uses(call, ids))
        self._say("user", [_tool_result(message, ids) for message in results])
        # Results come first, and that of an error holds text alone.
        for message in (call, *filter(_is_error, results)):
            self._say("user", _image_blocks(message))


def _text_blocks(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _image_blocks(message: Message) -> list[Json]:
    return [image_block(image) for image in message.images]


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
    block: Json = {"type": "tool_result", "tool_use_id": ids[_answered(message)]}
    content = _text_blocks(message.content)
    if _is_error(message):
        block["is_error"] = True
        content = content or _text_blocks(FAILED)
    else:
        content += _image_blocks(message)
    return block | {"content": content} if content else block
