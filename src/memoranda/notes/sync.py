"""Keeps MEMORY.md and the store in step: first what a person changed, then what was learned.

The store keeps which lines it last saw in the file, so an edit is known as one, also on a file
that a crash left behind.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreBusy,
    StoreClosed,
    StoreError,
    UserDeleted,
)
from memoranda.model.actions import KeepNotes
from memoranda.model.checks import content_hash, several_of, storable
from memoranda.model.models import ForgetReceipt, Record, is_active
from memoranda.model.notes import (
    DAMAGED_FILE,
    HISTORY_FILE,
    MEMORY_FILE,
    NOTES_FILES,
    HistoryEntry,
    NotedLine,
    NotesBase,
    NotesContent,
    line_of,
)
from memoranda.model.query import Filter, Order, Subset
from memoranda.model.short_repr import ShortRepr
from memoranda.notes.document import Document, parse
from memoranda.notes.edits import EditPlan, Edits, digest_of, noted_line, read_edits
from memoranda.notes.files import Stamp
from memoranda.notes.git import NotesGit
from memoranda.notes.notes import Notes
from memoranda.notes.projection import project
from memoranda.notes.scrub import scrub
from memoranda.records.service import RecordService
from memoranda.settings.settings import Settings
from memoranda.text.patterns import compile_pattern

log = logging.getLogger("memoranda.notes")

# Facts among which those are chosen that have a line.
MOST_FACTS = 1_000
# Replacements that are followed from a line to what is believed now.
DEEPEST = 20
HELD = (
    "! {count} lines are gone from MEMORY.md at once: what they said is believed on. If that was "
    "meant, run: memoranda notes sync --accept-removals"
)
OVER = (
    "! {file} is {over:,} bytes over {limit:,}, and all that is left was written by hand; "
    "shorten it, or raise notes.max_memory_size"
)
# Stands in place of a digest for a line that is gone and held back: no line has this one.
WAITING = "waiting"
UNSEEN = (
    "! {count} lines that memory had written while MEMORY.md was open elsewhere are back; take "
    "them out again if they were meant to go"
)
CONFLICT = compile_pattern(r"^<{7} .*\n(?:.*\n)*?={7}\n(?:.*\n)*?>{7} ", re.MULTILINE)
# How often a file is read again that somebody changes at the same moment.
TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NotesReport(ShortRepr):
    """What a sync of MEMORY.md with the store changed on either side.

    Attributes:
        added: facts that a person wrote into the file.
        corrected: facts that took the place of others, whose lines a person changed.
        forgotten: ids of facts whose lines a person took out.
        held: ids of facts whose lines are gone, so many at once that they are believed on until
            somebody says that it was meant.
        restored: whether the file was empty, missing or cut short, and made anew.
        written: whether the file was changed.
        over: bytes by which it is larger than it should be: all that is left was written by hand.
        lines: each deed in a line, for a person.
    """

    added: tuple[Record, ...] = ()
    corrected: tuple[Record, ...] = ()
    forgotten: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    restored: bool = False
    written: bool = False
    over: int = 0
    lines: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """How many edits of a person were read."""
        return len(self.added) + len(self.corrected) + len(self.forgotten)

    def __str__(self) -> str:
        """One line: what came in, what went, and what waits."""
        counts = {
            "added": len(self.added),
            "corrected": len(self.corrected),
            "forgotten": len(self.forgotten),
            "held back": len(self.held),
        }
        did = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        restored = "restored; " if self.restored else ""
        return f"notes: {restored}{did or ('written' if self.written else 'nothing to do')}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NotesOverview(ShortRepr):
    """The notes in figures.

    Attributes:
        path: of MEMORY.md.
        exists: whether it is there.
        size, limit: its bytes, and how many it should have at most.
        entries: how many the history has.
        changed: when the file was last written.
        git: whether the folder is in a repository.
        report: what the sync before this look has changed.
    """

    path: Path
    exists: bool
    size: int
    limit: int
    entries: int
    changed: datetime | None
    git: bool
    report: NotesReport


@dataclass(slots=True)
class NotesSyncState:
    """The notes of one scope as they were when file and store were last alike.

    Attributes:
        lock: held while they are read or written.
        folder: where they are, if they last only as long as the memory.
        stamp: of MEMORY.md; ``None`` where there was none.
        version: of the facts that are worth a line.
        text: of MEMORY.md; ``None`` before it was first read.
        warned: what was said of them, by what it is about: once is enough.
        preferred: facts that a model would rather keep in a file that is too long.
    """

    lock: RLock = field(default_factory=RLock)
    folder: TemporaryDirectory[str] | None = None
    stamp: Stamp | None = None
    version: str = ""
    text: str | None = None
    warned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    preferred: frozenset[str] | None = None


class _FileAndStore(NamedTuple):
    """File and store at one moment, and what a person changed in the file."""

    version: str
    document: Document
    base: NotesBase
    facts: list[Record]
    known: Mapping[str, Record]
    edits: Edits


class SyncedNotes(Notes):
    """Notes of which MEMORY.md is a projection of facts that a person may edit. Thread-safe.

    A line that is added is a fact with a person's trust, a line that is changed a correction,
    one that is taken out a forgetting. All of it is read before anything is written.

    Args:
        records: changes the records of the scope whose notes they are.
        folder: where the files are.
        settings: the sections ``notes`` and ``storage``.
        state: what is known of these notes while the memory is open.
    """

    def __init__(
        self, records: RecordService, folder: Path, *, settings: Settings, state: NotesSyncState
    ) -> None:
        """Touch nothing yet."""
        super().__init__(
            folder,
            clock=records.clock,
            max_memory_size=settings.notes.max_memory_size,
            busy_timeout=settings.storage.busy_timeout,
        )
        self.scope = records.scope
        self._records = records
        self._store = records.store
        self._commits = settings.notes.commit
        self._state = state

    # What programs read and write

    def read_memory(self) -> str:
        """Return the text of MEMORY.md, after it was brought into step with the store.

        Raises:
            StoreError: it cannot be read or written; the message says why and what to do.
        """
        self.sync()
        return self.read_file()

    def read_file(self) -> str:
        """Return the text of MEMORY.md as it is, without a look at the store."""
        return self._files.read(MEMORY_FILE)

    def read_history(self) -> str:
        """Return the text of HISTORY.md; empty, if there is none."""
        return self._files.read(HISTORY_FILE)

    @property
    def exists(self) -> bool:
        """Whether there is a MEMORY.md."""
        return self._files.stamp(MEMORY_FILE) is not None

    def write_memory(self, content: str) -> bool:
        """Put ``content`` in the place of MEMORY.md, as a person would who edits it.

        Lines that are not in it any more are forgotten: what they said can still be found by
        ``as_of``. Returns whether the file changed.

        Raises:
            InvalidInput: ``content`` cannot be stored.
            StoreError: the file cannot be written.
        """
        text = storable(content, "content")
        with self._state.lock:
            for _ in range(TRIES):
                self.sync()
                seen = self._state.text or ""
                # What an editor saved since then must be read before it is written over.
                if self._files.swap(MEMORY_FILE, seen, text):
                    self.sync(accept_removals=True)
                    return text != seen
        raise self._busy()

    def search(self, keyword: str, *, limit: int | None = None) -> list[HistoryEntry]:
        """Return the entries that have ``keyword`` in their text or moment, newest first.

        As :meth:`Notes.search` does, but for a user who was deleted it raises ``UserDeleted``.
        """
        self._base()
        return super().search(keyword, limit=limit)

    def history(
        self, *, since: datetime | None = None, limit: int | None = None
    ) -> list[HistoryEntry]:
        """Return the entries, newest first, each once.

        As :meth:`Notes.history` does, but for a user who was deleted it raises ``UserDeleted``.
        """
        self._base()
        return super().history(since=since, limit=limit)

    def _append(self, entry: str, at: datetime | None, *, rotated: bool) -> HistoryEntry:
        self._make_known()
        added = super()._append(entry, at, rotated=rotated)
        self._commit("notes: an entry of the history")
        return added

    def _make_known(self) -> None:
        """Have the store know of this folder: what is erased must be found in it, too."""
        if (self.scope, str(self.folder)) not in self._store.notes_bases(self.scope):
            self._keep(NotesBase(str(self.folder)))

    @property
    def is_lasting(self) -> bool:
        """Whether they outlast the memory that opened them."""
        return self._state.folder is None

    def fact_lines(self) -> Mapping[str, str]:
        """Return the facts that have a line in MEMORY.md: id → its text, from top to bottom."""
        found = self._store.get(self.scope, [line.id for line in self._base().lines])
        return {record.id: line_of(record.content) for record in found.values()}

    def context_text(self, *, make: bool = False) -> str:
        """Return MEMORY.md for a context, if there is one: a context makes no file.

        What is wrong with it is logged once, and no more. Costs little where neither the file
        nor the facts have changed since it was last asked.

        Args:
            make: make the file where it is missing and there are facts for it.
        """
        state = self._state
        try:
            with state.lock:
                stamp = self._files.stamp(MEMORY_FILE)
                if stamp is None and not make:
                    return ""
                if state.text is None or (state.stamp, state.version) != (stamp, self._version()):
                    self.sync()
                self._warn("context")
                return state.text or ""
        except (StoreClosed, UserDeleted):
            raise
        except MemorandaError as error:
            self._warn("context", f"the notes are not kept: {error}")
        try:
            return self.read_file()
        except MemorandaError:
            return ""

    def prefer(self, ids: frozenset[str]) -> None:
        """Have these facts stay before others, as a model chose, while the file is too long."""
        self._state.preferred = ids

    # Keeping in step

    def sync(self, *, accept_removals: bool = False) -> NotesReport:
        """Read what a person changed in MEMORY.md, then write what memory has learned.

        Args:
            accept_removals: believe also that many lines at once were meant to go.

        Raises:
            StoreError: the file cannot be read or written; the store is as it was, or has what
                was read, and nothing is lost.
        """
        with self._state.lock:
            if not self.exists and not self._base().lines and not self._noteworthy(1):
                self._remember("", self._version())
                return NotesReport()
            for _ in range(TRIES):
                with self.locked():
                    report = self._sync_once(accept_removals=accept_removals)
                if report is not None:
                    return report
        raise self._busy()

    def overview(self) -> NotesOverview:
        """Bring file and store into step, and return the notes in figures."""
        report, path = self.sync(), self.folder / MEMORY_FILE
        found = path.stat() if path.exists() else None
        return NotesOverview(
            path=path,
            exists=found is not None,
            size=0 if found is None else found.st_size,
            limit=self.max_memory_size,
            entries=len(self.history()),
            changed=None if found is None else datetime.fromtimestamp(found.st_mtime, UTC),
            git=NotesGit(self.folder).is_repository(),
            report=report,
        )

    def restore(self, revision: str) -> NotesReport:
        """Bring back MEMORY.md of a commit; what differs is read as a person's edit.

        Raises:
            NotFound, InvalidInput, StoreError: as of :class:`~memoranda.notes.git.NotesGit`.
        """
        then = NotesGit(self.folder).memory(revision)
        # As a person's editor would: what comes of it is then read as an edit.
        Notes(self.folder).write_memory(then)
        return self.sync(accept_removals=True)

    def _busy(self) -> StoreBusy:
        path = self.folder / MEMORY_FILE
        return StoreBusy(f"{path} changes all the time; close what writes it")

    def _sync_once(self, *, accept_removals: bool) -> NotesReport | None:
        """Do it once; ``None`` if somebody changed the file before it could be written."""
        text = self.read_file()
        if merging := CONFLICT.search(text):  # Both sides in one file would become facts.
            line = text.count("\n", 0, merging.start()) + 1
            raise StoreError(
                f"{self.folder / MEMORY_FILE} has an unresolved merge, line {line}; choose what is "
                f"to stay and remove the lines with <<<<<<<, ======= and >>>>>>>"
            )
        found = self._look(text, all_seen=accept_removals)
        report = NotesReport(restored=found.edits.cut_short)
        if report.restored:
            self._keep_damaged(text)
        elif found.edits:
            report = self._store_edits(found, accept_removals=accept_removals)
            # What was read is in the store now, and the file says nothing new any more.
            found = self._look(text)
        return self._write(text, report, found)

    def _look(self, text: str, *, all_seen: bool = False) -> _FileAndStore:
        """Return file and store as they are, and what a person changed in the file.

        With ``all_seen``, whoever saved it knew all that memory had written there.
        """
        base, facts = self._base(), self._noteworthy()
        if all_seen:
            base = replace(base, lines=tuple(replace(line, batch=0) for line in base.lines))
        mentioned = list(self._store.get(self.scope, [line.id for line in base.lines]).values())
        # Also what took the place of what ended, however often.
        for _ in range(DEEPEST):
            there = {record.id for record in (*mentioned, *facts)}
            heirs = {each.superseded_by for each in mentioned if each.superseded_by} - there
            if not heirs:
                break
            mentioned += self._store.get(self.scope, sorted(heirs)).values()
        # What has a line is a fact for it, however many are worth more.
        ranked = {fact.id for fact in facts}
        facts += [each for each in mentioned if self._is_current(each) and each.id not in ranked]
        document = parse(text)
        # A line that was written, but not kept as such, may be of a fact that is worth less by now.
        said = {content_hash(item.text) for item in document.items}
        unknown = said - {each.content_hash for each in (*facts, *mentioned)}
        facts += self._noteworthy(hashes=sorted(unknown)) if unknown else ()
        known = {record.id: record for record in (*facts, *mentioned)}
        edits = read_edits(base.lines, document, known, self._is_current)
        return _FileAndStore(self._version(), document, base, facts, known, edits)

    def _is_current(self, record: Record) -> bool:
        return is_active(record, self._records.now()) and record.superseded_by is None

    def _store_edits(self, found: _FileAndStore, *, accept_removals: bool) -> NotesReport:
        """Take what a person changed into the store, in one transaction; report it."""
        edits = found.edits
        # What waited before waits on, whatever came into the file since.
        waited = {line.id for line in found.base.lines if line.digest == WAITING}
        waits = [each for each in edits.removed if edits.mass_removal or each in waited]
        held = () if accept_removals else tuple(waits)
        removed = [each for each in edits.removed if each not in held]
        plan = EditPlan(self._records, edits, found.known, removed=removed)
        lines = [noted_line(line.id, line.item.text) for line in (*edits.lines, *edits.stale)]
        lines += [noted_line(new.id, new.content) for new in (*plan.added, *plan.corrected)]
        lines += [NotedLine(id_, WAITING) for id_ in held]
        gone = {line.id: line for line in found.base.lines}
        lines += [gone[line.id] for line in edits.erased if line.id in gone]
        base = replace(found.base, lines=tuple(lines))
        self._records.apply([*plan.actions, KeepNotes(base)])
        for record in plan.corrected:
            self._records.events.emit("corrected", record)
        for id_ in removed:
            self._records.events.emit("forgotten", ForgetReceipt(id=id_, erased=False))
        problems = [HELD.format(count=len(held))] if held else []
        problems += [UNSEEN.format(count=len(edits.unseen))] if edits.unseen else []
        return NotesReport(
            added=tuple(plan.added),
            corrected=tuple(plan.corrected),
            forgotten=tuple(removed),
            held=held,
            lines=(*plan.lines, *problems),
        )

    def _write(self, text: str, report: NotesReport, found: _FileAndStore) -> NotesReport | None:
        """Write what the file is to say, if nobody has changed it, and keep what it says."""
        projection = project(
            found.document,
            [fact for fact in found.facts if fact.id not in report.held],
            max_bytes=self.max_memory_size,
            edits=found.edits,
            known=found.known,
            preferred=self._state.preferred,
        )
        # Each line with the write that put it there; those of a new file were always there.
        was = {line.id: line.batch for line in found.base.lines}
        new = 0 if found.document.blank else max(was.values(), default=0) + 1
        lines = [replace(line, batch=was.get(line.id, new)) for line in projection.lines]
        lines += [NotedLine(id_, WAITING) for id_ in report.held]
        base = replace(found.base, lines=tuple(lines))
        changed = projection.text != text
        if changed and projection.dropped:
            # A crash before the base is kept must not look as if a person had removed them.
            left = tuple(x for x in found.base.lines if x.id not in projection.dropped)
            self._keep(replace(base, lines=left))
        if changed and not self._files.swap(MEMORY_FILE, text, projection.text):
            return None
        if base != self._base():
            self._keep(base)
        over, limit = projection.over, self.max_memory_size
        too_long = [OVER.format(file=MEMORY_FILE, over=over, limit=limit)] if over else []
        done = (*report.lines, *projection.changes, *too_long)
        report = replace(report, written=changed, over=over, lines=done)
        problems = [each.removeprefix("! ") for each in done if each.startswith("!")]
        self._warn("sync", *(f"{self.folder}: {each}" for each in problems))
        self._remember(projection.text, found.version)
        if report.written or report.changes:
            self._commit(str(report))
        return report

    def _keep(self, base: NotesBase) -> None:
        self._store.apply(self.scope, [KeepNotes(base)])

    def _keep_damaged(self, text: str) -> None:
        """Keep what is left of a file that was cut short, before it is made whole again."""
        path = self.folder / MEMORY_FILE
        if text.strip():
            self._files.write(DAMAGED_FILE, text)
            log.warning(
                "%s was cut short; it is restored, and %s has what was left", path, DAMAGED_FILE
            )
        else:
            log.warning("%s was empty or gone; it is restored from the store", path)

    def _warn(self, about: str, *problems: str) -> None:
        """Say once what a person has to know who did not ask, and again when it comes back."""
        for each in problems:
            if each not in self._state.warned.get(about, ()):
                log.warning("%s", each)
        self._state.warned[about] = problems

    def _remember(self, text: str, version: str) -> None:
        """Remember what file and store are like."""
        state = self._state
        state.stamp, state.text, state.version = self._files.stamp(MEMORY_FILE), text, version
        if self.read_file() != text:  # An editor was faster than the stamp: read it again.
            state.stamp = None

    def _commit(self, message: str) -> None:
        """Have git keep the notes, where that is wanted."""
        if self._commits:
            try:
                NotesGit(self.folder).commit(message)
            except MemorandaError as error:
                self._warn("git", f"the notes were not committed: {error}")

    # Moving

    def quiet(self) -> AbstractContextManager[bool]:
        """Keep writers out while files and store are looked at together."""
        return self._files.quiet()

    def content(self) -> NotesContent:
        """Return all that they say, as it is."""
        names = [name for pattern in NOTES_FILES for name in self._files.names(pattern)]
        files = {name: self._files.read(name) for name in names}
        return NotesContent(self.scope.agent, self._base().lines, files)

    def keep(self, content: NotesContent, *, update: bool = False) -> list[Path]:
        """Write what the notes of another store say; return files that stay as they were.

        Args:
            content: what they say.
            update: let it take the place of what is there, but for a MEMORY.md with edits of a
                person that were not read yet, and for a history with entries of its own.

        Raises:
            InvalidInput: it is no content of notes.
        """
        given: object = content
        if not isinstance(given, NotesContent):
            message = f"content={content!r:.80} is no NotesContent; take what content() returns"
            raise InvalidInput(message)
        with self._state.lock, self.locked():
            kept = []
            for name, text in content.files.items():
                there = self._files.read(name)
                own = not update or not text.startswith(there)
                if update and name == MEMORY_FILE:
                    own = self._has_unread(there)
                if there not in {"", text} and own:
                    kept.append(self.folder / name)
                else:
                    self._files.write(name, text)
            if MEMORY_FILE in content.files and self.folder / MEMORY_FILE not in kept:
                # After the file: a base without one would look as if it had been lost.
                self._keep(NotesBase(str(self.folder), content.lines))
                self._state.text = self._state.stamp = None
            self._make_known()
            return kept

    def _has_unread(self, text: str) -> bool:
        said = {digest_of(item.text) for item in parse(text).items}
        return said != {line.digest for line in self._base().lines}

    # Erasing

    def erase_lines(self, contents: Sequence[str]) -> int:
        """Take erased contents out of MEMORY.md; return how many lines went (law 7)."""
        with self._state.lock, self.locked():
            before, after, count = self._scrub(MEMORY_FILE, contents)
            # What another fact says, too, comes back: its line was not taken out by a person.
            # A line that an erasure left behind which was cut off is known by the base, and goes.
            said, left = (
                {digest_of(item.text) for item in parse(text).items} for text in (before, after)
            )
            base = self._base()
            lines = tuple(line for line in base.lines if line.digest not in said - left)
            if lines != base.lines:
                self._keep(replace(base, lines=lines))
            self.sync()
        return count

    def remove(self) -> int:
        """Remove all files of the notes, as their user is deleted; return how many.

        Whatever else is in the folder stays, and the folder with it.
        """
        with self._state.lock:
            removed = self._files.remove([MEMORY_FILE, DAMAGED_FILE, *self._history_files()])
            self._state.text = self._state.stamp = None
        return removed

    def erase_damaged(self, contents: Sequence[str]) -> None:
        """Take contents that are to be erased out of what was kept of a damaged file."""
        if self._files.names(DAMAGED_FILE):
            self._scrub(DAMAGED_FILE, contents)

    def _scrub(self, name: str, contents: Sequence[str]) -> tuple[str, str, int]:
        """Take contents out of a file; return it before and after, and how many lines went."""
        contents = several_of(str, contents, "contents")
        for _ in range(TRIES):
            text = self._files.read(name)
            cleaned, gone = scrub(text, contents)
            if not gone or self._files.swap(name, text, cleaned):
                return text, cleaned, gone
        raise self._busy()

    # What the store has

    def _base(self) -> NotesBase:
        folder = str(self.folder)
        return self._store.notes_bases(self.scope).get((self.scope, folder), NotesBase(folder))

    def _noteworthy(
        self, limit: int = MOST_FACTS, hashes: Sequence[str] | None = None
    ) -> list[Record]:
        where = Filter(now=self._records.now(), subset=Subset.NOTEWORTHY, hashes=hashes)
        return self._store.records(self.scope, where, order=Order.NOTEWORTHY, limit=limit)

    def _version(self) -> str:
        return self._store.noteworthy_version(self.scope, now=self._records.now())
