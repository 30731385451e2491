"""What an import reads and where it goes: values of JSON with their places, records and talks.

The id of what is imported is made of the user, the format and the key that it has in its file; what
has no key there has its text instead. So what is there already, is forgotten or was erased is known
again by its id, and importing again adds nothing.
"""

from __future__ import annotations

import json
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.formats.content import ROLES
from memoranda.errors import InvalidInput
from memoranda.model.checks import EPOCH, ErrorPrefix, clean, require_aware, to_ms
from memoranda.model.clock import RANDOM_BITS, encode_id
from memoranda.model.models import ConversationInfo, Mention, NewMessage, Scope
from memoranda.model.ports import Progress
from memoranda.model.sessions import UserMetadata
from memoranda.notes.service import NotesService
from memoranda.records.drafts import DRAFT_KEYS, Draft, SecretPolicy
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store
from memoranda.text.json_values import list_of, object_of, refuse_constant
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.estimate import whole


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


# What a value of a format has: the types of some of its keys. The first that fits is taken.
SHAPES: tuple[tuple[FileFormat, Mapping[str, type]], ...] = (
    (FileFormat.CLAUDE_CODE, {"type": str, "sessionId": str}),
    (FileFormat.CLAUDE_CODE, {"type": str, "leafUuid": str}),
    (FileFormat.CLAUDE_CODE, {"type": str, "messageId": str}),
    (FileFormat.CHATGPT, {"mapping": dict}),
    (FileFormat.CLAUDE, {"chat_messages": list}),
    (FileFormat.MEM0, {"id": object, "memory": str}),
    (FileFormat.MEM0, {"results": list}),
    (FileFormat.MCP_MEMORY, {"type": str, "name": str, "observations": list}),
    (FileFormat.MCP_MEMORY, {"type": str, "from": str, "to": str}),
    (FileFormat.MCP_MEMORY, {"entities": list, "relations": list}),
    (FileFormat.MEMORANDA, {"format": str, "version": object}),
    (FileFormat.SESSION, {"_type": str}),
    (FileFormat.LOCOMO, {"sample_id": object, "conversation": dict}),
    (FileFormat.OPENAI, {"messages": list}),
)
# What the files of other programs hold under which names.
NAMES: Mapping[str, Any] = tomllib.loads(
    (files("memoranda.transfer") / "formats.toml").read_text("utf-8")
)
DECODER = json.JSONDecoder(parse_constant=refuse_constant)
VISIBLE = compile_pattern(r"\S")
# How JSON writes NUL and the halves of a character.
UNSTORABLE = compile_pattern(r"\\u(?:0000|[dD][89a-fA-F])")
CHAT = frozenset(ROLES)
# Arguments of ``remember`` that no chat message has.
OWN_ARGUMENTS = frozenset(DRAFT_KEYS) - {"content", "role"}
# The conversations of an export; large ones have several files: ``conversations-000.json``.
CONVERSATIONS = compile_pattern(r"(?:.*/)?conversations(?:-\d+)?\.json")


# Records, or messages, of one transaction.
BATCH = 500
# The last letters of an id, of five bits each: the digest. The millisecond is before it.
KEY_LETTERS = 16
Item = TypeVar("Item")


class JsonItem(NamedTuple):
    """A value of a file, and where it stands there, for messages: ``notes.jsonl, line 3``."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import, an export or a copy moved.

    Attributes:
        format: of the file.
        users: whose memory was read or written.
        records: how many records were moved.
        messages: how many messages of conversations were moved.
        conversations: of how many conversations of other programs these messages are.
        skipped: how many were there already.
        left_out: a line for each file of a Markdown memory, and of the notes, that was not read
            or written: its name, and why; of what other programs keep, a line for each kind of
            thing that is no talk and no fact: the kind, and how many.
    """

    format: str
    users: tuple[str, ...]
    records: int
    messages: int = 0
    conversations: int = 0
    skipped: int = 0
    left_out: tuple[str, ...] = ()


