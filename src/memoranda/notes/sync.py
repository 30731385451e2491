"""Keeps MEMORY.md and the store in step: first what a person changed, then what was learned.

The store keeps which lines it last saw in the file, so an edit is known as one, also on a file
that a crash left behind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple, TypeVar

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreBusy,
    StoreClosed,
    StoreReadOnly,
    UserDeleted,
)
from memoranda.model.changes import Close, RecordChange
from memoranda.model.checks import storable
from memoranda.model.models import Record, Trust, is_active
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
from memoranda.notes.document import Document, NoteItem, is_written_as, parse
from memoranda.notes.files import Stamp
from memoranda.notes.notes import Notes
from memoranda.notes.projection import (
    OMITTED,
    ORIGIN,
    Edits,
    Projection,
    digest_of,
    heading_for,
    project,
    read_edits,
    topic,
)
from memoranda.records.drafts import Draft, draft_correction
from memoranda.records.erased_words import ErasedWords
from memoranda.records.service import RecordService
from memoranda.settings.settings import Settings

log = logging.getLogger("memoranda.notes")

# Facts among which those are chosen that have a line.
MOST_FACTS = 1_000
# Replacements that are followed from a line to what is believed now.
DEEPEST = 20
RESTORED = (
    "! {count} lines disappeared together from MEMORY.md and were restored; to remove them, take "
    "them out again, but not the heading (an empty file counts as lost), and run: memoranda notes "
    "sync --accept-removals"
)
REMOVED = "its line was taken out of MEMORY.md"
# How often a file is read again that somebody changes at the same moment.
TRIES = 5
# How many times the size of the file a model is shown that is to make it shorter.
SHOWN = 2
NEVER = datetime.max.replace(tzinfo=UTC)
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesReport:
    """What a sync of MEMORY.md with the store changed on either side.

    Attributes:
        added: facts that a person wrote into the file.
        corrected: facts that took the place of others, whose lines a person changed.
        forgotten: ids of facts whose lines a person took out.
        restored: ids of facts whose lines were gone, so many at once that they were written again.
        written: whether the file was changed.
        lines: each deed in a line, for a person.
    """

    added: tuple[Record, ...] = ()
    corrected: tuple[Record, ...] = ()
    forgotten: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    written: bool = False
    lines: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """How many edits of a person were read."""
        return len(self.added) + len(self.corrected) + len(self.forgotten)

    def __str__(self) -> str:
        """One line: what came in, what went, and what was written again."""
        names = ("added", "corrected", "forgotten", "restored")
        counts = [f"{len(getattr(self, name))} {name}" for name in names if getattr(self, name)]
        return f"notes: {', '.join(counts) or ('written' if self.written else 'nothing to do')}"


@dataclass(slots=True)
class NotesSyncState:
    """The notes of one scope as they were when file and store were last alike.

    Attributes:
        lock: held while they are read or written.
        folder: where they are, if they last only as long as the memory.
        seen: the stamp of MEMORY.md, and the revision of the user's facts.
        ends: when the first of the facts with a line ends by itself.
        text: of MEMORY.md; ``None`` before it was first read.
        warned: what was said of them: once is enough.
    """

    lock: RLock = field(default_factory=RLock)
    folder: TemporaryDirectory[str] | None = None
    seen: tuple[Stamp | None, int] = (None, -1)
    ends: datetime = NEVER
    text: str | None = None
    warned: set[str] = field(default_factory=set)


class _FileAndStore(NamedTuple):
    """File and store at one moment, and what a person changed in the file."""

    revision: int
    document: Document
    base: NotesBase
    facts: Mapping[str, Record]
    edits: Edits
    omitted: Sequence[NotedLine]  # of facts that are believed, and whose lines a model left out


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

        Who may only read gets it as it is.

        Raises:
            StoreError: it cannot be read or written; the message says why and what to do.
        """
        with suppress(StoreReadOnly):
            self.sync()
        return self.read_file()

    def read_file(self) -> str:
        """Return the text of MEMORY.md as it is, without a look at the store."""
        return self._files.read(MEMORY_FILE)

    def read_history(self) -> str:
        """Return the text of HISTORY.md; empty, if there is none."""
        return self._files.read(HISTORY_FILE)

    def write_memory(self, content: str) -> bool:
        """Put ``content`` in the place of MEMORY.md, as a person would who edits it.

        Lines that are not in it any more are forgotten: what they said can still be found by
        ``as_of``. Returns whether the file changed.

        Raises:
            InvalidInput: ``content`` cannot be stored.
            StoreError: the file cannot be written.
        """
        text = storable(content, "content")

        def write() -> bool | None:
            self.sync()
            seen = self._state.text or ""
            # What an editor saved since then must be read before it is written over.
            if not self._files.swap(MEMORY_FILE, seen, text):
                return None
            self.sync(accept_removals=True)
            return text != seen

        return self._retry(write)

    def _newest(
        self, is_wanted: Callable[[HistoryEntry], bool], limit: int | None
    ) -> list[HistoryEntry]:
        self._base()  # Of a user who was deleted, there is none.
        return super()._newest(is_wanted, limit)

    def _append(self, entry: str, at: datetime | None, *, rotated: bool) -> HistoryEntry:
        # The store must know of this folder: what is erased must be found in it, too.
        self._keep_base(self._base().lines)
        return super()._append(entry, at, rotated=rotated)

    @property
    def is_lasting(self) -> bool:
        """Whether they outlast the memory that opened them."""
        return self._state.folder is None

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
                seen = stamp, self._store.fact_revision(self.scope)
                if state.text is None or state.seen != seen or state.ends <= self._records.now():
                    self.sync()
                return state.text or ""
        except (StoreClosed, UserDeleted):
            raise
        except MemorandaError as error:
            problem = f"the notes are not kept: {error}"
            if problem not in state.warned:
                log.warning("%s", problem)
            state.warned.add(problem)
        with suppress(MemorandaError):
            return self.read_file()
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
            revision = self._store.fact_revision(self.scope)
            if not (self._files.stamp(MEMORY_FILE) or self._base().lines or self._noteworthy(1)):
                self._remember("", revision, NEVER)
                return NotesReport()
            return self._retry(lambda: self._sync_once(accept_removals=accept_removals))

    def _retry(self, step: Callable[[], Done | None]) -> Done:
        """Do a step under the lock of the folder, again while somebody changes the file."""
        with self._state.lock, self.locked():
            for _ in range(TRIES):
                if (done := step()) is not None:
                    return done
        path = self.folder / MEMORY_FILE
        raise StoreBusy(f"{path} changes all the time; close what writes it")

    def _sync_once(self, *, accept_removals: bool) -> NotesReport | None:
        """Do it once; ``None`` if somebody changed the file before it could be written."""
        text = self.read_file()
        found = self._look(text, accept_removals=accept_removals)
        restored = tuple(found.edits.restored)
        report = NotesReport(restored=restored)
        if found.edits:
            report = replace(self._store_edits(found), restored=restored)
            # What was read is in the store now, and the file says nothing new any more.
            found = self._look(text)
        projection = self._projected(found)
        if not self._write(text, projection, found):
            return None
        lines = report.lines
        if restored:
            lines += (RESTORED.format(count=len(restored)),)
            log.warning("%s: %s", self.folder, lines[-1])
        ends = (x.valid_until for x in found.facts.values() if x.valid_until is not None)
        self._remember(projection.text, found.revision, min(ends, default=NEVER))
        return replace(report, written=projection.text != text, lines=lines)

    def _look(self, text: str, *, accept_removals: bool = False) -> _FileAndStore:
        """Return file and store as they are, and what a person changed in the file."""
        revision = self._store.fact_revision(self.scope)  # Before the facts: then none is missed.
        base, document = self._base(), parse(text)
        found = [*self._noteworthy(), *self._records_of(base.lines).values()]
        # A line that was written, but not kept as such, may be of a fact that is worth less by now.
        said = {digest_of(item.text) for item in document.bullets}
        unknown = said - {record.content_hash for record in found}
        found += self._noteworthy(hashes=sorted(unknown)) if unknown else ()
        facts = {record.id: record for record in found if self._is_current(record)}
        edits = read_edits(base.lines, document, facts, accept_removals=accept_removals)
        omitted = [
            line
            for line in base.lines
            if line.digest == OMITTED and line.id in facts.keys() - edits.lines.keys()
        ]
        return _FileAndStore(revision, document, base, facts, edits, omitted)

    def _is_current(self, record: Record) -> bool:
        return is_active(record, self._records.now()) and record.superseded_by is None

    def _successor(self, id_: str) -> Record | None:
        """Return the record that is believed in the place of one that ended."""
        for _ in range(DEEPEST):
            record = self._store.get(self.scope, [id_]).get(id_)
            if record is None or self._is_current(record):
                return record
            id_ = record.superseded_by or ""
        return None

    def _store_edits(self, found: _FileAndStore) -> NotesReport:
        """Take what a person changed into the store, in one transaction; report it.

        What a person wrote has a person's trust, and never fades.
        """
        edits, now = found.edits, self._records.now()
        drafts: list[tuple[str, Draft]] = []
        for item in edits.added:
            section = {"section": item.section} if item.section else None
            drafts.append(("", Draft(content=item.text, metadata=section, origin=ORIGIN)))
        for id_, item in edits.changed.items():
            draft = draft_correction(found.facts[id_], item.text)
            draft |= {"role": None, "origin": ORIGIN, "source_ids": (), "decay_rate": 0.0}
            drafts.append((id_, draft))
        actions: list[RecordChange] = []
        added, corrected, lines = list[Record](), list[Record](), list[str]()
        for old, draft in drafts:
            reason = f"corrects {old}" if old else "written into MEMORY.md"
            try:
                new = self._records.plan(draft, reason=reason)
            except InvalidInput as error:
                # A NUL character, perhaps: the line stays in the file, and is no fact.
                lines.append(f"! a line of MEMORY.md cannot be kept: {error}")
                continue
            actions.append(new)
            if old:
                actions.append(Close(old, now, "corrected", superseded_by=new.record.id))
            (corrected if old else added).append(new.record)
            lines.append(f"{'~' if old else '+'} {new.record.id}: {new.record.content}")
        lines += (f"- {id_} is forgotten: {REMOVED}" for id_ in edits.removed)
        over = {*edits.changed, *edits.removed}
        left = [line for line in found.base.lines if line.id not in over]
        left += [NotedLine(new.id, digest_of(new.content)) for new in (*added, *corrected)]
        with self._store.write(self.scope) as tx:
            stored = tx.carry_out(actions)
            gone = [tx.forget([id_], at=now, reason=REMOVED) for id_ in edits.removed]
            tx.keep_notes_base(replace(found.base, lines=tuple(left)))
        self._records.announce(stored)
        for record in corrected:
            self._records.events.emit("corrected", record)
        for done in gone:
            self._records.events.emit("forgotten", done)
        return NotesReport(
            added=tuple(added),
            corrected=tuple(corrected),
            forgotten=tuple(edits.removed),
            lines=tuple(lines),
        )

    def _projected(self, found: _FileAndStore, times: int = 1) -> Projection:
        """Return what the file is to say, at so many times the size that it may have."""
        facts, told, agents = dict(found.facts), found.edits.lines, heading_for(Trust.AGENT)
        texts: dict[NoteItem, str | None] = {}
        for item, id_ in found.edits.ended.items():
            heir = self._successor(id_)
            texts[item] = None
            if heir is not None and is_written_as(text := line_of(heir.content)):
                facts[heir.id] = heir
                # An agent's word does not take the line of a person's, nor this that of an agent's.
                apart = (topic(heir) == agents) != (item.section == agents)
                stands = apart or heir.id in told or text in texts.values()
                texts[item] = None if stands else text
        for line in found.omitted:
            del facts[line.id]
        document, limit = found.document.patch(texts), times * self.max_memory_size
        return project(document, facts.values(), max_bytes=limit, lines=told)

    def _write(self, text: str, projection: Projection, found: _FileAndStore) -> bool:
        """Write the file and keep what it says; return whether nobody has changed it."""
        lines = (*projection.lines, *found.omitted)
        if projection.text != text:
            # A crash before the base is kept must not look as if a person had removed lines.
            there = {line.id for line in lines}
            self._keep_base(
                [x for x in found.base.lines if x.id in there or x.id not in found.facts]
            )
            if not self._files.swap(MEMORY_FILE, text, projection.text):
                return False
        self._keep_base(lines)
        return True

    def _remember(self, text: str, revision: int, ends: datetime) -> None:
        """Remember what file and store are like."""
        state = self._state
        stamp = self._files.stamp(MEMORY_FILE)
        if self.read_file() != text:  # An editor was faster than the stamp: read it again.
            stamp = None
        state.seen, state.text, state.ends = (stamp, revision), text, ends

    # A model's shorter text

    def text_for_model(self) -> str:
        """Return MEMORY.md as it would be with room for twice as much, for a model to shorten."""
        with self._state.lock:
            self.sync()
            return self._projected(self._look(self.read_file()), times=SHOWN).text

    def compress(self, shown: str, shorter: str, line_for: Callable[[str], str | None]) -> bool:
        """Put a model's shorter text in the place of MEMORY.md; keep the former text beside it.

        Facts whose lines the model joined or shortened stand behind the new line; those of which
        it left the line out are still believed and found, and have none. Returns whether it was
        done: not where file or facts changed since ``shown`` was read.

        Args:
            shown: what :meth:`text_for_model` gave, which the model has shortened.
            shorter: the shorter text.
            line_for: gives the line of the shorter text that says an old one.
        """
        with self._state.lock, self.locked():
            self.sync()
            text = self.read_file()
            found = self._look(text)
            projection = self._projected(found, times=SHOWN)
            if projection.text != shown:
                return False
            before = {digest_of(item.text): item.text for item in parse(shown).items}
            kept: dict[str, NotedLine] = {line.id: line for line in found.omitted}
            for line in projection.lines:
                new = line_for(before[line.digest])
                kept[line.id] = NotedLine(line.id, OMITTED if new is None else digest_of(new))
            self._files.write(self._copy_name(), text)
            # Before the file: what is still in it then is known by what the facts say.
            self._keep_base(kept.values())
            swapped = self._files.swap(MEMORY_FILE, text, shorter)
            self.sync()
        return swapped

    # Moving

    def content(self) -> NotesContent:
        """Return all that they say, as it is."""
        with self._files.quiet():
            files = {name: self._files.read(name) for name in self._files.names(*NOTES_FILES)}
            return NotesContent(self.scope.agent, self._base().lines, files)

    def keep(self, content: NotesContent) -> list[Path]:
        """Write what the notes of another store say; return files that stay as they were."""
        files = self._files
        with self._state.lock, self.locked():
            kept = [
                name for name, text in content.files.items() if files.read(name) not in {"", text}
            ]
            for name in content.files.keys() - set(kept):
                files.write(name, storable(content.files[name], name))
            # After the file: a base without one would look as if it had been lost.
            known = MEMORY_FILE in content.files and MEMORY_FILE not in kept
            self._keep_base(content.lines if known else self._base().lines)
            self._state.text = None
            return [self.folder / name for name in kept]

    # Erasing

    def erase_lines(self, erased: ErasedWords) -> int:
        """Take erased text out of MEMORY.md; return how many lines changed.

        A bullet of a record that is still there stays: an independent one may say the same.
        """

        def erase() -> int | None:
            text = self.read_file()
            document, there = parse(text), self._records_of(self._base().lines)
            owned = {digest_of(record.content) for record in there.values()}
            gone = {
                bullet: None
                for bullet in document.bullets
                if digest_of(bullet.text) not in owned and erased.repeated_in(bullet.text)
            }
            left = document.patch(gone)
            spare = {at for each in left.bullets for at in range(each.start, each.stop)}
            lines, count = erased.replace_lines(left.lines, spare=spare)
            if not self._files.swap(MEMORY_FILE, text, "".join(lines)):
                return None
            self.sync()
            return count + len(gone)

        return self._retry(erase)

    def remove(self) -> int:
        """Remove all files of the notes, as their user is deleted; return how many.

        Whatever else is in the folder stays, and the folder with it.
        """
        with self._state.lock:
            self._state.text = None
            return self._files.remove(self._files.names(*NOTES_FILES))

    # What the store has

    def _base(self) -> NotesBase:
        folder = str(self.folder)
        return self._store.notes_bases(self.scope).get((self.scope, folder), NotesBase(folder))

    def _keep_base(self, lines: Iterable[NotedLine]) -> None:
        base = NotesBase(str(self.folder), tuple(lines))
        if self._store.notes_bases(self.scope).get((self.scope, base.folder)) != base:
            with self._store.write(self.scope) as tx:
                tx.keep_notes_base(base)

    def _records_of(self, lines: Iterable[NotedLine]) -> Mapping[str, Record]:
        return self._store.get(self.scope, [line.id for line in lines])

    def _noteworthy(
        self, limit: int = MOST_FACTS, hashes: Sequence[str] | None = None
    ) -> list[Record]:
        where = Filter(now=self._records.now(), subset=Subset.NOTEWORTHY, hashes=hashes)
        return self._store.records(self.scope, where, order=Order.NOTEWORTHY, limit=limit)
