"""Episodes of a session as extractors read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memoranda.learning.claims import Turn
from memoranda.model.models import Record, Trust
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.text import recalled as returned

SPEAKER = "user"
"""Who said what nobody is named for."""
ALIKE = 5
"""Records among which that is looked for which a line may tell."""


class Page(NamedTuple):
    """Turns to be read together.

    Attributes:
        turns: the turns, in order.
        used: records that were recalled and quoted in them: used, and not newly said.
    """

    turns: tuple[Turn, ...]
    used: tuple[str, ...]


def page(
    parts: Parts, scope: Scope, episodes: Sequence[Record], recalled: Mapping[str, str]
) -> Page:
    """Return ``episodes`` without what memory had told, by lines or by its words.

    Args:
        parts: of the memory.
        scope: whose episodes they are.
        episodes: what was said.
        recalled: id → content of the records that were recalled into the session.
    """
    turns: list[Turn] = []
    used: list[str] = []
    for episode in episodes:
        text = returned.without_recalled(episode.content)
        retold = _retold(parts, scope, text)
        text, quoted = returned.without_quotes(returned.without_lines(text, retold), recalled)
        used += [*retold.values(), *quoted]
        turns.append(
            Turn(
                id=episode.id,
                speaker=episode.source_role or SPEAKER,
                text=text,
                at=episode.event_time.astimezone(parts.settings.zone),
                person=episode.trust is Trust.PERSON,
            )
        )
    return Page(tuple(turns), tuple(dict.fromkeys(used)))


def _retold(parts: Parts, scope: Scope, text: str) -> dict[str, str]:
    """Return the lines of recall in a text, and which records they tell.

    Those of records that recall had to put on one line, or to cut, are only known by looking
    for them: that is for now, when nobody waits.
    """
    found: dict[str, str] = {}
    for line in returned.lines(text):
        hits = parts.searcher(scope).search(line, Filter(now=parts.now()), limit=ALIKE)
        for hit in hits:
            if returned.is_line_of(line, hit.record.content):
                found.setdefault(line, hit.record.id)
    return found


def recalled(parts: Parts, scope: Scope, session: str) -> dict[str, str]:
    """Return id and content of the records that were recalled into a session."""
    ids = parts.store.recalled(scope, session)
    found = parts.store.get_many(scope, ids)
    # What was said in the session itself is no quote of itself.
    return {record.id: record.content for record in found if record.session_id != session}
