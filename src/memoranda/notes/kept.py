"""The notes of a memory, as programs see them: MEMORY.md in step with the store, the history."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.notes import (
    HISTORY_FILE,
    MEMORY_FILE,
    HistoryEntry,
    NotesBase,
    line_of,
)
from memoranda.model.scope import Scope
from memoranda.model.text import storable
from memoranda.notes.document import parse
from memoranda.notes.edits import digest_of
from memoranda.notes.folders import folder_of
from memoranda.notes.scrub import scrub
from memoranda.notes.syncing import DAMAGED, TRIES, Syncing
from memoranda.parts import Parts
from memoranda.wiring import is_server

log = logging.getLogger("memoranda.notes")

WRONG = "cannot be used:"
TOLD = "notes: an entry of the history"


class KeptNotes(Syncing):
    """Notes of which MEMORY.md is a projection of facts that a person may edit.

    A line that is added is a fact with a person's trust, a line that is changed a correction,
    one that is taken out a forgetting. All of it is read before anything is written.
    """

    def read_memory(self) -> str:
        """Return the text of MEMORY.md, after it was brought into step with the store.

        Raises:
            StoreError: it cannot be read or written; the message says why and what to do.
        """
        self.sync()
        return super().read_memory()

    def write_memory(self, content: str) -> bool:
        """Put ``content`` in the place of MEMORY.md, as a person would who edits it.

        Lines that are not in it any more are forgotten: what they said can still be found by
        ``as_of``. Returns whether the file changed.

        Raises:
            InvalidInput: ``content`` cannot be stored.
            StoreError: the file cannot be written.
        """
        text = storable(content, "content")
        with self._look.lock:
            for _ in range(TRIES):
                self.sync()
                seen = self._look.text or ""
                # What an editor saved since then must be read before it is written over.
                if self._files.swap(MEMORY_FILE, seen, text):
                    self.sync(accept_removals=True)
                    return text != seen
        raise self._busy()

    def append_history(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md alone."""
        self._introduced()
        told = super().append_history(entry, at=at)
        self._commit(TOLD)
        return told

    def append_history_rotated(self, entry: str, *, at: datetime | None = None) -> HistoryEntry:
        """Add an entry to HISTORY.md and to the file of its month (UTC), or to neither."""
        self._introduced()
        told = super().append_history_rotated(entry, at=at)
        self._commit(TOLD)
        return told

    def _introduced(self) -> None:
        """Have the store know of this folder: what is erased must be found in it, too."""
        folder = str(self.folder)
        if self._parts.store.notes_base(self.scope, folder) is None:
            self._keep(NotesBase(folder))

    def read_history(self) -> str:
        """Return the text of HISTORY.md; empty, if there is none."""
        return self._files.read(HISTORY_FILE)

    def lines(self) -> Mapping[str, str]:
        """Return the facts that have a line in MEMORY.md: id → its text, from top to bottom."""
        ids = [line.id for line in self._base().lines]
        found = self._parts.store.get_many(self.scope, ids)
        return {record.id: line_of(record.content) for record in found}

    def told(self, *, make: bool = False) -> str:
        """Return MEMORY.md for a context, if there is one: a context makes no file.

        What is wrong with it is logged once, and no more. Costs little where neither the file
        nor the facts have changed since it was last asked.

        Args:
            make: make the file where it is missing and there are facts for it.
        """
        try:
            with self._look.lock:
                if not make and not self.there:
                    return ""
                self.refresh()
                self._look.problem = None
                return self._look.text or ""
        except StoreClosed:
            raise
        except MemorandaError as error:
            if self._look.problem != str(error):
                log.warning("the notes are not kept: %s", error)
                self._look.problem = str(error)
            return self._readable()

    def _readable(self) -> str:
        """Return MEMORY.md where it cannot be written but read; empty, if not even that."""
        try:
            return self.as_it_stands()
        except MemorandaError:
            return ""

    def refresh(self) -> None:
        """Bring file and store into step, if one of them has changed; else it costs little.

        Raises:
            StoreError: the file cannot be read or written.
        """
        with self._look.lock:
            if not self._unchanged():
                self.sync()

    # For what looks after them

    def prefer(self, ids: frozenset[str]) -> None:
        """Have these facts stay before others, as a model chose, while the file is too long."""
        self._look.preferred = ids

    def scrubbed(self, contents: Sequence[str]) -> int:
        """Take erased contents out of MEMORY.md; return how many lines went (law 7)."""
        with self._look.lock, self.locked():
            before, after, count = self._scrub(MEMORY_FILE, contents)
            # What another fact says, too, comes back: its line was not taken out by a person.
            # A line that an erasure left behind which was cut off is known by the base, and goes.
            lost = _digests(before) - _digests(after)
            base = self._base()
            lines = tuple(line for line in base.lines if line.digest not in lost)
            if lines != base.lines:
                self._keep(replace(base, lines=lines))
            self.sync()
        return count

    def scrub_aside(self, contents: Sequence[str]) -> None:
        """Take contents that are to be erased out of what was kept of a damaged file."""
        if self._files.names(DAMAGED):
            self._scrub(DAMAGED, contents)

    def _scrub(self, name: str, contents: Sequence[str]) -> tuple[str, str, int]:
        """Take contents out of a file; return it before and after, and how many lines went."""
        for _ in range(TRIES):
            text = self._files.read(name)
            cleaned, gone = scrub(text, contents)
            if not gone or self._files.swap(name, text, cleaned):
                return text, cleaned, gone
        raise self._busy()


def _digests(text: str) -> set[str]:
    return {digest_of(item.text) for item in parse(text).items}


def notes_of(parts: Parts, scope: Scope) -> KeptNotes | None:
    """Return the notes of ``scope``; ``None`` where nobody read those of a memory without a file.

    Those are gone when it is closed.
    """
    folder = folder_of(parts.settings, parts.store.location, scope)
    folder = parts.noted.folder(scope) if folder is None else folder
    return None if folder is None else KeptNotes(parts, scope, folder)


def opened_notes(parts: Parts, scope: Scope) -> KeptNotes:
    """Return the notes of ``scope``; of a memory without a file, in a temporary folder."""
    return notes_of(parts, scope) or KeptNotes(parts, scope, parts.noted.new_folder(scope))


def lasting(notes: KeptNotes) -> bool:
    """Return whether these notes outlast the memory that opened them."""
    parts = notes._parts  # noqa: SLF001 - its own module
    return folder_of(parts.settings, parts.store.location, notes.scope) is not None


def notes_status(parts: Parts, scope: Scope) -> str:
    """Return where the notes of ``scope`` are, or what is wrong with them; writes nothing."""
    notes = notes_of(parts, scope)
    if notes is None:
        if is_server(parts.store.location):
            return "none: a memory on a server has them in the folder that notes.folder names"
        return "none: a memory without a file has notes only where Memory.notes is used"
    try:
        size = len(notes.as_it_stands().encode())
        notes.read_history()
    except MemorandaError as error:
        return f"{WRONG} {error}"
    if not notes.folder.exists():
        return f"none yet; {notes.folder} after the first consolidation"
    return f"{notes.folder} ({MEMORY_FILE}: {size:,} of {notes.max_memory_size:,} bytes)"
