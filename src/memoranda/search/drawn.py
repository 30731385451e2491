"""Which facts were drawn from turns that are shown: where a turn is told, they are told with it."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.model.actions import Touch
from memoranda.model.life import believed
from memoranda.model.models import Hit, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.parts import Parts

Drawn = dict[str, list[Record]]
"""By the id of a turn the facts that were drawn from it."""


def drawn(parts: Parts, scope: Scope, hits: Sequence[Hit], where: Filter) -> Drawn:
    """Return the believed facts that were drawn from the turns among ``hits``."""
    turns = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
    found: Drawn = {}
    if not turns:
        return found
    for record in parts.store.resting(scope, turns):
        holds = believed(record, where.now) and record.superseded_by is None
        if record.kind is Kind.FACT and holds:
            for source in set(record.source_ids) & set(turns):
                found.setdefault(source, []).append(record)
    return found


def used(
    parts: Parts, scope: Scope, hits: Sequence[Hit], where: Filter, session: str | None = None
) -> Drawn:
    """Count ``hits`` as accessed, with the facts drawn from them; return these, by turn."""
    facts = drawn(parts, scope, hits, where)
    told = [hit.record.id for hit in hits]
    told += [fact.id for each in facts.values() for fact in each]
    if told:
        touch = Touch(tuple(dict.fromkeys(told)), parts.now(), session)
        parts.store.apply(scope, [touch])
    return facts
