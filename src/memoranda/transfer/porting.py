"""Moves memory in and out: files of memoranda, and of others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.checks import located
from memoranda.model.json_object import parse_moment
from memoranda.model.models import Scope
from memoranda.model.ports import Progress, Store
from memoranda.records.drafts import parse_draft
from memoranda.store.locations import foreign_memories
from memoranda.transfer import archive, chatgpt, chroma, claude, claude_code, mcp_memory, mem0
from memoranda.transfer.batches import (
    Additions,
    ImportTarget,
    Moved,
    PlacedDraft,
    Steps,
    import_facts,
)
from memoranda.transfer.conversations import (
    ConversationImport,
    ForeignConversation,
    import_conversations,
)
from memoranda.transfer.json_files import (
    CHATGPT,
    CHROMA,
    CLAUDE,
    CLAUDE_CODE,
    FORMATS,
    KNOWN,
    MCP_MEMORY,
    MEM0,
    MEMORANDA,
    MEMORY_MD,
    SESSION,
    JsonFile,
    LeftOut,
    ZippedFile,
    detect,
    is_archive,
    is_markdown,
)
from memoranda.transfer.locomo import import_locomo
from memoranda.transfer.memory_md import import_memory_md
from memoranda.transfer.openai import import_openai
from memoranda.transfer.restore import restore
from memoranda.transfer.session_files import import_session, session_lines

KNOWN_BY: dict[str, Callable[[object], bool]] = {
    CLAUDE_CODE: claude_code.is_line,
    CHATGPT: chatgpt.is_chatgpt,
    CLAUDE: claude.is_claude,
    MEM0: mem0.is_mem0,
    MCP_MEMORY: mcp_memory.is_mcp_memory,
}
CONVERSATIONS, CHROMA_FILE = "conversations.json", "chroma.sqlite3"
OTHER_PROGRAMS = frozenset({*KNOWN_BY, CHROMA})


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import or export moved.

    Attributes:
        format: of the file.
        users: whose memory was read or written.
        records: how many records were moved.
        messages: how many messages of conversations were moved.
        skipped: how many were there already.
        left_out: a line for each file of a Markdown memory that was not read: its name, and why;
            of what other programs keep, a line for each kind of thing that is no talk and no
            fact: the kind, and how many.
    """

    format: str
    users: tuple[str, ...]
    records: int
    messages: int = 0
    skipped: int = 0
    left_out: tuple[str, ...] = ()


# Out


def export(
    store: Store, scope: Scope, now: datetime, path: Path, *, conversation: str | None = None
) -> PortingReport:
    """Write all that the scope sees to ``path``, as it was at one moment.

    The file appears when it is complete, readable by its owner alone. A page of records, or
    one conversation, is in memory at a time.

    Args:
        store: where it is.
        scope: whose memory.
        now: the moment, for the header.
        path: the file to make.
        conversation: instead of all, only this conversation, in the format ``session``, with
            which it can go on without a memory.

    Raises:
        InvalidInput: the file exists already, or cannot be written.
        NotFound: there is no such conversation.
    """
    records = messages = 0
    with _appearing(path) as file, store.snapshot():
        if conversation is not None:
            lines = list(session_lines(store, scope, conversation))
            file.writelines(lines)
            return PortingReport(
                format=SESSION, users=(scope.user,), records=0, messages=len(lines) - 1
            )
        file.write(archive.header(scope, now))
        for part in archive.archive_parts(store, scope, now):
            file.writelines(archive.dump_part(part))
            records += isinstance(part, archive.ArchivedRecord)
            if isinstance(part, archive.ArchivedConversation):
                messages += len(part.messages)
    return PortingReport(format=MEMORANDA, users=(scope.user,), records=records, messages=messages)


@contextmanager
def _appearing(path: Path) -> Iterator[IO[str]]:
    """Open a file that appears at ``path`` when the block is over, and only if it succeeds."""
    part: Path | None = None
    try:
        if path.exists():
            message = f"{path} exists already; choose a new name for the export"
            raise InvalidInput(message)
        with NamedTemporaryFile(  # Readable by its owner alone, and it stays so.
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".memoranda-", delete=False
        ) as file:
            part = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except MemorandaError:
        raise
    except (OSError, ValueError) as error:
        message = f"{path} cannot be written ({error}); choose another folder or free some space"
        raise InvalidInput(message) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


# In


