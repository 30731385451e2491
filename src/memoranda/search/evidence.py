"""The arms: the evidence of each retrieval method for every record of a user.

Each is a function from arrays to an array with one number a record, in a unit of its own
that does not depend on the other records found: a share of the query, a cosine. So the
numbers of different queries can be compared, and adding them up needs no normalising.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memoranda.model.query import TermMatches, Vector
from memoranda.search.index import Floats, Rows

K1, B = 1.2, 0.75  # BM25 (Robertson and Zaragoza 2009), as in FTS5
FULL_LENGTH = 200.0  # characters from which a text counts as substantial

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lexical:
    """Evidence from the words of the query.

    Attributes:
        bm25: BM25 of each record with the user's own statistics.
        coverage: share (0 to 1) of the query, weighed by how rare its words are, that
            stands in the record or around it.
    """

    bm25: Floats
    coverage: Floats


def lexical(rows: Rows, matches: TermMatches, visible: Mask, *, around: bool = True) -> Lexical:
    """Return how much of the query's words each record holds, itself or with those ``around``."""
    nothing = np.zeros(len(rows), np.float32)
    if not matches.ordinals:
        return Lexical(nothing, nothing)
    terms = len(matches.frequencies)
    places, known = rows.found(matches.ordinals)
    counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, terms)[known]
    lengths = np.asarray(matches.lengths, np.float32)[known]
    mean = rows.table["terms"][visible & ~_said_again(rows, visible)].mean() if visible.any() else 1
    saturation = K1 * (1 - B + B * lengths / max(float(mean), 1.0))
    held = np.zeros((terms, len(rows)), np.float32)
    held[:, places] = ((K1 + 1) * counts / (counts + saturation[:, None])).T
    held[:, ~visible] = 0
    weights = rarity(rows, matches, visible)
    shared = np.minimum(1, held)
    if around:
        shared = np.minimum(1, rows.surroundings.gathered(shared))
    coverage = _summed(weights, shared) / max(float(weights.sum()), 1e-9)
    return Lexical(_summed(weights, held), coverage.astype(np.float32))


def _summed(weights: Floats, of_terms: Floats) -> Floats:
    summed: Floats = np.einsum("t,tr->r", weights, of_terms)
    return summed


def rarity(rows: Rows, matches: TermMatches, visible: Mask) -> Floats:
    """Return how informative each term of the query is: the rarer, the more.

    A fact that was drawn from a turn says its words again, which makes them no more common;
    a word that facts alone use counts as used once.
    """
    frequencies = np.array(matches.frequencies, np.float64)
    least = np.minimum(frequencies, 1)
    again = _said_again(rows, visible)
    if again.any() and matches.ordinals:
        places, known = rows.found(matches.ordinals)
        counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, len(frequencies))
        frequencies -= np.count_nonzero(counts[known][again[places]], axis=0)
    # Lucene's form, which is never negative. A word that nobody used says nothing.
    population = int((visible & ~again).sum())
    held = np.minimum(np.maximum(frequencies, least), population)
    weights = np.log1p((population - held + 0.5) / (held + 0.5))
    return np.where(held > 0, weights, 0).astype(np.float32)


def held(rows: Rows, matches: TermMatches, weights: Floats) -> Floats:
    """Return the share (0 to 1) of the query, by the ``weights`` of its terms, in each record."""
    share = np.zeros(len(rows), np.float32)
    if matches.ordinals:
        places, known = rows.found(matches.ordinals)
        counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, len(weights))
        whole = np.where(counts[known] > 0, weights, np.float32(0)).sum(axis=1)
        share[places] = whole / max(float(weights.sum()), 1e-9)
    return share


def _said_again(rows: Rows, visible: Mask) -> Mask:
    """Return which records are facts beside what they were drawn from."""
    again: Mask = np.zeros(len(rows), bool)
    facts, sources = rows.sources.T
    again[facts[visible[facts] & visible[sources]]] = True
    return again


@dataclass(frozen=True, slots=True)
class Semantic:
    """Evidence from the meaning of the query.

    Attributes:
        likeness: cosine of each record's vector to the query's.
        around: mean cosine of the records around it, the nearer the heavier, itself included.
    """

    likeness: Floats
    around: Floats


def semantic(rows: Rows, vector: Vector | None, visible: Mask) -> Semantic:
    """Return how near each record is in meaning; zeros where there are no vectors."""
    found = likeness(rows, vector)
    if found is None:
        nothing = np.zeros(len(rows), np.float32)
        return Semantic(nothing, nothing)
    return Semantic(found, rows.surroundings.mean(found, visible))


def likeness(rows: Rows, vector: Vector | None) -> Floats | None:
    """Return the cosine of each record to the query, 0 at least; ``None`` without vectors."""
    if vector is None or rows.vectors.shape[1] != len(vector):
        return None
    # Not `@`: on several cores it shares the work among threads, which takes half the time on
    # an idle machine and a hundred times as long, now and then, on a busy one.
    # A negative cosine is no evidence against a record, only none for it.
    found: Floats = np.maximum(np.vecdot(rows.vectors, vector), np.float32(0))
    return found


def entities(rows: Rows, matches: Sequence[tuple[int, int]], asked: int) -> Floats:
    """Return the share (0 to 1) of the query's names that each record mentions."""
    share = np.zeros(len(rows), np.float32)
    if matches and asked:
        ordinals, counts = zip(*matches, strict=True)
        places, known = rows.found(ordinals)
        share[places] = np.minimum(1, np.asarray(counts, np.float32)[known] / asked)
    return share


def temporal(rows: Rows, since_ms: int, until_ms: int) -> Floats:
    """Return 1 for each record that happened in the time the query names, else 0."""
    event = rows.table["event"]
    named: Floats = ((event >= since_ms) & (event < until_ms)).astype(np.float32)
    return named


def substance(rows: Rows) -> Floats:
    """Return how far each text is long enough (0 to 1) to say something of its own."""
    length: Floats = rows.table["length"]
    share: Floats = np.minimum(1, length / np.float32(FULL_LENGTH)).astype(np.float32)
    return share


def said_by(rows: Rows, speaker: str) -> Floats:
    """Return 1 for each record that ``speaker`` said, else 0."""
    number = rows.speakers.get(speaker)
    if number is None:
        return np.zeros(len(rows), np.float32)
    said: Floats = (rows.table["speaker"] == number).astype(np.float32)
    return said
