"""Removes erased text from the notes, too (law 7): from MEMORY.md and the history.

An entry that tells an erased turn is made anew from the turns that are left; whatever else holds
the erased words loses the lines that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from memoranda.model.models import Kind, Record, Scope
from memoranda.model.notes import HistoryEntry
from memoranda.model.ports import Store
from memoranda.notes.history_entries import HistoryEntryWriter
from memoranda.notes.scrub import scrub
from memoranda.notes.service import NotesService
from memoranda.notes.writer import COMMENT, ReadTurns

ERASED = "(erased on request)"


@dataclass(frozen=True, slots=True)
class ErasedText:
    """What was erased: the contents, and which turns of which sessions.

    Attributes:
        contents: what the erased records said.
        turns: session → positions of its erased episodes.
    """

    contents: tuple[str, ...]
    turns: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, records: Sequence[Record]) -> ErasedText:
        """Return the text and turns that erasing ``records`` removes."""
        turns: dict[str, set[int]] = {}
        for record in records:
            placed = record.kind is Kind.EPISODE and record.position is not None
            if placed and record.session_id is not None:
                turns.setdefault(record.session_id, set()).add(record.position or 0)
        return cls(
            tuple(dict.fromkeys(record.content for record in records)),
            {session: frozenset(positions) for session, positions in turns.items()},
        )


class NotesErasure:
    """Takes what is erased out of all notes of a user: the history before, MEMORY.md after it.

    Whatever a crash parts, nothing is left that nobody knows of: an erasure that did not come
    about is asked for again, and a line of MEMORY.md whose record is gone is known by its digest.

    Both methods return how many entries or lines changed, and raise a ``StoreError`` if a file
    cannot be written; the message says which.

    Args:
        notes: finds the notes.
        scope: whose they are.
        erased: what goes.
        store: has the turns that are left.
        entry_writer: makes an entry of them, by rules: a model may remember too well.
        read_turns: reads episodes as turns.
    """

    def __init__(
        self,
        notes: NotesService,
        scope: Scope,
        erased: ErasedText,
        *,
        store: Store,
        entry_writer: HistoryEntryWriter,
        read_turns: ReadTurns,
    ) -> None:
        """Clean nothing yet."""
        self._erased = erased
        self._store = store
        self._entry_writer = entry_writer
        self._read_turns = read_turns
        self._notes = list(notes.every(scope))

    def history(self) -> int:
        """Make entries anew without what is gone, while the turns beside it can still be read."""
        for notes in self._notes:
            notes.erase_damaged(self._erased.contents)
        return sum(notes.rewrite(partial(self._rewrite, notes.scope)) for notes in self._notes)

    def lines(self) -> int:
        """Remove the erased text from MEMORY.md, after the store has erased it."""
        return sum(notes.erase_lines(self._erased.contents) for notes in self._notes)

    def _rewrite(self, scope: Scope, entry: HistoryEntry) -> str | None:
        """Return what the text of an entry becomes."""
        text = entry.text
        found = COMMENT.search(text)
        if found is not None:
            session, first, last = unquote(found[1]), int(found[2]), int(found[3])
            if any(first <= place <= last for place in self._erased.turns.get(session, ())):
                comment = found[0].replace(" raw -->", " -->")
                text = f"{self._anew(scope, session, first, last)}\n{comment}"
        cleaned, lines = scrub(text, self._erased.contents)
        return cleaned if lines else text

    def _anew(self, scope: Scope, session: str, first: int, last: int) -> str:
        """Return the entry of the turns that are left."""
        gone = self._erased.turns.get(session, frozenset())
        left = [
            item
            for item in self._store.episodes(
                scope, session, after=first - 1, limit=last - first + 1
            )
            if (item.position or 0) <= last and item.position not in gone
        ]
        if not left:
            return ERASED
        turns = self._read_turns(scope, None, left)
        return self._entry_writer.write(turns, turns[-1].at) or ERASED
