"""Chat messages in OpenAI's form, as conversations of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.actions import OpenConversation
from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.model.models import ConversationInfo, Message
from memoranda.transfer.batches import ImportCounts, ImportTarget
from memoranda.transfer.json_files import JsonFile, JsonItem

RENAME = "Rename the file to import it beside that one"


def import_openai(target: ImportTarget, file: JsonFile, counts: ImportCounts) -> None:
    """Add the conversations of ``file``, named after it: ``trip``, ``trip-2`` and so on.

    Each is added in one transaction. Of one that is stored already, only the messages that
    are missing at its end are added.

    Raises:
        InvalidInput: a message cannot be stored, or a stored conversation of the same name
            went otherwise; nothing was written.
    """
    for found in _conversations(file):
        _missing(target, *found)
        counts.total += 1
    for place, name, messages in _conversations(file):
        new = _missing(target, place, name, messages)
        if new:
            if target.conversation(name, place, RENAME) is None:
                info = ConversationInfo(id=name, created_at=target.records.now())
                target.store.apply(target.scope, [OpenConversation(info)])
            transcript = target.transcript(name)
            transcript.append(new)
            transcript.announce()
        counts.messages += len(new)
        counts.skipped += len(messages) - len(new)
        counts.advance(1)


def _conversations(file: JsonFile) -> Iterator[tuple[str, str, list[JsonItem]]]:
    """Yield place, name and messages of each conversation."""
    stem = file.path.stem
    first = file.first().value
    if isinstance(first, Mapping) and "role" in first:
        yield str(file.path), stem, list(file.items())
        return
    for number, item in enumerate(file.items(), 1):
        with located(item.place):
            found = JsonObject(item.value).list("messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
        name = stem if number == 1 else f"{stem}-{number}"
        places = (f"{item.place}, message {place}" for place in range(1, len(found) + 1))
        yield item.place, name, [JsonItem(*pair) for pair in zip(places, found, strict=True)]


def _missing(target: ImportTarget, place: str, id: str, found: Sequence[JsonItem]) -> list[Message]:
    """Return the messages of a conversation that are not stored: those at its end, or none."""
    trial = target.trial_conversation(id)
    messages: list[Message] = []
    for item in found:
        with located(item.place):
            shape = _current_form(item.value)
            says = not isinstance(shape, Mapping) or (
                shape.get("role") not in {"system", "developer", "user", "assistant"}
                or shape.get("tool_calls")
                or str(shape.get("content") or "").strip()
            )
            if says:  # Else there is nothing to keep.
                messages.extend(trial.extend([shape]))
    return missing_messages(target, place, id, messages, RENAME)


def missing_messages(
    target: ImportTarget, place: str, id: str, messages: Sequence[Message], remedy: str
) -> list[Message]:
    """Return which of a conversation's messages are not stored: those at its end, or none.

    Args:
        target: the memory.
        place: where it stands, for the error.
        id: its name.
        messages: all of it.
        remedy: what to do where another one has that name.

    Raises:
        InvalidInput: a stored conversation of the same name went otherwise.
    """
    stored = target.store.messages(target.everyone, id, cleared=True)
    content = attrgetter("role", "content", "images", "tool_calls", "tool_result")
    for old, new in zip(stored, messages, strict=False):
        if content(old) != content(new):
            raise InvalidInput(
                f"{place}: another conversation {id!r} is stored already; it differs from "
                f"{new.content!r:.60} on. {remedy}"
            )
    return list(messages[len(stored) :])


def _current_form(message: Any) -> Any:
    """Return a message with a ``function_call``, as OpenAI's older files have it, as of today."""
    if not isinstance(message, Mapping) or not isinstance(message.get("function_call"), Mapping):
        return message
    call = message["function_call"]
    calls = [{"id": call.get("name"), "type": "function", "function": call}]
    return {**message, "tool_calls": calls}
