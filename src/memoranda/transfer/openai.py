"""Chat messages in OpenAI's form, as conversations of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Message
from memoranda.text.json_values import list_of, to_object
from memoranda.transfer.batches import ImportTarget
from memoranda.transfer.conversations import ForeignConversation, ForeignMessage
from memoranda.transfer.json_files import JsonFile, JsonItem, LeftOut

# What a message says, whenever and by whichever counting it was taken.
SAID = ("role", "content", "images", "tool_calls", "tool_result")
SPEAKERS = {"system", "developer", "user", "assistant"}


def read_conversations(
    file: JsonFile, target: ImportTarget, _: LeftOut
) -> Iterator[ForeignConversation]:
    """Yield the conversations of a file, named after it: ``trip``, ``trip-2`` and so on.

    A message has no id of its own; its place and what it says make one.

    Raises:
        InvalidInput: a message is not in OpenAI's form; the error names its place.
    """
    for name, items in _conversations(file):
        trial = target.trial_conversation(name)
        messages: list[ForeignMessage] = []
        for place, shape in items:
            with located(place):
                for message in trial.extend([_current_form(shape)] if _says(shape) else []):
                    key = f"{name}\n{len(messages)}\n{_digest(message)}"
                    role, text = message.role, message.content
                    messages.append(
                        ForeignMessage(
                            place=place, key=key, role=role, text=text, at=None, form=message
                        )
                    )
        if messages:
            yield ForeignConversation(id=name, messages=tuple(messages), file=file.path.name)


def _conversations(file: JsonFile) -> Iterator[tuple[str, Sequence[JsonItem]]]:
    """Yield name and messages of each conversation."""
    first, stem = file.first().value, file.path.stem
    if isinstance(first, Mapping) and "role" in first:
        yield stem, list(file.items())
        return
    for number, (place, value) in enumerate(file.items(), 1):
        with located(place):
            found = list_of(value, "messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
        places = (f"{place}, message {number}" for number in range(1, len(found) + 1))
        name = stem if number == 1 else f"{stem}-{number}"
        yield name, [JsonItem(*pair) for pair in zip(places, found, strict=True)]


def _says(shape: Any) -> bool:
    """Return whether there is anything to keep of a message, or to refuse."""
    if not isinstance(shape, Mapping) or shape.get("role") not in SPEAKERS:
        return True
    calls = shape.get("tool_calls") or shape.get("function_call")
    return bool(calls or str(shape.get("content") or "").strip())


def _digest(message: Message) -> str:
    said = to_object(message)
    return blake2b(repr([said[name] for name in SAID]).encode(errors="replace")).hexdigest()


def _current_form(message: Any) -> Any:
    """Return a message with a ``function_call``, as OpenAI's older files have it, as of today."""
    if not isinstance(message, Mapping) or not isinstance(message.get("function_call"), Mapping):
        return message
    call = message["function_call"]
    calls = [{"id": call.get("name"), "type": "function", "function": call}]
    return {**message, "tool_calls": calls}
