"""MEMORY.md and the history: the memory manager of requirements S2. No model, no network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import islice
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, require_aware, storable
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.notes import HISTORY_FILE, MEMORY_BYTES, MEMORY_FILE, HistoryEntry, stamp
from memoranda.notes.files import BUSY_TIMEOUT, NotesFolder
from memoranda.notes.history import (
    Change,
    having,
    newest_first,
    once,
    parse_history,
    render_entry,
    rewrite_history,
)

MONTHLY_FILES = "HISTORY-*.md"


class Notes:
    """A folder with MEMORY.md and the history. Thread-safe, and safe between processes.

    Args:
        folder: where the files are; it is made when something is written first.
        clock: tells when an entry is told.
        max_memory_size: bytes beyond which MEMORY.md is to be made smaller.
        busy_timeout: seconds to wait while another one writes.

    Raises:
        InvalidInput: an argument cannot be used.

    Every method that touches the files raises a :class:`~memoranda.errors.StoreError` that
    names the file and the remedy: ``StoreReadOnly`` without permission to write, ``StoreFull``
    without room, ``StoreBusy`` when another one writes for too long, and ``StoreError`` for a
    folder or a link out of the folder in the place of a file, and for a file that is not UTF-8.
    Then nothing was changed.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        clock: Clock | None = None,
        max_memory_size: int = MEMORY_BYTES,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> None:
        """Touch nothing yet."""
        self._files = NotesFolder(_absolute(folder), busy_timeout=busy_timeout)
        self._clock = clock or SystemClock()
        self._max_memory_size = _positive(max_memory_size, "max_memory_size")

    @property
    def folder(self) -> Path:
        """Where the files are: an absolute path, links followed."""
        return self._files.folder

    @property
    def max_memory_size(self) -> int:
        """The bytes beyond which MEMORY.md is to be made smaller."""
        return self._max_memory_size

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers out for a while, for what takes several steps. May be nested."""
        return self._files.locked()

    def read_memory(self) -> str:
        """Return the text of MEMORY.md, with its line ends as they are; empty, if there is none."""
        return self._files.read(MEMORY_FILE)

    def write_memory(self, content: str) -> bool:
        """Put ``content`` in the place of MEMORY.md, in one step that a crash cannot halve.

        Returns:
            Whether the file changed.

        Raises:
            InvalidInput: ``content`` holds a NUL character or a lone surrogate.
        """
        return self._files.write(MEMORY_FILE, storable(content, "content"))

    def is_over(self, content: str | None = None) -> bool:
        """Return whether ``content``, or else MEMORY.md, has more than ``max_memory_size`` bytes.

        Raises:
            InvalidInput: ``content`` cannot be stored.
        """
        text = self.read_memory() if content is None else storable(content, "content")
        return len(text.encode()) > self._max_memory_size

    def append_history(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md alone.

        Args:
            entry: its text; any Markdown.
            at: the moment in its heading; now, if left out.

        Raises:
            InvalidInput: the text is blank or cannot be stored, or the moment has no time zone.
        """
        told = self._told(entry, at)
        self._files.append(HISTORY_FILE, render_entry(told.at, told.text))
        return told

    def append_history_rotated(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md and to the file of its month (UTC), or to neither.

        Args:
            entry: its text; any Markdown.
            at: the moment in its heading; now, if left out.

        Raises:
            InvalidInput: the text is blank or cannot be stored, or the moment has no time zone.
        """
        told = self._told(entry, at)
        files = [HISTORY_FILE, monthly_file(told.at)]
        self._files.append_each(files, render_entry(told.at, told.text))
        return told

    def search(self, keyword: str, *, limit: int | None = None) -> list[HistoryEntry]:
        """Return the entries that have ``keyword`` in their text or moment, newest first.

        It is found within words, in whatever case and Unicode form. An entry that is in HISTORY.md
        and in the file of its month is given once.

        Args:
            keyword: any text; in a moment, a part of ``2026-02-27T14:30:00.000Z``.
            limit: how many at most.

        Raises:
            InvalidInput: the keyword is blank, or the limit below 1.
        """
        wanted = clean(keyword, "keyword")
        most = limit if limit is None else _positive(limit, "limit")
        return list(islice(having(newest_first(self._entries()), wanted), most))

    def history(
        self, *, since: datetime | None = None, limit: int | None = None
    ) -> list[HistoryEntry]:
        """Return the entries, newest first, each once.

        Args:
            since: none before this moment.
            limit: how many at most.

        Raises:
            InvalidInput: the moment has no time zone, or the limit is below 1.
        """
        first = since if since is None else require_aware(since, "since")
        most = limit if limit is None else _positive(limit, "limit")
        entries = (entry for entry in self._entries() if first is None or entry.at >= first)
        return newest_first(entries)[:most]

    def rewrite(self, change: Change) -> int:
        """Change or remove entries in all files of the history, so that text can be erased.

        Every file is replaced in one step, and those that do not change stay untouched. All are
        changed in memory before the first one is written.

        Args:
            change: gives for an entry what its text becomes, the same text to keep it, ``None``
                or blank text to remove it. Called for every file that has the entry.

        Returns:
            How many entries were changed or removed; one in two files counts once.

        Raises:
            InvalidInput: a new text cannot be stored.
        """
        changed: list[HistoryEntry] = []

        def noted(entry: HistoryEntry) -> str | None:
            new = change(entry)
            if new != entry.text:
                changed.append(entry)
            return new if new is None else storable(new, "the new text of an entry")

        if not self._history_files():
            return 0
        with self._files.locked():
            texts = [
                (name, rewrite_history(self._files.read(name), noted, name)[0])
                for name in self._history_files()
            ]
            for name, text in texts:
                self._files.write(name, text)
        by_file: dict[str, list[HistoryEntry]] = {}
        for entry in changed:
            by_file.setdefault(entry.file, []).append(entry)
        return sum(1 for _ in once(by_file.values()))

    def _told(self, entry: str, at: datetime | None) -> HistoryEntry:
        moment = self._clock.now() if at is None else at
        return HistoryEntry(require_aware(moment, "at"), clean(entry, "entry"))

    def _entries(self) -> Iterator[HistoryEntry]:
        texts: list[tuple[str, str]] = []
        for _ in range(2):
            # Or an entry that is just being added could be read in part.
            with self._files.quiet() as alone:
                texts = [(name, self._files.read(name)) for name in self._history_files()]
            if alone or not texts:
                break  # Else the first writer of all may have come meanwhile.
        return once(parse_history(text, name) for name, text in texts)

    def _history_files(self) -> list[str]:
        """Return the files of the history, HISTORY.md first."""
        return [*self._files.names(HISTORY_FILE), *self._files.names(MONTHLY_FILES)]


def monthly_file(at: datetime) -> str:
    """Return the name of the file for the month of a moment, which is in UTC."""
    return f"HISTORY-{stamp(at)[:7]}.md"


def _absolute(folder: object) -> Path:
    if not isinstance(folder, str | os.PathLike) or not str(folder).strip():
        message = f"folder must be a path, such as 'notes', got {folder!r:.80}"
        raise InvalidInput(message)
    try:
        return Path(folder).expanduser().resolve()  # The same one, wherever the process goes later.
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        message = f"{str(folder)!r:.200} is no path of a folder ({error}); choose another"
        raise InvalidInput(message) from error


def _positive(number: object, name: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        message = f"{name} must be a whole number from 1 on, got {number!r:.80}"
        raise InvalidInput(message)
    return number
