"""Writes entries for consolidated sessions into the history of the notes.

An entry names its session and its turns in a comment, so that a crash between writing it and
saying so makes no second one, and so that it can be found when one of its turns is erased.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Event
from typing import NamedTuple, Protocol
from urllib.parse import quote

from memoranda.errors import LLMError, MemorandaError, StoreClosed
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.extraction.exclusions import blank_exclusions
from memoranda.learning.llm.memory_proposal import read_proposal
from memoranda.learning.stage_models import StageModels
from memoranda.model.actions import Action, Noted
from memoranda.model.models import Record, Scope
from memoranda.model.ports import DateReader, LanguageModel, Store
from memoranda.model.sessions import SessionInfo
from memoranda.notes.history_entries import HistoryEntryWriter, write_raw_entry
from memoranda.notes.model_summarizer import ModelSummarizer
from memoranda.notes.sync import SyncedNotes
from memoranda.records.service import RecordService

log = logging.getLogger("memoranda.notes")

SPAN = 60
"""Episodes that one entry tells at most."""
RAW = 10
"""Messages that a raw entry keeps (consolidation's fallback)."""
STAGE = "history"
COMMENT = re.compile(r"<!-- memoranda: session=(\S*) turns=(\d+)-(\d+)( raw)? -->")

PlanClaims = Callable[[str, Sequence[Claim]], Sequence[Action]]
"""What follows from claims of a session for what is believed."""


class ReadTurns(Protocol):
    """Reads episodes of a session as turns, without recalled memory."""

    def __call__(
        self, scope: Scope, session: str | None, episodes: Sequence[Record], /
    ) -> Sequence[Turn]:
        """Return the turns; with a session, also without what was recalled into it."""


class Span(NamedTuple):
    """Turns of a session that one entry covers, with the first and the last position."""

    session: str
    first: int
    last: int
    turns: tuple[Turn, ...]

    @property
    def comment(self) -> str:
        """The hidden comment by which the entry records which turns it covers."""
        # Quoted, or a name could end the comment.
        return f"<!-- memoranda: session={quote(self.session)} turns={self.first}-{self.last} -->"

    @property
    def raw(self) -> str:
        """The same for an entry that keeps messages as they were."""
        return self.comment.replace(" -->", " raw -->")


@dataclass(slots=True)
class HistoryReport:
    """What was written: how many entries, each in a line, and what waits."""

    entries: int = 0
    lines: list[str] = field(default_factory=list)

    def wait(self, session: str, error: MemorandaError) -> None:
        """Record why the entry of a session has to wait."""
        self.lines.append(f"! session {session!r} is told in the history later: {error}")
        log.warning("session %r is told in the history later: %s", session, error)


class HistoryWriter:
    """Writes entries for what sessions have become facts, in the words of a model or by rules.

    Args:
        notes: where entries go; ``None`` where there are none, and then nothing is done.
        scope: whose sessions they are.
        store: where the sessions are.
        entry_writer: makes entries by rules.
        dates: reads dates, to compare a model's proposal with what was said.
        read_turns: reads episodes as turns.
        language: waits for the model.
        model: writes entries; rules, if not given.
        records: tells others of records that were stored.
        plan_claims: what follows from a model's proposal for MEMORY.md; nothing, if not given.
        stop: ends the work early, between entries, when it is set.
    """

    def __init__(
        self,
        notes: SyncedNotes | None,
        scope: Scope,
        *,
        store: Store,
        entry_writer: HistoryEntryWriter,
        dates: DateReader,
        read_turns: ReadTurns,
        language: StageModels,
        model: LanguageModel | None,
        records: RecordService,
        plan_claims: PlanClaims | None = None,
        stop: Event | None = None,
    ) -> None:
        """Write nothing yet."""
        self._notes = notes
        self._scope = scope
        self._store = store
        self._entry_writer = entry_writer
        self._dates = dates
        self._read_turns = read_turns
        self._language = language
        self._model = model
        self._records = records
        self._plan_claims = plan_claims
        self._stop = stop or Event()

    def write(self, session: str | None = None, *, but: Collection[str] = ()) -> HistoryReport:
        """Write entries for one session, or for all that lack them, ``but`` for some."""
        report = HistoryReport()
        if self._notes is None:
            return report
        for info in self._unwritten(session):
            if self._stop.is_set():
                break
            if info.id in but:
                continue
            try:
                self._write_session(self._notes, info, report)
            except StoreClosed:
                raise
            except LLMError as error:
                report.wait(info.id, error)
                self.write_fallback(info.id, info.through)
                break  # The others would wait for the same model.
            except MemorandaError as error:
                report.wait(info.id, error)
        self._sync(self._notes, report)
        return report

    def write_fallback(self, session: str, until: int | None = None) -> bool:
        """Write the last messages of a session as a raw entry, until a summary can be written.

        Nothing of it is raised: it is the last resort.

        Args:
            session: the session.
            until: position of the last message that is to be kept; all, if not given.

        Returns:
            Whether there is such an entry.
        """
        try:
            info = self._store.session(self._scope, session)
            if self._notes is None or info is None:
                return False
            span = self._last_words(info, until)
            if span is None:
                return False
            text = write_raw_entry(span.turns[-RAW:], span.turns[-1].at, len(span.turns))
            with self._notes.locked():
                written = self._notes.read_history()
                if span.raw not in written and span.comment not in written:
                    self._notes.append_history_rotated(f"{text}\n{span.raw}")
        except MemorandaError as error:
            log.warning("the last words of session %r could not be noted: %s", session, error)
            return False
        return True

    def _unwritten(self, session: str | None) -> list[SessionInfo]:
        if session is not None:
            found = self._store.session(self._scope, session)
            return [] if found is None or found.noted >= found.through else [found]
        return [info for info in self._store.sessions(self._scope) if info.noted < info.through]

    def _write_session(self, notes: SyncedNotes, info: SessionInfo, report: HistoryReport) -> None:
        after = info.noted
        while after < info.through and not self._stop.is_set():
            span = self._next_span(info, after)
            if span is None:
                self._store.apply(self._scope, [Noted(info.id, info.through)])
                return
            text, actions = self._entry(notes, span)
            if not self._append(notes, after, span, text, actions):
                return  # Another process tells it.
            if text:
                report.entries += 1
                report.lines.append(f"# {text.splitlines()[0]}")
            after = span.last

    def _next_span(self, info: SessionInfo, after: int) -> Span | None:
        """Return what the next entry tells; ``None`` if nothing is left of it."""
        found = self._store.episodes(self._scope, info.id, after=after, limit=SPAN)
        read = list(takewhile(lambda item: (item.position or 0) <= info.through, found))
        return self._span(info.id, read)

    def _last_words(self, info: SessionInfo, until: int | None) -> Span | None:
        """Return all up to a position that is not told yet, whether it became facts or not."""
        found: list[Record] = []
        after = info.noted
        while page := self._store.episodes(self._scope, info.id, after=after, limit=SPAN):
            found += page
            after = page[-1].position or 0
        if until is not None:
            found = [item for item in found if (item.position or 0) <= until]
        return self._span(info.id, found)

    def _span(self, session: str, episodes: Sequence[Record]) -> Span | None:
        if not episodes:
            return None
        turns = tuple(self._read_turns(self._scope, session, episodes))
        return Span(session, episodes[0].position or 0, episodes[-1].position or 0, turns)

    def _entry(self, notes: SyncedNotes, span: Span) -> tuple[str, Sequence[Action]]:
        """Return the entry, empty if nothing is worth one, and what a model noted beside it."""
        at = span.turns[-1].at
        if self._model is None:
            return self._entry_writer.write(span.turns, at), ()
        memory = notes.read_file()
        writer = ModelSummarizer(self._model, most_bytes=notes.max_memory_size)
        # The rules leave out by themselves what was said in confidence, or taken back.
        turns = tuple(blank_exclusions(span.turns))
        made = self._language.wait(writer.consolidate(turns, memory, at))
        update = made.memory_update
        if not update or self._plan_claims is None:
            return made.history_entry, ()
        proposed = read_proposal(memory, update, turns, notes.fact_lines(), self._dates)
        if notes.is_over(memory):
            notes.prefer(proposed.kept)
        return made.history_entry, self._plan_claims(span.session, proposed.claims)

    def _append(
        self, notes: SyncedNotes, after: int, span: Span, text: str, actions: Sequence[Action]
    ) -> bool:
        """Write an entry and say so; false if another process has gone on meanwhile."""
        with notes.locked():
            now = self._store.session(self._scope, span.session)
            if now is None or now.noted != after:
                return False
            if text and span.comment not in notes.read_history():
                notes.append_history_rotated(f"{text}\n{span.comment}")
            self._store.apply(self._scope, [*actions, Noted(span.session, span.last)])
        self._records.announce(actions)
        return True

    def _sync(self, notes: SyncedNotes, report: HistoryReport) -> None:
        try:
            if report.entries or notes.exists:
                notes.sync()
        except StoreClosed:
            raise
        except MemorandaError as error:
            log.warning("the notes could not be kept: %s", error)
