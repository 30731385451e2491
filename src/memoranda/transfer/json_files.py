"""Files to read memory from: the values of JSON with their places, and which format it is."""

from __future__ import annotations

import json
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
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
from memoranda.records.drafts import DRAFT_KEYS
from memoranda.text.json_values import object_of, refuse_constant
from memoranda.text.patterns import compile_pattern


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
    "chatgpt and claude (their exports: the .zip, its folder, or conversations.json), "
    "mem0 (its memories), mcp-memory (the graph of the MCP memory server), "
    "chroma (a folder of Chroma with a collection memories of another program) "
    "and memory-md (the Markdown memory of an agent: a folder or a file that ends in .md)"
)
# What the files of other programs hold under which names.
NAMES: Mapping[str, Any] = tomllib.loads(
    (files("memoranda.transfer") / "formats.toml").read_text("utf-8")
)
BOM = b"\xef\xbb\xbf"
NOT_BLANK = compile_pattern(r"[^ \t\r\n]")
CHAT = frozenset({*ROLES, *SAME_ROLE})
# Arguments of ``remember`` that no chat message has.
OWN_ARGUMENTS = frozenset(DRAFT_KEYS) - {"content", "role"}
# The conversations of an export; large ones have several files: ``conversations-000.json``.
CONVERSATIONS = compile_pattern(r"conversations(?:-\d+)?\.json")
# How many times smaller than itself a file may be in an archive. Exports are packed to a fifth or a
# twentieth; what is packed further is made to fill the memory. Smaller files harm nobody.
MOST_PACKED, BELIEVED = 100, 16 * 1024**2


class JsonItem(NamedTuple):
    """A value of a file, and where it stands there, for messages: ``notes.jsonl, line 3``."""

    place: str
    value: Any


class LeftOut:
    """Counts what is not imported, by kind, and names what could not be read.

    Attributes:
        unreadable: the first thing that could not be read, and why.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self._counts: Counter[str] = Counter()
        self._told: dict[str, None] = {}
        self.unreadable: str | None = None

    def add(self, kind: str, number: int = 1) -> None:
        """Count ``number`` more of ``kind``, a noun in the plural."""
        self._counts[kind] += number

    def tell(self, line: str) -> None:
        """Add a line of its own."""
        self._told[line] = None

    @contextmanager
    def reading(self, place: str, *, torn: bool = False) -> Iterator[None]:
        """Pass over what cannot be read in the block: it must not keep out all the rest.

        Args:
            place: where it stands, for the report, which names the first.
            torn: whether that is a line without an end, as somebody writes it.
        """
        try:
            yield
        except InvalidInput as error:
            self.add(f"lines that {'are still being written' if torn else 'cannot be read'}")
            if self.unreadable is None and not torn:
                self.unreadable = f"{place}: {error}"
                self.tell(f"{self.unreadable}; passed over")

    def lines(self) -> tuple[str, ...]:
        """Return a line for each kind with its number, the most frequent first."""
        counted = (f"{kind}: {number:,}" for kind, number in self._counts.most_common() if number)
        return (*self._told, *counted)


class JsonFile:
    """A file of JSON Lines, read line by line; or one JSON value or an export, read at once.

    Args:
        path: the file; of a ZIP archive or a folder, the conversations in it.
        by_lines: whether it is known to be JSON Lines, also where the first line is broken.

    Raises:
        InvalidInput: there is no such file, or it cannot be read.
    """

    def __init__(self, path: Path, *, by_lines: bool = False) -> None:
        """Look whether it is an export, or its first line that is not blank a value by itself."""
        self.path = path
        parts = _unzipped(path) if zipfile.is_zipfile(path) else export_files(path)
        self.is_export = bool(parts)
        self._by_lines = not self.is_export and (by_lines or self._starts_with_value())
        if not self.is_export and not self._by_lines:
            parts = [(str(path), path)]
        self._documents = {place: parse_values(_content(part), place) for place, part in parts}

    def items(self, left_out: LeftOut | None = None) -> Iterator[JsonItem]:
        """Yield what is in it: a value for each line or array element, or the only value.

        Can be called again. JSON Lines are read anew each time and never held as a whole.

        Args:
            left_out: where given, a line that cannot be read is passed over and told.

        Raises:
            InvalidInput: a line is no JSON or no UTF-8; the message names it.
        """
        for place, values in self._documents.items():
            if len(values) == 1 and isinstance(values[0], list):
                for number, value in enumerate(values[0], 1):
                    yield JsonItem(f"{place}, item {number}", value)
            else:
                yield from (JsonItem(place, value) for value in values)
        for number, raw in self._raw_lines() if self._by_lines else ():
            place, found = f"{self.path}, line {number}", list[Any]()
            torn = not raw.endswith(b"\n")
            with left_out.reading(place, torn=torn) if left_out else nullcontext():
                found = parse_values(raw, place if left_out is None else "", line=True)
            yield from (JsonItem(place, value) for value in found)

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
        if found is None:
            message = f"{item.place}: the format is unknown, found {item.value!r:.80}; {KNOWN}"
            raise InvalidInput(message)
        return found

    def _starts_with_value(self) -> bool:
        for number, raw in self._raw_lines():
            if raw.strip():
                with suppress(InvalidInput):
                    values = parse_values(raw, f"line {number}", line=True)
                    return isinstance(values[0], dict | str)
                return False  # The first line of a value that goes over several lines.
        raise InvalidInput(f"{self.path} is empty; {KNOWN}")

    def _raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines with their numbers, split at newlines alone; text would split at others."""
        with reading_file(self.path), self.path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                yield number, raw.removeprefix(BOM) if number == 1 else raw


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Raise an ``InvalidInput`` that names the file in place of an error of the file system."""
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no file {path}; check the path") from error
    except IsADirectoryError as error:
        raise InvalidInput(f"{path} is a folder; name a file in it") from error
    except (OSError, RuntimeError, ValueError) as error:
        message = f"{path!s:.200} cannot be read ({error}); check its name and permissions"
        raise InvalidInput(message) from error


def _content(part: Path | bytes) -> bytes:
    if isinstance(part, bytes):
        return part
    with reading_file(part):
        return part.read_bytes()


def parse_values(raw: bytes, place: str, *, line: bool = False) -> list[Any]:
    """Return the JSON values of a text: mostly one, several where a line end was lost.

    Args:
        raw: the text in UTF-8.
        place: where it stands, for the error.
        line: whether that is a line of a file; else the error names the line in the text.

    Raises:
        InvalidInput: it is something else.
    """
    values, end = list[Any](), 0
    where = f"{place}: " if place else ""
    try:
        text = raw.removeprefix(BOM).decode()
        while found := NOT_BLANK.search(text, end):
            value, end = DECODER.raw_decode(text, found.start())
            values.append(value)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{where}not UTF-8 text (byte {raw[error.start]:#04x} at position {error.start}); "
            f"convert the file, for example with iconv -t utf-8"
        ) from error
    except (ValueError, RecursionError) as error:
        reason = str(error)
        if isinstance(error, json.JSONDecodeError):
            where = where if line else f"{place}, line {error.lineno}: "
            reason = f"{error.msg} at column {error.colno}"
        remedy = f"; correct it and import again; {KNOWN}" if place else ""
        raise InvalidInput(f"{where}not valid JSON ({reason}){remedy}") from error
    return values


DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def export_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the conversations of an export that somebody unpacked: in a folder, or one in it."""
    found = sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]) if folder.is_dir() else []
    return [(str(path), path) for path in found if CONVERSATIONS.fullmatch(path.name)]


