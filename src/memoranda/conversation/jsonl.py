"""A conversation as a file of JSON Lines: the lines that hold it, and what they hold.

The first line has the metadata (requirement R2 of the two-layer notes): ``_type``, ``key`` (the
name) and ``createdAt``; where there is one, ``system``, ``model``, ``contextLimit``, ``endedAt``
and ``clearedBefore``, how many lines of messages ``clear()`` left behind. Each line after it is a
message: ``role``, ``content``, ``timestamp`` and ``toolsUsed``. A line with these alone is whole.
Ours stand beside them, only where they say something: ``id``, ``tokens``, ``importance``,
``pinned``, ``toolCalls`` (``id``, ``name``, ``arguments``), ``toolResult`` (``call_id``,
``is_error``), ``images`` (``url``, ``detail``), ``task``, ``raw`` and ``part``; and ``forgotten``
where the episode of a message was forgotten, as that of an answer that memory gave by itself.
Other keys are passed over. Receipts of prunings and what was removed are in no such file.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel
from pydantic_core import from_json

from memoranda.conversation.formats.parse import parse_role
from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput
from memoranda.model.checks import error_prefix, iso
from memoranda.model.models import ConversationInfo, Message
from memoranda.text.files import file_path
from memoranda.text.json_values import object_of, parse_as

FIRST_LINE = 2  # of the messages: the metadata are line 1
# The keys of the lines, and the fields that they have.
SETTINGS = ("created_at", "system", "model", "context_limit", "ended_at")
INFO = {"key": "id", **{to_camel(name): name for name in SETTINGS}, "clearedBefore": "start"}
UNWRITTEN = ("position", "record_id")
FIELDS = {to_camel(it.name): it.name for it in fields(Message) if it.name not in UNWRITTEN}
FORGOTTEN = "forgotten"
ALWAYS = ("content", "importance")  # are written also where they are empty or 0
Json = dict[str, Any]


# Out


def dump(
    info: ConversationInfo, messages: Sequence[Message], forgotten: Collection[str] = ()
) -> Iterator[bytes]:
    """Yield the lines of a file: metadata, then messages.

    Args:
        info: the settings of the conversation.
        messages: all its messages, also those that were cleared.
        forgotten: the ids of those whose episodes were forgotten.
    """
    cleared = sum(place_of(message) < info.start for message in messages)
    yield _line({"_type": "metadata"} | _keyed(replace(info, start=cleared), INFO))
    for message in messages:
        names = list(dict.fromkeys(call.name for call in message.tool_calls))
        marks = {"toolsUsed": names, FORGOTTEN: message.id in forgotten}
        yield _line(_keyed(message, FIELDS) | {key: mark for key, mark in marks.items() if mark})


def _keyed(value: object, keys: Mapping[str, str]) -> Json:
    found = {key: getattr(value, name) for key, name in keys.items()}
    return {
        key: item for key, item in found.items() if item or (key in ALWAYS and item is not None)
    }


def _line(value: Json) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode() + b"\n"


def _plain(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else asdict(value)


# In


def read(
    path: str | Path, reading: Callable[[str], AbstractContextManager[object]] = error_prefix
) -> tuple[ConversationInfo, list[Message], set[str]]:
    """Return what a file of JSON Lines has: settings, messages, and the ids of the forgotten ones.

    ``start`` of the settings is how many of the messages were cleared; the position of each is its
    place in the file.

    Args:
        path: the file.
        reading: given the place of a line, what its error goes through; it may pass over the line.

    Raises:
        InvalidInput: it cannot be read, or a line is no message or not finished, as after a
            crash; the error names the line.
    """
    source = file_path(path)
    try:
        head, *lines = source.read_bytes().rstrip().split(b"\n")
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error}; choose another file") from error
    with error_prefix(f"{source}, line 1"):
        info = parse_as(ConversationInfo, {"id": source.stem} | _fields(_parse_line(head), INFO))
    said, messages, forgotten = info.created_at, dict[str, Message](), set[str]()
    for position, line in enumerate(lines):
        with reading(f"{source}, line {position + FIRST_LINE}"):
            parsed = _parse_line(line)
            message = _parse_message(parsed, position, said)
            if message.id in messages:
                raise InvalidInput(f"the id {message.id!r} is that of a line before; change one")
            messages[message.id], said = message, message.timestamp
            if parsed.get(FORGOTTEN):
                forgotten.add(message.id)
    return info, list(messages.values()), forgotten


def _parse_line(line: bytes) -> Mapping[str, Any]:
    try:
        return object_of(from_json(line.removeprefix(BOM_UTF8), allow_inf_nan=False))
    except ValueError as error:
        message = f"not valid JSON ({error}); correct or remove the line, and read the file again"
        raise InvalidInput(message) from error


def _fields(line: Mapping[str, Any], keys: Mapping[str, str]) -> Json:
    return {name: line[key] for key, name in keys.items() if line.get(key) is not None}


def _parse_message(line: Mapping[str, Any], position: int, said: datetime) -> Message:
    """Return the message of a line; one that says no id or time gets one of those before it."""
    usual = {"id": f"msg_{position:012d}", "tokens": 0, "timestamp": said}
    role = parse_role(line.get("role"))
    return parse_as(Message, usual | _fields(line, FIELDS) | {"role": role, "position": position})
