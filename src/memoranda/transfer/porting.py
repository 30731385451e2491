"""Moves memory in and out: files of memoranda, and of others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from io import TextIOBase
from pathlib import Path
from typing import Any, BinaryIO, cast

from memoranda.errors import InvalidInput, MemorandaError, StoreError
from memoranda.model.checks import located, parse_moment, refuse_unknown
from memoranda.model.models import Scope
from memoranda.model.notes import NotesContent
from memoranda.model.ports import Progress
from memoranda.notes.service import NotesService
from memoranda.records.drafts import parse_draft
from memoranda.store.sql.store import Store
from memoranda.text.files import file_path, write_whole
from memoranda.transfer import (
    chatgpt,
    chroma,
    claude,
    claude_code,
    locomo,
    markdown_memory,
    mcp_memory,
    mem0,
    openai,
)
from memoranda.transfer.archive import (
    archive_lines,
    check_archive,
    is_header,
    read_archive,
    restore,
)
from memoranda.transfer.batches import ImportCounts, ImportTarget, PlacedDraft, import_drafts
from memoranda.transfer.conversations import ForeignConversation, import_conversations, read_export
from memoranda.transfer.json_files import FileFormat, JsonFile, LeftOut, export_files
from memoranda.transfer.session_files import import_session, session_lines

CHROMA_FILE = "chroma.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import or export moved.

    Attributes:
        format: of the file.
        users: whose memory was read or written.
        records: how many records were moved.
        messages: how many messages of conversations were moved.
        skipped: how many were there already.
        left_out: a line for each file of a Markdown memory, and of the notes, that was not read
            or written: its name, and why; of what other programs keep, a line for each kind of
            thing that is no talk and no fact: the kind, and how many.
    """

    format: str
    users: tuple[str, ...]
    records: int
    messages: int = 0
    skipped: int = 0
    left_out: tuple[str, ...] = ()


# Out


@contextmanager
def one_moment(
    store: Store, scope: Scope, notes: NotesService, left_out: LeftOut
) -> Iterator[list[NotesContent]]:
    """Let all reads of a store in the block see one moment; give what the notes said then."""
    with ExitStack() as block:
        found: list[NotesContent] = []
        with ExitStack() as writers_wait:
            stored = list(notes.stored(scope))
            for each in stored:
                writers_wait.enter_context(each.quiet())
            block.enter_context(store.snapshot())
            for each in stored:
                try:
                    content = each.content()
                except StoreError as error:
                    left_out.tell(str(error))
                else:
                    found += [content] if content.files else []
        yield found


def export(
    store: Store,
    scope: Scope,
    now: datetime,
    to: str | Path | BinaryIO,
    *,
    notes: NotesService,
    conversation: str | None = None,
) -> PortingReport:
    """Write all that the scope sees to a file, as it was at one moment.

    The file appears when it is complete, readable by its owner alone. A page of records, or
    one conversation, is in memory at a time.

    Args:
        store: where it is.
        scope: whose memory.
        notes: finds its notes.
        now: the moment, for the header.
        to: the file to make, or an open one.
        conversation: instead of all, only this conversation, in the format ``session``, with
            which it can go on without a memory.

    Raises:
        InvalidInput: the file exists already, or cannot be written.
        NotFound: there is no such conversation.
    """
    path: Path | BinaryIO
    is_open = not isinstance(to, str | Path | TextIOBase) and hasattr(to, "writelines")
    path = cast("BinaryIO", to) if is_open else file_path(to)
    counts, left_out = Counter[str](), LeftOut()
    try:
        if isinstance(path, Path) and path.exists():
            raise InvalidInput(f"{path} exists already; choose a new name for the export")
        with one_moment(store, scope, notes, left_out) as told:
            found = (
                archive_lines(store, scope, now, told)
                if conversation is None
                else session_lines(store, scope, conversation)
            )
            lines = _counted(found, counts)
            if isinstance(path, Path):
                write_whole(path, lines)
            else:
                path.writelines(lines)
    except (MemorandaError, BrokenPipeError):
        raise
    except (OSError, ValueError) as error:
        message = f"{path} cannot be written ({error}); choose another folder or free some space"
        raise InvalidInput(message) from error
    return PortingReport(
        format=FileFormat.MEMORANDA if conversation is None else FileFormat.SESSION,
        users=(scope.user,),
        records=counts["record"],
        messages=counts["message"],
        left_out=left_out.lines(),
    )


def _counted(found: Iterable[tuple[str, bytes]], counts: Counter[str]) -> Iterator[bytes]:
    for kind, line in found:
        counts[kind] += 1
        yield line


