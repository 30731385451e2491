"""Files to read memory from: the values of JSON with their places, and which format it is."""

from __future__ import annotations

import json
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from memoranda.conversation.formats.parse import ROLES, SAME_ROLE
from memoranda.conversation.session_format import is_metadata
from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, require_aware
from memoranda.model.json_object import JsonObject
from memoranda.records.drafts import DRAFT_KEYS
from memoranda.text.patterns import compile_pattern
from memoranda.transfer.foreign_files import reading


class FileFormat(StrEnum):
    """What a file can be."""

    MEMORANDA = "memoranda"
    OPENAI = "openai"
    SESSION = "session"
    LOCOMO = "locomo"
    MEMORY_MD = "memory-md"
    CLAUDE_CODE = "claude-code"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"
    CHROMA = "chroma"


# What the first line of an export calls the format; the second until version 0.1.
ARCHIVE_NAMES = (FileFormat.MEMORANDA, "recollect")
KNOWN = (
    "known are memoranda (an export, or JSON Lines of objects with content), "
    "openai (chat messages in JSON or JSON Lines), "
    "session (one conversation in JSON Lines, metadata first), locomo, "
    "claude-code (session transcripts of Claude Code: a file or a folder), "
    "chatgpt and claude (their exports: the .zip or conversations.json), "
    "mem0 (its memories), mcp-memory (the graph of the MCP memory server), "
    "chroma (a folder of Chroma with a collection memories of another program) "
    "and memory-md (the Markdown memory of an agent: a folder or a file that ends in .md)"
)
# What the files of each format hold under which names.
NAMES: Mapping[str, Any] = tomllib.loads(
    (files("memoranda.transfer") / "formats.toml").read_text("utf-8")
)
BOM = b"\xef\xbb\xbf"
CHAT = frozenset({*ROLES, *SAME_ROLE})
# Arguments of ``remember`` that no chat message has.
OWN_ARGUMENTS = frozenset(DRAFT_KEYS) - {"content", "role"}
# What they are called in an archive; large exports have several: ``conversations-000.json``.
CONVERSATIONS = compile_pattern(r"conversations(?:-\d+)?\.json")
# Bytes that the files in an archive may have together. They are read at once.
MOST = 1024**3
# How many times smaller than itself a file may be in an archive. Exports are packed to a fifth or a
# twentieth; what is packed further is made to fill the memory. Smaller files harm nobody.
MOST_PACKED, BELIEVED = 100, 16 * 1024**2
CORRECT = f"correct it and import again; {KNOWN}"
FETCH = "get the export again"


class JsonItem(NamedTuple):
    """A value of a file, and where it stands there, for messages: ``notes.jsonl, line 3``."""

    place: str
    value: Any


