"""Which known facts a claim is compared with: those that it may repeat, end, or change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import numpy as np

from memoranda.facts.ontology import attributes
from memoranda.facts.requests import INSTRUCTIONS
from memoranda.learning.claims import ORIGIN, Claim
from memoranda.learning.known_facts import KnownFact, with_attribute
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.query import Filter, Order
from memoranda.store.sql.store import Store
from memoranda.text.terms import TermAnalyzer

# Facts that share terms with a claim, those with the most and the rarest.
MOST_SIMILAR = 8
# Records that are looked through for these, those of the rarer terms.
MOST_MATCHES = 20_000
# Facts of one attribute, the latest.
MOST_OF_ATTRIBUTE = 100
# Latest facts that are looked through for those that were written down without an attribute.
MOST_STATED = 500
_ANALYZER = TermAnalyzer()


class KnownFactFinder:
    """Finds the known facts of one scope that claims are compared with."""

    def __init__(self, store: Store, scope: Scope, now: datetime) -> None:
        """Look at the facts that are active ``now``."""
        self._store, self._scope = store, scope
        self._active = Filter(now=now, kinds=(Kind.FACT,))
        self._facts = frozenset(store.ordinals(scope, self._active))
        latest = store.records(scope, self._active, order=Order.LATEST, limit=MOST_STATED)
        unread = (each for each in latest if each.attribute is None and each.origin != ORIGIN)
        # The facts that nobody learned from a talk, by the attributes that they state.
        self._stated = [with_attribute(each) for each in unread]

    def find(self, claim: Claim) -> list[KnownFact]:
        """Return the facts that a claim may have to do with, the likeliest first."""
        found = self._similar(claim.content)
        for name in _attributes_of(claim):
            # Retired instructions tell whether something was taken back already.
            known = replace(self._active, attribute=name, retired=name in INSTRUCTIONS)
            found += self._records(known, limit=MOST_OF_ATTRIBUTE)
            found += [each for each in self._stated if each.attribute == name]
        cited = list({source for record in found for source in record.source_ids})
        # The sentences, kept as they were said, that a fact was read in.
        found += self._records(replace(self._active, citing=cited)) if cited else ()
        sources, candidates = self._store.get(self._scope, cited), dict[str, KnownFact]()
        for record in found:
            said = [sources[each].event_time for each in record.source_ids if each in sources]
            candidates.setdefault(record.id, KnownFact.of(record, *said))
        return list(candidates.values())

    def _records(self, where: Filter, limit: int | None = None) -> list[Record]:
        return self._store.records(self._scope, where, order=Order.LATEST, limit=limit)

    def _similar(self, text: str) -> list[Record]:
        """Return the facts that share the most and the rarest terms with a text."""
        terms = _ANALYZER.query_terms(text)
        matches = self._store.match_terms(self._scope, terms, limit=MOST_MATCHES)
        rarity = 1 / np.maximum(matches.frequencies, 1)
        order = np.argsort(-((matches.counts > 0) @ rarity), kind="stable")
        best = [each for each in matches.ordinals[order].tolist() if each in self._facts]
        return list(self._store.get(self._scope, best[:MOST_SIMILAR]).values())


def _attributes_of(claim: Claim) -> Iterator[str]:
    """Yield the attributes of which a claim may end a fact."""
    if claim.fact is not None and claim.fact.takes_back:
        yield from INSTRUCTIONS
    elif claim.fact is not None:
        kind = attributes()[claim.fact.attribute]
        yield from (kind.name, *kind.ends, *kind.frees, *kind.opposes)
