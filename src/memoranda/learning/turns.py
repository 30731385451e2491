"""Reads the episodes of a session as turns, without text that memory itself had recalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memoranda.learning.claims import Turn
from memoranda.model.models import Record, Trust
from memoranda.model.query import Filter
from memoranda.records.service import RecordService
from memoranda.search.service import SearchService
from memoranda.text import recalled as recalled_text

SPEAKER = "user"
"""Who said what nobody is named for."""
ALIKE = 5
"""Records among which that is looked for which a line may tell."""


class TurnPage(NamedTuple):
    """Turns to be read together.

    Attributes:
        turns: the turns, in order.
        used: records that were recalled and quoted in them: used, and not newly said.
    """

    turns: tuple[Turn, ...]
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads the episodes of one scope as turns."""

    records: RecordService
    searcher: SearchService

    def read(self, episodes: Sequence[Record], recalled: Mapping[str, str]) -> TurnPage:
        """Return ``episodes`` as turns, without recalled memory: whole lines, or its very words.

        Args:
            episodes: what was said.
            recalled: id → content of the records that were recalled into the session.
        """
        turns: list[Turn] = []
        used: list[str] = []
        for episode in episodes:
            text = recalled_text.without_recalled(episode.content)
            lines = self._recalled_lines(text)
            text, quoted = recalled_text.without_quotes(
                recalled_text.without_lines(text, lines), recalled
            )
            used += [*lines.values(), *quoted]
            turns.append(
                Turn(
                    id=episode.id,
                    speaker=episode.source_role or SPEAKER,
                    text=text,
                    at=episode.event_time.astimezone(self.searcher.zone),
                    person=episode.trust is Trust.PERSON,
                )
            )
        return TurnPage(tuple(turns), tuple(dict.fromkeys(used)))

    def recalled(self, session: str) -> dict[str, str]:
        """Return id and content of the records that were recalled into a session."""
        store, scope = self.records.store, self.records.scope
        found = store.get_many(scope, store.recalled(scope, session))
        # What was said in the session itself is no quote of itself.
        return {record.id: record.content for record in found if record.session_id != session}

    def _recalled_lines(self, text: str) -> dict[str, str]:
        """Return the lines of recall in a text, and which records they tell.

        Those of records that recall had to put on one line, or to cut, are only known by looking
        for them: that is for now, when nobody waits.
        """
        found: dict[str, str] = {}
        for line in recalled_text.lines(text):
            where = Filter(now=self.records.now())
            for hit in self.searcher.search(line, where, limit=ALIKE):
                if recalled_text.is_line_of(line, hit.record.content):
                    found.setdefault(line, hit.record.id)
        return found
