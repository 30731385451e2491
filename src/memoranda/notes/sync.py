"""Keeps MEMORY.md and the store in step: first what a person changed, then what was learned.

The store keeps which lines it last saw in the file, so an edit is known as one, also on a file
that a crash left behind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple

from memoranda.errors import MemorandaError, StoreBusy, StoreClosed, UserDeleted
from memoranda.model.checks import content_hash, storable
from memoranda.model.models import ForgetReceipt, Record, is_active
from memoranda.model.notes import (
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
from memoranda.notes.compression import Compression
from memoranda.notes.document import Document, NoteItem, parse
from memoranda.notes.edits import OMITTED, WAITING, EditPlan, Edits, digest_of, read_edits
from memoranda.notes.files import Stamp
from memoranda.notes.notes import Notes
from memoranda.notes.projection import Projection, project
from memoranda.notes.topics import own_titles
from memoranda.records.service import RecordService
from memoranda.settings.settings import Settings
from memoranda.text.repetition import ErasedWords

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
# How often a file is read again that somebody changes at the same moment.
TRIES = 5
# How many times the size of the file a model is shown that is to make it shorter.
SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesReport:
    """What a sync of MEMORY.md with the store changed on either side.

    Attributes:
        added: facts that a person wrote into the file.
        corrected: facts that took the place of others, whose lines a person changed.
        forgotten: ids of facts whose lines a person took out.
        held: ids of facts whose lines are gone, so many at once that they are believed on until
            somebody says that it was meant.
        restored: whether the file was empty or missing, and made anew.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesOverview:
    """The notes in figures.

    Attributes:
        path: of MEMORY.md.
        exists: whether it is there.
        size, limit: its bytes, and how many it should have at most.
        entries: how many the history has.
        changed: when the file was last written.
        report: what the sync before this look has changed.
    """

    path: Path
    exists: bool
    size: int
    limit: int
    entries: int
    changed: datetime | None
    report: NotesReport


class FactVersion(NamedTuple):
    """What is another number, or has passed, when other facts are believed than before.

    Attributes:
        revision: that of the user's last write that changed which facts there are.
        ends: when the first of those in MEMORY.md ends by itself; ``None`` where none does.
    """

    revision: int
    ends: datetime | None = None


