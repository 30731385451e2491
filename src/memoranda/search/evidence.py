"""The arms, each the evidence of one retrieval method, and their fusion to one score.

An arm is a function from arrays to an array with one number a record, in a unit of its own
that does not depend on the other records found: a share of the query, a cosine. So the
numbers of different queries can be compared, and adding them up needs no normalising.

Of the fusions, ``blend`` adds the arms up by fixed weights. ``rrf`` is reciprocal rank fusion
(Cormack, Clarke and Büttcher 2009; requirement S4.60), which looks at ranks alone. ``cosine`` is
meaning alone (requirement S1.15): what is not like the query at all, at a right angle or beyond,
is no answer, and neither age, nor confidence, nor what stands around a record counts, so the same
two texts always score the same.

Late interaction: one vector of a whole turn blurs what it says. Here each token of the question
looks for the token most like it, in the candidate or, fainter, in the turns around it, and the
rarer its word is, the more that counts (ColBERT, Khattab and Zaharia 2020; here with a frozen
sentence model, weights and neighbours). Only the best candidates of the other arms are compared, so
that the vectors are read from the store as they are needed and take no memory.

A fact says again what a turn said. Shown side by side they would look like two pieces of
evidence, so one stands for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log1p

import numpy as np

from memoranda.facts.reader import INSTRUCTION
from memoranda.model.models import ArmEvidence
from memoranda.model.query import EmbeddedText, Postings, Vector
from memoranda.search.index import (
    FAINTEST,
    FARTHEST,
    TALK_FADE,
    WORD,
    Floats,
    Mask,
    Places,
    Rows,
    are_others,
)
from memoranda.store.sql.index_reads import NO_NUMBER
from memoranda.text.terms import TermAnalyzer

K1, B = 1.2, 0.75  # BM25 (Robertson and Zaragoza 2009), as in FTS5
ANALYZER = TermAnalyzer()  # What makes terms, as it made those of the index.
DAY_MS = 86_400_000
SHORT_MS = 40 * DAY_MS  # a stretch of time outside which evidence fades
FADE_MS = 7 * DAY_MS  # over which it falls to 1/e
WITHIN = 1.0  # evidence of what happened in the time that a query names
# Records that are compared: of 500 turns as many find as much as 100, and who has thousands needs
# more.
FEW_RECORDS, CANDIDATES = 1_000, (64, 100)
FUNCTION_WORD = 1.0  # the weight of those, of a question; a word of one record in 3 has as much
AROUND = 0.7  # the share of the evidence that may come from neighbours; the rest is a text's own
SMALL = 524_287  # multiplications that one thread does
TILE = 8  # columns that it does at once
NO_POSTINGS = Postings(np.empty(0, np.int64), np.empty(0, np.int64))


class LexicalEvidence:
    """What the words of a query say about each record.

    Attributes:
        rarity: how rare each word of the query is, in Lucene's form, which is never negative.
        weights: how informative each is: the rarer, the more; 0, if nobody used it.
        coverage: the share (0 to 1) of the query in each record.
    """

    def __init__(self, rows: Rows, postings: Sequence[Postings], visible: Mask) -> None:
        """Weigh the words of a query.

        Args:
            rows: the user's records.
            postings: of each word, the rows that hold it.
            visible: those that count. What does not count is not counted here.
        """
        held, self._rows, self._visible = [NO_POSTINGS, *postings], rows, visible
        records, times = map(np.concatenate, zip(*held, strict=True))
        words = np.repeat(np.arange(-1, len(postings)), [len(each.keys) for each in held])
        counted = visible[records]
        self._words, self._records = words[counted], records[counted]
        times = times[counted].astype(np.float32)
        population = int(np.count_nonzero(visible))
        self._unique = log1p((population - 0.5) / 1.5)  # What a word weighs that one record holds.
        holders = np.bincount(self._words, minlength=len(postings)).astype(np.float32)
        self.rarity: Floats = np.log1p((population - holders + 0.5) / (holders + 0.5))
        self.weights = self.rarity * (holders > 0)
        self._whole = max(self.weights.sum(), 1e-9)
        lengths = rows["terms"]
        mean = max((lengths * visible).sum() / max(population, 1), 1.0)
        saturation = K1 * (1 - B + B / mean * lengths[self._records])
        # How far a record holds a word: more often counts ever less.
        self._saturated = (K1 + 1) * times / (times + saturation)
        self._held_once = np.minimum(1, self._saturated)
        self.coverage = self._summed(self._held_once) / self._whole

    def bm25(self) -> Floats:
        """Return BM25 of each record with the user's own statistics."""
        return self._summed(self._saturated)

    def likeness(self) -> Floats:
        """Return how like the query each record is (0 to 1), where words alone can tell it.

        1 for a word that no other record holds, or for several that together are as rare.
        """
        likeness: Floats = np.minimum(1, self._summed(1.0) / self._unique)
        return likeness

    def spread(self, likeness: Floats) -> tuple[Floats, Floats]:
        """Return what each record has with its neighbours: a share of the query, mean likeness."""
        around = self._rows.surroundings
        evidence = np.zeros((len(self.weights) + 2, len(likeness)), np.float32)
        evidence[self._words, around.place[self._records]] = self._held_once
        evidence[-1] = self._visible[around.order]
        evidence[-2] = likeness[around.order] * evidence[-1]
        *_, gathered, weights = found = around.gathered(evidence)
        shares = np.einsum("t,tr->r", self.weights, np.minimum(1, found[:-2])) / self._whole
        return shares[around.place], (gathered / np.maximum(weights, FAINTEST))[around.place]

    def _summed(self, of_held: Floats | float) -> Floats:
        # One by one, as the weights are added up: what holds all words has exactly all of it.
        summed = np.zeros(len(self._rows), np.float32)
        np.add.at(summed, self._records, self.weights[self._words] * of_held)
        return summed


