"""Conversations in files: of other chat programs, of JSON Lines, and in OpenAI's chat form.

The programs differ in what they call things, not in what they keep; so one reader looks for each
thing under all its names. Several keep a tree of messages: the branch that was on the screen last
is imported, and it alone. Of a message, the words of the person and of the model are read, with
their time. No talk are: messages of the system and of tools, calls of tools, what is hidden on the
screen (custom instructions, what the program remembers), thoughts, and pictures.

What a person attached, or pasted in a block of its own, is nobody's words. It is kept where it is
all that a message has, in a fence, so that no answer is without its question.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memoranda.conversation import jsonl
from memoranda.conversation.formats.content import ROLES
from memoranda.conversation.formats.parse import check_message, parse_message, says
from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import ConversationInfo, NewMessage, Scope
from memoranda.store.sql.store import Store
from memoranda.text.json_values import list_of, object_of, value_of, words_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer.sources import (
    File,
    ForeignConversation,
    ForeignMessage,
    ImportCounts,
    ImportTarget,
    JsonItem,
    joined,
    moment_of,
    read_values,
)

# The names of each thing; the first that says something is taken.
NAME = ("conversation_id", "uuid", "conversationId", "id")
TITLE = ("title", "name")
MESSAGES = ("mapping", "chat_messages", "messages", "messagesTree")
KEY = ("uuid", "messageId", "id")
# Shorter ids of messages may be those of other conversations, too.
LENGTH_OF_UNIQUE = 16
PARENT = ("parent", "parentId", "parentMessageId")
ROLE = ("role", "sender")
WORDS = ("content", "parts", "text", "value", "mes", "output")
KIND = ("type", "content_type")
TIME = (
    "create_time", "created_at", "createdAt", "timestamp", "send_date", "Time",
    "update_time", "updated_at",
)  # fmt: skip
FILES = ("attachments", "files", "files_v2")
BY_USER = ("is_user", "isCreatedByUser")
# What has words of somebody, and may have more of such parts.
SAID = frozenset({
    "", "text", "multimodal_text", "output_text", "audio_transcription", "message",
})  # fmt: skip
HIDDEN = "is_visually_hidden_from_conversation"
# A reference to a source, in characters for private use; what a model thought or ran.
NO_WORDS = compile_pattern(
    "\ue200[^\ue200\ue201]*\ue201|" + r'(?s:<details type="\w+"[^>]*>.*?</details>\n?)'
)
FENCE = compile_pattern("`{3,}")
TAG = compile_pattern("<[^>]*>")
PROMPTED = "Prompted "


def _first(value: object, names: Iterable[str]) -> Any:
    return next(filter(None, (value_of(value, name) for name in names)), None)


def read_chats(path: File, target: ImportTarget) -> Iterator[ForeignConversation]:
    """Yield the conversations of a file; one without a name has that of the file."""
    stem, counts = path.stem, target.counts
    for place, talk in _gather(read_values(path, counts), stem, counts):
        with counts.reading(place):
            name, messages = str(_first(talk, NAME) or stem), list[ForeignMessage]()
            for number, (key, message) in enumerate(_branch(object_of(talk)), 1):
                where = f"{place}, message {key or number}"
                with counts.reading(where):
                    if said := _read_message(message, where, counts):
                        within = f"{name}\n{key or number}\n{said.content}"
                        own = key if len(key) >= LENGTH_OF_UNIQUE else within
                        messages.append(ForeignMessage(own, said))
            if not messages:
                counts.leave_out("conversations without talk")
                continue
            later = next((each.said.timestamp for each in messages if each.said.timestamp), None)
            begun = _moment(talk, place, counts) or later
            title = str(_first(talk, TITLE) or "").strip() or None
            first = messages[0].said
            first = replace(first, task=title, timestamp=first.timestamp or begun)
            messages[0] = messages[0]._replace(said=first)
            info = ConversationInfo(id=name, created_at=begun or target.records.now())
            yield ForeignConversation(place, info, messages)


def _gather(values: Iterable[JsonItem], stem: str, counts: ImportCounts) -> Iterator[JsonItem]:
    """Yield conversations, also of files whose values are single messages.

    Those are the items of a ``SQLiteSession``, the lines of SillyTavern, and the activities of
    Gemini, which tell of no conversations: each day is one.
    """
    talks = defaultdict[str, list[Any]](list)
    for place, value in values:
        match value:
            case {"header": _, "title": str(title), "time": str(at)}:
                if title.startswith(PROMPTED):
                    shown = joined(words_of(it, "html") for it in list_of(value, "safeHtmlItem"))
                    answer = html.unescape(TAG.sub("", shown.replace("</p>", "\n")))
                    talks[f"gemini {at[:10]}"] += (
                        {"role": "user", "content": title.removeprefix(PROMPTED), "Time": at},
                        {"role": "assistant", "content": answer, "Time": at},
                    )
                else:
                    counts.leave_out("activities that are no prompts")
            case {"Conversation": str(name)}:
                talks[name].append(value)
            case {"mes": _}:
                talks[stem].append(value)
            case {"user_name": _} | {"chat_metadata": _}:
                pass  # Whose talk follows.
            case _:
                yield JsonItem(place, value)
    for name, messages in talks.items():
        messages.sort(key=lambda it: words_of(it, "Time"))
        yield JsonItem(stem, {"id": name, "title": name, "messages": messages})


def _branch(talk: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return ids and messages up to the current one, or else to the last that nothing follows.

    Where no message names another, all of them are returned.
    """
    chat = value_of(talk, "chat") or talk
    history = value_of(chat, "history")
    if not {*MESSAGES, "chat"}.intersection(talk):
        raise InvalidInput(f"expected a conversation with messages, found {talk!r:.80}")
    nodes = list(_nodes(_first(history, MESSAGES) or _first(chat, MESSAGES)))
    parents = {key: parent for key, parent, _ in nodes}
    if parents.keys().isdisjoint(parents.values()):
        return [(key, message) for key, _, message in nodes]
    at = value_of(talk, "current_node") or value_of(history, "currentId")
    if at not in parents:
        at = [key for key in parents if key not in parents.values()][-1]
    messages, found = {key: message for key, _, message in nodes}, dict[str, Any]()
    while at in parents and at not in found:
        found[at] = messages[at]
        at = parents[at]
    return list(found.items())[::-1]


