"""Writes a context in the form of a provider, such that the provider takes it.

What was given in the form in which it is sent goes out as it came in, reasoning included. To any
other provider goes what its fields say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from memoranda.conversation.formats import anthropic, chat, responses
from memoranda.conversation.formats.content import Json
from memoranda.conversation.formats.raw import FORMS, continues, forms_of
from memoranda.errors import InvalidInput
from memoranda.model.chat import sendable_id
from memoranda.model.checks import EPOCH, refuse_unknown
from memoranda.model.models import Marker, Message, ToolCall

LONGEST_ID = 64


@dataclass(frozen=True, slots=True)
class RenderedContext:
    """A context in the form of a provider.

    Attributes:
        messages: the messages, or the input items of OpenAI's responses.
        system: the system prompt where it is an argument of its own: a text for OpenAI's
            responses, blocks for Anthropic; ``None`` if there is none, or it is among the messages.
    """

    messages: list[Json]
    system: str | list[Json] | None


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
    beside: str | None = None,
) -> RenderedContext:
    """Return a view with prompt, markers and recalled memory in a form that the provider accepts.

    What changes from turn to turn stands behind the history: directly before the prompt, or
    before the user's last message if there is no prompt. Nothing that was said is lost or changes
    its place, but: markers and later system messages go where the form has room for them; ids and
    names of calls are changed where the provider would refuse them; and whether a tool failed can
    only be said to Anthropic.

    Args:
        entries: the view in order: messages, and markers for what is left out.
        form: ``openai`` (chat completions), ``responses`` or ``anthropic``.
        system: the system prompt.
        recalled: what memory says on the prompt.
        prompt: what the user says now.
        beside: what else holds for this turn alone, such as the date.

    Raises:
        InvalidInput: there is no such form, or a tool call was parted from its results.
    """
    refuse_unknown([form], FORMS, "form")
    # Anthropic takes a system text at the start alone: notes in between are the user's there.
    note_role = "user" if form == "anthropic" else "system"
    history = [part for each in _parts(entries, note_role) if (part := _sent_part(each, form))]
    tail: list[ContextPart] = []
    if note := _join([recalled, beside]):
        last = entries[-1] if entries and not prompt else None
        asked = isinstance(last, Message) and last.role == "user"
        tail = [_inserted(note, note_role), *([history.pop()] if asked else [])]
    if prompt:
        tail.append(_inserted(prompt, "user"))
    if form == "anthropic":
        return _render_anthropic(history, tail, system)
    sent = _with_ids([*history, *tail], form)
    if form == "responses":
        return RenderedContext(responses.write(sent), system or None)
    head = [{"role": "system", "content": system}] if system else []
    return RenderedContext([*head, *chat.write(sent)], None)


def _render_anthropic(
    history: Sequence[ContextPart], tail: Sequence[ContextPart], system: str | None
) -> RenderedContext:
    """Return a request with breakpoints behind what the next one repeats: system and history."""
    texts = [part[0].content for part in history if part[0].role == "system"]
    sent = [_without_system(part) for part in _with_ids([*history, *tail], "anthropic")]
    messages = anthropic.write(sent[: len(history)], [])
    anthropic.mark_cached(messages)
    anthropic.write(sent[len(history) :], messages)
    return RenderedContext(anthropic.complete(messages), anthropic.write_system([system, *texts]))


def _without_system(sent: SentPart) -> SentPart:
    """Return a part of which the pictures of a system message alone are left, as the user's."""
    part, ids = sent
    if part[0].role != "system":
        return sent
    return (replace(part[0], role="user", content="", raw=None),), ids


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
        item = _exact_item(message, form)
        if item is None:
            others.append(message)
        else:
            items += _convert(others, form)
            others = []
            if before is not None and message.part > before.part > 0:
                items[-1]["content"] += item["content"]
            else:
                items.append(item)
        before = message if item is not None else None
    return items + _convert(others, form)


def _exact_item(message: Message, form: str) -> Json | None:
    """Return the item of this form that was given, or that the fields say exactly."""
    if message.raw is not None:
        return deepcopy(dict(message.raw)) if form in forms_of(message.raw) else None
    plain = not message.images and not message.tool_calls and message.role != "tool"
    return chat.plain_item(message) if plain or form == "openai" else None


def _convert(messages: Sequence[Message], form: str) -> list[Json]:
    """Return messages in a form in which they were not given."""
    parts: list[ContextPart] = []
    for message in messages:
        if parts and continues(parts[-1][-1], message):
            parts[-1] = (*parts[-1], message)
        else:
            parts.append((message,))
    named = [call.id for message in messages for call in message.tool_calls]
    named += [_answered(message) for message in messages if message.role == "tool"]
    accepts = FORMS[form].SENDABLE_ID.fullmatch
    ids = {name: sendable_id(name, set(), accepts, LONGEST_ID) for name in named}
    sent = [(part, ids) for each in parts if (part := _sent_part(each, form))]
    if form == "anthropic":
        return anthropic.write(sent, [])
    return responses.write(sent) if form == "responses" else chat.write(sent)


def _join(texts: Sequence[str | None]) -> str | None:
    return "\n\n".join(text for text in texts if text and text.strip()) or None


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
    given = {each.id for each in part if each.raw is None or FORMS[form].given_item(each)}
    kept = [each for each in part if each.role == "tool" or each.id in given or _says(each)]
    others = [each for each in kept if each.role != "tool" and each.id not in given]
    if form != "responses" and len(others) > 1:
        whole = replace(
            others[0],
            content="\n".join(item.content for item in others if item.content),
            tool_calls=tuple(call for item in others for call in item.tool_calls),
            images=tuple(image for item in others for image in item.images),
            raw=None,
        )
        kept = [whole, *(each for each in kept if each not in others)]
    # Calls come last in an answer, and then their results.
    return tuple(kept) if form == "responses" else tuple(sorted(kept, key=_order))


def _order(message: Message) -> int:
    return 2 if message.role == "tool" else bool(message.tool_calls)


def _says(message: Message) -> bool:
    return bool(message.content.strip() or message.tool_calls or message.images)


def _with_ids(parts: Iterable[ContextPart], form: str) -> Iterator[SentPart]:
    """Yield each part with the ids to send for its calls; in chat only those of a part differ.

    The same view gives the same ids.
    """
    taken: set[str] = set()
    accepts = FORMS[form].SENDABLE_ID.fullmatch
    for part in parts:
        own = set[str]() if form == "openai" else taken
        yield (
            part,
            {call.id: sendable_id(call.id, own, accepts, LONGEST_ID) for call in _calls(part)},
        )


def _separated(message: Message) -> InvalidInput:
    return InvalidInput(
        f"message {message.id} is a tool call or a result that was parted from its "
        f"counterpart, which no provider takes; leave it out or bring both"
    )


def _answered(message: Message) -> str:
    return message.tool_result.call_id if message.tool_result else ""
