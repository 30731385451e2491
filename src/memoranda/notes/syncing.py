"""Brings MEMORY.md and the store into step: first what a person changed, then what was learned.

The store keeps which lines it last saw in the file, so an edit is known as one, also on a file
that a crash left behind.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memoranda.errors import MemorandaError, StoreBusy, StoreError
from memoranda.model.actions import KeepNotes
from memoranda.model.life import believed
from memoranda.model.models import ForgetReceipt, Record
from memoranda.model.notes import (
    MEMORY_FILE,
    NotedLine,
    NotesBase,
)
from memoranda.model.scope import Scope
from memoranda.notes import Notes
from memoranda.notes.document import Document, parse
from memoranda.notes.edits import Edits, noted, read_edits
from memoranda.notes.git import NotesGit
from memoranda.notes.noted import Look
from memoranda.notes.projection import Projection, project
from memoranda.notes.reading import Reader, Reading
from memoranda.notes.report import NotesReport
from memoranda.parts import Parts

log = logging.getLogger("memoranda.notes")

MOST_FACTS = 1_000
"""Facts among which those are chosen that have a line."""
DAMAGED = "MEMORY.md.damaged"
DEEPEST = 20
"""Replacements that are followed from a line to what is believed now."""
HELD = (
    "! {count} lines are gone from MEMORY.md at once: what they said is believed on. If that was "
    "meant, run: memoranda notes sync --accept-removals"
)
OVER = (
    "! {file} is {over:,} bytes over {limit:,}, and all that is left was written by hand; "
    "shorten it, or raise notes.max_memory_size"
)
WAITING = "waiting"
"""Stands in place of a digest for a line that is gone and held back: no line has this one."""
UNSEEN = (
    "! {count} lines that memory had written while MEMORY.md was open elsewhere are back; take "
    "them out again if they were meant to go"
)
CONFLICT = re.compile(r"^<{7} .*\n(?:.*\n)*?={7}\n(?:.*\n)*?>{7} ", re.MULTILINE)
TRIES = 5
"""How often a file is read again that somebody changes at the same moment."""


class Syncing(Notes):
    """Notes of which MEMORY.md is kept in step with a store. Thread-safe."""

    def __init__(self, parts: Parts, scope: Scope, folder: Path) -> None:
        """Keep the notes of ``scope`` in ``folder``; touch nothing yet."""
        super().__init__(
            folder,
            clock=parts.clock,
            max_memory_size=parts.settings.notes.max_memory_size,
            busy_timeout=parts.settings.storage.busy_timeout,
        )
        self.scope = scope
        self._parts = parts
        self._look: Look = parts.noted.of(scope)

    @property
    def there(self) -> bool:
        """Whether there is a MEMORY.md."""
        return self._files.stamp(MEMORY_FILE) is not None

    def as_it_stands(self) -> str:
        """Return the text of MEMORY.md without looking at the store."""
        return super().read_memory()

    def sync(self, *, accept_removals: bool = False) -> NotesReport:
        """Read what a person changed in MEMORY.md, then write what memory has learned.

        Args:
            accept_removals: believe also that many lines at once were meant to go.

        Raises:
            StoreError: the file cannot be read or written; the store is as it was, or has what
                was read, and nothing is lost.
        """
        with self._look.lock:
            if self._nothing():
                return self._seen(NotesReport(), "")
            for _ in range(TRIES):
                with self.locked():
                    report = self._synced(accept_removals=accept_removals)
                if report is not None:
                    return report
        raise self._busy()

    # The steps of it

    def _busy(self) -> StoreBusy:
        path = self.folder / MEMORY_FILE
        return StoreBusy(f"{path} changes all the time; close what writes it")

    def _nothing(self) -> bool:
        """Return whether there is neither a file nor anything to write into one."""
        if self.there or self._base().lines:
            return False
        return not self._standing(1)

    def _unchanged(self) -> bool:
        look = self._look
        return (
            look.text is not None
            and look.stamp == self._files.stamp(MEMORY_FILE)
            and look.version == self._version()
        )

    def _synced(self, *, accept_removals: bool) -> NotesReport | None:
        """Do it once; ``None`` if somebody changed the file before it could be written."""
        text = self.as_it_stands()
        self._require_merged(text)
        state = self._state(text, all_seen=accept_removals)
        report = NotesReport(restored=state.edits.cut_short)
        if report.restored:
            self._keep_damaged(text)
        elif state.edits:
            report = self._taken(state, accept_removals=accept_removals)
            # What was read is in the store now, and the file says nothing new any more.
            state = self._state(text)
        held = frozenset(report.held)
        projection = project(
            state.document,
            [fact for fact in state.facts if fact.id not in held],
            max_bytes=self.max_memory_size,
            edits=state.edits,
            known=state.known,
            preferred=self._look.preferred,
        )
        return self._written(text, projection, report, state)

    def _require_merged(self, text: str) -> None:
        """Refuse a file with the marks of a merge that git left to a person.

        Raises:
            StoreError: it has some; both sides in one file would become facts.
        """
        found = CONFLICT.search(text)
        if found is not None:
            line = text.count("\n", 0, found.start()) + 1
            message = (
                f"{self.folder / MEMORY_FILE} has an unresolved merge, line {line}; choose what is "
                f"to stay and remove the lines with <<<<<<<, ======= and >>>>>>>"
            )
            raise StoreError(message)

    def _state(self, text: str, *, all_seen: bool = False) -> _State:
        """Return file and store as they are, and what a person changed in the file.

        With ``all_seen``, whoever saved it knew all that memory had written there.
        """
        base, facts = self._base(), self._standing()
        if all_seen:
            base = replace(base, lines=tuple(replace(line, batch=0) for line in base.lines))
        ids = [line.id for line in base.lines]
        told = self._parts.store.get_many(self.scope, ids)
        # Also what took the place of what ended, however often.
        for _ in range(DEEPEST):
            there = {record.id for record in (*told, *facts)}
            heirs = {each.superseded_by for each in told if each.superseded_by} - there
            if not heirs:
                break
            told += self._parts.store.get_many(self.scope, sorted(heirs))
        # What has a line is a fact for it, however many are worth more.
        ranked = {fact.id for fact in facts}
        facts += [each for each in told if self._stands(each) and each.id not in ranked]
        known = {record.id: record for record in (*facts, *told)}
        document = parse(text)
        edits = read_edits(base.lines, document, known, self._stands)
        return _State(self._version(), document, base, facts, known, edits)

    def _stands(self, record: Record) -> bool:
        return believed(record, self._parts.now()) and record.superseded_by is None

    def _taken(self, state: _State, *, accept_removals: bool) -> NotesReport:
        """Take what a person changed into the store, in one transaction; report it."""
        edits, store = state.edits, self._parts.store
        held = () if accept_removals else self._held_back(state)
        removed = [id_ for id_ in edits.removed if id_ not in held]
        reading = Reader(self._parts, self.scope, state.facts).read(
            edits, state.known, removed=removed
        )
        lines = [noted(line.id, line.item.text) for line in (*edits.lines, *edits.stale)]
        lines += [noted(insert.record.id, insert.record.content) for insert in reading.inserts]
        lines += [_waiting(id_) for id_ in held]
        gone = {line.id: line for line in state.base.lines}
        lines += [gone[line.id] for line in edits.erased if line.id in gone]
        base = replace(state.base, lines=tuple(lines))
        store.apply(self.scope, [*reading.actions, KeepNotes(base)])
        self._tell(reading)
        told = [HELD.format(count=len(held))] if held else []
        told += [UNSEEN.format(count=len(edits.unseen))] if edits.unseen else []
        return NotesReport(
            added=tuple(reading.added),
            corrected=tuple(reading.corrected),
            forgotten=tuple(reading.forgotten),
            held=tuple(held),
            lines=(*reading.lines, *told),
        )

    def _held_back(self, state: _State) -> tuple[str, ...]:
        """Return what was removed and is believed on: until somebody says that it was meant."""
        removed = state.edits.removed
        if state.edits.mass_removal:
            return removed
        # What waited before waits on, whatever came into the file since.
        waited = {line.id for line in state.base.lines if line.digest == WAITING}
        return tuple(id_ for id_ in removed if id_ in waited)

    def _tell(self, reading: Reading) -> None:
        """Tell the subscribers of the memory what a person did in the file."""
        self._parts.records(self.scope).announce(reading.inserts)
        for record in reading.corrected:
            self._parts.events.emit("corrected", record)
        for id_ in reading.forgotten:
            self._parts.events.emit("forgotten", ForgetReceipt(id=id_, erased=False))

    def _written(
        self, text: str, projection: Projection, report: NotesReport, state: _State
    ) -> NotesReport | None:
        """Write what the file is to say, if nobody has changed it, and keep what it says."""
        held = tuple(map(_waiting, report.held))
        base = replace(state.base, lines=(*_batched(projection.lines, state), *held))
        changed = projection.text != text
        if changed:
            if projection.dropped:
                # A crash before the base is kept must not look as if a person had removed them.
                left = tuple(x for x in state.base.lines if x.id not in projection.dropped)
                self._keep(replace(base, lines=left))
            if not self._files.swap(MEMORY_FILE, text, projection.text):
                return None
        if base != self._base():
            self._keep(base)
        report = replace(
            report,
            written=changed,
            over=projection.over,
            lines=(*report.lines, *projection.told, *self._too_long(projection)),
        )
        self._warn(report)
        return self._seen(report, projection.text, state.version)

    def _too_long(self, projection: Projection) -> list[str]:
        if not projection.over:
            return []
        told = OVER.format(file=MEMORY_FILE, over=projection.over, limit=self.max_memory_size)
        return [told]

    def _keep(self, base: NotesBase) -> None:
        self._parts.store.apply(self.scope, [KeepNotes(base)])

    def _keep_damaged(self, text: str) -> None:
        """Keep what is left of a file that was cut short, before it is made whole again."""
        path = self.folder / MEMORY_FILE
        if text.strip():
            self._files.write(DAMAGED, text)
            log.warning("%s was cut short; it is restored, and %s has what was left", path, DAMAGED)
        else:
            log.warning("%s was empty or gone; it is restored from the store", path)

    def _warn(self, report: NotesReport) -> None:
        """Say once what a person has to know who did not ask."""
        told = [line for line in report.lines if line.startswith("!")]
        for line in told:
            if line not in self._look.warned:
                log.warning("%s: %s", self.folder, line.removeprefix("! "))
        self._look.warned = frozenset(told)

    def _seen(self, report: NotesReport, text: str, version: str | None = None) -> NotesReport:
        """Remember what file and store are like, and have git keep it where that is wanted."""
        look = self._look
        look.stamp, look.text = self._files.stamp(MEMORY_FILE), text
        if self.as_it_stands() != text:  # An editor was faster than the stamp: look again.
            look.stamp = None
        look.version = self._version() if version is None else version
        if report.written or report.changes:
            self._commit(str(report))
        return report

    def _commit(self, message: str) -> None:
        """Have git keep the notes, where that is wanted."""
        if not self._parts.settings.notes.commit:
            return
        try:
            NotesGit(self.folder).commit(message)
        except MemorandaError as error:  # Nobody waits for it: said once, and no more.
            if str(error) != self._look.uncommitted:
                log.warning("the notes were not committed: %s", error)
                self._look.uncommitted = str(error)

    # What is read

    def _base(self) -> NotesBase:
        folder = str(self.folder)
        found = self._parts.store.notes_base(self.scope, folder)
        return NotesBase(folder) if found is None else found

    def _standing(self, limit: int = MOST_FACTS) -> list[Record]:
        return self._parts.store.standing(self.scope, now=self._parts.now(), limit=limit)

    def _version(self) -> str:
        return self._parts.store.standing_version(self.scope, now=self._parts.now())


@dataclass(frozen=True, slots=True)
class _State:
    """File and store at one moment, and what a person changed in the file."""

    version: str
    document: Document
    base: NotesBase
    facts: list[Record]
    known: Mapping[str, Record]
    edits: Edits


def _waiting(id: str) -> NotedLine:
    """Return how the base says that a fact has no line because its removal waits for a word."""
    return NotedLine(id, WAITING)


def _batched(lines: Sequence[NotedLine], state: _State) -> list[NotedLine]:
    """Return the lines of a file with the write that put them there.

    Those of a new file were there when anybody opened it.
    """
    was = {line.id: line.batch for line in state.base.lines}
    new = 0 if state.document.blank else max(was.values(), default=0) + 1
    return [replace(line, batch=was.get(line.id, new)) for line in lines]
