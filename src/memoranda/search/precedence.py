"""Precedence: of two texts that answer a question differently, the newer one goes first.

Lexical and semantic evidence cannot tell what is true now from what was true before: both say
the same of the same thing, but for a value. So the best candidates are read, and a later text
that brings an earlier one up to date is moved just above it. All else stays in its place.

- Only what is true now can be out of date. "What is my rent?" has one answer at a time, the
  newest; "Which cities did I see?" has many, and "What was the rent at first?" has an old one.
- A value is a number, a share, a price, a time or the like. Two statements about the same thing
  with different values of one sort cannot both be true at the same time.
- A statement is about a rival where it has another word in the place of one of the question's:
  "the flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import takewhile

import numpy as np

from memoranda.model.models import Kind
from memoranda.model.ports import Analyzer
from memoranda.search.evidence import ScoredRecords, pairs_among
from memoranda.search.index import NO_NUMBER, Mask, Places, Rows
from memoranda.store.sql.index_reads import KINDS
from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import LanguageData, compile_pattern, load, stands_alone
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import DEFAULT, fold, normalize, stop_words

# --- what a question asks for ---

_ASKED = LanguageData("en", "questions")
_QUESTION_WORD = compile_pattern(r"[^\W_]+")
SHORTEST_STEM = 3  # letters from which a common beginning means a common word


@cache
def _sorts() -> tuple[tuple[LinearPattern, frozenset[str]], ...]:
    """Return the sorts of values that can answer, by what is asked."""
    rows = load("en", "questions")["sorts"]
    return tuple(
        (compile_pattern(pattern, re.IGNORECASE), frozenset(sorts.split()))
        for pattern, sorts in rows
    )


class QuestionTense(Enum):
    """Which state of things a question is about."""

    NOW = "now"
    THEN = "then"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        text: normalised.
        weights: its terms, each with its share (0 to 1) of what the question tells.
        head: the terms of what is asked for: "response" and "time" in "What is the response
            time of the API?"; empty where that is not clear.
        telling: its terms without those of words like "date" and "name".
        beginnings: what the inflections of its telling words begin with.
        nouns: beginnings of the word for it, in any inflection, or of all the question's words.
        sorts: the sorts of values that can answer it; empty is any, or a text.
        own: whether it is about the one who asks.
        done: whether it asks how often something was done: what is done again is done more
            often, so only who speaks of a change has a newer answer.
        many: whether it asks for several things.
        experienced: whether it asks what somebody has done.
    """

    text: str
    weights: Mapping[str, float]
    head: frozenset[str]
    telling: frozenset[str]
    beginnings: tuple[str, ...]
    nouns: tuple[str, ...]
    sorts: frozenset[str]
    own: bool
    done: bool
    many: bool
    experienced: bool

    def touches(self, sentence: str) -> bool:
        """Return whether ``sentence`` can hold a term of the question, at little cost."""
        text = sentence.lower() if sentence.isascii() else fold(sentence)
        return any(beginning in text for beginning in self.beginnings)

    def share(self, terms: frozenset[str]) -> float:
        """Return how much of the question (0 to 1) is in ``terms``."""
        return sum(weight for term, weight in self.weights.items() if term in terms)

    def telling_share(self, terms: frozenset[str]) -> float:
        """Return the same, of its words but for those of many questions: "date", "name"."""
        return self.share(terms & self.telling)


def state_of(query: str) -> QuestionTense:
    """Return which state of things ``query`` is about."""
    text = normalize(query)
    if (found := _asked_deed(text)) is not None:
        text = f"{found['counted']}do {text[found.start('who') :]}"
    if _ASKED.past.search(text):
        return QuestionTense.THEN
    now = _ASKED.state.search(text) and _ASKED.present.search(text)
    return QuestionTense.NOW if now else QuestionTense.OPEN


def _asked_deed(text: str) -> LinearMatch | None:
    """Return where it is asked how often something was done, and not how often it was said."""
    found = _ASKED.done.search(text)
    said = found is not None and (found["verb"] or "").strip() in _ASKED.words("telling")
    return None if said else found


