"""Conversations in files of messages: JSON Lines, in and out, and OpenAI's chat form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from memoranda.conversation import jsonl
from memoranda.conversation.formats.parse import check_message, parse_message, says
from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import ConversationInfo, Scope
from memoranda.store.sql.store import Store
from memoranda.text.json_values import list_of, value_of
from memoranda.transfer import sources

# Out


def session_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of JSON Lines that hold a stored conversation.

    Raises:
        NotFound: there is no such conversation.
    """
    info = store.conversations(scope, id).get(id)
    if info is None:
        raise NotFound(f"there is no conversation {id!r} for user {scope.user!r}")
    head, *lines = jsonl.dump(info, store.messages(scope, id, cleared=True))
    yield "metadata", head
    for line in lines:
        yield "message", line


# In


def read_session(
    path: Path, target: sources.ImportTarget, counts: sources.ImportCounts
) -> Iterator[sources.ForeignConversation]:
    """Yield the conversation in a file of JSON Lines: its messages, settings and creation.

    Messages that are stored under their own ids, as in the memory that wrote the file, are known.

    Raises:
        InvalidInput: it has no line of metadata.
    """
    info, found = jsonl.read(path, counts.reading)
    held = target.known_messages(info.id)
    messages = []
    for message in found:
        key = message.id if message.id in held else f"{info.id}\n{message.id}"
        with counts.reading(f"{path}, line {place_of(message) + jsonl.FIRST_LINE}"):
            (said,) = parse_message(message)
            if says(said) or said.raw is not None:
                check_message(said)
                messages.append(sources.ForeignMessage(key, said))
    yield sources.ForeignConversation(str(path), info, messages)


def read_openai(
    path: sources.File, target: sources.ImportTarget, counts: sources.ImportCounts
) -> Iterator[sources.ForeignConversation]:
    """Yield the conversations of a file, named after it: ``trip``, ``trip-2`` and so on.

    A message has no id of its own; its place and what it says make one.
    """
    for name, items in _openai_conversations(path, counts):
        messages: list[sources.ForeignMessage] = []
        for place, shape in items:
            with counts.reading(place):
                for said in filter(says, parse_message(shape)):
                    what = said.role, said.content, said.images, said.tool_calls, said.tool_result
                    digest = blake2b(repr(what).encode(errors="replace")).hexdigest()
                    key = f"{name}\n{len(messages)}\n{digest}"
                    messages.append(sources.ForeignMessage(key, said))
        if messages:
            info = ConversationInfo(id=name, created_at=target.records.now())
            yield sources.ForeignConversation(str(path), info, messages)


def _openai_conversations(
    path: sources.File, counts: sources.ImportCounts
) -> Iterator[tuple[str, Iterable[sources.JsonItem]]]:
    """Yield name and messages of each conversation."""
    items = list(sources.read_values(path, counts))
    if any(value_of(item.value, "role") is not None for item in items):
        yield path.stem, items
        return
    for number, (place, value) in enumerate(items, 1):
        with counts.reading(place):
            found = list_of(value, "messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
            places = (f"{place}, message {n}" for n in range(1, len(found) + 1))
            name = path.stem if number == 1 else f"{path.stem}-{number}"
            yield name, map(sources.JsonItem, places, found)