NO_FACTS = FactVersion(-1)


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
    """

    lock: RLock = field(default_factory=RLock)
    folder: TemporaryDirectory[str] | None = None
    stamp: Stamp | None = None
    version: FactVersion = NO_FACTS
    text: str | None = None
    warned: dict[str, tuple[str, ...]] = field(default_factory=dict)


class _FileAndStore(NamedTuple):
    """File and store at one moment, and what a person changed in the file."""

    version: FactVersion
    document: Document
    base: NotesBase
    facts: list[Record]
    known: Mapping[str, Record]
    edits: Edits

    @property
    def omitted(self) -> list[NotedLine]:
        """The lines that a model left out, of facts that are still believed and have none."""
        believed = {fact.id for fact in self.facts} - self.edits.told
        return [x for x in self.base.lines if x.digest == OMITTED and x.id in believed]


class SyncedNotes(Notes):
    """Notes of which MEMORY.md is a projection of facts that a person may edit. Thread-safe.

    A bullet that is added is a fact with a person's trust, one that is changed a correction,
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
        return super()._append(entry, at, rotated=rotated)

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
        there = [line.id for line in self._base().lines if line.digest not in {OMITTED, WAITING}]
        found = self._store.get(self.scope, there)
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
                if state.text is None or state.stamp != stamp or self._has_other_facts():
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
            version = FactVersion(self._store.fact_revision(self.scope))
            if not self.exists and not self._base().lines and not self._noteworthy(1):
                self._remember("", version)
                return NotesReport()
            return self._attempt(lambda: self._sync_once(accept_removals=accept_removals))

    def _attempt(self, step: Callable[[], NotesReport | None]) -> NotesReport:
        """Do a step under the lock of the folder, again while somebody changes the file."""
        for _ in range(TRIES):
            with self.locked():
                report = step()
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
            report=report,
        )

    def _busy(self) -> StoreBusy:
        path = self.folder / MEMORY_FILE
        return StoreBusy(f"{path} changes all the time; close what writes it")

    def _sync_once(self, *, accept_removals: bool) -> NotesReport | None:
        """Do it once; ``None`` if somebody changed the file before it could be written."""
        text = self.read_file()
        found = self._look(text)
        report = NotesReport(restored=found.edits.restored)
        if report.restored:
            path = self.folder / MEMORY_FILE
            log.warning("%s was empty or gone; it is restored from the store", path)
        elif found.edits:
            report = self._store_edits(found, accept_removals=accept_removals)
            # What was read is in the store now, and the file says nothing new any more.
            found = self._look(text)
        return self._write(text, report, found)

    def _look(self, text: str) -> _FileAndStore:
        """Return file and store as they are, and what a person changed in the file."""
        revision = self._store.fact_revision(self.scope)  # Before the facts: then none is missed.
        base, facts = self._base(), self._noteworthy()
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
        said = {content_hash(item.text) for item in document.bullets}
        unknown = said - {each.content_hash for each in (*facts, *mentioned)}
        facts += self._noteworthy(hashes=sorted(unknown)) if unknown else ()
        known = {record.id: record for record in (*facts, *mentioned)}
        active = [each for each in known if self._is_current(known[each])]
        edits = read_edits(base.lines, document, known, dict.fromkeys(active))
        ends = [end for each in active if (end := known[each].valid_until) is not None]
        version = FactVersion(revision, min(ends, default=None))
        return _FileAndStore(version, document, base, facts, known, edits)

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
        lines = [
            NotedLine(line.id, digest_of(line.item.text)) for line in (*edits.lines, *edits.stale)
        ]
        lines += [NotedLine(x.id, digest_of(x.content)) for x in (*plan.added, *plan.corrected)]
        lines += [NotedLine(id_, WAITING) for id_ in held]
        gone = {line.id: line for line in found.base.lines}
        lines += [gone[line.id] for line in edits.erased if line.id in gone]
        base = replace(found.base, lines=(*lines, *edits.prose, *found.omitted))
        with self._store.write(self.scope) as tx:
            stored = tx.carry_out(plan.actions)
            tx.keep_notes_base(base)
        self._records.announce(stored)
        for record in plan.corrected:
            self._records.events.emit("corrected", record)
        for id_ in removed:
            self._records.events.emit("forgotten", ForgetReceipt(id=id_, erased=False))
        problems = [HELD.format(count=len(held))] if held else []
        return NotesReport(
            added=tuple(plan.added),
            corrected=tuple(plan.corrected),
            forgotten=tuple(removed),
            held=held,
            lines=(*plan.lines, *problems),
        )

    def _projected(
        self, found: _FileAndStore, held: Sequence[str] = (), times: int = 1
    ) -> Projection:
        """Return what the file is to say, at so many times the size that it may have."""
        left_out = {*held, *(line.id for line in found.omitted)}
        facts = [fact for fact in found.facts if fact.id not in left_out]
        limit, edits, known = times * self.max_memory_size, found.edits, found.known
        return project(found.document, facts, max_bytes=limit, edits=edits, known=known)

    def _write(self, text: str, report: NotesReport, found: _FileAndStore) -> NotesReport | None:
        """Write what the file is to say, if nobody has changed it, and keep what it says."""
        projection = self._projected(found, report.held)
        waiting = [NotedLine(id_, WAITING) for id_ in report.held]
        base = replace(found.base, lines=(*projection.lines, *waiting, *found.omitted))
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
        return report

    def _keep(self, base: NotesBase) -> None:
        with self._store.write(self.scope) as tx:
            tx.keep_notes_base(base)

    def _warn(self, about: str, *problems: str) -> None:
        """Say once what a person has to know who did not ask, and again when it comes back."""
        for each in problems:
            if each not in self._state.warned.get(about, ()):
                log.warning("%s", each)
        self._state.warned[about] = problems

    def _remember(self, text: str, version: FactVersion) -> None:
        """Remember what file and store are like."""
        state = self._state
        state.stamp, state.text, state.version = self._files.stamp(MEMORY_FILE), text, version
        if self.read_file() != text:  # An editor was faster than the stamp: read it again.
            state.stamp = None

    # A model's shorter text

    def text_for_model(self) -> str:
        """Return MEMORY.md as it would be with room for twice as much, for a model to shorten."""
        with self._state.lock:
            self.sync()
            return self._projected(self._look(self.read_file()), times=SHOWN).text

    def compress(self, shown: str, compression: Compression) -> bool:
        """Put a model's shorter text in the place of MEMORY.md; keep the former text beside it.

        Facts whose lines the model joined or shortened stand behind the new line; those of which
        it left the line out are still believed and found, and have none. Returns whether it was
        done: not where file or facts changed since ``shown`` was read.

        Args:
            shown: what :meth:`text_for_model` gave, which the model has shortened.
            compression: the shorter text.
        """
        with self._state.lock, self.locked():
            if self.text_for_model() != shown:
                return False
            text = self.read_file()
            found = self._look(text)
            lines = self._projected(found, times=SHOWN).lines
            before = {digest_of(item.text): item.text for item in parse(shown).items}
            kept: list[NotedLine] = []
            for line in lines:
                new = compression.line_for(before.get(line.digest, ""))
                kept.append(NotedLine(line.id, OMITTED if new is None else digest_of(new)))
            self._files.write(self._copy_name(), text)
            # Before the file: what is still in it then is known by what the facts say.
            self._keep(replace(found.base, lines=(*dict.fromkeys(kept), *found.omitted)))
            swapped = self._files.swap(MEMORY_FILE, text, compression.text)
            self.sync()
        return swapped

    # Moving

    def quiet(self) -> AbstractContextManager[bool]:
        """Keep writers out while files and store are looked at together."""
        return self._files.quiet()

    def content(self) -> NotesContent:
        """Return all that they say, as it is."""
        files = {name: self._files.read(name) for name in self._all_files()}
        return NotesContent(self.scope.agent, self._base().lines, files)

    def _all_files(self) -> list[str]:
        return [name for pattern in NOTES_FILES for name in self._files.names(pattern)]

    def keep(self, content: NotesContent) -> list[Path]:
        """Write what the notes of another store say; return files that stay as they were."""
        with self._state.lock, self.locked():
            kept = []
            for name, text in content.files.items():
                if self._files.read(name) not in {"", text}:
                    kept.append(self.folder / name)
                else:
                    self._files.write(name, text)
            if MEMORY_FILE in content.files and self.folder / MEMORY_FILE not in kept:
                # After the file: a base without one would look as if it had been lost.
                self._keep(NotesBase(str(self.folder), content.lines))
                self._state.text = self._state.stamp = None
            self._make_known()
            return kept

    # Erasing

    def erase_lines(self, erased: ErasedWords) -> int:
        """Take erased text out of MEMORY.md; return how many lines changed (law 7).

        A bullet of a record that is still there stays: an independent one may say the same.
        """
        with self._state.lock, self.locked():
            for _ in range(TRIES):
                text = self.read_file()
                cleaned, count = self._without(erased, text)
                if cleaned == text or self._files.swap(MEMORY_FILE, text, cleaned):
                    self.sync()
                    return count
        raise self._busy()

    def _without(self, erased: ErasedWords, text: str) -> tuple[str, int]:
        """Return MEMORY.md without erased text, and how many lines changed."""
        document, there = parse(text), self._store.get(self.scope, [*self.fact_lines()])
        owned = {digest_of(record.content) for record in there.values()}
        gone: dict[NoteItem, str | None] = {
            bullet: None
            for bullet in document.bullets
            if digest_of(bullet.text) not in owned and erased.are_in(bullet.text)
        }
        patched = document.patch(gone, own_titles())
        owned_lines = {at for each in patched.bullets for at in range(each.start, each.stop)}
        cleaned, count = erased.replace_lines(patched.lines, spare=owned_lines)
        return "".join(cleaned), count + len(gone)

    def remove(self) -> int:
        """Remove all files of the notes, as their user is deleted; return how many.

        Whatever else is in the folder stays, and the folder with it.
        """
        with self._state.lock:
            removed = self._files.remove(self._all_files())
            self._state.text = self._state.stamp = None
        return removed

    # What the store has

    def _base(self) -> NotesBase:
        folder = str(self.folder)
        return self._store.notes_bases(self.scope).get((self.scope, folder), NotesBase(folder))

    def _noteworthy(
        self, limit: int = MOST_FACTS, hashes: Sequence[str] | None = None
    ) -> list[Record]:
        where = Filter(now=self._records.now(), subset=Subset.NOTEWORTHY, hashes=hashes)
        return self._store.records(self.scope, where, order=Order.NOTEWORTHY, limit=limit)

    def _has_other_facts(self) -> bool:
        """Return whether other facts are believed than when file and store were last alike."""
        revision, ends = self._state.version
        is_over = ends is not None and ends <= self._records.now()
        return is_over or revision != self._store.fact_revision(self.scope)
