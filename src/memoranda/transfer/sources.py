"""What an import reads and where it goes: values of JSON with their places, records and talks.

The id of what is imported is made of the user, the format and the key that it has in its file; what
has no key there has its text instead. So what is there already, is forgotten or was erased is known
again by its id, and importing again adds nothing.
"""

from __future__ import annotations

import json
import pickle
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
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.formats.content import ROLES
from memoranda.errors import InvalidInput, StoreError
from memoranda.model.checks import EPOCH, clean, require_aware, to_ms
from memoranda.model.clock import RANDOM_BITS, encode_id
from memoranda.model.models import ConversationInfo, Mention, NewMessage, Scope
from memoranda.model.ports import Progress
from memoranda.model.sessions import UserMetadata
from memoranda.notes.service import NotesService
from memoranda.records.drafts import DRAFT_KEYS, Draft, SecretPolicy
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store
from memoranda.store.sqlite import read_foreign
from memoranda.text.json_values import list_of, object_of, refuse_constant, value_of
from memoranda.text.patterns import compile_pattern, join_surrogates


class FileFormat(StrEnum):
    """What a file can be."""

    MEMORANDA = "memoranda"
    OPENAI = "openai"
    SESSION = "session"
    MEMORY_MD = "memory-md"
    CLAUDE_CODE = "claude-code"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"
    CHROMA = "chroma"
    OPEN_WEBUI = "open-webui"
    LIBRECHAT = "librechat"
    SILLYTAVERN = "sillytavern"
    GEMINI = "gemini"
    OPENAI_AGENTS = "openai-agents"
    MIF = "mif"


# What a value of a format has: the types of some of its keys. The first that fits is taken. What is
# of no format, DeepSeek's and LM Studio's, is like ChatGPT's and OpenAI's, and is not read.
SHAPES: tuple[tuple[FileFormat | None, Mapping[str, type]], ...] = (
    (FileFormat.CLAUDE_CODE, {"type": str, "sessionId": str}),
    (None, {"mapping": dict, "inserted_at": str}),
    (None, {"name": str, "createdAt": object, "messages": list}),
    (FileFormat.CHATGPT, {"mapping": dict}),
    (FileFormat.CLAUDE, {"chat_messages": list}),
    (FileFormat.OPEN_WEBUI, {"chat": dict}),
    (FileFormat.LIBRECHAT, {"conversationId": str, "messages": list}),
    (FileFormat.LIBRECHAT, {"conversationId": str, "messagesTree": list}),
    (FileFormat.SILLYTAVERN, {"user_name": str, "character_name": str}),
    (FileFormat.SILLYTAVERN, {"is_user": bool, "mes": str}),
    (FileFormat.GEMINI, {"header": str, "title": str, "products": list}),
    (FileFormat.OPENAI_AGENTS, {"Conversation": str, "Time": str}),
    (FileFormat.MEM0, {"id": object, "memory": str}),
    (FileFormat.MEM0, {"id": object, "payload": dict}),
    (FileFormat.MCP_MEMORY, {"type": str, "name": str, "observations": list}),
    (FileFormat.MCP_MEMORY, {"type": str, "from": str, "to": str}),
    (FileFormat.MCP_MEMORY, {"entities": list, "relations": list}),
    (FileFormat.MEMORANDA, {"format": str, "version": object}),
    (FileFormat.MIF, {"mif_version": str, "memories": list}),
    (FileFormat.SESSION, {"_type": str}),
    (FileFormat.OPENAI, {"messages": list}),
)
# What the files of other programs hold under which names.
NAMES: Mapping[str, Any] = tomllib.loads(
    (files("memoranda.transfer") / "formats.toml").read_text("utf-8")
)
# Files of text that are read end with these.
TEXTS = (".json", ".jsonl")
DECODER = json.JSONDecoder(parse_constant=refuse_constant)
VISIBLE = compile_pattern(r"\S")
# How JSON writes NUL and the halves of a character.
UNSTORABLE = compile_pattern(r"\\u(?:0000|[dD][89a-fA-F])")
# Arguments of ``remember`` that no chat message has.
OWN_ARGUMENTS = frozenset(DRAFT_KEYS) - {"content", "role"}
# The keys of the lists around what other programs keep.
LISTS = ("results", "memories", "conversations")
# Values of a file that are looked at to know it; of what cannot be read, lines or files named.
MOST_LOOKED_AT, MOST_NAMED = 100, 20
DATABASE = b"SQLite format 3\0"
# How programs write times that are not as ISO 8601 has them, apart from milliseconds.
DATES = ("%B %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss")
MILLISECONDS = compile_pattern(r" \d+ms$")
# Records, or messages, of one transaction.
BATCH = 500
# The last letters of an id, of five bits each: the digest. The millisecond is before it.
KEY_LETTERS = 16
Item = TypeVar("Item")


