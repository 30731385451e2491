"""Episodes of a session as extractors read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.app.parts import Parts
from recollect.core.models import Record, Trust
from recollect.core.scope import Scope
from recollect.lifecycle import returned
from recollect.lifecycle.claims import Turn

SPEAKER = "user"
"""Who said what nobody is named for."""


class Page(NamedTuple):
    """Turns to be read together.

    Attributes:
        turns: the turns, in order.
        used: records that were recalled and quoted in them: used, and not newly said.
    """

    turns: tuple[Turn, ...]
    used: tuple[str, ...]


def page(parts: Parts, episodes: Sequence[Record], recalled: Mapping[str, str]) -> Page:
    """Return ``episodes`` without what they quote of ``recalled`` records (id → content)."""
    turns: list[Turn] = []
    used: list[str] = []
    for episode in episodes:
        text, quoted = returned.without_quotes(returned.without_recalled(episode.content), recalled)
        used += quoted
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


def recalled(parts: Parts, scope: Scope, session: str) -> dict[str, str]:
    """Return id and content of the records that were recalled into a session."""
    ids = parts.store.recalled(scope, session)
    found = parts.store.get_many(scope, ids)
    # What was said in the session itself is no quote of itself.
    return {record.id: record.content for record in found if record.session_id != session}
