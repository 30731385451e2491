r"""MEMORY.md and the history: the memory manager of requirements S2. No model, no network.

An entry of the history is a heading ``## 2026-02-27T14:30:00.000Z``, a blank line, its text and a
blank line. A line of a text that looks like such a heading gets a backslash in front, and one that
has backslashes already gets one more, so that every text comes back as it was. Only a line feed
ends a line here: other characters that break lines are part of the text.

Files may be edited by hand. What stands before the first heading is no entry; moments may lack
seconds or have another offset; and blank lines and line ends may be as an editor left them.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, known, limited, require_aware, required_callable, storable
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.notes import (
    FORMER_FILES,
    HISTORY_FILE,
    MEMORY_BYTES,
    MEMORY_FILE,
    MONTHLY_FILES,
    NOTES_FILES,
    HistoryEntry,
    stamp,
)
from memoranda.notes.files import BUSY_TIMEOUT, NotesFolder
from memoranda.text.patterns import compile_pattern
from memoranda.text.repetition import ErasedWords

# Says what the text of an entry becomes; ``None`` removes the entry.
Change = Callable[[HistoryEntry], str | None]

_MOMENT = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})"
)
_LINE = rf"##[ \t]+(?P<at>{_MOMENT})[ \t]*\r?$"
_HEADING = compile_pattern(rf"(?:^|\A\ufeff)(?P<heading>{_LINE})", re.MULTILINE)
_PLAIN = compile_pattern(rf"^(\\*{_LINE})", re.MULTILINE)
_ESCAPED = compile_pattern(rf"^\\(\\*{_LINE})", re.MULTILINE)
_OF_A_MOMENT = compile_pattern(r"[0-9][0-9t:.z-]*")


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
        # An absolute path, links followed.
        self.folder = _absolute(folder)
        self._files = NotesFolder(self.folder, busy_timeout=busy_timeout)
        self._clock = clock or SystemClock()
        self.max_memory_size = limited(max_memory_size, "max_memory_size")

    def __repr__(self) -> str:
        """Return where they are."""
        return f"Notes(folder={str(self.folder)!r})"

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

    def replace_memory(self, old: str, new: str) -> bool:
        """Put ``new`` in the place of a MEMORY.md that says ``old``, and keep what it loses.

        Where ``new`` lacks a line of ``old``, the old text is kept beside it, in a file with the
        time in its name. Returns whether the file said ``old`` to the last moment; if not, nothing
        is written.

        Raises:
            InvalidInput: ``new`` holds a NUL character or a lone surrogate.
        """
        text = storable(new, "new")
        with self.locked():
            if self._files.read(MEMORY_FILE) != old:
                return False
            if not set(filter(None, map(str.strip, old.splitlines()))) <= set(
                map(str.strip, text.splitlines())
            ):
                self._files.write(self._copy_name(), old)
            return self._files.swap(MEMORY_FILE, old, text)

    def _copy_name(self) -> str:
        """Return a name that no former text of MEMORY.md has: ``MEMORY-2026-03-02T090000Z.md``."""
        moment = stamp(require_aware(self._clock.now(), "clock"))
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
        added = HistoryEntry(moment, clean(entry, "entry"))
        monthly = [f"HISTORY-{stamp(moment)[:7]}.md"] if rotated else []
        self._files.append([HISTORY_FILE, *monthly], render_entry(moment, added.text))
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
        wanted = _folded(clean(keyword, "keyword"))
        in_moments = _OF_A_MOMENT.fullmatch(wanted) is not None

        def has_it(entry: HistoryEntry) -> bool:
            in_moment = in_moments and wanted in stamp(entry.at).lower()
            return in_moment or wanted in _folded(entry.text)

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
        texts: list[tuple[str, str]] = []
        for _ in range(2):
            # Or an entry that is just being added could be read in part.
            with self._files.quiet() as alone:
                texts = [(name, self._files.read(name)) for name in self._history_files()]
            if alone or not texts:
                break  # Else the first writer of all may have come meanwhile.
        found = filter(is_wanted, _once(parse_history(text, name) for name, text in texts))
        return sorted(found, key=lambda entry: entry.at)[::-1][:most]

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
            InvalidInput: ``change`` cannot be called, or a new text not be stored.
        """
        required_callable(change, "change", optional=False)
        if not self._history_files():
            return 0
        with self._files.locked():
            files = {
                name: rewrite_history(self._files.read(name), change, name)
                for name in self._history_files()
            }
            for name, (text, _) in files.items():
                self._files.write(name, text)
        return sum(1 for _ in _once(changed for _, changed in files.values()))

    def erase_copies(self, erased: ErasedWords) -> int:
        """Take erased text out of the former texts of MEMORY.md; return how many lines changed."""
        count = 0
        others = [name for pattern in NOTES_FILES[1:] for name in self._files.names(pattern)]
        for name in [each for each in others if each not in self._history_files()]:
            with self.locked():
                lines, gone = erased.replace_lines(self._files.read(name).splitlines(keepends=True))
                self._files.write(name, "".join(lines))
                count += gone
        return count

    def _history_files(self) -> list[str]:
        """Return the files of the history, HISTORY.md first."""
        return [*self._files.names(HISTORY_FILE), *self._files.names(MONTHLY_FILES)]