# A file, also one in a ZIP archive.
File = Path | zipfile.Path


class JsonItem(NamedTuple):
    """A value of a file, and where it stands there, for messages: ``notes.jsonl, line 3``."""

    place: str
    value: Any


class ImportedFile(NamedTuple):
    """What was imported of a file.

    Attributes:
        path: the file.
        format: its format.
        moved: how much of it, by the names that :class:`PortingReport` has for that.
    """

    path: str
    format: FileFormat
    moved: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import, an export or a copy moved.

    Attributes:
        format: of the file; of a folder, the formats of its files.
        users: whose memory was read or written.
        records: how many records were moved.
        facts: how many of the imported records are facts.
        messages: how many messages of conversations were moved.
        conversations: of how many imported conversations these messages are.
        skipped: how many were there already.
        left_out: a line for each file that was not read or written, and for each of the first
            lines of a file that could not be read: its name, and why; of what else is left out, a
            line for each kind of thing: the kind, and how many.
        files: what was imported of each file.
    """

    format: str
    users: tuple[str, ...]
    records: int = 0
    facts: int = 0
    messages: int = 0
    conversations: int = 0
    skipped: int = 0
    left_out: tuple[str, ...] = ()
    files: tuple[ImportedFile, ...] = ()


def import_received(
    content: bytes, name: str, read: Callable[[Path], PortingReport]
) -> PortingReport:
    """Have something that was sent read as a file of its name, which messages have alone.

    Raises:
        InvalidInput: no file can have the name, or nothing of it can be read.
    """
    own = Path(name).name or "import"
    with TemporaryDirectory() as folder:
        file = Path(folder, own)
        try:
            file.write_bytes(content)
        except (OSError, ValueError) as error:
            message = f"name={name!r:.80} cannot be the name of a file ({error}); send another one"
            raise InvalidInput(message) from error
        above = str(file).removesuffix(own)
        try:
            report = read(file)
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(above, "")) from error
    return replace(
        report,
        left_out=tuple(line.replace(above, "") for line in report.left_out),
        files=tuple(each._replace(path=each.path.replace(above, "")) for each in report.files),
    )


class ImportCounts:
    """Counts what an import stores, passes over and leaves out, and tells how far it is.

    Attributes:
        moved: how much was stored, and was there already or was erased.
        users: whose it is.
        files: what was imported of each file.
        unreadable: the first thing of a file that could not be read, and why.
        strict: whether what cannot be read is an error.
    """

    def __init__(self, progress: Progress | None = None, *, strict: bool = False) -> None:
        """Start with nothing.

        Args:
            progress: told how much is done, not of how much.
            strict: whether what cannot be read is an error.
        """
        self.moved, self.users = Counter[str](), dict[str, None]()
        self.files: list[ImportedFile] = []
        self.unreadable: str | None = None
        self.strict, self._progress = strict, progress
        self._left_out, self._lines = Counter[str](), dict[str, None]()

    def add(self, scope: Scope, found: int, **stored: int) -> None:
        """Count what was found of a scope, and how much of it was stored."""
        self.users[scope.user] = None
        there = found - stored.get("records", 0) - stored.get("messages", 0)
        self.moved.update(stored, skipped=there)
        if self._progress is not None:
            self._progress(sum(self.moved[n] for n in ("records", "messages", "skipped")), 0)

    def leave_out(self, kind: str) -> None:
        """Count one more that is left out of ``kind``, a noun in the plural."""
        self._left_out[kind] += 1

    def tell(self, line: str) -> None:
        """Add a line on what is left out."""
        self._lines[line] = None

    def pass_over(self, line: str, kind: str = "files that were not read") -> None:
        """Count one more that is left out of ``kind``; add a line on each of the first 20."""
        self.leave_out(kind)
        if self._left_out[kind] <= MOST_NAMED:
            self.tell(line)

    @contextmanager
    def reading(self, place: str) -> Iterator[None]:
        """Pass over what cannot be read in the block: it must not keep out all the rest.

        Raises:
            InvalidInput: it cannot be read, and the import is strict.
        """
        try:
            yield
        # What is formed otherwise than any file that was seen raises one of the others.
        except (InvalidInput, LookupError, TypeError, AttributeError, RecursionError) as error:
            told = str(error)
            if not told.startswith(place):  # as what stands within it is
                told = f"{place}: {told}"
            if self.strict:
                raise InvalidInput(told) from error
            self.unreadable = self.unreadable or told
            self.pass_over(f"{told}; passed over", "lines that cannot be read")

    def report(self, scope: Scope, format: str = "") -> PortingReport:
        """Return what was done, for the user of ``scope`` where nobody is named."""
        counted = (f"{kind}: {number:,}" for kind, number in self._left_out.most_common() if number)
        return PortingReport(
            format=format or ", ".join(dict.fromkeys(each.format for each in self.files)),
            users=tuple(self.users) or (scope.user,),
            left_out=(*self._lines, *counted),
            files=tuple(self.files),
            **self.moved,
        )


def read_values(
    path: File, counts: ImportCounts, inside: Sequence[str] = LISTS
) -> Iterator[JsonItem]:
    """Yield the values of a file: of each line or element of an array, or the only one.

    JSON Lines are read line by line, and never held as a whole. Characters that no store can hold
    are replaced.

    Args:
        path: a file.
        counts: counts what cannot be read, which is passed over.
        inside: the keys of lists in a value, whose elements are yielded in its place.

    Raises:
        InvalidInput: the file cannot be read.
    """
    with reading_file(path), path.open("rb") as file:
        if file.read(len(DATABASE)) == DATABASE:
            yield from _stored_items(Path(str(path)), counts)
            return
        file.seek(0)
        for place, raw in _texts(path, file):
            values: list[Any] = []
            with counts.reading(place):
                values = parse(raw)
            for value in values:
                yield from _elements(place, value, inside)


class _InertObject:
    """Stands for an object of any class in a pickle; has its state."""

    def __init__(self, *given: object) -> None:
        """Take what the class would have been called with, and leave it."""
        self.state: Any = given

    def __setstate__(self, state: object) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    """Reads a pickle without what it names: no class is imported, and nothing of it is called."""

    def find_class(self, *_: str) -> type[_InertObject]:
        """Return the stand-in for a class or function."""
        return _InertObject


def _stored_items(path: Path, counts: ImportCounts) -> Iterator[JsonItem]:
    """Yield what a database of another program keeps: its sessions, or the memories of mem0.

    Raises:
        InvalidInput: it is a database of something else.
    """
    for sql in NAMES["databases"].values():
        with suppress(StoreError):
            found = read_foreign(path, sql)
            break
    else:
        message = f"{path} is a database of nothing that is known here"
        raise InvalidInput(f"{message}; memoranda copy copies a store of ours")
    for number, (row,) in enumerate(found, 1):
        with counts.reading(place := f"{path}, row {number}"):
            yield JsonItem(place, _point(row) if isinstance(row, bytes) else parse(row.encode())[0])


def _point(pickled: bytes) -> Any:
    """Return id and payload of a point in a folder of Qdrant.

    Raises:
        InvalidInput: it is something else.
    """
    try:
        point = _InertUnpickler(BytesIO(pickled)).load().state["__dict__"]
    except Exception as error:  # A damaged pickle raises any.
        raise InvalidInput(f"not a point of Qdrant ({error!r:.80})") from error
    return {"id": str(point["id"]), "payload": plain_value(point["payload"])}


def _elements(place: str, value: Any, inside: Sequence[str]) -> Iterator[JsonItem]:
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _elements(f"{place}, item {number}", each, inside)
    elif isinstance(points := value_of(value, "docstore"), Mapping):
        for key, payload in points.items():
            yield JsonItem(f"{place}, {key}", {"id": key, "payload": payload})
    elif value_of(value, "mif_version") is None and (
        lists := [name for name in inside if isinstance(value_of(value, name), list)]
    ):
        for name in lists:
            for number, each in enumerate(value[name], 1):
                yield JsonItem(f"{place}, {name} {number}", each)
    else:
        yield JsonItem(place, value)


def _texts(path: File, file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield each line of JSON Lines, or the whole of any other file, with its place."""
    lines = ((f"{path}, line {n}", line) for n, line in enumerate(file, 1) if line.strip())
    for place, line in lines:
        if path.suffix.lower() == ".jsonl" or _is_value(line):
            yield from chain([(place, line)], lines)
        else:
            yield str(path), line + file.read()


