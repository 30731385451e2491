"""Files to read memory from: the values of JSON with their places, and which format it is."""

from __future__ import annotations

import json
import math
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, Protocol

from memoranda.conversation.formats.new_message import ROLES, SAME_ROLE
from memoranda.conversation.sessions.format import is_metadata
from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, require_aware
from memoranda.model.json_object import JsonObject

MEMORANDA, OPENAI, SESSION, LOCOMO = "memoranda", "openai", "session", "locomo"
ARCHIVE_NAMES = (MEMORANDA, "recollect")
"""What the first line of an export calls the format; the second until version 0.1."""
MEMORY_MD = "memory-md"
CLAUDE_CODE, CHATGPT, CLAUDE = "claude-code", "chatgpt", "claude"
MEM0, MCP_MEMORY, CHROMA = "mem0", "mcp-memory", "chroma"
FORMATS = (
    MEMORANDA, OPENAI, SESSION, LOCOMO, MEMORY_MD, CLAUDE_CODE, CHATGPT, CLAUDE, MEM0,
    MCP_MEMORY, CHROMA,
)  # fmt: skip
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
BOM = b"\xef\xbb\xbf"
CHAT = frozenset({*ROLES, *SAME_ROLE})
OWN_ARGUMENTS = frozenset(
    {"kind", "tags", "metadata", "event_time", "session", "confidence", "decay_rate"}
)
"""Arguments of ``remember`` that no chat message has."""


class JsonItem(NamedTuple):
    """A value of a file, and where it stands there, for messages: ``notes.jsonl, line 3``."""

    place: str
    value: Any


class BrokenLineHandler(Protocol):
    """Told of a line that cannot be read."""

    def __call__(self, place: str, *, unfinished: bool) -> None:
        """``place`` is passed over; ``unfinished`` where it has no end, as somebody writes it."""