def _is_plural(head: str) -> bool:
    """Return whether what is asked for ends with a noun for several."""
    found = _ASKED.many.search(head)
    return found is not None and found["noun"].lower() not in _ASKED.words("singular")


def read_question(query: str, terms: Sequence[str], weights: Sequence[float]) -> ParsedQuestion:
    """Return what ``query`` asks for.

    Args:
        query: the question.
        terms: its terms.
        weights: how much each of them tells, on any scale; nothing where nobody used it.
    """
    text = " ".join(normalize(query).split())
    state = _ASKED.state.search(text)
    head = _head(state["rest"]) if state is not None else ""
    telling = {term: weight for term, weight in zip(terms, weights, strict=True) if weight}
    whole = sum(telling.values())
    named, words = _terms_of(head, telling), _terms_of(text, telling)
    beginnings = tuple({stem for _, stem in words})
    return ParsedQuestion(
        text=text,
        weights={term: weight / whole for term, weight in telling.items()},
        head=frozenset(term for term, _ in named),
        telling=frozenset(term for term, _ in words),
        beginnings=beginnings,
        nouns=(named[-1][1],) if named else beginnings,
        sorts=next((sorts for pattern, sorts in _sorts() if pattern.search(text)), frozenset()),
        own=_ASKED.own.search(text) is not None,
        done=_asked_deed(text) is not None,
        many=state is not None and bool(state["what"] and _is_plural(head)),
        experienced=_STATED.experienced.search(text) is not None,
    )


def _head(rest: str) -> str:
    if _ASKED.does.match(rest):
        return ""
    rest = _ASKED.leads.sub("", rest)
    end = _ASKED.head_ends.search(rest)
    return rest if end is None else rest[: end.start()]


def _terms_of(text: str, terms: Collection[str]) -> list[tuple[str, str]]:
    """Return the term of each telling word of ``text``, with what its inflections begin with.

    What is not ASCII has no inflections here: such terms stand for themselves.
    """
    found = []
    for word in _QUESTION_WORD.findall(fold(text)):
        near = [term for term in terms if term[:SHORTEST_STEM] == word[:SHORTEST_STEM]]
        if near and len(word) >= SHORTEST_STEM and word not in _ASKED.words("generic"):
            stem, term = max((_common_beginning(word, term), term) for term in near)
            found.append((term, stem))
    return found + [(term, term) for term in terms if not term.isascii()]


def _common_beginning(one: str, other: str) -> str:
    """Return what both words begin with."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in alike)


# --- what a text states ---

LONGEST = 2_500  # characters of a text that are read
MOST_SENTENCES = 40

_STATED = LanguageData(
    "en",
    "statements",
    {"month": lambda: month_numbers("en"), "weekday": lambda: calendar_numbers("weekdays", "en")},
)
_CODE = compile_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_VALUE = _STATED.pattern("value")
_FIRST_NUMBER_WORD = 2
_SEPARATOR = compile_pattern(r"[\s,.-]+$")
_GROUPS = compile_pattern(r"(\d),(\d)")
_LETTERS = compile_pattern(r"[a-z]+")
_SPACE = compile_pattern(r"[\s,-]+")

LONGEST_AIM = 12


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value in a sentence.

    Attributes:
        sort: date, clock, share (of a hundred), money, version, span (of time), measure, number.
        plain: in lower case, its number in digits and without separators.
        start, end: its first character, and the character after it.
    """

    sort: str
    plain: str
    start: int
    end: int


def stated_sentences(text: str) -> Iterator[str]:
    """Yield the sentences at the beginning of ``text`` that are not questions, without code."""
    text = normalize(text[: 4 * LONGEST])
    prose = (_CODE.sub("\n", text) if "```" in text else text)[:LONGEST]
    stated = (one for one in sentence_texts(prose) if not _STATED.asks.fullmatch(one))
    for _, sentence in zip(range(MOST_SENTENCES), stated, strict=False):
        yield sentence


def speaks_of_change(sentence: str, things: tuple[str, ...] = ()) -> bool:
    """Return whether a sentence says that something is not as it was.

    "New" alone may be said of anything; it counts of words that begin like ``things``.
    """
    return _STATED.change.search(sentence) is not None or any(
        word.startswith(things)
        for match in _STATED.new.finditer(sentence)
        for word in match[1].lower().split()
    )


