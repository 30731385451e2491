"""Which reader knows a format, and which format a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.ports import Progress
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.store.locations import foreign_memories
from memoranda.transfer.batches import Moved, Placed
from memoranda.transfer.formats import (
    CHATGPT,
    CHROMA,
    CLAUDE,
    CLAUDE_CODE,
    MCP_MEMORY,
    MEM0,
    JsonFile,
)
from memoranda.transfer.importing import chatgpt, chroma, claude, claude_code, mcp_memory, mem0
from memoranda.transfer.importing.facts import import_facts
from memoranda.transfer.importing.found import LeftOut, Talk, Values
from memoranda.transfer.importing.talks import TalkImport, import_talks
from memoranda.transfer.importing.zipped import ZippedFile, is_archive

KNOWN_BY: dict[str, Callable[[object], bool]] = {
    CLAUDE_CODE: claude_code.is_line,
    CHATGPT: chatgpt.is_chatgpt,
    CLAUDE: claude.is_claude,
    MEM0: mem0.is_mem0,
    MCP_MEMORY: mcp_memory.is_mcp_memory,
}

CONVERSATIONS, CHROMA_FILE = "conversations.json", "chroma.sqlite3"
READERS = frozenset({*KNOWN_BY, CHROMA})
"""The formats that are read here."""


class Imported(NamedTuple):
    """What an import moved, for whom, and what it left out."""

    users: tuple[str, ...]
    moved: Moved
    left_out: tuple[str, ...]


def opened(path: Path) -> JsonFile | ZippedFile:
    """Return the file at ``path``, a ZIP archive by the conversations in it."""
    return ZippedFile(path) if is_archive(path) else JsonFile(path)


def unpacked(path: Path) -> Path:
    """Return the conversations in the folder of an export that somebody unpacked, else ``path``."""
    inside = path / CONVERSATIONS
    return inside if path.is_dir() and inside.is_file() else path


def recognised(path: Path) -> str | None:
    """Return the format of what is at ``path`` if one of these readers knows it.

    Raises:
        InvalidInput: it cannot be read.
    """
    path = unpacked(path)
    if (path / CHROMA_FILE).is_file():
        return CHROMA
    if path.is_dir():
        return CLAUDE_CODE if claude_code.holds_transcripts(path) else None
    file = opened(path)
    first = file.first()
    found = next((name for name, knows in KNOWN_BY.items() if knows(first.value)), None)
    if found is None and isinstance(file, ZippedFile):
        message = f"{first.place}: these are no conversations of ChatGPT or claude.ai"
        raise InvalidInput(message)
    return found


def import_foreign(
    parts: Parts, scope: Scope, path: Path, format: str, progress: Progress | None
) -> Imported:
    """Store what is at ``path`` and not there yet.

    Args:
        parts: the store and what else is needed.
        scope: whose memory; memories of mem0 go to the users whom they name.
        path: the file, or a folder of transcripts.
        format: one of these readers'.
        progress: told how far it is.

    Raises:
        InvalidInput: the file is broken, or not of this format; nothing was written.
    """
    path = unpacked(path)
    if format == CLAUDE_CODE:
        return _talks(parts, scope, format, claude_code.Transcripts(path).talks, progress)
    if format == CHROMA:
        rows = foreign_memories(path)
        return _facts(parts, scope, partial(chroma.drafts, path, rows, scope), progress)
    file = opened(path)
    if format == CHATGPT:
        return _talks(parts, scope, format, partial(chatgpt.talks, file), progress)
    if format == CLAUDE:
        return _talks(parts, scope, format, partial(claude.talks, file), progress)
    read = partial(mem0.drafts, file, scope) if format == MEM0 else partial(_own, file, scope)
    return _facts(parts, scope, read, progress)


def _facts(
    parts: Parts,
    scope: Scope,
    read: Callable[[LeftOut], Iterator[tuple[Scope, Placed]]],
    progress: Progress | None,
) -> Imported:
    users, moved, left_out = import_facts(parts, read, progress)
    return Imported(users or (scope.user,), moved, left_out)


def _talks(
    parts: Parts,
    scope: Scope,
    format: str,
    talks: Callable[[LeftOut], Iterator[Talk]],
    progress: Progress | None,
) -> Imported:
    moved, left_out = import_talks(TalkImport(parts, scope, format), talks, progress)
    return Imported((scope.user,), moved, left_out)


def _own(file: Values, scope: Scope, left_out: LeftOut) -> Iterator[tuple[Scope, Placed]]:
    return ((scope, placed) for placed in mcp_memory.drafts(file, left_out))