class JsonFile:
    """A file of JSON Lines, read line by line, or of one JSON value, read at once.

    Args:
        path: the file.
        by_lines: whether it is known to be JSON Lines, also where the first line is broken.

    Raises:
        InvalidInput: there is no such file, or it cannot be read.
    """

    def __init__(self, path: Path, *, by_lines: bool = False) -> None:
        """Look whether the first line that is not blank is a value by itself."""
        self.path = path
        self._document: Any = None
        self.by_lines = self._starts_with_value() or by_lines

    def items(self, broken: BrokenLineHandler | None = None) -> Iterator[JsonItem]:
        """Return what is in it: a value for each line or array element, or the only value.

        Can be called again. JSON Lines are read anew each time and never held as a whole.

        Args:
            broken: told of a line that cannot be read, which is then passed over; such a line
                is an error, if not given.

        Raises:
            InvalidInput: a line is no JSON or no UTF-8; the message names it.
        """
        if self.by_lines:
            yield from self._by_lines(broken)
            return
        if self._document is None:
            self._document = self._whole()
        yield from _elements(str(self.path), self._document)

    def _by_lines(self, broken: BrokenLineHandler | None) -> Iterator[JsonItem]:
        for number, raw in self._raw_lines():
            try:
                text = self._decoded(raw, number)
                if text.strip():
                    yield JsonItem(f"{self.path}, line {number}", self._parsed(text, number))
            except InvalidInput:
                if broken is None:
                    raise
                broken(f"{self.path}, line {number}", unfinished=not raw.endswith(b"\n"))

    def first(self) -> JsonItem:
        """Return the first value.

        Raises:
            InvalidInput: the file holds none.
        """
        return _first(self.items(), self.path)

    def _starts_with_value(self) -> bool:
        for _, text in self._lines():
            if not text.strip():
                continue
            try:
                return isinstance(json.loads(text), dict | str)
            except (ValueError, RecursionError):
                return False  # The first line of a value that goes over several lines.
        message = f"{self.path} is empty; {KNOWN}"
        raise InvalidInput(message)

    def _lines(self) -> Iterator[tuple[int, str]]:
        for number, raw in self._raw_lines():
            yield number, self._decoded(raw, number)

    def _raw_lines(self) -> Iterator[tuple[int, bytes]]:
        with _opened(self.path) as file:
            # Bytes are split at newlines alone; text would also be split at others.
            for number, raw in enumerate(file, 1):
                yield number, raw.removeprefix(BOM) if number == 1 else raw

    def _decoded(self, raw: bytes, number: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            message = (
                f"{self.path}, line {number}: not UTF-8 text (byte {raw[error.start]:#04x} at "
                f"position {error.start}); convert the file, for example with iconv -t utf-8"
            )
            raise InvalidInput(message) from error

    def _whole(self) -> Any:
        return self._parsed("".join(text for _, text in self._lines()), None)

    def _parsed(self, text: str, number: int | None) -> Any:
        try:
            return json.loads(text, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            line = error.lineno if number is None else number
            reason, place = f"{error.msg} at column {error.colno}", f"{self.path}, line {line}"
            raise InvalidInput(_broken(place, reason)) from error
        except (ValueError, RecursionError) as error:
            place = str(self.path) if number is None else f"{self.path}, line {number}"
            raise InvalidInput(_broken(place, str(error))) from error


def is_markdown(path: Path) -> bool:
    """Whether ``path`` is a folder, or named as Markdown is: no JSON to look into."""
    with suppress(OSError, ValueError):
        return path.suffix.lower() == ".md" or path.is_dir()
    return False


def detect(file: JsonFile) -> str:
    """Return the format of ``file``, judged by its first value.

    Raises:
        InvalidInput: it is none of the known ones.
    """
    item = file.first()
    match item.value:
        case {"format": str(name)} if name in ARCHIVE_NAMES:
            return MEMORANDA
        case value if is_metadata(value):
            return SESSION
        case {"conversation": dict(), "sample_id": _}:
            return LOCOMO
        case {"messages": list()}:
            return OPENAI
        case {"role": str(role), **rest} if role in CHAT and not OWN_ARGUMENTS & rest.keys():
            return OPENAI
        case {"content": _} | str():
            return MEMORANDA
    message = f"{item.place}: the format is unknown, found {item.value!r:.80}; {KNOWN}"
    raise InvalidInput(message)


def _elements(place: str, document: object) -> Iterator[JsonItem]:
    if isinstance(document, list):
        for number, value in enumerate(document, 1):
            yield JsonItem(f"{place}, item {number}", value)
    else:
        yield JsonItem(place, document)


def _first(items: Iterator[JsonItem], path: Path) -> JsonItem:
    for item in items:
        return item
    raise InvalidInput(f"{path} holds nothing to import; {KNOWN}")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        message = f"there is no file {path}; check the path"
        raise InvalidInput(message) from error
    except IsADirectoryError as error:
        message = f"{path} is a folder; name a file in it"
        raise InvalidInput(message) from error
    except (OSError, ValueError) as error:
        message = f"{path!s:.200} cannot be read ({error}); check its name and permissions"
        raise InvalidInput(message) from error


def _refuse(constant: str) -> None:
    message = f"{constant} is no JSON number"
    raise ValueError(message)


def _broken(place: str, reason: str) -> str:
    return f"{place}: not valid JSON ({reason}); correct it and import again; {KNOWN}"


CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")
"""What they are called; large exports have several: ``conversations-000.json`` and so on."""
MOST = 4 * 1024**3
"""Bytes of a file in an archive that are still read."""


class ZippedFile:
    """The conversations in a ZIP archive, read at once for each file in it.

    Args:
        path: the archive.

    Raises:
        InvalidInput: it cannot be read, or holds no conversations.
    """

    def __init__(self, path: Path) -> None:
        """Look which files in it hold conversations."""
        self.path = path
        self._documents: dict[str, Any] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for info in sorted(archive.infolist(), key=lambda info: info.filename):
                    if CONVERSATIONS.fullmatch(PurePosixPath(info.filename).name):
                        self._documents[info.filename] = self._parsed(archive, info)
        # A damaged member raises zlib's error, an encrypted one RuntimeError.
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            message = f"{path} cannot be read ({error}); get the export again"
            raise InvalidInput(message) from error
        if not self._documents:
            message = f"{path} holds no conversations.json; it is no export of ChatGPT or Claude"
            raise InvalidInput(message)

    def items(self) -> Iterator[JsonItem]:
        """Return the conversations, each with its place."""
        for name, document in self._documents.items():
            yield from _elements(f"{self.path}, {name}", document)

    def first(self) -> JsonItem:
        """Return the first value.

        Raises:
            InvalidInput: there is none.
        """
        return _first(self.items(), self.path)

    def _parsed(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
        place = f"{self.path}, {info.filename}"
        if info.file_size > MOST:
            message = f"{place} has {info.file_size:,} bytes, too many to read; unpack and split it"
            raise InvalidInput(message)
        try:
            return json.loads(archive.read(info))
        except (ValueError, RecursionError, zlib.error) as error:
            message = f"{place}: not valid JSON ({error}); get the export again"
            raise InvalidInput(message) from error


def is_archive(path: Path) -> bool:
    """Whether ``path`` is a ZIP archive."""
    try:
        return zipfile.is_zipfile(path)
    except (OSError, ValueError):
        return False


NUL, NUL_PICTURE = "\x00", "\u2400"
SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


class JsonValues(Protocol):
    """A file of JSON values that can be read again and again."""

    def items(self) -> Iterator[JsonItem]:
        """Return its values with their places."""


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
    found: datetime | None = None
    try:
        match value:
            case None:
                return None
            case bool():
                pass
            case int() | float() if math.isfinite(value):
                found = datetime.fromtimestamp(value, UTC)
            case str():
                found = datetime.fromisoformat(value)
                found = found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    if found is None:
        message = f"{name}={value!r:.80} is no time; write it as 2026-03-02T18:05:00Z"
        raise InvalidInput(message)
    return require_aware(found, name)
