"""Late interaction: how like the words of each candidate are to those of the question.

One vector of a whole turn blurs what it says. Here each token of the question looks for the token
most like it, in the candidate or, fainter, in the turns around it, and the rarer its word is, the
more that counts (ColBERT, Khattab and Zaharia 2020; here with a frozen sentence model, weights and
neighbours). Only the best candidates of the other arms are compared, so that the vectors are read
from the store as they are needed and take no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoranda.model.query import EmbeddedText, TokenVectors
from memoranda.search.index import NO_NUMBER, Floats, Mask, Places, Rows

# Records that are compared. Measured: of LoCoMo's 600 turns 48 are as good as 100 to within three
# questions in a thousand; but who has thousands needs more.
MOST_CANDIDATES = 100
FUNCTION_WORD = 1.0  # the weight of those, of a question; a word of one record in 3 has as much
AROUND = 0.7  # the share of the evidence that may come from neighbours; the rest is a text's own
FADE = 1000.0  # characters over which what a neighbour says falls to 1/e
FARTHEST = 6  # turns; farther ones are no neighbours here
SMALL = 200_000  # multiplications that one thread does


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
        cls, text: str, embedded: EmbeddedText, weigh: Callable[[str], float]
    ) -> QuestionTokens | None:
        """Return the tokens of an embedded question; ``None`` where it has none that count.

        Args:
            text: the question.
            embedded: what the model says of it.
            weigh: tells how much a word counts.
        """
        if embedded.tokens is None or not len(embedded.tokens):
            return None
        weights = np.array([weigh(word) for word in _words_at(text, embedded.spans)], np.float32)
        if not weights.any():
            weights[:] = 1
        vectors, lengths = _measured(embedded.tokens)
        return cls(vectors / lengths[:, None], weights / weights.sum())


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
    question: QuestionTokens, rows: Rows, tokens: Mapping[int, TokenVectors]
) -> tuple[Places, Floats, Floats]:
    """Return the records that ``tokens`` are of, and how like the question each is.

    First by its own tokens and those of its neighbours, then by its own alone.

    Args:
        question: what is asked.
        rows: the user's records.
        tokens: of those that may answer, by ordinal. Those of another model are of another size,
            until they are made anew.
    """
    size = question.vectors.shape[1]
    told = {key: each for key, each in tokens.items() if len(each) and each.shape[1] == size}
    found, known = rows.found([*told])
    if not len(found):
        return found, *np.empty((2, 0), np.float32)
    order = np.argsort(rows.surroundings.place[found])  # In the order of talk.
    found, own = found[order], _most_alike(question, [*told.values()])[:, known][:, order]
    around = _with_neighbours(own, rows, found)
    nearby, alone = question.weights @ around, question.weights @ own
    return found, AROUND * nearby + (1 - AROUND) * alone, alone


def weigh_question_before(rows: Rows, evidence: Floats) -> Floats:
    """Return of each record the evidence of the turn before it, if another asks there, faded."""
    answers = np.zeros_like(evidence)
    order, middles = rows.surroundings.order, rows.surroundings.middles
    talks, asks = rows.surroundings.talks, rows.table["asks"][order]
    speakers = rows.table["speaker"][order]
    another = (talks[:-1] == talks[1:]) & _are_others(speakers[:-1], speakers[1:])
    before = np.flatnonzero(asks[:-1] & another)
    fade = np.exp((middles[before] - middles[before + 1]) / FADE).astype(np.float32)
    answers[order[before + 1]] = fade * evidence[order[before]]
    return answers


def _are_others(speakers: Places, others: Places) -> Mask:
    """Return of each pair of turns whether two people said them, or nobody knows who did."""
    found: Mask = (speakers != others) | (speakers == NO_NUMBER)
    return found


def _most_alike(question: QuestionTokens, tokens: Sequence[TokenVectors]) -> Floats:
    """Return of each token of the question, and each text, the cosine of the token most like it.

    0 where none is like it at all.
    """
    alike = _cosines(question.vectors, np.concatenate(tokens))
    starts = np.cumsum([0, *map(len, tokens[:-1])])
    most: Floats = np.maximum.reduceat(alike, starts, axis=1)
    return np.maximum(most, np.float32(0))


def _with_neighbours(own: Floats, rows: Rows, candidates: Places) -> Floats:
    """Return the same where each token may be met by a turn nearby, the farther the fainter.

    Who asks says nothing of what they themselves say around it: only others answer a question.
    """
    found = own.copy()
    places = rows.surroundings.place[candidates]
    asks, speakers = rows.table["asks"][candidates], rows.table["speaker"][candidates]
    middles, talks = rows.surroundings.middles[places], rows.surroundings.talks[places]
    # A neighbour so many turns away stands no more than so many candidates away.
    for step in range(1, min(FARTHEST, len(candidates) - 1) + 1):
        near = places[step:] - places[:-step] <= FARTHEST
        near &= talks[step:] == talks[:-step]
        if not near.any():
            break
        fade = (np.exp((middles[:-step] - middles[step:]) / FADE) * near).astype(np.float32)
        other = _are_others(speakers[:-step], speakers[step:])
        after, before = fade * (other | ~asks[:-step]), fade * (other | ~asks[step:])
        np.maximum(found[:, step:], after * own[:, :-step], out=found[:, step:])
        np.maximum(found[:, :-step], before * own[:, step:], out=found[:, :-step])
    return found


def _cosines(asked: Floats, told: TokenVectors) -> Floats:
    """Return the cosines of all pairs, shape (asked, told), where ``asked`` has unit length.

    In parts too small for the library to share among threads: waiting for these takes a hundred
    times as long on a busy machine.
    """
    vectors, lengths = _measured(told)
    part = max(1, SMALL // asked.size)
    products = [asked @ vectors[start : start + part].T for start in range(0, len(told), part)]
    cosines: Floats = np.concatenate(products, axis=1)
    cosines /= lengths
    return cosines


def _measured(tokens: TokenVectors) -> tuple[Floats, Floats]:
    """Return vectors as they are, and their lengths."""
    vectors: Floats = tokens.astype(np.float32)
    return vectors, np.maximum(np.sqrt(np.vecdot(vectors, vectors)), np.float32(1e-9))