def import_file(
    target: ImportTarget,
    path: Path,
    format: str | None = None,
    progress: Progress | None = None,
) -> PortingReport:
    """Read a file into a memory; what is there already is skipped.

    Args:
        target: the memory; conversations of LoCoMo and memories of mem0 have their own users.
        path: the file; for ``memory-md`` and ``claude-code`` also a folder.
        format: one of :data:`memoranda.transfer.json_files.FORMATS`; if not given, judged by the
            content, and a name that ends in ``.md``, or a folder without transcripts of Claude
            Code, is ``memory-md``.
        progress: told after each batch how many lines, conversations or turns are done.

    Raises:
        InvalidInput: the file is not there, of no known format, or broken; the message
            names the place, and nothing was written.
    """
    if format is not None and format not in FORMATS:
        raise InvalidInput(f"format={format!r} is unknown; {KNOWN}")
    users: tuple[str, ...] = (target.scope.user,)
    left_out: tuple[str, ...] = ()
    known = format or _recognised(path)
    if known in OTHER_PROGRAMS:
        users, moved, left_out = _import_foreign(target, _unpacked(path), known, progress)
    elif known == MEMORY_MD or (known is None and is_markdown(path)):
        known = MEMORY_MD
        moved, left_out = import_memory_md(target, path, progress)
    else:
        file = JsonFile(path)
        known = known or detect(file)
        users, moved = _import_json(target, file, known, progress)
    return PortingReport(format=known, users=users, left_out=left_out, **moved._asdict())


def _import_json(
    target: ImportTarget, file: JsonFile, format: str, progress: Progress | None
) -> tuple[tuple[str, ...], Moved]:
    """Read a file of memoranda, a session, messages of OpenAI or conversations of LoCoMo."""
    users: tuple[str, ...] = (target.scope.user,)
    match format:
        case "openai":
            return users, import_openai(target, file, progress)
        case "session":
            return users, import_session(target, file.path, progress)
        case "locomo":
            return import_locomo(target, file, progress)
        case _ if archive.is_header(file.first().value):
            return users, restore(target, file, progress)
    additions = Additions(target, partial(_plain_drafts, file))
    return users, additions.store(Steps(additions.total, progress))


def _plain_drafts(file: JsonFile) -> Iterator[PlacedDraft]:
    """Yield records written as ``remember_many`` takes them, one for each line."""
    for place, value in file.items():
        known = value
        if isinstance(value, Mapping) and value.get("event_time") is not None:
            with located(place):
                known = {**value, "event_time": parse_moment(value["event_time"], "event_time")}
        yield PlacedDraft(place, parse_draft(known, place, f"import:{MEMORANDA}"))


def _import_foreign(
    target: ImportTarget, path: Path, format: str, progress: Progress | None
) -> tuple[tuple[str, ...], Moved, tuple[str, ...]]:
    """Store what another program keeps at ``path`` and is not there yet."""
    scope = target.scope
    if format == CHROMA:
        read = partial(chroma.read_drafts, path, foreign_memories(path), scope)
        return import_facts(target, read, progress)
    talks: Callable[[LeftOut], Iterator[ForeignConversation]]
    if format == CLAUDE_CODE:
        talks = claude_code.Transcripts(path).conversations
    else:
        file = _opened(path)
        if format == MEM0:
            return import_facts(target, partial(mem0.read_drafts, file, scope), progress)
        if format == MCP_MEMORY:
            return import_facts(target, partial(mcp_memory.read_drafts, file, scope), progress)
        reader = chatgpt if format == CHATGPT else claude
        talks = partial(reader.read_conversations, file)
    moved, left_out = import_conversations(ConversationImport(target, format), talks, progress)
    return (scope.user,), moved, left_out


def _opened(path: Path) -> JsonFile | ZippedFile:
    """Return the file at ``path``, a ZIP archive by the conversations in it."""
    return ZippedFile(path) if is_archive(path) else JsonFile(path)


def _unpacked(path: Path) -> Path:
    """Return the conversations in the folder of an export that somebody unpacked, else ``path``."""
    inside = path / CONVERSATIONS
    return inside if path.is_dir() and inside.is_file() else path


def _recognised(path: Path) -> str | None:
    """Return the format of what another program keeps, as far as the file or folder tells it.

    Raises:
        InvalidInput: it cannot be read.
    """
    if is_markdown(path) and not path.is_dir():
        return None
    path = _unpacked(path)
    if (path / CHROMA_FILE).is_file():
        return CHROMA
    if path.is_dir():
        return CLAUDE_CODE if claude_code.holds_transcripts(path) else None
    file = _opened(path)
    first = file.first()
    found = next((name for name, knows in KNOWN_BY.items() if knows(first.value)), None)
    if found is None and isinstance(file, ZippedFile):
        message = f"{first.place}: these are no conversations of ChatGPT or claude.ai"
        raise InvalidInput(message)
    return found
