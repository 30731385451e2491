"""Which known facts a claim is compared with: those that it may repeat, end, or change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import chain

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
        self._facts = np.sort(np.array(store.ordinals(scope, self._active), np.int64))
        latest = self._records(self._active, limit=MOST_STATED)
        # The facts that nobody learned from a talk, by the attributes that they state.
        self._stated = [with_attribute(each) for each in latest if each.origin != ORIGIN]

    def find(self, claims: Sequence[Claim]) -> list[list[KnownFact]]:
        """Return for each claim the facts that it may have to do with, the likeliest first."""
        related = cache(self._related)
        found = [[*related(each.content, *_attributes_of(each))] for each in claims]
        cited = {source for each in chain(*found) for source in each.source_ids}
        # The sentences, kept as they were said, that a fact was read in.
        sentences = self._records(replace(self._active, citing=[*cited]))
        for some in found:
            own = {source for each in some for source in each.source_ids}
            some += [each for each in sentences if not own.isdisjoint(each.source_ids)]
        said = self._store.last_said(self._scope, [each.id for each in chain(*found)])
        known = {each.id: KnownFact.of(each, said.get(each.id)) for each in chain(*found)}
        return [[known[key] for key in dict.fromkeys(each.id for each in some)] for some in found]

    def _records(self, where: Filter, limit: int | None = None) -> list[Record]:
        return self._store.records(self._scope, where, order=Order.LATEST, limit=limit)

    def _related(self, text: str, *names: str) -> list[Record]:
        """Return the facts that share the most and the rarest terms with a text, and some others.

        Those are of the attributes of these ``names``.
        """
        shared = np.zeros(len(self._facts))
        terms = _ANALYZER.query_terms(text)
        for holders, _ in self._store.postings(self._scope, terms).values():
            shared[np.isin(self._facts, holders)] += 1 / max(len(holders), 1)
        best = np.argsort(-shared, kind="stable")[: min(MOST_SIMILAR, np.count_nonzero(shared))]
        found = [*self._store.get(self._scope, self._facts[best].tolist()).values()]
        for name in names:
            # Retired instructions tell whether something was taken back already.
            known = replace(self._active, attribute=name, retired=name in INSTRUCTIONS)
            found += self._records(known, limit=MOST_OF_ATTRIBUTE)
            found += [each for each in self._stated if each.attribute == name]
        return found


def _attributes_of(claim: Claim) -> Iterable[str]:
    """Return the attributes of which a claim may end a fact."""
    if claim.fact is None:
        return ()
    if claim.fact.takes_back:
        return INSTRUCTIONS
    kind = attributes()[claim.fact.attribute]
    return kind.name, *kind.ends, *kind.frees, *kind.opposes