class ImportCounts:
    """Counts what an import stores, passes over and leaves out, and tells how far it is.

    Attributes:
        records, messages, conversations: how many were stored.
        skipped: how many were there already, or were erased.
        users: whose they are.
        unreadable: the first thing that could not be read, and why.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        """Start with nothing. ``progress`` is told how much is done, not of how much."""
        self.records = self.messages = self.conversations = self.skipped = 0
        self.users: dict[str, None] = {}
        self.unreadable: str | None = None
        self._progress = progress
        self._left_out: Counter[str] = Counter()
        self._lines: dict[str, None] = {}

    def add(
        self,
        scope: Scope,
        found: int,
        *,
        records: int = 0,
        messages: int = 0,
        conversations: int = 0,
    ) -> None:
        """Count what was found of a scope, and how much of it was stored."""
        self.users[scope.user] = None
        self.records += records
        self.messages += messages
        self.conversations += conversations
        self.skipped += found - records - messages
        if self._progress is not None:
            self._progress(self.records + self.messages + self.skipped, 0)

    def leave_out(self, kind: str, number: int = 1) -> None:
        """Count ``number`` more that are left out of ``kind``, a noun in the plural."""
        self._left_out[kind] += number

    def tell(self, line: str) -> None:
        """Add a line on what is left out."""
        self._lines[line] = None

    @contextmanager
    def reading(self, place: str) -> Iterator[None]:
        """Pass over what cannot be read in the block: it must not keep out all the rest."""
        try:
            yield
        except InvalidInput as error:
            self.leave_out("lines that cannot be read")
            if self.unreadable is None:
                self.unreadable = f"{place}: {error}"
                self.tell(f"{self.unreadable}; passed over")

    def report(self, format: FileFormat, scope: Scope) -> PortingReport:
        """Return what was done, for the user of ``scope`` where nobody is named."""
        counted = (f"{kind}: {number:,}" for kind, number in self._left_out.most_common() if number)
        return PortingReport(
            format=format,
            users=tuple(self.users) or (scope.user,),
            records=self.records,
            messages=self.messages,
            conversations=self.conversations,
            skipped=self.skipped,
            left_out=(*self._lines, *counted),
        )


def read_values(
    path: Path, counts: ImportCounts | None = None, inside: Sequence[str] = ()
) -> Iterator[JsonItem]:
    """Yield the values of a file: of each line or element of an array, or the only one.

    JSON Lines are read line by line, and never held as a whole.

    Args:
        path: a file; of a ZIP archive or a folder, the conversations in it.
        counts: where given, as for files of other programs, a line that cannot be read is passed
            over and counted, and characters that no store can hold are replaced.
        inside: the keys of lists in a value, whose elements are yielded in its place.

    Raises:
        InvalidInput: the file cannot be read, or is no JSON; the message names the line.
    """
    with reading_file(path):
        for name, part in _parts(path):
            with part:
                for place, raw in _texts(name, part):
                    with counts.reading(place) if counts else ErrorPrefix(place):
                        for value in _parse(raw, plain=counts is not None):
                            yield from _elements(place, value, inside)


def _elements(place: str, value: Any, inside: Sequence[str]) -> Iterator[JsonItem]:
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _elements(f"{place}, item {number}", each, inside)
    elif isinstance(value, Mapping) and not value.keys().isdisjoint(inside):
        for name in inside:
            for number, each in enumerate(list_of(value, name), 1):
                yield JsonItem(f"{place}, {name} {number}", each)
    else:
        yield JsonItem(place, value)


def _parts(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and content of each file of conversations in an export, or of the only file."""
    if not zipfile.is_zipfile(path):
        for file in export_files(path) or [path]:
            yield str(file), file.open("rb")
        return
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if CONVERSATIONS.fullmatch(name))
        if not names:
            message = (
                f"{path} holds no conversations.json; it is not an export of ChatGPT or Claude"
            )
            raise InvalidInput(message)
        for name in names:
            yield f"{path}, {name}", archive.open(name)