def likeness(rows: Rows, vector: Vector | None) -> Floats:
    """Return the cosine of each record to the query; 0 at least, and without a vector."""
    if vector is None:
        return np.zeros(len(rows), np.float32)
    # A negative cosine is no evidence against a record, only none for it.
    return rows.vectors.dot(vector).clip(0, 1)


def entities(rows: Rows, matches: Sequence[tuple[int, int]], asked: int) -> Floats:
    """Return the share (0 to 1) of the query's names that each record mentions."""
    share = np.zeros(len(rows), np.float32)
    ordinals, counts = np.array(matches, np.int64).reshape(-1, 2).T
    places, known = rows.found(ordinals)
    share[places] = np.minimum(1, counts[known] / max(asked, 1))
    return share


def temporal(rows: Rows, since_ms: int, until_ms: int) -> Floats:
    """Return 1 for each record that happened in the time the query names, if in part.

    What happened outside a short stretch has the less the farther it is, for people tell of a day
    on the days after it.
    """
    apart = np.maximum(since_ms - rows["over"], rows["event"] - until_ms)
    short = until_ms - since_ms < SHORT_MS
    near: Floats = np.exp(-np.maximum(apart, 0) / FADE_MS).astype(np.float32)
    near[near < FAINTEST if short else apart >= 0] = 0
    return near


def said_by_named(rows: Rows, query: str) -> Floats:
    """Return 1 for what the one speaker said whom a query names, -1 for what others said.

    All 0 where it names none, or several. The roles of a chat are no names.
    """
    words, speakers = {*WORD.findall(query.casefold())}, rows["speaker"]
    named = [number for number, said in rows.people.items() if words.issuperset(said)]
    found = np.zeros(len(rows), np.float32)
    if len(named) == 1:
        found[speakers != NO_NUMBER] = -1
        found[speakers == named[0]] = 1
    return found


def like_instructions(rows: Rows, likeness: Floats, visible: Mask) -> Floats:
    """Return how like the query each standing instruction is, and each turn that gave one.

    "Always name the version when I ask about libraries" shares less with a question about libraries
    than what was said of them, and should be found with it.
    """
    given = rows.named("attribute", INSTRUCTION) & visible
    given[rows.sources[given[rows.sources[:, 0]], 1]] = True
    return likeness * given