def _is_value(line: bytes) -> bool:
    """Return whether a line is whole by itself: objects or texts."""
    with suppress(InvalidInput):
        return all(isinstance(each, dict | str) for each in parse(line))
    return False


def parse(raw: bytes) -> list[Any]:
    """Return the JSON values of a text in UTF-8: of a line that lost its end, more than one.

    Raises:
        InvalidInput: it is something else.
    """
    values, end = list[Any](), 0
    try:
        text = raw.decode("utf-8-sig").rstrip()
        while begins := VISIBLE.search(text, end):
            value, end = DECODER.raw_decode(text, begins.start())
            values.append(plain_value(value) if UNSTORABLE.search(text) else value)
    except (ValueError, RecursionError) as error:
        message = f"not valid JSON in UTF-8 ({error}); correct it, or name another format"
        raise InvalidInput(message) from error
    return values


@contextmanager
def reading_file(path: File) -> Iterator[None]:
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
    if str(value.get("role")) in ROLES and OWN_ARGUMENTS.isdisjoint(value):
        return FileFormat.OPENAI
    return FileFormat.MEMORANDA if "content" in value else None


def recognise_file(path: File) -> FileFormat:
    """Return the format of a file, judged by its first value of a known form.

    Raises:
        InvalidInput: it cannot be read, holds nothing, or is of no known format.
    """
    counts = ImportCounts()
    values = list(islice(read_values(path, counts), MOST_LOOKED_AT))
    for each in values:
        if found := recognise(each.value):
            return found
    if values:
        message = f"{values[0].place}: the format is unknown, found {values[0].value!r:.80}"
        raise InvalidInput(f"{message}; memoranda import --help lists what can be read")
    if counts.unreadable and path.suffix and path.suffix.lower() not in TEXTS:
        message = f"{path} is of a kind that is not read; {', '.join(TEXTS)}, .md, .zip and .db are"
        raise InvalidInput(f"{message}; or name another format, of memoranda import --help")
    raise InvalidInput(counts.unreadable or f"{path} holds nothing that could be imported")