def export_files(folder: Path) -> list[Path]:
    """Return the conversations of an export that somebody unpacked: in a folder, or one in it."""
    found = sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]) if folder.is_dir() else []
    return [path for path in found if CONVERSATIONS.fullmatch(path.name)]


def _texts(name: str, part: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield each line of JSON Lines, or the whole of any other file, with its place."""
    lines = ((f"{name}, line {n}", line) for n, line in enumerate(part, 1) if line.strip())
    for place, line in lines:
        if name.endswith(".jsonl") or _is_value(line):
            yield from chain([(place, line)], lines)
        else:
            yield name, line + part.read()


def _is_value(line: bytes) -> bool:
    """Return whether a line is whole by itself: objects or texts."""
    with suppress(InvalidInput):
        return all(isinstance(each, dict | str) for each in _parse(line))
    return False


def _parse(raw: bytes, *, plain: bool = False) -> list[Any]:
    """Return the JSON values of a text in UTF-8: of a line that lost its end, more than one.

    Args:
        raw: the text.
        plain: whether characters that no store can hold are replaced.

    Raises:
        InvalidInput: it is something else.
    """
    values, end = list[Any](), 0
    try:
        text = raw.decode("utf-8-sig").rstrip()
        while begins := VISIBLE.search(text, end):
            value, end = DECODER.raw_decode(text, begins.start())
            values.append(plain_value(value) if plain and UNSTORABLE.search(text) else value)
    except (ValueError, RecursionError) as error:
        message = f"not valid JSON in UTF-8 ({error}); correct it, or name another format"
        raise InvalidInput(message) from error
    return values


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Raise an ``InvalidInput`` that names the file in place of an error of the file system."""
    try:
        yield
    except InvalidInput:
        raise
    # A damaged archive raises an error of its own or zlib's, an encrypted one RuntimeError.
    except (OSError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        message = f"{path!s:.200} cannot be read ({error}); check the path and its permissions"
        raise InvalidInput(message) from error


def recognise(value: object) -> FileFormat | None:
    """Return the format of a file that has ``value`` first; ``None`` for one that is unknown."""
    if not isinstance(value, Mapping):
        return FileFormat.MEMORANDA if isinstance(value, str) else None
    for form, shape in SHAPES:
        if all(name in value and isinstance(value[name], kind) for name, kind in shape.items()):
            return form
    if str(value.get("role")) in CHAT and OWN_ARGUMENTS.isdisjoint(value):
        return FileFormat.OPENAI
    return FileFormat.MEMORANDA if "content" in value else None


def recognise_file(path: Path) -> FileFormat:
    """Return the format of a file of JSON, judged by its first value.

    Raises:
        InvalidInput: it cannot be read, holds nothing, or is of no known format.
    """
    first = next(read_values(path), None)
    if first is None:
        raise InvalidInput(f"{path} holds nothing that could be imported")
    found = recognise(first.value)
    if found is None:
        message = f"{first.place}: the format is unknown, found {first.value!r:.80}"
        raise InvalidInput(f"{message}; memoranda import --help lists what can be read")
    return found


MOMENT = TypeAdapter(datetime)


def plain_value(value: Any) -> Any:
    """Return a JSON value with a stand-in for each character that no store can hold.

    Output of tools has NUL characters, and halves of characters where it was cut.
    """
    match value:
        case str():
            return whole(value.replace("\x00", "\u2400"))
        case list():
            return [plain_value(each) for each in value]
        case dict():
            return {plain_value(name): plain_value(each) for name, each in value.items()}
    return value


def text_of(value: object, name: str) -> str:
    """Return a text of an object.

    Raises:
        InvalidInput: there is none, it is blank, or no store can hold it.
    """
    return clean(object_of(value).get(name), name)


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
        message = f"{name}={value!r:.80} is not a time; write it as 2026-03-02T18:05:00Z"
        raise InvalidInput(message) from error
    return require_aware(found if found.tzinfo else found.replace(tzinfo=UTC), name)


def joined(texts: Iterable[str]) -> str:
    """Return the texts of a message as one, without those that are blank."""
    return "\n".join(text for text in texts if text.strip())


def batched(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Yield the items in lists of this size; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@dataclass(frozen=True)
class ImportTarget:
    """The memory that an import goes to.

    Attributes:
        records: changes the records of its scope.
        conversations: opens the stored conversations of a scope.
        zone: the zone of times that name none.
        notes: finds the notes of a scope.
        secrets: what becomes of plain lines that hold secrets; an export is stored as it is.
    """

    records: RecordService
    conversations: Callable[[Scope], ConversationStore]
    zone: tzinfo
    notes: NotesService
    secrets: SecretPolicy = "keep"

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.records.scope

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self.records.store

    @cached_property
    def before(self) -> UserMetadata:
        """What was kept of the user with all agents before this import."""
        return self.store.user_metadata(self.scope.whole_user)

    @cached_property
    def erased(self) -> frozenset[str]:
        """The ids of the records that were erased before this import."""
        return frozenset(each.id for each in self.before.erased)

    def of(self, scope: Scope) -> ImportTarget:
        """Return the same for another scope."""
        return self if scope == self.scope else replace(self, records=self.records.of(scope))

    def known(self, ids: Iterable[str]) -> set[str]:
        """Return which of these records are stored, of any agent, believed or not, or erased."""
        asked = list(ids)
        return {*self.store.get(self.scope.whole_user, asked), *self.erased.intersection(asked)}

    def known_messages(self, conversation: str) -> set[str]:
        """Return the ids of the messages that a conversation has, or that were removed from it."""
        removed = self.store.tombstones(self.scope.whole_user, conversation)
        held = self.store.messages(self.scope.whole_user, conversation, cleared=True)
        return {each.id for each in held} | {each.id for one in removed for each in one.messages}

    def id_of(self, prefix: str, format: str, key: str, at: datetime | None) -> str:
        """Return the id of what has this key in a file of this format, and happened then."""
        # Two users of one store may import the same file, and ids are unique in a store.
        text = f"{self.scope.user}\n{format}\n{key}".encode(errors="replace")
        number = int.from_bytes(blake2b(text, digest_size=10).digest())
        stamp = encode_id(to_ms(max(at or EPOCH, EPOCH)) << RANDOM_BITS)
        return f"{prefix}_{stamp[:-KEY_LETTERS]}{encode_id(number)[-KEY_LETTERS:]}"


class ForeignRecord(NamedTuple):
    """A draft of a record as a file tells it.

    Attributes:
        place: where it stands, for messages.
        scope: whose it is.
        draft: what is to be stored.
        mentions: the names that the file says are in it.
        once: whether a fact of this text is the same whenever it was learned.
        key: the name it has in its file; its text, if not given.
    """

    place: str
    scope: Scope
    draft: Draft
    mentions: tuple[Mention, ...] = ()
    once: bool = False
    key: str | None = None


class ForeignMessage(NamedTuple):
    """One thing that was said, or done with a tool.

    Attributes:
        key: the id it has in its file; the same in every copy of it.
        said: the message.
        answer: the answer that it is a part of: parts that follow each other are one message.
    """

    key: str
    said: NewMessage
    answer: str | None = None


class ForeignConversation(NamedTuple):
    """A conversation as a file tells it.

    Attributes:
        place: where it stands, for messages.
        info: its name in the memory, and with what it begins.
        messages: what was said, in order; a later copy of the file only adds at the end, or goes
            on elsewhere from some message on.
    """

    place: str
    info: ConversationInfo
    messages: Sequence[ForeignMessage]
