"""Precedence: of two texts that answer a question differently, the newer one goes first.

Lexical and semantic evidence cannot tell what is true now from what was true before: both say
the same of the same thing, but for a value. So the best candidates are read, and a later text
that brings an earlier one up to date is moved just above it. All else stays in its place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoranda.model.models import Record
from memoranda.model.ports import Analyzer
from memoranda.search import rivals
from memoranda.search.questions import ParsedQuestion
from memoranda.search.statements import StatedValue, speaks_of_change, stated_sentences, values
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import DEFAULT, stop_words

DEPTH = 32  # candidates that are read; what is true now hardly ever stands further down
BEST = 3  # sentences of a record whose values are looked at
ELSEWHERE = 0.5  # what a word of the question counts in the text around a statement
AFTER, BEFORE = 12, 4  # words from what is asked for to its value, and from a value to it
LEAST = 0.25  # share of the question below which a text is no answer
LEAST_OLD = 0.3  # coverage from which an earlier text is an answer at all
WHOLE = 0.95  # coverage from which a statement holds all of a question
REPEATERS = frozenset({"assistant", "tool", "system"})  # what they say again is no evidence
_WORD = compile_pattern(r"[^\W_]+")
_BREAK = compile_pattern(r"[,;:=()]")


@dataclass(frozen=True, slots=True)
class UpdateThresholds:
    """What a later text must have to go before an earlier one.

    Attributes:
        own: coverage of the question by the statement alone.
        least: coverage of the question.
        coverage: share of the earlier one's coverage.
        score: share of the earlier one's score.
    """

    own: float
    least: float
    coverage: float
    score: float


DEMANDS: Mapping[tuple[bool, bool], UpdateThresholds] = {
    # (another value of the same sort, words of change)
    (True, True): UpdateThresholds(own=0.2, least=LEAST, coverage=0.35, score=0.4),
    (True, False): UpdateThresholds(own=0.4, least=0.45, coverage=0.85, score=0.6),
    (False, True): UpdateThresholds(own=0.5, least=0.5, coverage=0.5, score=0.6),
    (False, False): UpdateThresholds(own=0.7, least=0.7, coverage=0.95, score=0.75),
}


@dataclass(frozen=True, slots=True)
class PrecedenceCandidate:
    """A record that was found, with what precedence compares.

    Attributes:
        row: where it stands among the user's records.
        moment: sorts by when it happened, then by when it was recorded.
        score: its score so far.
        record: itself.
    """

    row: int
    moment: tuple[int, int]
    score: float
    record: Record


@dataclass(frozen=True, slots=True)
class StatedAnswer:
    """The statement of a record that answers a question best.

    Attributes:
        candidate: the record.
        sentence: the statement.
        terms: its terms.
        own: how much of the question (0 to 1) is in it.
        coverage: the same, with half of what is only in the text around it.
        everywhere: the terms of the whole record.
        values: sort and plain form of its values that belong to what is asked for.
        changes: whether it speaks of a change.
    """

    candidate: PrecedenceCandidate
    sentence: str
    terms: frozenset[str]
    own: float
    coverage: float
    everywhere: frozenset[str]
    values: frozenset[tuple[str, str]]
    changes: bool


def raise_updates(
    question: ParsedQuestion, candidates: Sequence[PrecedenceCandidate], analyzer: Analyzer
) -> dict[int, float]:
    """Return new scores, by row, of the candidates that bring an earlier one up to date."""
    if question.many:
        return {}
    answers = [a for c in candidates if (a := find_answer(question, c, analyzer)) is not None]
    answers.sort(key=lambda each: each.candidate.moment)
    above: dict[int, list[StatedAnswer]] = {}
    known: frozenset[tuple[str, str]] = frozenset()
    for place, old in enumerate(answers):
        known |= old.values
        news = [
            (new, new.values - known)
            for new in answers[place + 1 :]
            if _updates(question, old, known, new, analyzer)
        ]
        for new in _updating_answers(news):
            above.setdefault(new.candidate.row, []).append(old)
    return _raised_scores(answers, above)


def _updating_answers(
    news: Sequence[tuple[StatedAnswer, frozenset[tuple[str, str]]]],
) -> list[StatedAnswer]:
    """Return who shall go first of those that have news, the oldest first.

    Of each new value: who told it first, and who answers best. That others say it again is no
    reason to move them.
    """
    chosen = [new for new, fresh in news if not fresh]
    for value in {value for _, fresh in news for value in fresh}:
        tellers = [new for new, fresh in news if value in fresh]
        chosen += [tellers[0], max(tellers, key=lambda new: new.candidate.score)]
    return chosen


def _raised_scores(
    answers: Sequence[StatedAnswer], above: Mapping[int, Sequence[StatedAnswer]]
) -> dict[int, float]:
    """Return scores such that each answer stands above the earlier ones that it updates.

    Args:
        answers: the oldest first.
        above: by row, what each one updates.
    """
    score: dict[int, float] = {}
    for each in answers:
        row, own = each.candidate.row, each.candidate.score
        over = max((score[old.candidate.row] for old in above.get(row, ())), default=0.0)
        score[row] = own if own > over else float(np.nextafter(np.float32(over), np.float32(2)))
    return {
        each.candidate.row: new
        for each in answers
        if (new := score[each.candidate.row]) != each.candidate.score
    }


def find_answer(
    question: ParsedQuestion, candidate: PrecedenceCandidate, analyzer: Analyzer
) -> StatedAnswer | None:
    """Return the statement of a record that answers best; ``None`` where there is none."""
    said = [
        (sentence, frozenset(analyzer.terms(sentence)))
        for sentence in stated_sentences(candidate.record.content)
        if question.touches(sentence)
    ]
    if not said:
        return None
    everywhere = frozenset[str]().union(*(terms for _, terms in said))
    ranked = sorted(
        ((question.share(terms), -n) for n, (_, terms) in enumerate(said)), reverse=True
    )
    best: tuple[float, StatedAnswer] | None = None
    for own, place in ranked[:BEST]:
        sentence, terms = said[-place]
        coverage = own + ELSEWHERE * question.share(everywhere - terms)
        if coverage < LEAST:
            continue
        found = StatedAnswer(
            candidate,
            sentence,
            terms,
            own,
            coverage,
            everywhere,
            _answering_values(question, sentence),
            speaks_of_change(sentence, question.beginnings),
        )
        fit = found.coverage + 0.3 * bool(found.values) + 0.1 * found.changes
        if best is None or fit > best[0]:
            best = (fit, found)
    return None if best is None else best[1]


def _answering_values(question: ParsedQuestion, sentence: str) -> frozenset[tuple[str, str]]:
    """Return the values that stand near what is asked for, of the sorts that can answer."""
    words = [(word[0].lower(), word.start()) for word in _WORD.finditer(sentence)]
    heads = [place for place, (word, _) in enumerate(words) if word.startswith(question.nouns)]
    if not heads:
        return frozenset()
    return frozenset(
        (value.sort, value.plain)
        for value in values(sentence)
        if (not question.sorts or value.sort in question.sorts)
        and _near(question, value, sentence, words, heads)
    )


def _near(
    question: ParsedQuestion,
    value: StatedValue,
    sentence: str,
    words: Sequence[tuple[str, int]],
    heads: Sequence[int],
) -> bool:
    starts = [start for _, start in words]
    first, after = bisect_left(starts, value.start), bisect_left(starts, value.end)
    if any(first <= head < after for head in heads):
        return True
    following = [head for head in heads if 0 <= head - after < BEFORE]
    if following and not _BREAK.search(sentence, value.end, starts[following[0]]):
        return True
    # "How many tickets?" is not answered by the number of something else behind the tickets.
    counted = words[after][0] if question.sorts == {"number"} and after < len(words) else ""
    alone = not counted or counted in stop_words(DEFAULT) or counted.startswith(question.beginnings)
    return alone and any(0 < first - head <= AFTER for head in heads)


def _updates(
    question: ParsedQuestion,
    old: StatedAnswer,
    known: frozenset[tuple[str, str]],
    new: StatedAnswer,
    analyzer: Analyzer,
) -> bool:
    """Return whether ``new`` brings ``old`` up to date.

    ``known`` are the values in that and in all that was said before it: who says one of these
    again has nothing new.
    """
    if not _same_speaker(old.candidate.record, new.candidate.record) or old.coverage < LEAST_OLD:
        return False
    sorts = {sort for sort, _ in old.values}
    fresh = any(sort in sorts for sort, _ in new.values - known)
    if new.terms <= old.terms:
        return False  # Who says the same again has nothing new.
    if not fresh and (question.sorts or old.values or not _both_say(question, old, new)):
        return False
    if question.done and not new.changes:
        return False
    needed = DEMANDS[fresh, new.changes]
    return (
        new.own >= needed.own
        and new.coverage >= max(needed.least, needed.coverage * old.coverage)
        and new.candidate.score >= needed.score * old.candidate.score
        and (not fresh or new.everywhere >= question.head)
        and not rivals.competes(question, new.sentence, new.terms, analyzer)
    )


def _both_say(question: ParsedQuestion, old: StatedAnswer, new: StatedAnswer) -> bool:
    """Return whether both texts answer, where it is no value that they differ in.

    What people say of themselves changes; of others much is said that stays true.
    """
    return question.own or (
        bool(question.head)
        and question.head <= old.terms & new.terms
        and min(old.own, new.own) >= WHOLE
    )


def _same_speaker(one: Record, other: Record) -> bool:
    return one.source_role == other.source_role or None in {one.source_role, other.source_role}