MOMENT = TypeAdapter(datetime)


def plain_value(value: Any) -> Any:
    """Return a JSON value with a stand-in for each character that no store can hold.

    Output of tools has NUL characters, and halves of characters where it was cut.
    """
    match value:
        case str():
            return join_surrogates(value.replace("\x00", "\u2400"))
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


def tags_of(value: object, name: str) -> list[str]:
    """Return the tags in a list of an object: its texts that are not blank.

    Raises:
        InvalidInput: it is no list.
    """
    return [tag for tag in list_of(value, name) if isinstance(tag, str) and tag.strip()]


def moment_of(value: object, name: str) -> datetime | None:
    """Return a moment: a text, taken as UTC where it names no zone, or seconds since 1970.

    Raises:
        InvalidInput: it is something else.
    """
    if value is None:
        return None
    text = MILLISECONDS.sub("", value) if isinstance(value, str) else ""
    for form in DATES:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    try:
        found = MOMENT.validate_python(value)
    except ValidationError as error:
        message = f"{name}={value!r:.80} is not a time; write it as 2026-03-02T18:05:00Z"
        raise InvalidInput(message) from error
    return require_aware(found if found.tzinfo else found.replace(tzinfo=UTC), name)


def joined(texts: Iterable[str]) -> str:
    """Return the texts of a message as one, without those that are blank."""
    return "\n".join(text for text in texts if text.strip())


def batched(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of a batch; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
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
        counts: counts what is done. Where it is strict, what stands before the first line or file
            that cannot be read is stored.
        own_only: whether what a file says is another user's cannot be read.
    """

    records: RecordService
    conversations: Callable[[Scope], ConversationStore]
    zone: tzinfo
    notes: NotesService
    secrets: SecretPolicy
    counts: ImportCounts
    own_only: bool = False

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
        return self.store.message_ids(self.scope.whole_user, conversation)

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
        forgotten: whether its episode was forgotten where it comes from.
    """

    key: str
    said: NewMessage
    answer: str | None = None
    forgotten: bool = False


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
