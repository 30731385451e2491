"""A conversation as a file of JSON Lines: written whole, read whole, and never gone on with there.

The first line has the metadata (requirement R2 of the two-layer notes): ``_type``, ``key`` (the
name) and ``createdAt``; where there is one, ``system``, ``model``, ``contextLimit``, ``endedAt``
and ``clearedBefore``, how many lines of messages ``clear()`` left behind. Each line after it is a
message: ``role``, ``content``, ``timestamp`` and ``toolsUsed``. A line with these alone is whole.
Ours stand beside them, only where they say something: ``id``, ``tokens``, ``importance``,
``pinned``, ``toolCalls`` (``id``, ``name``, ``arguments``), ``toolResult`` (``callId``,
``isError``), ``images`` (``url``, ``detail``), ``task``, ``raw`` and ``part``. Other keys and empty
lines are passed over. Receipts of prunings and what was removed are in no such file.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memoranda.conversation.formats.parse import parse_role
from memoranda.conversation.transcript import Transcript, place_of
from memoranda.errors import InvalidInput
from memoranda.model.checks import MOST, ErrorPrefix, clean, iso, parse_moment
from memoranda.model.models import ConversationInfo, Message
from memoranda.model.ports import ConversationOptions
from memoranda.text.files import file_path, write_whole
from memoranda.text.json_values import object_of, parse_as, refuse_constant

METADATA = "metadata"
FIRST_LINE = 2  # of the messages: the metadata are line 1
# The fields of a message by the keys that its line has for them.
FIELDS = {
    "content": "content",
    "tokens": "tokens",
    "importance": "importance",
    "pinned": "pinned",
    "toolCalls": "tool_calls",
    "images": "images",
    "task": "task",
    "raw": "raw",
    "part": "part",
}
# The largest value that a number of a message may have.
RANGES = {"tokens": MOST, "part": MOST, "importance": 1}
BOM = b"\xef\xbb\xbf"  # Editors of Windows put it before the first line.
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonlConversation:
    """What a file of JSON Lines holds.

    Attributes:
        info: the settings; ``start`` is the position of the first message that is not cleared.
        messages: in order; the position of each is that of its line, counted from 0 after the
            metadata.
    """

    info: ConversationInfo
    messages: Sequence[Message]

    def transcript(self) -> Transcript:
        """Return a new transcript of it, which belongs to no memory."""
        info = self.info
        given: ConversationOptions = {
            "system": info.system,
            "model": info.model,
            "context_limit": info.context_limit,
        }
        transcript = Transcript.alone(info.id, info.created_at, given)
        start = bisect_left(self.messages, info.start, key=place_of)
        transcript.append(self.messages[:start])
        if start:
            transcript.clear()
        transcript.append(self.messages[start:])
        if info.ended_at is not None:
            transcript.end(info.ended_at)
        return transcript


# Out


def dump(info: ConversationInfo, messages: Sequence[Message]) -> Iterator[bytes]:
    """Yield the lines of a file: metadata, then messages.

    Args:
        info: the settings of the conversation.
        messages: all its messages, also those that were cleared.
    """
    yield _line(
        {
            "_type": METADATA,
            "key": info.id,
            "createdAt": iso(info.created_at),
            "system": info.system,
            "model": info.model,
            "contextLimit": info.context_limit,
            "endedAt": None if info.ended_at is None else iso(info.ended_at),
            "clearedBefore": bisect_left(messages, info.start, key=place_of) or None,
        }
    )
    for message in messages:
        yield _line(_message_value(message))


def write(path: str | Path, transcript: Transcript) -> None:
    """Put a file with what a transcript holds in the place of ``path``, whole or not at all.

    Raises:
        InvalidInput: the file cannot be written.
    """
    target = file_path(path)
    with transcript.snapshot():
        info, messages = transcript.info(), transcript.messages(cleared=True)
    with _file_errors(target):
        write_whole(target, dump(info, messages))


def _message_value(message: Message) -> Json:
    result, calls = message.tool_result, message.tool_calls
    return {
        "role": message.role,
        "content": message.content,
        "timestamp": iso(message.timestamp),
        "id": message.id,
        "tokens": message.tokens,
        "importance": message.importance,
        "pinned": message.pinned or None,
        "toolsUsed": list(dict.fromkeys(call.name for call in calls)) or None,
        "toolCalls": [asdict(call) for call in calls] or None,
        "toolResult": result and {"callId": result.call_id, "isError": result.is_error},
        "images": [asdict(image) for image in message.images] or None,
        "task": message.task,
        "raw": message.raw,
        "part": message.part or None,
    }


def _line(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(_present(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def _present(value: Mapping[str, Any]) -> Json:
    return {name: item for name, item in value.items() if item is not None}


# In


def read(path: str | Path) -> JsonlConversation:
    """Return what a file of JSON Lines holds. The file is only read.

    Raises:
        InvalidInput: it cannot be read, or a line is no message or not finished, as after a
            crash; the error names the line.
    """
    source = file_path(path)
    with _file_errors(source):
        head, *lines = source.read_bytes().removeprefix(BOM).split(b"\n")
    with ErrorPrefix(f"{source}, line 1"):
        info = _parse_metadata(_parse_line(head), source.stem)
    return JsonlConversation(info, list(_parse_messages(source, lines, info.created_at)))


def _parse_messages(source: Path, lines: Iterable[bytes], said: datetime) -> Iterator[Message]:
    """Yield the messages of lines; ``said`` is the time of those that tell none before them."""
    ids: dict[str, int] = {}
    for position, line in enumerate(lines):
        if not line.strip():
            continue
        number = position + FIRST_LINE
        with ErrorPrefix(f"{source}, line {number}"):
            message = _parse_message(_parse_line(line), position, said)
            if (known := ids.setdefault(message.id, number)) != number:
                raise InvalidInput(f"the id {message.id!r} is that of line {known}; change one")
        said = message.timestamp
        yield message


def _parse_line(line: bytes) -> Any:
    try:
        return json.loads(line.decode(), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"not valid JSON ({error}); correct or remove the line, and read the file again"
        raise InvalidInput(message) from error


def _parse_metadata(value: object, name: str) -> ConversationInfo:
    if not isinstance(value, Mapping) or value.get("_type") != METADATA:
        raise InvalidInput(
            f"expected metadata such as "
            f'{{"_type":"{METADATA}","createdAt":"2026-02-27T14:30:00.000Z"}}, found {value!r:.80}'
        )
    line = _present(value)
    found = parse_as(
        ConversationInfo,
        {
            "id": clean(line.get("key") or name, "key"),
            "created_at": parse_moment(line.get("createdAt"), "createdAt"),
            "system": line.get("system"),
            "model": line.get("model"),
            "context_limit": line.get("contextLimit") or None,
            "ended_at": parse_moment(line["endedAt"], "endedAt") if "endedAt" in line else None,
            "start": line.get("clearedBefore", 0),
        },
    )
    _require_range("contextLimit", found.context_limit or 0, MOST)
    _require_range("clearedBefore", found.start, MOST)
    return found


def _parse_message(value: object, position: int, said: datetime) -> Message:
    """Return the message of a line; one that says no id gets one of its position."""
    line = _present(object_of(value))
    given: Json = {name: line[key] for key, name in FIELDS.items() if key in line}
    if "toolResult" in line:
        result = object_of(line["toolResult"])
        is_error = result.get("isError", False)
        given["tool_result"] = {"call_id": result.get("callId"), "is_error": is_error}
    given["id"] = clean(line.get("id", f"msg_{position:012d}"), "id")
    given["role"] = parse_role(line.get("role"))
    at = parse_moment(line["timestamp"], "timestamp") if "timestamp" in line else said
    message = parse_as(Message, {"tokens": 0} | given | {"timestamp": at, "position": position})
    for name, most in RANGES.items():
        _require_range(name, getattr(message, name) or 0, most)
    return message


def _require_range(name: str, value: float, most: float) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"{name}={value!r} must be a number between 0 and {most:,}")


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be read or written ({error}); check its folder and permissions"
        raise InvalidInput(message) from error
