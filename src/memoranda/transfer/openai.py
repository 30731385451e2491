"""Chat messages in OpenAI's form, as conversations of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memoranda.conversation.formats.parse import NewMessage, parse_messages
from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import ConversationInfo
from memoranda.text.json_values import list_of, value_of
from memoranda.transfer import sources

SPEAKERS = {"system", "developer", "user", "assistant"}


def read_conversations(
    path: Path, target: sources.ImportTarget, _: sources.ImportCounts
) -> Iterator[sources.ForeignConversation]:
    """Yield the conversations of a file, named after it: ``trip``, ``trip-2`` and so on.

    A message has no id of its own; its place and what it says make one.

    Raises:
        InvalidInput: a message is not in OpenAI's form; the error names its place.
    """
    for name, items in _conversations(path):
        messages: list[sources.ForeignMessage] = []
        for place, shape in items:
            with located(place):
                for form in parse_messages([_current_form(shape)] if _says(shape) else []):
                    key = f"{name}\n{len(messages)}\n{_digest(form)}"
                    messages.append(sources.ForeignMessage(key, form))
        if messages:
            info = ConversationInfo(id=name, created_at=target.records.now())
            yield sources.ForeignConversation(str(path), info, messages)


def _conversations(path: Path) -> Iterator[tuple[str, Sequence[sources.JsonItem]]]:
    """Yield name and messages of each conversation."""
    items = list(sources.read_values(path))
    if items and isinstance(items[0].value, Mapping) and "role" in items[0].value:
        yield path.stem, items
        return
    for number, (place, value) in enumerate(items, 1):
        with located(place):
            found = list_of(value, "messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
        name = path.stem if number == 1 else f"{path.stem}-{number}"
        yield (
            name,
            [sources.JsonItem(f"{place}, message {n}", each) for n, each in enumerate(found, 1)],
        )


def _says(shape: Any) -> bool:
    """Return whether there is anything to keep of a message, or to refuse."""
    if not isinstance(shape, Mapping) or shape.get("role") not in SPEAKERS:
        return True
    calls = shape.get("tool_calls") or shape.get("function_call")
    return bool(calls or str(shape.get("content") or "").strip())


def _current_form(message: Any) -> Any:
    """Return a message with a ``function_call``, as OpenAI's older files have it, as of today."""
    call = value_of(message, "function_call")
    if not isinstance(call, Mapping):
        return message
    calls = [{"id": call.get("name"), "type": "function", "function": call}]
    return {**message, "tool_calls": calls}


def _digest(form: NewMessage) -> str:
    said = form.role, form.content, form.images, form.tool_calls, form.tool_result
    return blake2b(repr(said).encode(errors="replace")).hexdigest()