def render_entry(at: datetime, text: str, *, heading: str = "", line_end: str = "\n") -> str:
    """Return an entry as it is added to a file. ``parse_history`` gives ``text`` back exactly."""
    escaped = _PLAIN.sub(r"\\\1", text) if "##" in text else text
    return f"{heading or f'## {stamp(at)}'}{line_end * 2}{escaped}{line_end * 2}"


def parse_history(text: str, file: str = HISTORY_FILE) -> list[HistoryEntry]:
    """Return the entries of a file in its order.

    Args:
        text: what is in the file; the last entry may lack its end.
        file: the name of the file, for the entries.
    """
    return [HistoryEntry(each.at, each.text, file) for each in _places(text)]


def rewrite_history(
    text: str, change: Change, file: str = HISTORY_FILE
) -> tuple[str, list[HistoryEntry]]:
    """Return the text of a file with its entries changed, and those that were.

    What stands between entries, and entries that ``change`` leaves as they are, keep every byte.
    An entry keeps its heading; one whose text becomes blank is removed.
    """
    parts: list[str] = []
    done, changed = 0, []
    for place in _places(text):
        entry = HistoryEntry(place.at, place.text, file)
        new = change(entry)
        if new == entry.text:
            continue
        changed.append(entry)
        parts.append(text[done : place.start])
        if new is not None and storable(new, "the new text of an entry").strip():
            heading, line_end = place.heading, place.line_end
            parts.append(render_entry(place.at, new, heading=heading, line_end=line_end))
        done = place.end
    return "".join([*parts, text[done:]]), changed


class _EntryPlace(NamedTuple):
    """An entry of a file: its moment, its text, its heading as written, and where it stands."""

    at: datetime
    text: str
    heading: str
    line_end: str
    start: int
    end: int


def _places(text: str) -> Iterator[_EntryPlace]:
    """Yield where the entries of a file are."""
    found = [(match, at) for match in _HEADING.finditer(text) if (at := _moment(match["at"]))]
    ends = [*(match.start("heading") for match, _ in found[1:]), len(text)]
    for (match, at), end in zip(found, ends, strict=False):
        heading = match["heading"]
        line_end = "\r\n" if heading.endswith("\r") else "\n"
        raw = text[match.end() + 1 : end].removeprefix(line_end)
        raw = raw.removesuffix(line_end * (2 if raw.endswith(line_end * 2) else 1))
        said = _ESCAPED.sub(r"\1", raw) if "##" in raw else raw
        yield _EntryPlace(at, said, heading.rstrip("\r"), line_end, match.start("heading"), end)


def _moment(written: str) -> datetime | None:
    """Return the moment of a heading in UTC; ``None``, if there is no such day or hour."""
    try:
        return require_aware(datetime.fromisoformat(written.upper()), "at").astimezone(UTC)
    except ValueError:  # InvalidInput, for a moment beyond the years 1 to 9999, is one too.
        return None


def _once(files: Iterable[Iterable[HistoryEntry]]) -> Iterator[HistoryEntry]:
    """Yield the entries of several files, one that is in two of them only from the first.

    Entries that are twice in one file were told twice, and stay two.
    """
    before: Counter[tuple[datetime, str]] = Counter()
    for entries in files:
        here: Counter[tuple[datetime, str]] = Counter()
        for entry in entries:
            key = entry.at, entry.text
            here[key] += 1
            if here[key] > before[key]:
                yield entry
        before |= here


def _folded(text: str) -> str:
    """Return text without what only its spelling makes different: case, width, composition."""
    if text.isascii():
        return text.lower()
    whole = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    return whole.replace("i\u0307", "i")  # What the Turkish capital I with a dot becomes.


def _absolute(folder: object) -> Path:
    if not isinstance(folder, str | os.PathLike) or not str(folder).strip():
        raise InvalidInput(f"folder must be a path, such as 'notes', got {folder!r:.80}")
    try:
        return Path(folder).expanduser().resolve()  # The same one, wherever the process goes later.
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        message = f"{str(folder)!r:.200} is no path of a folder ({error}); choose another"
        raise InvalidInput(message) from error
