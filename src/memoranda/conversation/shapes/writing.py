"""Writes a view in the form of a provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memoranda.conversation.shapes.anthropic import alternating
from memoranda.conversation.shapes.openai_chat import chat_messages
from memoranda.conversation.shapes.openai_responses import input_items
from memoranda.conversation.shapes.parts import Note, Part, Prompt, parts
from memoranda.errors import InvalidInput
from memoranda.model.models import Marker, Message

FORMS = ("openai", "responses", "anthropic")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A context in the form of a provider.

    Attributes:
        messages: the messages, or the input items of OpenAI's responses.
        system: the system text where it is an argument of its own (``instructions``,
            ``system``); ``None`` where there is none, or it is among the messages.
    """

    messages: list[dict[str, Any]]
    system: str | None


def render(
    entries: Sequence[Message | Marker],
    *,
    form: str,
    system: str | None,
    recalled: str | None,
    prompt: str | None,
    recalled_last: bool = False,
) -> Rendered:
    """Return a view with what belongs around it, such that the provider takes it.

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
        message = f"form={form!r} is unknown; use one of {', '.join(FORMS)}"
        raise InvalidInput(message)
    body = parts(entries)
    if recalled and recalled_last:
        body.insert(_place_before_prompt(body, prompt), Note(recalled))
    if prompt:
        body.append(Prompt(prompt))
    return _written(body, form, _joined([system, None if recalled_last else recalled]))


def _written(body: Sequence[Part], form: str, head: str | None) -> Rendered:
    match form:
        case "openai":
            return Rendered(chat_messages(body, head=head), None)
        case "responses":
            return Rendered(input_items(body), head)
    messages, later = alternating(body)
    texts = [head, *later]
    return Rendered(messages, _joined([text for text in texts if text and text.strip()]))


def _place_before_prompt(body: Sequence[Part], prompt: str | None) -> int:
    last = body[-1] if body and not prompt else None
    asked = isinstance(last, Message) and last.role == "user"
    return len(body) - asked


def _joined(texts: Sequence[str | None]) -> str | None:
    return "\n\n".join(text for text in texts if text) or None
