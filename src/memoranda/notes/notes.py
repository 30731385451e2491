r"""MEMORY.md and the history: the memory manager of requirements S2. No model, no network.

An entry of the history is a heading ``## 2026-02-27T14:30:00.000Z``, a blank line, its text and a
blank line. A line of a text that looks like such a heading gets a backslash in front. LF, CRLF and
CR end a line: other characters that break lines are part of the text.

Files may be edited by hand. What stands before the first heading is no entry; moments may lack
seconds or have another offset; and blank lines and line ends may be as an editor left them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, iso, known, limited, require_aware, storable
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.notes import (
    FORMER_FILES,
    HISTORY_FILE,
    MEMORY_BYTES,
    MEMORY_FILE,
    MONTHLY_FILES,
    NOTES_FILES,
    HistoryEntry,
)
from memoranda.notes.files import BUSY_TIMEOUT, NotesFolder
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import fold, normalize

HEADING = compile_pattern(
    r"^\ufeff?##[ \t]+(?P<at>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d\S*)[ \t]*$", re.MULTILINE
)
# What an entry tells: a session, quoted, and the positions of its first and last turn.
COMMENT = compile_pattern(r"<!-- memoranda: session=(\S*) turns=(\d+)-(\d+)( raw)? -->")


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
    folder or a link in the place of a file, and for a file that is not UTF-8.
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
        # An absolute path, links followed.
        self.folder = _absolute(folder)
        self._files = NotesFolder(self.folder, busy_timeout=busy_timeout)
        self._clock = clock or SystemClock()
        self.max_memory_size = limited(max_memory_size, "max_memory_size")

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

    def _copy_name(self) -> str:
        """Return a name that no former text of MEMORY.md has: ``MEMORY-2026-03-02T090000Z.md``."""
        moment = iso(require_aware(self._clock.now(), "clock"))
        name = f"MEMORY-{moment[:19].replace(':', '')}Z"
        taken = [each for each in self._files.names(FORMER_FILES) if each.startswith(name)]
        return f"{name}-{len(taken) + 1}.md" if taken else f"{name}.md"

    def is_over(self, content: str | None = None) -> bool:
        """Return whether ``content``, or else MEMORY.md, has more than ``max_memory_size`` bytes.

        Raises:
            InvalidInput: ``content`` cannot be stored.
        """
        text = self.read_memory() if content is None else storable(content, "content")
        return len(text.encode()) > self.max_memory_size

    def append_history(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md alone.

        Args:
            entry: its text; any Markdown.
            at: the moment in its heading; now, if left out.

        Raises:
            InvalidInput: the text is blank or cannot be stored, or the moment has no time zone.
        """
        return self._append(entry, at, rotated=False)

    def append_history_rotated(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md and to the file of its month (UTC), or to neither.

        Args:
            entry: its text; any Markdown.
            at: the moment in its heading; now, if left out.

        Raises:
            InvalidInput: the text is blank or cannot be stored, or the moment has no time zone.
        """
        return self._append(entry, at, rotated=True)

    def _append(self, entry: str, at: datetime | None, *, rotated: bool) -> HistoryEntry:
        moment = require_aware(self._clock.now() if at is None else at, "at")
        text = HEADING.sub(lambda found: f"\\{found[0]}", _plain_ends(clean(entry, "entry")))
        added = HistoryEntry(moment, text)
        monthly = [f"HISTORY-{iso(moment)[:7]}.md"] if rotated else []
        self._files.append([HISTORY_FILE, *monthly], f"{added}\n\n")
        return added

    def search(self, keyword: str, *, limit: int | None = None) -> list[HistoryEntry]:
        """Return the entries that have ``keyword`` in their text or moment, newest first.

        It is found within words, in whatever case and Unicode form. An entry that is in HISTORY.md
        and in the file of its month is given once. Only a keyword that begins with a digit is
        looked for in the moment, as ``2026-02-27``; or ``z`` would find every entry.

        Args:
            keyword: any text; in a moment, a part of ``2026-02-27T14:30:00.000Z``.
            limit: how many at most.

        Raises:
            InvalidInput: the keyword is blank, or the limit below 1.
        """
        wanted = fold(normalize(clean(keyword, "keyword")))
        in_moments = wanted[0].isdigit()

        def has_it(entry: HistoryEntry) -> bool:
            in_moment = in_moments and wanted in iso(entry.at).lower()
            return in_moment or wanted in fold(normalize(entry.text))

        return self._newest(has_it, limit)

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
        first = known(since, "since")
        return self._newest(lambda entry: first is None or entry.at >= first, limit)

    def _newest(
        self, is_wanted: Callable[[HistoryEntry], bool], limit: int | None
    ) -> list[HistoryEntry]:
        """Return what is wanted by its moment; of one moment, what was added later comes first."""
        most = limit if limit is None else limited(limit, "limit")
        found: dict[tuple[datetime, str], HistoryEntry] = {}
        with self._files.quiet():  # Or an entry that is just being added could be read in part.
            for name in self._files.names(HISTORY_FILE, MONTHLY_FILES):
                for each in parse_history(self._files.read(name), name):
                    found.setdefault((each.at, each.text), each)
        wanted = filter(is_wanted, found.values())
        return sorted(wanted, key=lambda entry: entry.at)[::-1][:most]

    def rewrite(self, change: Callable[[list[str]], tuple[list[str], int]]) -> int:
        """Change the lines of the history and of former texts of MEMORY.md.

        Args:
            change: gives for the lines of a file others, and how many changed.

        Returns:
            How many changed; those in the file of a month count no second time.
        """
        count = 0
        if not self.folder.is_dir():
            return count
        with self.locked():  # Who holds the lock may be writing the first of them.
            for name in self._files.names(*NOTES_FILES[1:]):
                lines, changed = change(self._files.read(name).splitlines(keepends=True))
                self._files.write(name, "".join(lines))
                count += 0 if fnmatchcase(name, MONTHLY_FILES) else changed
        return count


def parse_history(text: str, file: str = HISTORY_FILE) -> list[HistoryEntry]:
    """Return the entries of a file in its order.

    Args:
        text: what is in the file; the last entry may lack its end.
        file: the name of the file, for the entries.
    """
    text = _plain_ends(text)
    found = [(match, at) for match in HEADING.finditer(text) if (at := _moment(match["at"]))]
    ends = [*(match.start() for match, _ in found[1:]), len(text)]
    entries = []
    for (match, at), end in zip(found, ends, strict=False):
        body = text[match.end() : end].removeprefix("\n").removeprefix("\n")
        body = body.removesuffix("\n\n" if body.endswith("\n\n") else "\n")
        entries.append(HistoryEntry(at, body, file))
    return entries


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _moment(written: str) -> datetime | None:
    """Return the moment of a heading in UTC; ``None``, if there is no such day or hour."""
    try:
        return require_aware(datetime.fromisoformat(written.upper()), "at").astimezone(UTC)
    except ValueError:  # InvalidInput, for a moment beyond the years 1 to 9999, is one too.
        return None


def _absolute(folder: str | Path) -> Path:
    try:
        # The same one, wherever the process goes later.
        return Path(clean(os.fspath(folder), "folder")).expanduser().resolve()
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        message = f"folder={folder!r:.200} is not a path of a folder ({error}); write 'notes', say"
        raise InvalidInput(message) from error