def things_in(text: str) -> set[str]:
    """Return the words of a text, in small letters, that may stand for a thing."""
    return {word for word in _LETTERS.findall(text.lower()) if len(word) >= SHORT}


def values(sentence: str) -> list[StatedValue]:
    """Return the values in a sentence, in order, without those that are only aimed at."""
    return [
        StatedValue(match.lastgroup or "", _plain(match[0]), match.start(), match.end())
        for match in _VALUE.finditer(sentence)
        if stands_alone(sentence[: match.end()].replace(".", "_"), *match.span())
        if not _STATED.aim.search(sentence, max(0, match.start() - LONGEST_AIM), match.start())
    ]


def _plain(value: str) -> str:
    plain = _GROUPS.sub(r"\1\2", _SEPARATOR.sub("", value.lower()))
    word = _LETTERS.match(plain)
    spelled = load("en", "statements")["number_words"]
    if word is not None and word[0] in spelled:
        plain = f"{spelled.index(word[0]) + _FIRST_NUMBER_WORD}{plain[word.end() :]}"
    return _SPACE.sub(" ", plain)


VERB_ENDINGS = ("ed", "ing")
SHORT = 4  # letters up to which an ending like a verb's is by chance: "red"
_WORD = compile_pattern(r"[^\W_]+|[^\w\s']")


@dataclass(frozen=True, slots=True)
class TermedWord:
    """A word or a sign of a text, with its terms."""

    text: str
    terms: frozenset[str]


def competes(
    question: ParsedQuestion, sentence: str, held: frozenset[str], analyzer: Analyzer
) -> bool:
    """Return whether ``sentence``, which holds the terms ``held``, speaks of a rival.

    Only words of the question that it lacks can have one.
    """
    if _other_number(question.text, sentence):
        return True
    asked = _words(question.text, analyzer)
    missing = [
        place
        for place, word in enumerate(asked)
        if not word.terms.isdisjoint(question.weights)
        and word.terms.isdisjoint(held)
        and word.text.lower() not in _ASKED.words("generic")
    ]
    if not missing:
        return False
    said = _words(sentence, analyzer)
    return any(
        _replaced(asked, place, said, step, question) for place in missing for step in (-1, 1)
    )


def _other_number(question: str, sentence: str) -> bool:
    """Return whether a sentence speaks of "sprint 2" where it was asked for the first."""
    asked = _numbered(question)
    said = _numbered(sentence) if asked else {}
    return any(said.get(name, numbers) - numbers for name, numbers in asked.items())


