"""Takes what was erased out of the notes, too (law 7): out of MEMORY.md and the history.

An entry that tells an erased turn is made anew from the turns that are left; whatever else holds
the erased words loses the lines that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from memoranda.learning.turns import page
from memoranda.model.actions import KeepNotes
from memoranda.model.models import Kind, Record
from memoranda.model.notes import HistoryEntry, NotesBase
from memoranda.model.scope import Scope
from memoranda.notes.chronicle import Chronicler
from memoranda.notes.kept import KeptNotes, notes_of
from memoranda.notes.scrub import scrub
from memoranda.notes.telling import COMMENT
from memoranda.parts import Parts

ERASED = "(erased on request)"


@dataclass(frozen=True, slots=True)
class Gone:
    """What was erased: the contents, and which turns of which sessions.

    Attributes:
        contents: what the erased records said.
        turns: session → positions of its erased episodes.
    """

    contents: tuple[str, ...]
    turns: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, records: Sequence[Record]) -> Gone:
        """Return what erasing ``records`` takes away."""
        turns: dict[str, set[int]] = {}
        for record in records:
            told = record.kind is Kind.EPISODE and record.position is not None
            if told and record.session_id is not None:
                turns.setdefault(record.session_id, set()).add(record.position or 0)
        return cls(
            tuple(dict.fromkeys(record.content for record in records)),
            {session: frozenset(positions) for session, positions in turns.items()},
        )


class Cleaning:
    """Cleans all notes of a user of what is erased: the history before, MEMORY.md after it.

    Whatever a crash parts, nothing is left that nobody knows of: an erasure that did not come
    about is asked for again, and a line of MEMORY.md whose record is gone is known by its digest.

    Both methods return how many entries or lines changed, and raise a ``StoreError`` if a file
    cannot be written; the message says which.
    """

    def __init__(self, parts: Parts, scope: Scope, gone: Gone) -> None:
        """Clean the notes of the user of ``scope``."""
        self._gone = gone
        self._parts = parts
        self._notes = list(_every(parts, scope))

    @classmethod
    def of_records(cls, parts: Parts, scope: Scope, records: Sequence[Record]) -> Cleaning:
        """Return what cleans the notes of a user of what erasing ``records`` takes away."""
        return cls(parts, scope, Gone.of(records))

    def history(self) -> int:
        """Make entries anew without what is gone, while the turns beside it can still be read."""
        for notes in self._notes:
            notes.scrub_aside(self._gone.contents)
        return sum(
            notes.rewrite(_Rewriting(self._parts, notes.scope, self._gone).entry)
            for notes in self._notes
        )

    def lines(self) -> int:
        """Take what is gone out of MEMORY.md, now that the store has erased it."""
        return sum(notes.scrubbed(self._gone.contents) for notes in self._notes)


def _every(parts: Parts, scope: Scope) -> Iterator[KeptNotes]:
    """Yield all notes of the user, wherever they are; of a folder that is gone, forget the lines.

    What an agent erases is erased for the user, too.
    """
    user = Scope(scope.user)
    kept = dict.fromkeys(parts.store.notes_kept(user))
    for each in (user, scope):
        notes = notes_of(parts, each)
        if notes is not None:
            kept[each, str(notes.folder)] = None
    for owner, folder in kept:
        if Path(folder).is_dir():
            yield KeptNotes(parts, owner, Path(folder))
        elif (base := parts.store.notes_base(owner, folder)) is not None and base.lines:
            parts.store.apply(owner, [KeepNotes(NotesBase(folder))])


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """Makes entries anew without what is gone."""

    parts: Parts
    scope: Scope
    gone: Gone

    def entry(self, entry: HistoryEntry) -> str | None:
        """Return what the text of an entry becomes."""
        text = entry.text
        found = COMMENT.search(text)
        if found is not None:
            session, first, last = unquote(found[1]), int(found[2]), int(found[3])
            if any(first <= place <= last for place in self.gone.turns.get(session, ())):
                text = f"{self._anew(session, first, last)}\n{found[0].replace(' raw -->', ' -->')}"
        cleaned, lines = scrub(text, self.gone.contents)
        return cleaned if lines else text

    def _anew(self, session: str, first: int, last: int) -> str:
        """Return the entry of the turns that are left, by rules: a model may remember too well."""
        found = self.parts.store.episodes(
            self.scope, session, after=first - 1, limit=last - first + 1
        )
        gone = self.gone.turns.get(session, frozenset())
        left = [
            item for item in found if (item.position or 0) <= last and item.position not in gone
        ]
        if not left:
            return ERASED
        turns = page(self.parts, self.scope, left, {}).turns
        made = Chronicler(self.parts.dates, self.parts.extractor).entry(turns, turns[-1].at)
        return made or ERASED
