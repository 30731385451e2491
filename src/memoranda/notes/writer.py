"""Writes entries for consolidated sessions into the history of the notes.

An entry names its session and its turns in a comment, so that a crash between writing it and
saying so makes no second one, and so that it can be found when one of its turns is erased.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple
from urllib.parse import quote

from memoranda.errors import LLMError, MemorandaError, StoreClosed, UnusableAnswer
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.consolidator import TurnReader
from memoranda.learning.exclusions import blank_exclusions
from memoranda.learning.llm.claim_checking import ClaimChecker
from memoranda.learning.stage_models import StageModels
from memoranda.model.changes import RecordChange
from memoranda.model.ports import LanguageModel
from memoranda.model.sessions import SessionInfo
from memoranda.notes.document import parse
from memoranda.notes.history_entries import write_entry, write_raw_entry
from memoranda.notes.model_summarizer import read_compression, summarize
from memoranda.notes.sync import SyncedNotes
from memoranda.records.service import RecordService, session_episodes

log = logging.getLogger("memoranda.notes")

# Episodes that one entry tells at most.
SPAN = 60
STAGE = "history"

# What follows from claims of a session for what is believed.
PlanClaims = Callable[[str, Sequence[Claim]], Sequence[RecordChange]]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWriter:
    """Writes entries for what sessions have become facts, in the words of a model or by rules.

    Attributes:
        notes: where entries go; ``None`` where there are none, and then nothing is done.
        records: have the sessions, and tell others of records that were stored.
        reader: reads episodes as turns.
        language: waits for the model.
        model: writes entries; rules, if not given.
        plan_claims: what follows from a model's proposal for MEMORY.md; nothing, if not given.
        stop: ends the work early, between entries, when it is set.
    """

    notes: SyncedNotes | None
    records: RecordService
    reader: TurnReader
    language: StageModels
    model: LanguageModel | None
    plan_claims: PlanClaims | None
    stop: Event

    def write(self, session: str | None = None, *, but: Collection[str] = ()) -> list[str]:
        """Write entries for one session, or for all that lack them, ``but`` for some.

        Returns:
            A line for each entry that was written, and for each session that waits.
        """
        lines: list[str] = []
        if self.notes is None:
            return lines
        for info in self.records.store.sessions(self.records.scope, id=session).values():
            if self.stop.is_set() or info.noted >= info.through or info.id in but:
                continue
            try:
                lines += self._write_session(self.notes, info)
            except StoreClosed:
                raise
            except MemorandaError as error:
                lines.append(f"! session {info.id!r} gets its entry in the history later: {error}")
                log.warning("session %r gets its entry in the history later: %s", info.id, error)
                if isinstance(error, LLMError):
                    self.write_fallback(info.id, info.through)
                    break  # The others would wait for the same model.
        self.notes.context_text(make=any(line.startswith("#") for line in lines))
        return lines

    def write_fallback(self, session: str, until: int | None = None) -> None:
        """Write the last messages of a session as a raw entry, until a summary can be written.

        Nothing of it is raised: it is the last resort.

        Args:
            session: the session.
            until: position of the last message that is to be kept; all, if not given.
        """
        try:
            info = self._session(session)
            if self.notes is None or info is None:
                return
            with self.notes.locked():  # What was erased before is not read, and later it is found.
                # All that is not told yet, whether it became facts or not.
                span = self._span(session, info.noted, until)
                if span is None:
                    return
                raw, written = span.comment.replace(" -->", " raw -->"), self.notes.read_history()
                if raw not in written and span.comment not in written:
                    self.notes.append_history_rotated(f"{write_raw_entry(span.turns)}\n{raw}")
        except MemorandaError as error:
            log.warning("the last words of session %r could not be noted: %s", session, error)

    def _session(self, id: str) -> SessionInfo | None:
        return self.records.store.sessions(self.records.scope, id=id).get(id)

    def _write_session(self, notes: SyncedNotes, info: SessionInfo) -> Iterator[str]:
        store, scope, after = self.records.store, self.records.scope, info.noted
        while after < info.through and not self.stop.is_set():
            span = self._span(info.id, after, info.through, limit=SPAN)
            if span is None:
                with store.write(scope) as tx:
                    tx.advance_notes(info.id, info.through)
                return
            text, actions = self._entry(notes, span)
            with notes.locked():
                now = self._session(info.id)
                if now is None or now.noted != after:
                    return  # Another process tells it.
                if self._span(info.id, after, info.through, limit=SPAN) != span:
                    continue  # Some of it was erased, which would stand in the entry.
                if text and span.comment not in notes.read_history():
                    notes.append_history_rotated(f"{text}\n{span.comment}")
                with store.write(scope) as tx:
                    stored = tx.carry_out(actions)
                    tx.advance_notes(info.id, span.last)
            self.records.announce(stored)
            if text:
                yield f"# {text.splitlines()[0]}"
            after = span.last

    def _span(
        self, session: str, after: int, until: int | None, *, limit: int | None = None
    ) -> Span | None:
        """Return what comes after a position and is no later than another, if there is any."""
        store, scope = self.records.store, self.records.scope
        found = session_episodes(store, scope, session, after=after, limit=limit)
        read = [item for item in found if until is None or (item.position or 0) <= until]
        if not read:
            return None
        turns = tuple(self.reader.read(session, read)[0])
        return Span(session, read[0].position or 0, read[-1].position or 0, turns)

    def _entry(self, notes: SyncedNotes, span: Span) -> tuple[str, Sequence[RecordChange]]:
        """Return the entry, empty if nothing is worth one, and what a model noted beside it."""
        if self.model is None:
            return write_entry(span.turns), ()
        memory = notes.text_for_model()
        # The rules leave out by themselves what was said in confidence, or taken back.
        turns = tuple(blank_exclusions(span.turns))
        asked = summarize(self.model, turns, memory, most_bytes=notes.max_memory_size)
        try:
            made = self.language.wait(asked)
        except UnusableAnswer as error:
            log.warning("rules write the history entry of session %r: %s", span.session, error)
            return write_entry(span.turns), ()
        update = made.memory_update
        if not update or self.plan_claims is None:
            return made.history_entry, ()
        known = {item.text.casefold() for item in parse(memory).items}
        lines = [item.text for item in parse(update).items if item.text.casefold() not in known]
        owner = self.records.scope.user
        claims = ClaimChecker(turns, (), owner).check_lines(lines)
        if notes.is_over(memory):
            shorter = read_compression(memory, update, turns)
            if shorter is not None:
                notes.compress(memory, *shorter)
        return made.history_entry, self.plan_claims(span.session, claims)
