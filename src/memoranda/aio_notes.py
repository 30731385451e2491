"""The asynchronous face of the notes: the same verbs, each one hop to a worker thread."""

from __future__ import annotations

from asyncio import to_thread
from datetime import datetime
from pathlib import Path

from memoranda.model.notes import HistoryEntry
from memoranda.notes.kept import KeptNotes
from memoranda.notes.report import NotesReport


class AsyncNotes:
    """The notes of a memory for code that must not block; see ``Memory.notes``."""

    def __init__(self, notes: KeptNotes) -> None:
        """Wrap ``notes``; both may be used."""
        self._notes = notes

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._notes.folder

    @property
    def max_memory_size(self) -> int:
        """The bytes beyond which MEMORY.md is to be made smaller."""
        return self._notes.max_memory_size

    async def read_memory(self) -> str:
        """Return the text of MEMORY.md, after it was brought into step with the store."""
        return await to_thread(self._notes.read_memory)

    async def write_memory(self, content: str) -> bool:
        """Put ``content`` in the place of MEMORY.md, as a person would who edits it."""
        return await to_thread(self._notes.write_memory, content)

    async def is_over(self, content: str | None = None) -> bool:
        """Return whether a text, or else MEMORY.md, is larger than it should be."""
        return await to_thread(self._notes.is_over, content)

    async def append_history(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md alone."""
        return await to_thread(self._notes.append_history, entry, at=at)

    async def append_history_rotated(
        self, entry: str, *, at: datetime | None = None
    ) -> HistoryEntry:
        """Add an entry to HISTORY.md and to the file of its month."""
        return await to_thread(self._notes.append_history_rotated, entry, at=at)

    async def search(self, keyword: str, *, limit: int | None = None) -> list[HistoryEntry]:
        """Return the entries that have a keyword, newest first."""
        return await to_thread(self._notes.search, keyword, limit=limit)

    async def history(
        self, *, since: datetime | None = None, limit: int | None = None
    ) -> list[HistoryEntry]:
        """Return the entries, newest first."""
        return await to_thread(self._notes.history, since=since, limit=limit)

    async def sync(self, *, accept_removals: bool = False) -> NotesReport:
        """Read what a person changed in MEMORY.md, then write what memory has learned."""
        return await to_thread(self._notes.sync, accept_removals=accept_removals)