def _numbered(text: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    ordinals = load("en", "statements")["ordinals"]
    for match in _STATED.numbered.finditer(text):
        name = (match["of"] or match["name"]).lower()
        nth = match["nth"] and ordinals.index(match["nth"].lower()) + 1
        found.setdefault(name, set()).add(nth or int(match["n"]))
    return found


def _words(text: str, analyzer: Analyzer) -> list[TermedWord]:
    return [TermedWord(word, frozenset(analyzer.terms(word))) for word in _WORD.findall(text)]


def _replaced(
    asked: Sequence[TermedWord],
    place: int,
    said: Sequence[TermedWord],
    step: int,
    question: ParsedQuestion,
) -> bool:
    """Return whether another word always stands where ``asked[place]`` would.

    That place is after the word before it with a step of 1 ("flight to Oslo"), and before the
    word after it with -1 ("blue bicycle").
    """
    anchor, linked = _beside(asked, place, -step)
    if anchor is None or anchor.terms.isdisjoint(question.weights) or (linked and step < 0):
        return False
    spots = [spot for spot, word in enumerate(said) if word.terms & anchor.terms]
    there = [_beside(said, spot, step) for spot in spots]
    named = step > 0 and not linked
    return bool(there) and all(
        word is not None and link == linked and _is_rival(word, asked[place], question, named=named)
        for word, link in there
    )


def _beside(words: Sequence[TermedWord], place: int, step: int) -> tuple[TermedWord | None, bool]:
    """Return the nearest word in one direction that is no link, and whether links are between."""
    linked = False
    place += step
    while 0 <= place < len(words) and words[place].text.lower() in _STATED.words("links"):
        linked = True
        place += step
    return (words[place] if 0 <= place < len(words) else None), linked


def _is_rival(
    word: TermedWord, missing: TermedWord, question: ParsedQuestion, *, named: bool
) -> bool:
    """Return whether ``word`` can only mean another thing; ``named`` if just a name does."""
    text = word.text
    if named and not (text[0].isupper() and missing.text[0].isupper()):
        return False
    lower = text.lower()
    return not (
        not text.isalpha()
        or lower in _ASKED.words("generic")
        or lower in stop_words(DEFAULT)
        or not word.terms.isdisjoint(question.weights)
        or _STATED.part_of_date.fullmatch(text)
        or lower == "new"
        or speaks_of_change(text)
        or values(text)
        or (len(text) > SHORT and lower.endswith(VERB_ENDINGS))
    )


DEPTH = 32  # candidates that are read; what is true now hardly ever stands further down
BEST = 3  # sentences of a record whose values are looked at
ELSEWHERE = 0.5  # what a word of the question counts in the text around a statement
AFTER, BEFORE = 12, 4  # words from what is asked for to its value, and from a value to it
LEAST = 0.25  # share of the question below which a text is no answer
LEAST_OLD = 0.3  # coverage from which an earlier text is an answer at all
WHOLE = 0.95  # coverage from which a statement holds all of a question
REPEATERS = frozenset({"assistant", "tool", "system"})  # what they say again is no evidence
_BARE_WORD = compile_pattern(r"[^\W_]+")
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
        speaker: a number for who said it, or ``NO_NUMBER``.
        content: what it says.
    """

    row: int
    moment: tuple[int, int]
    score: float
    speaker: int
    content: str


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
        for sentence in stated_sentences(candidate.content)
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
    words = [(word[0].lower(), word.start()) for word in _BARE_WORD.finditer(sentence)]
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
    if not _same_speaker(old.candidate, new.candidate) or old.coverage < LEAST_OLD:
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
        and not competes(question, new.sentence, new.terms, analyzer)
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


def _same_speaker(one: PrecedenceCandidate, other: PrecedenceCandidate) -> bool:
    return one.speaker == other.speaker or NO_NUMBER in {one.speaker, other.speaker}


def find_superseded(rows: Rows, found: Mask) -> Places:
    """Return the facts that were found and whose replacements were found, too."""
    old = pairs_among(rows.replaced, found)[:, 0]
    places: Places = np.unique(old[rows.table["kind"][old] != KINDS[Kind.EPISODE]])
    return places


def raise_successors(
    rows: Rows,
    scored: ScoredRecords,
    shown: Mask,
    facts: Sequence[int],
    fits: Callable[[int], bool],
) -> dict[int, float]:
    """Return new scores, by row, of records that rank below one that they superseded.

    Args:
        rows: the user's records.
        scored: against a query.
        shown: which of them are shown.
        facts: the records that answer the query best, whether they are shown or stand behind
            the turns they were drawn from.
        fits: whether a record speaks of what is asked; only asked of what would be moved.
    """
    best = np.zeros(len(rows), bool)
    best[list(facts)] = True
    pairs = pairs_among(rows.replaced, best)
    score: dict[int, float] = {}
    for old, new in pairs[np.argsort(pairs[:, 1], kind="stable")].tolist():
        said = {row: score.get(row, float(scored.score[row])) for row in _shown(rows, new, shown)}
        before = _shown(rows, old, shown) - said.keys()
        if not said or not before:
            continue
        top = max(said, key=lambda row: (said[row], -row))
        over = max(score.get(row, float(scored.score[row])) for row in before)
        if said[top] <= over and fits(new):
            score[top] = float(np.nextafter(np.float32(over), np.float32(2)))
    return score


def _shown(rows: Rows, row: int, shown: Mask) -> set[int]:
    """Return a record and what it was drawn from, as far as they are shown."""
    sources = rows.sources[rows.sources[:, 0] == row, 1].tolist()
    return {each for each in (row, *sources) if shown[each]}
