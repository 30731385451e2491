"""What was learned and waits for a person's approval (``consolidation.approve``).

A proposal is stored as a fact that was not believed at any moment: no reader finds it. What follows
from it is planned when a person keeps it, as of what is known then; it becomes a fact of that
moment, and the proposal is its former version.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from memoranda.facts.reader import FactStatement
from memoranda.learning.claims import ORIGIN, Category, Claim
from memoranda.learning.known_facts import stated_facts, when_said
from memoranda.model.changes import (
    PROPOSED,
    Close,
    Insert,
    RecordChange,
    Reinforce,
    Reweigh,
    Supersede,
)
from memoranda.model.models import Record, Trust, is_active
from memoranda.records.drafts import HELD, Draft, draft_correction
from memoranda.records.service import RecordService


def plan_proposal(
    records: RecordService, draft: Draft, fact: FactStatement | None = None
) -> Insert:
    """Return the action that stores a draft until a person keeps it, unless it is known.

    Its metadata hold what its text does not say: its end, and the attribute as it was read in its
    talk, where "Dana" was the user's wife, and which value is over.
    """
    ends, metadata = draft.get("valid_until"), dict(draft.get("metadata") or {})
    if ends is not None:
        metadata[HELD] = ends.isoformat()
    elif fact is not None:
        metadata[HELD] = asdict(fact)
    return records.plan({**draft, "metadata": metadata}, reason=PROPOSED, unless_known=True)


@dataclass(frozen=True, slots=True)
class ProposalKeeper:
    """Makes facts of proposals that a person keeps.

    Attributes:
        records: stores the facts.
        plan: plans what follows from claims of a session that a person stands behind.
    """

    records: RecordService
    plan: Callable[..., list[RecordChange]]

    def keep(
        self, held: Record, content: str | None = None, *, version: str | None = None
    ) -> Record:
        """Believe what a proposal says fully and for ever; return the fact.

        Args:
            held: the proposal.
            content: what the fact says in its place.
            version: only where the proposal is of this version.

        Raises:
            InvalidInput: it was kept or dropped meanwhile.
            Conflict: it is of another version.
        """
        records = self.records.of(replace(self.records.scope, agent=held.agent))
        now = records.now()
        plan = self._plan_learned if held.origin == ORIGIN else self._plan_stored
        changes = plan(records, held, content)
        made = [each.record.id for each in changes if isinstance(each, Insert)]
        known = [each.id for each in changes if isinstance(each, Reinforce)]
        kept = next(iter([*made, *known]), None)
        ended = {each.id for each in changes if isinstance(each, Supersede)}
        if kept is not None and kept not in ended:
            changes.append(Reweigh(kept, now, 1.0, 0.0, "confirmed"))
        changes.append(Close(held.id, now, "approved", superseded_by=kept, only_open=True))
        records.change(held.id, version, changes)
        return records.existing(kept or held.id)

    def _plan_learned(
        self, records: RecordService, held: Record, content: str | None
    ) -> list[RecordChange]:
        """Plan what follows from a fact that consolidation drew."""
        category = str(held.metadata.get("category"))
        if content is None:
            fact = _read_held(held)
        else:
            stated = stated_facts(content, held.user)
            fact = stated[0] if len(stated) == 1 else None
        claim = Claim(
            content=content or held.content,
            subject=str(held.metadata.get("subject", "")),
            category=Category(category) if category in {*Category} else Category.STATE,
            sources=held.source_ids,
            speaker=held.source_role or "",
            person=held.trust is Trust.PERSON,
            said_at=when_said(held),
            event_time=held.event_time,
            event_until=held.event_until,
            confidence=held.confidence,
            fact=fact,
        )
        return self.plan(held.session_id or "", [claim], scope=records.scope, approved=True)

    def _plan_stored(
        self, records: RecordService, held: Record, content: str | None
    ) -> list[RecordChange]:
        """Plan what follows from a fact, or a correction of one, that an agent stored."""
        draft, now = draft_correction(held, content or held.content), records.now()
        draft |= {"supersedes": held.supersedes}
        if HELD in held.metadata:
            draft |= {"valid_until": datetime.fromisoformat(held.metadata[HELD])}
        insert = records.plan(draft)
        corrected = None if held.supersedes is None else records.find(held.supersedes)
        if corrected is None or not is_active(corrected, now):
            return [insert]
        return [insert, Close(corrected.id, now, "corrected", superseded_by=insert.record.id)]


def _read_held(held: Record) -> FactStatement | None:
    """Return the attribute of a proposal as it was read in its talk, if one was."""
    with suppress(KeyError, TypeError):
        told = held.metadata[HELD]
        return FactStatement(**{**told, "aliases": tuple(told["aliases"])})
    return None
