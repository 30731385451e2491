"""Summarizes an entity from the facts about it (``Entity.summary``).

Made when it is asked for, and never stored: so it is never older than the facts, and nothing of
it is left when these are erased.
"""

from __future__ import annotations

from dataclasses import replace

from memoranda.model.models import Entity, Kind, Scope
from memoranda.model.query import Filter, Order
from memoranda.store.sql.store import Store
from memoranda.text.lines import cut, one_line

MOST_RECORDS = 20
MOST_FACTS = 3
# Characters of a summary.
LONGEST = 400


def find_entity(store: Store, scope: Scope, name: str, where: Filter) -> Entity | None:
    """Return the profile of an entity by its name or alias, with the newest records about it."""
    found = store.entities(scope, where, name=name, limit=1)
    if not found:
        return None
    where = replace(where, entity=found[0].id)
    records = store.records(scope, where, order=Order.HAPPENED, limit=MOST_RECORDS)
    return profile(replace(found[0], records=tuple(records)))


def profile(entity: Entity) -> Entity:
    """Return ``entity`` with a summary: the facts about it with the highest confidence.

    What is said of the entity itself comes before what only mentions it, and of equals the
    newer. Superseded facts are left out.
    """
    names = {name.casefold() for name in (entity.name, *entity.aliases)}
    facts = [each for each in entity.records if each.kind is Kind.FACT and not each.superseded_by]
    facts.sort(key=lambda fact: (fact.confidence, fact.event_time), reverse=True)
    facts.sort(key=lambda fact: str(fact.metadata.get("subject", "")).casefold() not in names)
    text = " ".join(one_line(fact.content) for fact in facts[:MOST_FACTS])
    return replace(entity, summary=cut(text, LONGEST) or None)
