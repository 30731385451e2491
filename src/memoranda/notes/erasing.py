"""Takes what is erased out of the notes of a user, and out of what they typed (law 7).

The one rule is that of :class:`~memoranda.text.repetition.ErasedWords`: a line that repeats erased
text becomes ``[erased]``. An entry of the history about a turn that is erased is made anew from the
turns that are left, by rules: a model may remember too well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from urllib.parse import unquote

from memoranda.model.erasure import ERASED
from memoranda.model.models import Kind, Record, Scope, TextPlace
from memoranda.notes.history_entries import HistoryEntryWriter
from memoranda.notes.prompt_history import remove_prompts
from memoranda.notes.service import NotesService
from memoranda.notes.writer import COMMENT, ReadTurns
from memoranda.records.pages import session_episodes
from memoranda.store.sql.store import Store
from memoranda.text.repetition import ErasedWords


class NotesErasure:
    """Takes what is erased out of all notes of a user: the history before, MEMORY.md after it.

    Whatever a crash parts, nothing is left that nobody knows of: an erasure that did not come
    about is asked for again, and a line of MEMORY.md whose record is gone is known by its digest.

    ``history`` and ``lines`` return how many entries or lines changed, and raise a ``StoreError``
    if a file cannot be written; the message says which.

    Args:
        notes: finds the notes.
        scope: whose they are.
        erased: the records that are erased.
        words: what they say.
        store: has the turns that are left.
        entry_writer: makes an entry of them, by rules.
        read_turns: reads episodes as turns.
    """

    def __init__(
        self,
        notes: NotesService,
        scope: Scope,
        erased: Sequence[Record],
        words: ErasedWords,
        *,
        store: Store,
        entry_writer: HistoryEntryWriter,
        read_turns: ReadTurns,
    ) -> None:
        """Clean nothing yet."""
        self._scope, self._words = scope, words
        self._turns: dict[str, set[int]] = {}
        for record in erased:
            placed = record.kind is Kind.EPISODE and record.position is not None
            if placed and record.session_id is not None:
                self._turns.setdefault(record.session_id, set()).add(record.position or 0)
        self._store = store
        self._entry_writer = entry_writer
        self._read_turns = read_turns
        self._notes = list(notes.every(scope))

    def history(self) -> int:
        """Erase from the history, while the turns beside an erased one can still be read."""
        return sum(
            notes.erase(self._words, partial(self._rewrite, notes.scope)) for notes in self._notes
        )

    def lines(self) -> int:
        """Remove the erased text from MEMORY.md, after the store has erased it."""
        return sum(notes.erase_lines(self._words) for notes in self._notes)

    def prompts(self) -> list[TextPlace]:
        """Remove what the user typed of it in ``memoranda chat``; return where it was."""
        return remove_prompts(self._scope, self._words)

    def _rewrite(self, scope: Scope, text: str) -> str:
        """Return the text of an entry of which no erased turn is told."""
        found = COMMENT.search(text)
        if found is None:
            return text
        session, first, last = unquote(found[1]), int(found[2]), int(found[3])
        if any(first <= place <= last for place in self._turns.get(session, ())):
            comment = found[0].replace(" raw -->", " -->")
            text = f"{self._write_anew(scope, session, first, last)}\n{comment}"
        return text.replace(found[1], ERASED) if self._words.are_in(session) else text

    def _write_anew(self, scope: Scope, session: str, first: int, last: int) -> str:
        """Return the entry of the turns that are left."""
        gone, count = self._turns.get(session, set()), last - first + 1
        found = session_episodes(self._store, scope, session, after=first - 1, limit=count)
        left = [x for x in found if (x.position or 0) <= last and x.position not in gone]
        turns = self._read_turns(scope, None, left) if left else ()
        return (turns and self._entry_writer.write(turns)) or ERASED