@dataclass(frozen=True, slots=True)
class QuestionTokens:
    """The tokens of a question, as they are compared.

    Attributes:
        vectors: shape (tokens, dimensions), rows of unit length.
        weights: how rare the word of each is among the user's records; they add up to 1.
    """

    vectors: Floats
    weights: Floats

    @classmethod
    def of(
        cls, text: str, embedded: EmbeddedText | None, rarity: Mapping[str, float]
    ) -> QuestionTokens | None:
        """Return the tokens of an embedded question; ``None`` where it has none that count.

        Args:
            text: the question.
            embedded: what the model says of it, if there is one.
            rarity: how rare each of its terms is.
        """
        if embedded is None or embedded.tokens is None or not len(embedded.tokens):
            return None
        told = (
            [rarity.get(term, FUNCTION_WORD) for term in terms_of(word)]
            for word in _words_at(text, embedded.spans)
        )
        weighed = [max(each, default=0) for each in told]
        count = len(weighed)
        # Zeros fill up the last tile of a product, which takes less time than what is left of one.
        size = count + -count % TILE * (count % TILE > TILE // 2)
        vectors = np.zeros((size, embedded.tokens.shape[1]), np.float32)
        vectors[:count], weights = embedded.tokens, np.zeros(size, np.float32)
        weights[:count] = weighed if any(weighed) else 1
        return cls(vectors / _lengths(vectors)[:, None], weights / weights.sum())


@lru_cache(maxsize=8_192)
def terms_of(word: str) -> frozenset[str]:
    """Return the terms of a word; remembered, because words come again and again."""
    return frozenset(ANALYZER.terms(word))


def _words_at(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return for each token of a text the word that it is a part of."""
    words: list[str] = []
    first = 0
    for place, (_, end) in enumerate(spans):
        if place + 1 == len(spans) or spans[place + 1][0] != end:
            words += [text[spans[first][0] : end]] * (place + 1 - first)
            first = place + 1
    return words


def compare_tokens(
    question: QuestionTokens, rows: Rows, tokens: Mapping[int, bytes]
) -> tuple[Places, Floats, Floats]:
    """Return the records that ``tokens`` are of, and how like the question each is.

    First by its own tokens and those of its neighbours, then by its own alone.
    """
    found = np.fromiter(tokens, np.intp)
    found = found[rows.surroundings.place[found].argsort()]  # In the order of talk.
    own = _most_alike(question, [tokens[row] for row in found.tolist()])
    around = _with_neighbours(own, rows, found)
    nearby, alone = around @ question.weights, own @ question.weights
    return found, AROUND * nearby + (1 - AROUND) * alone, alone


def weigh_question_before(rows: Rows, evidence: Floats) -> Floats:
    """Return of each record the evidence of the turn before it, if another asks there, faded."""
    answers, (asked, answer, fade) = np.zeros_like(evidence), rows.answers
    answers[answer] = fade * evidence[asked]
    return answers


def _most_alike(question: QuestionTokens, tokens: Sequence[bytes]) -> Floats:
    """Return of each text, and each token of the question, the cosine of the token most like it.

    0 where none is like it at all. In parts that stay in the processor's cache, and are too small
    for the library to share among threads: waiting for these takes a hundred times as long on a
    busy machine.
    """
    asked = question.vectors.T
    stored = np.frombuffer(b"".join(tokens), np.int8).reshape(-1, len(asked))
    part = max(1, SMALL // asked.size)
    parts = range(0, len(stored), part)
    cosines = np.concatenate([stored[at : at + part].astype(np.float32) @ asked for at in parts])
    starts = np.add.accumulate([0, *map(len, tokens[:-1])]) // len(asked)
    lengths = _lengths(stored[starts].astype(np.float32))  # All of a text are about as long.
    return (np.maximum.reduceat(cosines, starts) / lengths[:, None]).clip(0, 1)


def _with_neighbours(own: Floats, rows: Rows, candidates: Places) -> Floats:
    """Return the same where each token may be met by a turn nearby, the farther the fainter.

    Who asks says nothing of what they themselves say around it: only others answer a question.
    """
    places, count = rows.surroundings.place[candidates], len(candidates)
    near = _near(count)
    middles, talks = rows.surroundings.middles[places], rows.surroundings.talks[places]
    asks, speakers = rows["asks"][candidates], rows["speaker"][candidates]
    counts = (np.abs(places[near] - places) <= FARTHEST) & (talks[near] == talks)
    counts &= are_others(speakers, np.where(asks, speakers, NO_NUMBER)[near])
    shared = np.exp(np.abs(middles[near] - middles) / -TALK_FADE).astype(np.float32) * counts
    echoed = own.take(near, axis=0)
    echoed *= shared[:, :, None]
    found: Floats = np.maximum(own, echoed.max(axis=0))
    return found


@lru_cache(maxsize=CANDIDATES[-1])
def _near(count: int) -> Places:
    """Return of each of so many candidates those that may be its neighbours, step by step.

    A neighbour so many turns away stands no more than so many candidates away.
    """
    steps = np.arange(-FARTHEST, FARTHEST + 1)[:, None]
    return (np.arange(count) + steps).clip(0, count - 1)


def _lengths(vectors: Floats) -> Floats:
    """Return the lengths of vectors, none of them 0."""
    lengths: Floats = np.maximum(np.sqrt(np.vecdot(vectors, vectors)), 1e-9)
    return lengths


LENT = 0.5  # of what a fact scores above a turn, how much it lends it


@dataclass(frozen=True, slots=True)
class ScoredRecords:
    """Every record of a user against one query: evidence by arm, factors and score."""

    evidence: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    confidence: Floats
    precedence: Floats
    score: Floats

    def arms(self, rows: Places) -> list[dict[str, ArmEvidence]]:
        """Return of each row the evidence of the arms that add something to its score."""
        found: list[dict[str, ArmEvidence]] = [{} for _ in rows]
        for name, share in self.shares.items():
            every, shares = self.evidence[name], share[rows].tolist()
            if not any(shares):
                continue
            values = every[rows]
            ranks = len(every) + 1 - np.sort(every).searchsorted(values, "right")
            told = zip(found, ranks.tolist(), values.tolist(), shares, strict=True)
            for arms, rank, value, added in told:
                if added:
                    arms[name] = ArmEvidence(rank, value, added)
        return found

    def moved(self, score: Floats) -> ScoredRecords:
        """Return the same with another score, for what is true now: it changes ``precedence``."""
        change = np.divide(score, self.score, out=np.ones_like(score), where=self.score > 0)
        return replace(self, precedence=self.precedence * change, score=score)

    def raised(self, arm: str, evidence: Floats, score: Floats) -> ScoredRecords:
        """Return the same with another score, which the ``evidence`` of a new arm accounts for."""
        factors = np.maximum(self.confidence * self.precedence, 1e-9)
        share: Floats = (score - self.score) / factors
        return replace(
            self,
            evidence={**self.evidence, arm: evidence},
            shares={**self.shares, arm: share},
            score=score,
        )


# What full evidence of each arm adds to a score, before it is divided by the sum of these: by texts
# alone; where tokens are compared, among people; and there with an assistant. People answer each
# other, so that much of what a turn says stands in its neighbours. What is told to an assistant
# stands for itself, and the model alone can read that a person uses other words for it on another
# day. Measured on LoCoMo and BEAM at once: see docs/retrieval.md.
WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    "tokens": (0.0, 1.0, 1.0),
    "lexical": (0.9, 0.12, 0.12),
    "vector": (1.0, 0.03, 0.8),
    "context": (1.0, 0.5, 0.3),
    "temporal": (0.3, 0.2, 0.2),
    "user": (0.3, 0.05, 0.3),
    "question": (0.0, 0.3, 0.3),
    "speaker": (0.0, 0.02, 0.02),
    "statement": (0.0, 0.03, 0.03),
    "instruction": (0.3, 0.15, 0.15),
}
# Who types a word or two looks for these very words ("E1047"); and in a question of several scripts
# the name of another one is what is asked for. A model takes others of the kind for much the same.
EXACT_LEXICAL = 0.6


def blend(evidence: Mapping[str, Floats], weights: Mapping[str, float]) -> dict[str, Floats]:
    """Return what each arm adds to the scores: its ``evidence`` by its share of the weights.

    They add up to 1 for a record with full evidence of every arm that was asked.
    """
    used = {name: weights[name] for name in evidence if weights.get(name)}
    whole = sum(used.values())
    return {name: evidence[name] * (weight / whole) for name, weight in used.items()}


def rrf(evidence: Mapping[str, Floats], wanted: Mask, k: int) -> dict[str, Floats]:
    """Return what each arm in which a record was found adds to its score: ``1 / (k + rank)``.

    A record without evidence in an arm, or one that is not ``wanted``, has no rank there.
    """
    shares = {}
    for arm, values in evidence.items():
        order = best_rows(values, wanted & (values > 0), len(values))
        shares[arm] = np.zeros(len(values), np.float32)
        shares[arm][order] = 1 / (k + np.arange(1, len(order) + 1))
    return shares


def merge_facts(rows: Rows, scored: ScoredRecords, found: Mask) -> tuple[ScoredRecords, Mask]:
    """Merge each fact with its sources into one result; return scores and which records to show.

    A fact lends its score to the turns it was drawn from, and is not shown beside them.

    Args:
        rows: the user's records.
        scored: against a query.
        found: which of them can be shown.
    """
    if not len(rows.sources):
        return scored, found
    facts, sources = pairs_among(rows.sources, found).T
    shown = found.copy()
    shown[facts] = False
    best: Floats = np.zeros(len(rows), np.float32)
    np.maximum.at(best, sources, scored.score[facts])
    score: Floats = scored.score + LENT * np.maximum(best - scored.score, 0)
    return scored.raised("fact", best, score), shown


def pairs_among(pairs: Places, found: Mask) -> Places:
    """Return the pairs of which both records were found."""
    both: Places = pairs[found[pairs[:, 0]] & found[pairs[:, 1]]]
    return both


def best_rows(score: Floats, wanted: Mask, limit: int) -> list[int]:
    """Return the wanted records with the highest scores, best first."""
    below, last = np.where(wanted, -score, np.inf), min(limit, len(score)) - 1
    rows = (wanted & (below <= np.partition(below, last)[last])).nonzero()[0]
    ranked: list[int] = rows[below[rows].argsort(kind="stable")[:limit]].tolist()
    return ranked