# In


def import_file(
    target: ImportTarget, path: Path, format: str | None = None, progress: Progress | None = None
) -> PortingReport:
    """Read a file into a memory; what is there already is skipped.

    Args:
        target: the memory; conversations of LoCoMo and memories of mem0 have their own users.
        path: the file; of other programs and their Markdown memories, also a folder.
        format: a :class:`memoranda.transfer.json_files.FileFormat`; if not given, judged by the
            content, and a name that ends in ``.md``, or a folder without transcripts of Claude
            Code, is ``memory-md``.
        progress: told after each batch how many records or conversations are done.

    Raises:
        InvalidInput: the file is not there, of no known format, or broken; the message
            names the place, and nothing was written.
    """
    if format is not None:
        refuse_unknown([format], FileFormat, "format")
    known = FileFormat(format) if format else _format_of(path)
    counts = ImportCounts(progress)
    _import(target, path, known, counts)
    if not counts.total and counts.left_out.unreadable:
        raise InvalidInput(counts.left_out.unreadable)
    return PortingReport(
        format=known,
        users=counts.users or (target.scope.user,),
        records=counts.records,
        messages=counts.messages,
        skipped=counts.skipped,
        left_out=counts.left_out.lines(),
    )


def _format_of(path: Path) -> FileFormat:
    """Return the format of a file, or of a folder, as what is in it tells.

    Raises:
        InvalidInput: it cannot be read, or is of no known format.
    """
    with suppress(OSError, ValueError):
        if (path / CHROMA_FILE).is_file():
            return FileFormat.CHROMA
        if path.is_dir() and not export_files(path):
            known = claude_code.holds_transcripts(path)
            return FileFormat.CLAUDE_CODE if known else FileFormat.MEMORY_MD
        if path.suffix.lower() == ".md":
            return FileFormat.MEMORY_MD
    return JsonFile(path).format()


def _import(target: ImportTarget, path: Path, format: FileFormat, counts: ImportCounts) -> None:
    source: Any = path if format in FOLDERS else JsonFile(path)
    if format == FileFormat.SESSION:
        import_session(target, path, counts)
    elif format == FileFormat.MEMORANDA and is_header(source.first().value):
        check_archive(target, read_archive(source.items(), target.scope), counts)
        restore(target, read_archive(source.items(), target.scope), counts)
    elif format in TALKS:
        import_conversations(target, format, partial(TALKS[format], source, target), counts)
    else:
        import_drafts(target, format, partial(DRAFTS[format], source, target), counts)


def _plain_drafts(file: JsonFile, target: ImportTarget, _: LeftOut) -> Iterator[PlacedDraft]:
    """Yield records written as ``remember_many`` takes them, one for each line.

    What stands there several times, other than a fact, is stored as often.
    """
    seen: Counter[str] = Counter()
    for place, value in file.items():
        known = value
        if isinstance(value, Mapping) and value.get("event_time") is not None:
            with located(place):
                known = {**value, "event_time": parse_moment(value["event_time"], "event_time")}
        draft, text = parse_draft(known, place), json.dumps(value, sort_keys=True)
        seen[text] += 1
        yield PlacedDraft(place, target.scope, draft, key=f"{text}\n{seen[text]}")


# Formats that may be folders, and are read as such.
FOLDERS = {FileFormat.CHROMA, FileFormat.MEMORY_MD, FileFormat.CLAUDE_CODE, FileFormat.SESSION}
# What reads the formats, from a file or a folder: drafts of records, or talks.
DRAFTS: Mapping[str, Callable[[Any, ImportTarget, LeftOut], Iterator[PlacedDraft]]] = {
    FileFormat.MEMORANDA: _plain_drafts,
    FileFormat.LOCOMO: locomo.read_drafts,
    FileFormat.MEM0: mem0.read_drafts,
    FileFormat.MCP_MEMORY: mcp_memory.read_drafts,
    FileFormat.CHROMA: chroma.read_drafts,
    FileFormat.MEMORY_MD: markdown_memory.read_drafts,
}
TALKS: Mapping[str, Callable[[Any, ImportTarget, LeftOut], Iterator[ForeignConversation]]] = {
    FileFormat.CHATGPT: partial(read_export, chatgpt.KEYS, chatgpt.read_messages),
    FileFormat.CLAUDE: partial(read_export, claude.KEYS, claude.read_messages),
    FileFormat.CLAUDE_CODE: claude_code.read_conversations,
    FileFormat.OPENAI: openai.read_conversations,
}
