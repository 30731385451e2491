"""Conversations in files of messages: session files, in and out, and OpenAI's chat form.

A session file can be gone on with by itself; here its messages become episodes that can be found,
or a stored conversation becomes a file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from memoranda.conversation.formats.parse import NewMessage, parse_messages
from memoranda.conversation.session_file import FileTranscript
from memoranda.conversation.session_format import (
    FIRST_LINE,
    dump_line,
    message_value,
    metadata_value,
)
from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import ErrorPrefix
from memoranda.model.models import ConversationInfo, Message, Pruning, Scope
from memoranda.store.sql.store import Store
from memoranda.text.json_values import list_of
from memoranda.transfer.sources import (
    ForeignConversation,
    ForeignMessage,
    ImportCounts,
    ImportTarget,
    JsonItem,
    read_values,
)

# Out


def session_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of a session file that holds a stored conversation.

    Positions are those of the lines, so receipts and what was cleared are as in the store,
    also where messages were erased.

    Raises:
        NotFound: there is no such conversation.
    """
    info = store.conversations(scope, id).get(id)
    if info is None:
        raise NotFound(f"there is no conversation {id!r} for user {scope.user!r}")
    messages = store.messages(scope, id, cleared=True)
    settings = replace(info, start=bisect_left(messages, info.start, key=place_of))
    prunings = numbered_prunings(store.prunings(scope, id), messages)
    line = {"lastConsolidated": _count_consolidated(store, scope, id, messages)}
    value = metadata_value(settings, prunings, line, store.tombstones(scope, id))
    yield "metadata", dump_line(value) + b"\n"
    for message in messages:
        yield "message", dump_line(message_value(message)) + b"\n"


def _count_consolidated(store: Store, scope: Scope, id: str, messages: Sequence[Message]) -> int:
    """Return how many messages were consolidated, as the store says how far its session was."""
    info = store.sessions(scope, id=id).get(id)
    through = -1 if info is None else info.through
    held = store.get(scope, [message.record_id for message in messages if message.record_id])
    read = {key for key, episode in held.items() if (episode.position or 0) <= through}
    done = (count for count, each in enumerate(messages, 1) if each.record_id in read)
    return max(done, default=0)


def numbered_prunings(prunings: Sequence[Pruning], messages: Sequence[Message]) -> list[Pruning]:
    """Return receipts by the numbers of messages, from 0, instead of their positions.

    Of cuts whose messages were all erased nothing is told.
    """
    places = [place_of(message) for message in messages]
    found = []
    for pruning in prunings:
        cuts = []
        for cut in pruning.cuts:
            first, end = bisect_left(places, cut.first), bisect_right(places, cut.last)
            if first < end:
                cuts.append(replace(cut, first=first, last=end - 1, messages=end - first))
        found.append(replace(pruning, cuts=tuple(cuts)))
    return found


# In


def read_session(
    path: Path, target: ImportTarget, _: ImportCounts
) -> Iterator[ForeignConversation]:
    """Yield the conversation in a session file: its messages, settings and creation.

    Messages that are stored under their own ids, as in the memory that wrote the file, are known.

    Raises:
        InvalidInput: a line is broken; the message names it.
    """
    file = FileTranscript(path)
    if problems := file.problems:
        raise InvalidInput(f"{path}, {problems[0]}; correct or remove the line, and import again")
    if file.torn:
        raise InvalidInput(
            f"{path}, the last line: it is not finished, as after a crash; "
            f"Conversation.open({str(path)!r}) repairs it"
        )
    info = file.info()
    held = target.known_messages(info.id)
    messages = []
    for message in file.messages(cleared=True):
        key = message.id if message.id in held else f"{info.id}\n{message.id}"
        with ErrorPrefix(f"{path}, line {place_of(message) + FIRST_LINE}"):
            (said,) = parse_messages([message])
            if _says_something(said) or said.raw is not None:
                said.check()
                messages.append(ForeignMessage(key, said))
    yield ForeignConversation(str(path), info, messages)


def read_openai(path: Path, target: ImportTarget, _: ImportCounts) -> Iterator[ForeignConversation]:
    """Yield the conversations of a file, named after it: ``trip``, ``trip-2`` and so on.

    A message has no id of its own; its place and what it says make one.

    Raises:
        InvalidInput: a message is not in OpenAI's form; the error names its place.
    """
    for name, items in _openai_conversations(path):
        messages: list[ForeignMessage] = []
        for place, shape in items:
            with ErrorPrefix(place):
                for said in filter(_says_something, parse_messages([shape])):
                    what = said.role, said.content, said.images, said.tool_calls, said.tool_result
                    digest = blake2b(repr(what).encode(errors="replace")).hexdigest()
                    messages.append(ForeignMessage(f"{name}\n{len(messages)}\n{digest}", said))
        if messages:
            info = ConversationInfo(id=name, created_at=target.records.now())
            yield ForeignConversation(str(path), info, messages)


def _openai_conversations(path: Path) -> Iterator[tuple[str, Sequence[JsonItem]]]:
    """Yield name and messages of each conversation."""
    items = list(read_values(path))
    if items and isinstance(items[0].value, Mapping) and "role" in items[0].value:
        yield path.stem, items
        return
    for number, (place, value) in enumerate(items, 1):
        with ErrorPrefix(place):
            found = list_of(value, "messages")
            if not found:
                message = "expected an object with a list of messages that have role and content"
                raise InvalidInput(message)
        places = (f"{place}, message {n}" for n in range(1, len(found) + 1))
        name = path.stem if number == 1 else f"{path.stem}-{number}"
        yield name, list(map(JsonItem, places, found))


def _says_something(said: NewMessage) -> bool:
    """Return whether there is anything to keep of a message; old calls stay as they are."""
    is_call = said.tool_calls or said.tool_result or "function_call" in (said.raw or ())
    return bool(said.content.strip() or said.images or is_call)