def _unzipped(path: Path) -> list[tuple[str, bytes]]:
    """Return the conversations in an archive with their places.

    Raises:
        InvalidInput: it cannot be read, or holds none.
    """
    found = list[tuple[str, bytes]]()
    try:
        with zipfile.ZipFile(path) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                if not CONVERSATIONS.fullmatch(PurePosixPath(info.filename).name):
                    continue
                place, size = f"{path}, {info.filename}", info.file_size
                if size > max(BELIEVED, MOST_PACKED * info.compress_size):
                    raise InvalidInput(
                        f"{place} unpacks {info.compress_size:,} bytes to {size:,}, as no export "
                        f"does; get the export again"
                    )
                found.append((place, archive.read(info)))
    # A damaged member raises zlib's error, an encrypted one RuntimeError.
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise InvalidInput(f"{path} cannot be read ({error}); get the export again") from error
    if not found:
        message = f"{path} holds no conversations.json; it is no export of ChatGPT or Claude"
        raise InvalidInput(message)
    return found


def recognise(value: object) -> FileFormat | None:
    """Return the format of a file that has ``value`` first; ``None`` for one that is unknown."""
    found = None
    match value:
        case (
            {"type": str(), "sessionId": str()}
            | {"type": "summary", "leafUuid": str()}
            | {"type": "file-history-snapshot", "messageId": str()}
        ):
            found = FileFormat.CLAUDE_CODE
        case {"mapping": dict()}:
            found = FileFormat.CHATGPT
        case {"chat_messages": list()}:
            found = FileFormat.CLAUDE
        case {"memory": str(), "id": _} | {"results": [{"memory": str()}, *_]}:
            found = FileFormat.MEM0
        case (
            {"type": "entity", "name": str(), "observations": list()}
            | {"type": "relation", "from": str(), "to": str()}
            | {"entities": list(), "relations": list()}
        ):
            found = FileFormat.MCP_MEMORY
    return found or _own_or_chat(value)


def _own_or_chat(value: object) -> FileFormat | None:
    found = None
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


NUL, NUL_PICTURE = "\x00", "\u2400"
SURROGATE = compile_pattern("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"
MOMENT = TypeAdapter(datetime)


def plain_text(text: str) -> str:
    """Return ``text`` with a stand-in for each character that no store can hold.

    Output of tools has NUL characters, and halves of characters where it was cut.
    """
    return SURROGATE.sub(REPLACEMENT, text.replace(NUL, NUL_PICTURE))


def text_of(value: object, name: str) -> str:
    """Return a text of an object, its characters that no store can hold replaced.

    Raises:
        InvalidInput: there is none, or it is blank.
    """
    found = object_of(value).get(name)
    return clean(plain_text(found) if isinstance(found, str) else found, name)


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