class JsonFile:
    """A file of JSON Lines, read line by line; or one JSON value or a ZIP archive, read at once.

    Args:
        path: the file; of an archive, the conversations in it.
        by_lines: whether it is known to be JSON Lines, also where the first line is broken.

    Raises:
        InvalidInput: there is no such file, or it cannot be read.
    """

    def __init__(self, path: Path, *, by_lines: bool = False) -> None:
        """Look whether it is an archive, or its first line that is not blank a value by itself."""
        self.path = path
        self.zipped = _is_archive(path)
        self._documents = _unzipped(path) if self.zipped else {}
        self._by_lines = not self.zipped and (self._starts_with_value() or by_lines)

    def items(self, broken: Callable[[str, bytes], None] | None = None) -> Iterator[JsonItem]:
        """Return what is in it: a value for each line or array element, or the only value.

        Can be called again. JSON Lines are read anew each time and never held as a whole.

        Args:
            broken: told place and bytes of a line that cannot be read, which is then passed over;
                such a line is an error, if not given.

        Raises:
            InvalidInput: a line is no JSON or no UTF-8; the message names it.
        """
        if self._by_lines:
            for number, raw in self._raw_lines():
                place = f"{self.path}, line {number}"
                try:
                    text = _decode(raw, place)
                    if text.strip():
                        yield JsonItem(place, _parse(text, str(self.path), number))
                except InvalidInput:
                    if broken is None:
                        raise
                    broken(place, raw)
            return
        if not self._documents:
            text = "".join(_decode(raw, f"{self.path}, line {n}") for n, raw in self._raw_lines())
            self._documents = {str(self.path): _parse(text, str(self.path))}
        for place, document in self._documents.items():
            if isinstance(document, list):
                for number, value in enumerate(document, 1):
                    yield JsonItem(f"{place}, item {number}", value)
            else:
                yield JsonItem(place, document)

    def first(self) -> JsonItem:
        """Return the first value.

        Raises:
            InvalidInput: the file holds none.
        """
        for item in self.items():
            return item
        raise InvalidInput(f"{self.path} holds nothing to import; {KNOWN}")

    def format(self) -> FileFormat:
        """Return the format of the file, judged by its first value.

        Raises:
            InvalidInput: it is none of the known ones.
        """
        item = self.first()
        found = recognise(item.value)
        if found is None and self.zipped:
            raise InvalidInput(f"{item.place}: these are no conversations of ChatGPT or claude.ai")
        if found is None:
            message = f"{item.place}: the format is unknown, found {item.value!r:.80}; {KNOWN}"
            raise InvalidInput(message)
        return found

    def _starts_with_value(self) -> bool:
        for number, raw in self._raw_lines():
            text = _decode(raw, f"{self.path}, line {number}")
            if not text.strip():
                continue
            try:
                return isinstance(json.loads(text), dict | str)
            except (ValueError, RecursionError):
                return False  # The first line of a value that goes over several lines.
        raise InvalidInput(f"{self.path} is empty; {KNOWN}")

    def _raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines with their numbers, split at newlines alone; text would split at others."""
        with reading(self.path), self.path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                yield number, raw.removeprefix(BOM) if number == 1 else raw


def _decode(raw: bytes, place: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{place}: not UTF-8 text (byte {raw[error.start]:#04x} at "
            f"position {error.start}); convert the file, for example with iconv -t utf-8"
        ) from error


def _parse(text: str | bytes, place: str, line: int | None = None, remedy: str = CORRECT) -> Any:
    """Return the value of a whole text, or of a line, for which the error names its number."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = str(error)
        if isinstance(error, json.JSONDecodeError):
            line, reason = line or error.lineno, f"{error.msg} at column {error.colno}"
        where = place if line is None else f"{place}, line {line}"
        raise InvalidInput(f"{where}: not valid JSON ({reason}); {remedy}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _is_archive(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except (OSError, ValueError):
        return False


def _unzipped(path: Path) -> dict[str, Any]:
    """Return the conversations in an archive by their places.

    Raises:
        InvalidInput: it cannot be read, or holds none.
    """
    found: dict[str, Any] = {}
    unpacked = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                if not CONVERSATIONS.fullmatch(PurePosixPath(info.filename).name):
                    continue
                place, size = f"{path}, {info.filename}", info.file_size
                unpacked += size
                if unpacked > MOST:
                    message = f"{place} has {size:,} bytes, too many to read; unpack and split it"
                    raise InvalidInput(message)
                if size > max(BELIEVED, MOST_PACKED * info.compress_size):
                    message = (
                        f"{place} unpacks {info.compress_size:,} bytes to {size:,}, as no export "
                        f"does; {FETCH}"
                    )
                    raise InvalidInput(message)
                found[place] = _parse(archive.read(info), place, remedy=FETCH)
    # A damaged member raises zlib's error, an encrypted one RuntimeError.
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise InvalidInput(f"{path} cannot be read ({error}); {FETCH}") from error
    if not found:
        message = f"{path} holds no conversations.json; it is no export of ChatGPT or Claude"
        raise InvalidInput(message)
    return found


def recognise(value: object) -> FileFormat | None:
    """Return the format of a file that has ``value`` first; ``None`` for one that is unknown."""
    found = _of_other_programs(value)
    if found:
        return found
    match value:
        case {"format": str(name)} if name in ARCHIVE_NAMES:
            found = FileFormat.MEMORANDA
        case _ if is_metadata(value):
            found = FileFormat.SESSION
        case {"conversation": dict(), "sample_id": _}:
            found = FileFormat.LOCOMO
        case {"messages": list()}:
            found = FileFormat.OPENAI
        case {"role": str(role), **rest} if role in CHAT and not OWN_ARGUMENTS & rest.keys():
            found = FileFormat.OPENAI
        case {"content": _} | str():
            found = FileFormat.MEMORANDA
    return found


def _of_other_programs(value: object) -> FileFormat | None:
    match value:
        case (
            {"type": str(), "sessionId": str()}
            | {"type": "summary", "leafUuid": str()}
            | {"type": "file-history-snapshot", "messageId": str()}
        ):
            return FileFormat.CLAUDE_CODE
        case {"mapping": dict()}:
            return FileFormat.CHATGPT
        case {"chat_messages": list()}:
            return FileFormat.CLAUDE
        case {"memory": str(), "id": _} | {"results": [{"memory": str()}, *_]}:
            return FileFormat.MEM0
        case (
            {"type": "entity", "name": str(), "observations": list()}
            | {"type": "relation", "from": str(), "to": str()}
            | {"entities": list(), "relations": list()}
        ):
            return FileFormat.MCP_MEMORY
    return None


NUL, NUL_PICTURE = "\x00", "\u2400"
SURROGATE = compile_pattern("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"
MOMENT = TypeAdapter(datetime)


class LeftOut:
    """Counts what is not imported, by kind."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._counts: Counter[str] = Counter()
        self._told: dict[str, None] = {}

    def add(self, kind: str, number: int = 1) -> None:
        """Count ``number`` more of ``kind``, a noun in the plural."""
        self._counts[kind] += number

    def tell(self, line: str) -> None:
        """Add a line of its own."""
        self._told[line] = None

    def lines(self) -> tuple[str, ...]:
        """Return a line for each kind with its number, the most frequent first."""
        counted = (f"{kind}: {number:,}" for kind, number in self._counts.most_common() if number)
        return (*self._told, *counted)


def plain_text(text: str) -> str:
    """Return ``text`` with a stand-in for each character that no store can hold.

    Output of tools has NUL characters, and halves of characters where it was cut.
    """
    return SURROGATE.sub(REPLACEMENT, text.replace(NUL, NUL_PICTURE))


def text_of(fields: JsonObject, name: str) -> str:
    """Return a text that is not blank, with its characters that no store can hold replaced.

    Raises:
        InvalidInput: there is none.
    """
    value = fields.get(name)
    return clean(plain_text(value), name) if isinstance(value, str) else fields.text(name)


def moment_of(value: object, name: str) -> datetime | None:
    """Return a moment: ISO 8601 text, taken as UTC where it names no zone, or seconds since 1970.

    Raises:
        InvalidInput: it is something else.
    """
    if value is None:
        return None
    try:
        found = MOMENT.validate_python(value)
    except ValidationError as error:
        message = f"{name}={value!r:.80} is no time; write it as 2026-03-02T18:05:00Z"
        raise InvalidInput(message) from error
    return require_aware(found if found.tzinfo else found.replace(tzinfo=UTC), name)
