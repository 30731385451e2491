"""Plans the correction of records."""

from __future__ import annotations

from datetime import datetime

from memoranda.model.actions import Action, Close, Insert
from memoranda.model.models import Record
from memoranda.records.drafts import Draft

# Origins of what stands on its own word: sources it has only say it, too.
STATED = frozenset({"api", "tool", "notes"})


def draft_correction(old: Record, content: str) -> Draft:
    """Return the draft that takes the place of ``old``: the same but for its text.

    It is believed fully, happened when the old one did, and goes with the sources of what was
    drawn from them when these are erased.
    """
    told = old.origin in STATED
    return Draft(
        content=content,
        kind=old.kind,
        tags=old.tags,
        metadata={**old.attributes, "supersedes": old.id},
        event_time=old.event_time,
        session=old.session_id,
        role=old.source_role,
        decay_rate=old.decay_rate,
        source_ids=() if told else old.source_ids,
        origin=old.origin if told else "correction",
    )


def plan_correction(old: Record, new: Insert, at: datetime) -> list[Action]:
    """Plan that ``new`` supersedes ``old``, which stays for ``as_of`` and history."""
    return [new, Close(old.id, at, "corrected", superseded_by=new.record.id)]