def _nodes(messages: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield id, id of the one before, and message of each."""
    for it in messages.values() if isinstance(messages, Mapping) else messages or ():
        is_node = isinstance(it, Mapping) and "parent" in it
        message = it.get("message") if is_node else it
        yield str(_first(it, KEY) or ""), _first(it, PARENT), message
        below = value_of(it, "children") or ()
        yield from _nodes([each for each in below if isinstance(each, Mapping)])


def _read_message(message: Any, place: str, counts: ImportCounts) -> NewMessage | None:
    """Return what a message says, if it is talk."""
    if message is None:
        return None
    word = _role(object_of(message))
    role, hidden = ROLES.get(word.lower(), ""), value_of(value_of(message, "metadata"), HIDDEN)
    to_all = value_of(message, "recipient") in (None, "all")
    if role not in {"user", "assistant"} or hidden or value_of(message, "is_system") or not to_all:
        counts.leave_out(f"messages of {word or 'nobody'}")
        return None
    text = joined(_words(message, counts)).strip() or _attached(message)
    at = _moment(message, place, counts)
    return NewMessage(role=role, content=text, timestamp=at) if text else None


def _role(message: Any) -> str:
    """Return the word for who speaks."""
    for name in BY_USER:
        if isinstance(by_user := value_of(message, name), bool):
            return "user" if by_user else "assistant"
    return words_of(value_of(message, "author"), "role") or str(_first(message, ROLE) or "")


def _words(value: Any, counts: ImportCounts) -> Iterator[str]:
    """Yield what was written or spoken in a message, or in a part of one."""
    if isinstance(value, str):
        yield NO_WORDS.sub("", value)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each, counts)
    elif isinstance(value, Mapping):
        kind = str(_first(value, KIND) or "")
        if kind in SAID:
            yield from _words(_first(value, WORDS), counts)
        else:
            counts.leave_out(f"parts of the type {kind}")


def _attached(message: Any) -> str:
    """Return what a message without words has: what was pasted, else the names of files."""
    places = (message, value_of(message, "metadata"))
    files = [it for place in places for name in FILES for it in value_of(place, name) or ()]
    names = dict.fromkeys(str(_first(it, ("file_name", "name")) or "") for it in files)
    text = joined(words_of(it, "extracted_content") for it in files) or joined(names)
    fence = max(("```", *(f"{found[0]}`" for found in FENCE.finditer(text))), key=len)
    return f"{fence}\n{text}\n{fence}" if text else ""


def _moment(value: object, place: str, counts: ImportCounts) -> datetime | None:
    """Return the first time that an object has; count one that cannot be read."""
    for name in TIME:
        with counts.reading(place):
            if found := moment_of(value_of(value, name) or None, name):
                return found
    return None


# Out


def session_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of JSON Lines that hold a stored conversation.

    Raises:
        NotFound: there is no such conversation.
    """
    info = store.conversations(scope, id).get(id)
    if info is None:
        raise NotFound(f"there is no conversation {id!r} for user {scope.user!r}")
    messages = store.messages(scope, id, cleared=True)
    trails = store.trails(scope, [each.record_id for each in messages if each.record_id])
    over = {id_ for id_, trail in trails.items() if trail.closed_at}
    forgotten = {each.id for each in messages if each.record_id in over}
    for number, line in enumerate(jsonl.dump(info, messages, forgotten)):
        yield "message" if number else "conversation", line


# In


def read_session(path: Path, target: ImportTarget) -> Iterator[ForeignConversation]:
    """Yield the conversation in a file of JSON Lines: its messages, settings and creation.

    Messages that are stored under their own ids, as in the memory that wrote the file, are known.

    Raises:
        InvalidInput: it has no line of metadata.
    """
    info, found, forgotten = jsonl.read(path, target.counts.reading)
    held = target.known_messages(info.id)
    messages = []
    for message in found:
        key = message.id if message.id in held else f"{info.id}\n{message.id}"
        with target.counts.reading(f"{path}, line {place_of(message) + jsonl.FIRST_LINE}"):
            (said,) = parse_message(message)
            if says(said) or said.raw is not None:
                check_message(said)
                messages.append(ForeignMessage(key, said, forgotten=message.id in forgotten))
    yield ForeignConversation(str(path), info, messages)


def read_openai(path: File, target: ImportTarget) -> Iterator[ForeignConversation]:
    """Yield the conversations of a file, named after it: ``trip``, ``trip-2`` and so on.

    A message has no id of its own; its place and what it says make one.
    """
    for name, items in _openai_conversations(path, target.counts):
        messages: list[ForeignMessage] = []
        for place, shape in items:
            with target.counts.reading(place):
                for said in filter(says, parse_message(shape)):
                    what = said.role, said.content, said.images, said.tool_calls, said.tool_result
                    digest = blake2b(repr(what).encode(errors="replace")).hexdigest()
                    key = f"{name}\n{len(messages)}\n{digest}"
                    messages.append(ForeignMessage(key, said))
        if messages:
            info = ConversationInfo(id=name, created_at=target.records.now())
            yield ForeignConversation(str(path), info, messages)


def _openai_conversations(
    path: File, counts: ImportCounts
) -> Iterator[tuple[str, Iterable[JsonItem]]]:
    """Yield name and messages of each conversation."""
    items = list(read_values(path, counts))
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
            yield name, map(JsonItem, places, found)
