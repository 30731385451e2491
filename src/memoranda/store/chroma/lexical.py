"""The full-text arm: which records of a user hold which terms, and how often.

Chroma ranks no words, so an inverted index of the user's words is made in memory when it is
first asked for: for each term the ordinals of the records that hold it, and how often each does.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memoranda.model.ports import Analyzer
from memoranda.model.query import TermMatches
from memoranda.store.chroma.rows import Stored
from memoranda.store.chroma.search import after
from memoranda.store.chroma.state import State

MOST = 255
Ordinals = npt.NDArray[np.int64]


@dataclass(slots=True)
class Holders:
    """Who holds a term: ordinals in their order, and a byte for each with how often."""

    ordinals: array[int] = field(default_factory=lambda: array("q"))
    counts: bytearray = field(default_factory=bytearray)

    def add(self, ordinal: int, count: int) -> None:
        """Let a record hold the term so often."""
        place = bisect_left(self.ordinals, ordinal)
        self.ordinals.insert(place, ordinal)
        self.counts.insert(place, min(MOST, count))

    def remove(self, ordinal: int) -> None:
        """Let a record hold the term no longer."""
        place = bisect_left(self.ordinals, ordinal)
        del self.ordinals[place], self.counts[place]


NOBODY_HOLDS = Holders()


class Postings:
    """An inverted index of one state, all of its records, active or not.

    Attributes:
        state: whose records they are.
    """

    def __init__(self, state: State, analyzer: Analyzer) -> None:
        """Hold nothing yet: :meth:`follow` reads the records."""
        self.state = state
        self._analyzer = analyzer
        self._version = -1
        self._last = 0
        self._known: dict[int, str] = {}
        self._lengths: dict[int, int] = {}
        self._holders: dict[str, Holders] = {}

    def follow(self) -> None:
        """Take in the records that came, and let go of those that went; their texts never change.

        Only what is looked at by whoever holds the lock of the store is whole, so this is asked
        for outside of transactions alone.
        """
        state = self.state
        if self._version == state.version:
            return
        for row in after(state, self._last):
            self._add(row)
        if len(self._known) > len(state.records):
            for ordinal in self._known.keys() - state.indexes.ordinals.keys():
                self._remove(ordinal)
        self._last = state.counters.ordinal
        self._version = state.version

    def holders(self, term: str) -> Holders:
        """Return who holds a term."""
        return self._holders.get(term, NOBODY_HOLDS)

    def lengths(self, ordinals: Sequence[int]) -> list[int]:
        """Return how many terms each of these records has."""
        return [self._lengths[ordinal] for ordinal in ordinals]

    def _add(self, row: Stored) -> None:
        counts = Counter(self._analyzer.terms(row.record.content))
        for term, count in counts.items():
            holders = self._holders.get(term)
            if holders is None:
                holders = self._holders[term] = Holders()
            holders.add(row.ordinal, count)
        self._lengths[row.ordinal] = counts.total()
        self._known[row.ordinal] = row.record.content

    def _remove(self, ordinal: int) -> None:
        content = self._known.pop(ordinal)
        del self._lengths[ordinal]
        for term in set(self._analyzer.terms(content)):
            holders = self._holders[term]
            holders.remove(ordinal)
            if not holders.ordinals:
                del self._holders[term]


def nothing(terms: Sequence[str]) -> TermMatches:
    """Return that no record holds any of ``terms``."""
    return TermMatches((), (), (), (0,) * len(terms))


def match_terms(postings: Postings, terms: Sequence[str], *, limit: int) -> TermMatches:
    """Return the records of the user that hold any of ``terms`` (see the port)."""
    postings.follow()
    held = [postings.holders(term) for term in terms]
    frequencies = [len(each.ordinals) for each in held]
    if not any(frequencies):
        return nothing(terms)
    arrays = [np.array(each.ordinals, np.int64) for each in held]
    order = sorted(range(len(terms)), key=lambda place: (frequencies[place], terms[place]))
    chosen = _chosen([arrays[place] for place in order], limit)
    counts = np.zeros((len(chosen), len(terms)), np.uint8)
    for place, (ordinals, each) in enumerate(zip(arrays, held, strict=True)):
        among = np.isin(ordinals, chosen, assume_unique=True)
        counted = np.frombuffer(bytes(each.counts), np.uint8)
        counts[np.searchsorted(chosen, ordinals[among]), place] = counted[among]
    found: list[int] = chosen.tolist()
    return TermMatches(
        ordinals=found,
        counts=[row.tobytes() for row in counts],
        lengths=postings.lengths(found),
        frequencies=frequencies,
    )


def _chosen(arrays: Sequence[Ordinals], limit: int) -> Ordinals:
    """Return at most ``limit`` records: array by array, the oldest first where room gets short."""
    every: Ordinals = np.unique(np.concatenate(arrays))
    if len(every) <= limit:
        return every
    chosen: Ordinals = np.empty(0, np.int64)
    for ordinals in arrays:
        more = np.setdiff1d(ordinals, chosen, assume_unique=True)
        chosen = np.union1d(chosen, more[: limit - len(chosen)])
        if len(chosen) >= limit:
            break
    return chosen
