"""Takes what was erased out of the notes, too (law 7): out of MEMORY.md and the history.

An entry that tells an erased turn is made anew from the turns that are left; whatever else holds
the erased words loses the lines that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from recollect.app.notes.kept import KeptNotes, notes_of
from recollect.app.notes.places import AGENTS
from recollect.app.notes.telling import COMMENT
from recollect.app.parts import Parts
from recollect.app.turns import page
from recollect.core.models import Kind, Record
from recollect.core.notes import HistoryEntry
from recollect.core.scope import Scope
from recollect.lifecycle.chronicle import Chronicler
from recollect.notes import Notes
from recollect.notes.scrub import scrub

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


def erase(parts: Parts, scope: Scope, gone: Gone) -> int:
    """Take what is gone out of all notes of the user; return how many lines and entries changed.

    Called when the store has erased it.

    Raises:
        StoreError: a file cannot be written; the message says which.
    """
    return sum(
        notes.scrubbed(gone.contents) + notes.rewrite(_Rewriting(parts, notes.scope, gone).entry)
        for notes in _every(parts, scope)
    ) + sum(_others(parts, scope, gone))


def _every(parts: Parts, scope: Scope) -> Iterator[KeptNotes]:
    """Yield the notes of the user, and those of the agent whose memory it is."""
    for each in dict.fromkeys([Scope(scope.user), scope]):
        notes = notes_of(parts, each)
        if notes is not None and notes.folder.is_dir():
            yield notes


def _others(parts: Parts, scope: Scope, gone: Gone) -> Iterator[int]:
    """Clean the notes of the user's other agents, of which only the folders are known here."""
    shared, own = notes_of(parts, Scope(scope.user)), notes_of(parts, scope)
    folder = None if shared is None else shared.folder / AGENTS
    if folder is None or not folder.is_dir():
        return
    for each in sorted(folder.iterdir()):
        if each.is_dir() and (own is None or each.resolve() != own.folder):
            notes = Notes(each, clock=parts.clock)
            cleaned, lines = scrub(notes.read_memory(), gone.contents)
            if lines:
                notes.write_memory(cleaned)
            yield lines + notes.rewrite(_Rewriting(parts, None, gone).entry)


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """Makes entries anew without what is gone; of a scope that is not known, none."""

    parts: Parts
    scope: Scope | None
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
        if self.scope is None:
            return ERASED
        found = self.parts.store.episodes(
            self.scope, session, after=first - 1, limit=last - first + 1
        )
        left = [item for item in found if (item.position or 0) <= last]
        if not left:
            return ERASED
        turns = page(self.parts, self.scope, left, {}).turns
        made = Chronicler(self.parts.dates, self.parts.extractor).entry(turns, turns[-1].at)
        return made or ERASED
