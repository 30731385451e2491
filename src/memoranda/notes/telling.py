"""Tells what was said in sessions in the history of the notes (seed 002, consolidation).

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
from typing import NamedTuple
from urllib.parse import quote

from memoranda.errors import LLMError, MemorandaError, StoreClosed
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.extract.withheld import without_withheld
from memoranda.learning.modelled.proposal import proposal
from memoranda.learning.modelled.summary import ModelSummarizer
from memoranda.learning.turns import page, recalled
from memoranda.model.actions import Action, Noted
from memoranda.model.life import SessionInfo
from memoranda.model.models import Record
from memoranda.model.scope import Scope
from memoranda.notes.chronicle import Chronicler, raw_fallback
from memoranda.notes.kept import KeptNotes, notes_of
from memoranda.parts import Parts

log = logging.getLogger("memoranda.notes")

SPAN = 60
"""Episodes that one entry tells at most."""
RAW = 10
"""Messages that a raw entry keeps (seed 002)."""
STAGE = "history"
COMMENT = re.compile(r"<!-- memoranda: session=(\S*) turns=(\d+)-(\d+)( raw)? -->")

Learned = Callable[[str, Sequence[Claim]], Sequence[Action]]
"""What follows from claims of a session for what is believed."""


class Span(NamedTuple):
    """Turns of a session that one entry tells, and the positions of the first and the last."""

    session: str
    first: int
    last: int
    turns: tuple[Turn, ...]

    @property
    def comment(self) -> str:
        """How the entry says what it tells, where only those look who look for it."""
        # Quoted, or a name could end the comment.
        return f"<!-- memoranda: session={quote(self.session)} turns={self.first}-{self.last} -->"

    @property
    def raw(self) -> str:
        """The same for an entry that keeps messages as they were."""
        return self.comment.replace(" -->", " raw -->")


@dataclass(slots=True)
class Told:
    """What was told: how many entries, each in a line, and what waits."""

    entries: int = 0
    lines: list[str] = field(default_factory=list)

    def wait(self, session: str, error: MemorandaError) -> None:
        """Say why a session is told later."""
        self.lines.append(f"! session {session!r} is told in the history later: {error}")
        log.warning("session %r is told in the history later: %s", session, error)


class Telling:
    """Writes entries for what sessions have become facts, in the words of a model or by rules."""

    def __init__(
        self,
        parts: Parts,
        scope: Scope,
        learned: Learned | None = None,
        stop: Event | None = None,
    ) -> None:
        """Tell the sessions of ``scope``; end early, between entries, when ``stop`` is set."""
        self._parts = parts
        self._scope = scope
        self._learned = learned
        self._stop = stop or Event()
        self._notes = notes_of(parts, scope)

    def run(self, session: str | None = None, *, but: Collection[str] = ()) -> Told:
        """Tell one session, or all that have more facts than entries, ``but`` for some."""
        told = Told()
        if self._notes is None:
            return told
        for info in self._untold(session):
            if self._stop.is_set():
                break
            if info.id in but:
                continue
            try:
                self._tell(self._notes, info, told)
            except StoreClosed:
                raise
            except LLMError as error:
                told.wait(info.id, error)
                self.fallback(info.id, info.through)
                break  # The others would wait for the same model.
            except MemorandaError as error:
                told.wait(info.id, error)
        self._projected(self._notes, told)
        return told

    def fallback(self, session: str, until: int | None = None) -> bool:
        """Keep the last messages of a session as they were, until it can be told (seed 002).

        Nothing of it is raised: it is the last resort.

        Args:
            session: the session.
            until: position of the last message that is to be kept; all, if not given.

        Returns:
            Whether there is such an entry.
        """
        try:
            info = self._parts.store.session(self._scope, session)
            if self._notes is None or info is None:
                return False
            span = self._last_words(info, until)
            if span is None:
                return False
            text = raw_fallback(span.turns[-RAW:], span.turns[-1].at, len(span.turns))
            with self._notes.locked():
                written = self._notes.read_history()
                if span.raw not in written and span.comment not in written:
                    self._notes.append_history_rotated(f"{text}\n{span.raw}")
        except MemorandaError as error:
            log.warning("the last words of session %r could not be noted: %s", session, error)
            return False
        return True

    def _untold(self, session: str | None) -> list[SessionInfo]:
        if session is not None:
            found = self._parts.store.session(self._scope, session)
            return [] if found is None or found.noted >= found.through else [found]
        every = self._parts.store.sessions(self._scope)
        return [info for info in every if info.noted < info.through]

    def _tell(self, notes: KeptNotes, info: SessionInfo, told: Told) -> None:
        after = info.noted
        while after < info.through and not self._stop.is_set():
            span = self._span(info, after)
            if span is None:
                self._parts.store.apply(self._scope, [Noted(info.id, info.through)])
                return
            text, actions = self._entry(notes, span)
            if not self._written(notes, after, span, text, actions):
                return  # Another process tells it.
            if text:
                told.entries += 1
                told.lines.append(f"# {text.splitlines()[0]}")
            after = span.last

    def _span(self, info: SessionInfo, after: int) -> Span | None:
        """Return what the next entry tells; ``None`` if nothing is left of it."""
        found = self._parts.store.episodes(self._scope, info.id, after=after, limit=SPAN)
        read = list(takewhile(lambda item: (item.position or 0) <= info.through, found))
        return self._turns(info.id, read)

    def _last_words(self, info: SessionInfo, until: int | None) -> Span | None:
        """Return all up to a position that is not told yet, whether it became facts or not."""
        found: list[Record] = []
        after = info.noted
        while page_ := self._parts.store.episodes(self._scope, info.id, after=after, limit=SPAN):
            found += page_
            after = page_[-1].position or 0
        if until is not None:
            found = [item for item in found if (item.position or 0) <= until]
        return self._turns(info.id, found)

    def _turns(self, session: str, episodes: Sequence[Record]) -> Span | None:
        if not episodes:
            return None
        quoted = recalled(self._parts, self._scope, session)
        turns = page(self._parts, self._scope, episodes, quoted).turns
        return Span(session, episodes[0].position or 0, episodes[-1].position or 0, turns)

    def _entry(self, notes: KeptNotes, span: Span) -> tuple[str, Sequence[Action]]:
        """Return the entry, empty if nothing is worth one, and what a model noted beside it."""
        at = span.turns[-1].at
        model = self._parts.model_for(self._scope, STAGE)
        chosen = self._parts.settings.consolidation.extractor
        if model is None or chosen == "rules":
            return Chronicler(self._parts.dates, self._parts.extractor).entry(span.turns, at), ()
        memory = notes.as_it_stands()
        writer = ModelSummarizer(model, most_bytes=notes.max_memory_size)
        # The rules leave out by themselves what was said in confidence, or taken back.
        open_ = span._replace(turns=tuple(without_withheld(span.turns)))
        made, _ = self._parts.language.wait(writer.consolidate(open_.turns, memory, at))
        return made.history_entry, self._noted(notes, open_, memory, made.memory_update)

    def _noted(self, notes: KeptNotes, span: Span, memory: str, update: str) -> Sequence[Action]:
        """Return what follows from a model's proposal for MEMORY.md, as far as it holds."""
        if not update or self._learned is None:
            return ()
        proposed = proposal(memory, update, span.turns, notes.lines(), self._parts.dates)
        if notes.is_over(memory):
            notes.prefer(proposed.kept)
        return self._learned(span.session, proposed.claims)

    def _written(
        self, notes: KeptNotes, after: int, span: Span, text: str, actions: Sequence[Action]
    ) -> bool:
        """Write an entry and say so; false if another process has told on meanwhile."""
        store = self._parts.store
        with notes.locked():
            now = store.session(self._scope, span.session)
            if now is None or now.noted != after:
                return False
            if text and span.comment not in notes.read_history():
                notes.append_history_rotated(f"{text}\n{span.comment}")
            store.apply(self._scope, [*actions, Noted(span.session, span.last)])
        self._parts.records(self._scope).announce(actions)
        return True

    def _projected(self, notes: KeptNotes, told: Told) -> None:
        try:
            if told.entries or notes.there:
                notes.sync()
        except StoreClosed:
            raise
        except MemorandaError as error:
            log.warning("the notes could not be kept: %s", error)
