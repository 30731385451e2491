"""What of memory a model is shown: no secrets, and nothing that a person has forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memoranda.model.life import believed
from memoranda.model.models import Hit, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.text.secrets import looks_secret, without_secrets

GREETING = re.compile(
    r"(?:\W*(?:hi+|hello|hey+|yo|good (?:morning|afternoon|evening|night)|thanks?(?: you)?|thx|ty|"
    r"cheers|ok(?:ay)?|k|yes|yeah|yep|no|nope|sure|great|cool|nice|perfect|fine|bye|goodbye|hallo|"
    r"danke|bitte|ja|nein|merci|salut|bonjour|oui|non|hola|gracias|vale|si|sí|ola|olá|obrigad[oa]|"
    r"sim|there|again|all|everyone|you|so|very|much|a lot)\b)+\W*",
    re.IGNORECASE,
)
FORGOTTEN = "close"
"""The action in a record's history by which somebody, and not time, ended it."""


def shown(record: Record) -> Record:
    """Return a record without what seems to be secret in it: it may go to a model."""
    if not looks_secret(record.content):
        return record
    return replace(record, content=without_secrets(record.content))


def is_small_talk(text: str) -> bool:
    """Return whether a prompt only greets, thanks or agrees: memory has nothing to say to it."""
    return GREETING.fullmatch(text) is not None


def for_model(
    parts: Parts,
    scope: Scope,
    query: str,
    where: Filter,
    *,
    limit: int,
    skip: frozenset[str] = frozenset(),
) -> list[Hit]:
    """Search, without turns from which a fact was drawn that somebody has forgotten.

    What else they say is known by the facts that are left; what was to be forgotten is not
    told again in the very words it came from. They stay in the transcript, and searchable.
    """
    least = parts.least(None)
    hits = parts.found(scope, query, where, limit=limit, min_score=least, skip=skip)
    turns = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
    facts = [
        fact
        for fact in (parts.store.resting(scope, turns) if turns else ())
        if fact.kind is Kind.FACT and fact.superseded_by is None
    ]
    hidden = {
        turn
        for fact in facts
        if not believed(fact, where.now) and _by_hand(parts, scope, fact)
        for turn in fact.source_ids
    }
    left = [fact for fact in facts if believed(fact, where.now)]
    return list(_told(hits, hidden, left)) if hidden else hits


def _told(hits: Sequence[Hit], hidden: set[str], facts: Sequence[Record]) -> Iterator[Hit]:
    """Yield hits with facts in the place of the hidden turns they were drawn from, each once."""
    there = {hit.record.id for hit in hits}
    for hit in hits:
        if hit.record.id not in hidden:
            yield hit
            continue
        for fact in facts:
            if hit.record.id in fact.source_ids and fact.id not in there:
                there.add(fact.id)
                yield replace(hit, record=fact)


def _by_hand(parts: Parts, scope: Scope, fact: Record) -> bool:
    return any(change.action == FORGOTTEN for change in parts.store.history(scope, fact.id))
