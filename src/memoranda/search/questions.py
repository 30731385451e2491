"""Questions: what one asks for, what a text states of that, and which of two answers is the newer.

Lexical and semantic evidence cannot tell what is true now from what was true: both say the same of
the same thing, but for a value. What is known of an attribute that is asked for goes first. Then
the best answers are compared with what the same speaker said later, and a text that brings one up
to date goes just above it.

- "Which cities did I see?" has many answers: nothing is moved for it. For "What was the rent at
  first?" it is the other way round: what the best answer brought up to date goes above it.
- A text brings another up to date where it is much like it, answers about as well, speaks of a
  change, or gives another value of the same sort; no single one of these is enough.
- A text is about a rival where it has another word in the place of one of the question's: "the
  flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, pairwise
from typing import NamedTuple
from unicodedata import category

import numpy as np

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import begins_with_another, read_asked
from memoranda.model.models import Kind, Record
from memoranda.search.evidence import (
    ANALYZER,
    ScoredRecords,
    best_rows,
    merge_facts,
    pairs_among,
    terms_of,
)
from memoranda.search.index import UNREAD, WORD, Mask, Places, Rows
from memoranda.store.sql.index_reads import KINDS
from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.dates.expressions import Bounds
from memoranda.text.dates.questions import PlanSentence
from memoranda.text.patterns import LanguageData, compile_pattern, languages_with, word_list
from memoranda.text.sentences import sentence_texts
from memoranda.text.small_talk import states_nothing
from memoranda.text.terms import DEFAULT, normalize, stop_words

FEW_WORDS = 2
LAST_LATIN, PICTURE = "\u024f", "So"  # the last letter, and the category of emoji
LONGEST_QUESTION = 200  # characters of a question without its mark
AHEAD = timedelta(days=366)  # how far ahead it is asked what comes

_TOPIC = "questions"
_WORDS = partial(word_list, _TOPIC)
_ASKS = ("?", "\uff1f", "\u061f")
# Around a question.
_EDGE = " .\t\n\"'”’»)]*_"

ASKED = LanguageData("en", _TOPIC)


def asks(text: str) -> bool:
    """Return whether a text ends as a question does, or begins as one where it has no mark."""
    text = without_tag(text).rstrip(_EDGE)
    marked = text.endswith(_ASKS)
    if not marked and (len(text) > LONGEST_QUESTION or text.endswith("!")):
        return False
    if find_told(text):
        return False
    if marked or ASKED.unmarked.search(text):
        return True
    return bool(ASKED.unmarked_clause.search(text) and not ASKED.answered.search(text))


def without_tag(text: str) -> str:
    """Return a text without a last question that asks for nothing: ", can you believe it?"."""
    tag = ASKED.tag.search(text)
    return text[: tag.start()] if tag else text


def find_told(text: str) -> int:
    """Return where a question begins to tell something: "Did I tell you that …?"; 0 if nowhere."""
    told = ASKED.told.search(text)
    return told.end() if told else 0


def is_keyword(question: str) -> bool:
    """Return whether a question is a word or two, which are looked for as they are: "E1047"."""
    return len(question.split()) <= FEW_WORDS and question.isascii()


def mixes_scripts(question: str) -> bool:
    """Return whether letters of another script, or a picture, stand among those of ours."""
    if question.isascii():
        return False
    told = (sign for sign in question if sign.isalpha() or category(sign) == PICTURE)
    return len({sign > LAST_LATIN for sign in told}) > 1


def names_assistant(question: str) -> bool:
    """Return whether a question asks for what the assistant said: "What did you suggest?"."""
    words = question.casefold().replace("’", "'").rstrip("?").split()
    return not _WORDS("assistant_words").isdisjoint(words) and _WORDS("own_words").isdisjoint(words)


def find_asked_days(question: str, now: datetime) -> Bounds | None:
    """Return when the time whose plans a question asks for begins and ends; ``None`` without one.

    Args:
        question: one sentence: "What do I have on Friday?", "What's coming up?".
        now: when it is asked, in the time zone of the person who asks.
    """
    if not asks(question):
        return None
    time = next(PlanSentence(f"{question}?", now).mentions(), None)
    words = {*WORD.findall(question.replace(time.text if time else "", "").casefold())}
    if not any(words <= _WORDS("plan_words", code) for code in languages_with(_TOPIC)):
        return None
    if time:
        return time.since, time.until
    return (now, now + AHEAD) if words & _WORDS("plan_ahead") else None


@dataclass(frozen=True)
class ParsedQuestion:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        query: the question.
        terms: those of its terms that tell something.
    """

    query: str
    terms: frozenset[str]

    @cached_property
    def text(self) -> str:
        """The question, normalised."""
        return " ".join(normalize(self.query).split())

    @cached_property
    def words(self) -> frozenset[str]:
        """All its terms."""
        return frozenset(ANALYZER.terms(self.text))

    def is_met_by(self, sentence: str) -> bool:
        """Return whether a sentence has half of its telling words."""
        return 2 * len(self.terms.intersection(ANALYZER.terms(sentence))) >= len(self.terms)

    @cached_property
    def former(self) -> bool:
        """Whether it asks what was so before something changed."""
        return ASKED.before.search(self.text) is not None

    @cached_property
    def past(self) -> bool:
        """Whether it is about how things were."""
        text = self.text
        if ASKED.settled.search(text):
            return False
        done = ASKED.done.search(text)
        if done is not None and (done["verb"] or "").strip() not in ASKED.words("telling"):
            text = f"{done['counted']}do {text[done.start('who') :]}"  # What is done goes on.
        return self.former or ASKED.past.search(text) is not None


# Statements

LONGEST = 2_500  # characters of a text that are read
MOST_SENTENCES = 40

_STATED = LanguageData(
    "en",
    "statements",
    {"month": lambda: month_numbers("en"), "weekday": lambda: calendar_numbers("weekdays", "en")},
)
_CODE = compile_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_VALUE = _STATED.value


def stated_sentences(text: str) -> Iterator[str]:
    """Return the sentences at the beginning of ``text`` that are not questions, without code."""
    text = normalize(text[: 4 * LONGEST])
    prose = _CODE.sub("\n", text)[:LONGEST]
    stated = (one for one in sentence_texts(prose) if not _STATED.asks.fullmatch(one))
    return islice(stated, MOST_SENTENCES)


def speaks_of_change(sentence: str) -> bool:
    """Return whether a sentence says that something is not as it was."""
    return _STATED.change.search(sentence) is not None


def values_of(sentence: str) -> list[tuple[str | None, str]]:
    """Return the values in a sentence, each with its sort.

    Sorts are date, clock, share (of a hundred), money, version, span (of time), measure and number.
    """
    return [(match.lastgroup, match[0].lower()) for match in _VALUE.finditer(sentence)]


_WORD = compile_pattern(r"[^\W_]+|[^\w\s']")


class AnalyzedWord(NamedTuple):
    """A word or a sign of a text, its terms, and whether words that only link stand before it."""

    text: str = ""
    terms: frozenset[str] = frozenset()
    linked: bool = False


def competes(question: ParsedQuestion, told: StatedText) -> bool:
    """Return whether a text speaks of a rival of what is asked.

    Only words of the question that it lacks can have one: where another word always stands in
    their place after the word before them ("flight to Oslo"), or before the word after them
    ("blue bicycle").
    """
    said = _pairs(told.text)
    for pair in _pairs(question.text):
        linked = pair[1].linked
        for place, word in enumerate(pair):
            anchor = pair[1 - place].terms & question.terms
            lacks = word.terms & question.terms and not word.terms & told.terms
            there = [each for each in said if each[1 - place].terms & anchor] if lacks else []
            named = place == 1 and not linked
            if (
                (place or not linked)
                and there
                and all(
                    each[1].linked == linked
                    and _is_rival(each[place], word.text, question, named=named)
                    for each in there
                )
            ):
                return True
    return False


def _pairs(text: str) -> list[tuple[AnalyzedWord, AnalyzedWord]]:
    """Return the words of a text in pairs of neighbours, with nothing at both ends."""
    words, linked = [AnalyzedWord()], False
    for word in _WORD.findall(text):
        is_link = word.lower() in _STATED.words("links")
        if not is_link:
            words.append(AnalyzedWord(word, terms_of(word), linked))
        linked = is_link
    return [*pairwise([*words, AnalyzedWord()])]


def _is_rival(word: AnalyzedWord, other: str, question: ParsedQuestion, *, named: bool) -> bool:
    """Return whether ``word`` can only mean another thing; ``named`` if just a name does."""
    text, terms, _ = word
    if text.isdigit() or other.isdigit():
        return text.isdigit() and other.isdigit()
    if named and not (text[:1].isupper() and other[0].isupper()):
        return False
    known = text.lower() in stop_words(DEFAULT) or terms & question.terms
    is_date = _STATED.part_of_date.fullmatch(text) is not None
    return text.isalpha() and not (known or is_date or speaks_of_change(text))


@dataclass(frozen=True)
class StatedText:
    """A text, as far as it may bring another one up to date."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its terms."""
        return frozenset(ANALYZER.terms(self.text))

    @cached_property
    def _values(self) -> dict[str, list[tuple[str | None, str]]]:
        """Its values by sentence."""
        return {each: values_of(each) for each in stated_sentences(self.text)}

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is not as it was."""
        return any(map(speaks_of_change, self._values))

    @cached_property
    def values(self) -> set[tuple[str | None, str]]:
        """Its values, each with its sort."""
        return {*chain(*self._values.values())}

    def likeness(self, other: StatedText) -> float:
        """Return how like another text this one is (0 to 1), by their words."""
        sizes = len(self.terms) * len(other.terms)
        return len(self.terms & other.terms) / sizes**0.5 if sizes else 0.0

    def renews(self, old: StatedText, question: ParsedQuestion) -> bool:
        """Return whether it has another value of a sort with which ``old`` answers a question."""
        sorts = {sort for sort, _ in self.values - old.values}
        answers = (found for each, found in old._values.items() if question.is_met_by(each))
        return any(sort in sorts for found in answers for sort, _ in found)


# What a search reads of a record, it reads of the same ones again soon.
read_statement = lru_cache(maxsize=2_048)(StatedText)


# Precedence

DEPTH = 20  # of the best records, those that may bring the best one up to date
FOLLOWED = 3  # of the best records, those of which it is looked whether they changed
MOST_CHANGES = 8  # in all, and looks that find none
# What makes a later text the update of an earlier one: its likeness to it (0 to 1), and times these
# the likeness of their words, the share of its score, whether it speaks of a change, and whether it
# gives another value. Together they are ENOUGH. Figures: docs/retrieval.md.
WORDS, SHARE, CHANGE, VALUE, ENOUGH = 0.7, 2.2, 0.3, 0.4, 2.65
ASKS = 0.6  # what is left of the score of a turn that only asks


@dataclass(frozen=True, kw_only=True)
class UpdateReranker:
    """Moves what is true now above what was true before, in one search.

    Attributes:
        question: what is asked.
        rows: the user's records.
        visible: those that count.
        wanted: those of them that may be shown.
        one: whether a person asks an assistant, and names no time.
        texts, records: give what records say, or the records, by row.
    """

    question: ParsedQuestion
    rows: Rows
    visible: Mask
    wanted: Mask
    one: bool
    texts: Callable[[Sequence[int]], Mapping[int, str]]
    records: Callable[[Sequence[int]], Mapping[int, Record]]

    def rank(self, own: ScoredRecords, found: Mask) -> tuple[ScoredRecords, Mask]:
        """Return scores in which what is true now goes first, and which records to show.

        Args:
            own: the score of each record by itself.
            found: which of them have anything to do with the question.
        """
        asking = self._asking(own, found)
        if asking:
            score = own.score.copy()
            score[asking] *= ASKS
            own = own.moved(score)
        scored, shown = merge_facts(self.rows, own, found)
        scored, shown = self._with_asked_facts(own, scored, shown)
        if self.one and self.question.former:
            return self._with_former_first(scored, shown), shown
        can_move = self.one or len(self.rows.replaced)  # Among people corrections alone do.
        if can_move and not self.question.past:
            scored = self._with_updates_first(scored, shown)
        return scored, shown

    def _asking(self, scored: ScoredRecords, found: Mask) -> list[int]:
        """Return the turns among the best that ask and state nothing: no evidence of anything."""
        turns = self.rows["asks"] & (self.rows["kind"] == KINDS[Kind.EPISODE])
        best = [row for row in best_rows(scored.score, found, DEPTH) if turns[row]]
        return [row for row, text in self.texts(best).items() if states_nothing(text)]

    def _with_updates_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which what brings one of the best up to date goes before it."""
        best, place = best_rows(scored.score, shown, DEPTH), 0
        asked = "attribute" in scored.evidence
        one = self.one and not (asked and asks_for_many(self.question.text))
        self.texts(best if one else ())  # All at once.
        for _ in range(MOST_CHANGES):
            if place == min(FOLLOWED, len(best)):
                break
            old = sorted(best, key=lambda row: -scored.score[row])[place]
            new = self._find_correction(old, scored, shown)
            new = self._find_fit(old, best, scored) if new is None and one else new
            if new is None or scored.score[new] > scored.score[old]:  # Of a correction.
                place += 1
            else:
                scored = _moved_above(scored, new, old)
        return scored

    def _with_former_first(self, scored: ScoredRecords, shown: Mask) -> ScoredRecords:
        """Return scores in which what the best record brought up to date goes before it."""
        best = best_rows(scored.score, shown, DEPTH)
        old = self._find_fit(best[0], best, scored, former=True) if best else None
        return scored if old is None else _moved_above(scored, old, best[0])

    def _find_correction(self, top: int, scored: ScoredRecords, shown: Mask) -> int | None:
        """Return the best shown record that replaced ``top``, or a fact drawn from it."""
        rows = self.rows
        told = [top, *rows.sources[rows.sources[:, 1] == top, 0].tolist()]
        replaced = rows.replaced[(rows.replaced[:, :1] == told).any(axis=1), 1].tolist()
        found = (row for row in replaced if shown[row])
        return max(found, key=scored.score.__getitem__, default=None)

    def _find_fit(
        self, top: int, best: Sequence[int], scored: ScoredRecords, *, former: bool = False
    ) -> int | None:
        """Return which of those below ``top`` brings it up to date, or which ``top`` does.

        Both are of one speaker, and not too long. An item says nothing: a new one takes the place
        of an old one under its key alone.
        """
        rows, score, fits = self.rows, scored.score, dict[int, float]()
        # What a fact tells happens at another time.
        said = rows["event" if rows["kind"][top] == KINDS[Kind.EPISODE] else "created"]
        for row in best:
            old, late = (row, top) if former else (top, row)
            if (
                said[old] < said[late]
                and score[row] <= score[top]
                and rows["speaker"][row] == rows["speaker"][top]
                and rows["kind"][row] != KINDS[Kind.ITEM]
                and rows["length"][[row, top]].max() <= LONGEST
            ):
                fits[row] = self._fit(old, late, scored)
        known = f"{self.question.text} {self._read(top).text}"
        told = {row: self._read(row) for row, fit in fits.items() if fit >= ENOUGH}
        enough = (
            row
            for row, new in told.items()
            if not (competes(self.question, new) or begins_with_another(new.text, known))
        )
        return max(enough, key=fits.__getitem__, default=None)

    def _fit(self, old: int, new: int, scored: ScoredRecords) -> float:
        """Return how much a record is the update of an earlier one."""
        told, before = self._read(new), self._read(old)
        low, high = sorted(map(float, scored.score[[new, old]]))
        fit = self._likeness(new, old) + WORDS * told.likeness(before) + SHARE * low / high
        lost, words = before.terms - told.terms, self.question.words
        if lost <= words or (lost & words and is_keyword(self.question.text)):
            return 0.0  # It says the same, but for what is asked for.
        return fit + CHANGE * told.changes + VALUE * told.renews(before, self.question)

    def _likeness(self, row: int, other: int) -> float:
        """Return how like another record one is: by their vectors, or their words without."""
        vectors, pair = self.rows.vectors, [row, other]
        if min(vectors.scales[pair]) <= UNREAD:
            return self._read(row).likeness(self._read(other))
        return float(np.vecdot(*(vectors.codes[pair] * vectors.scales[pair, None])))

    def _read(self, row: int) -> StatedText:
        """Return what a record says, as far as it may bring another one up to date."""
        return read_statement(self.texts([row]).get(row, ""))

    def _with_asked_facts(
        self, own: ScoredRecords, scored: ScoredRecords, shown: Mask
    ) -> tuple[ScoredRecords, Mask]:
        """Return scores in which the facts that a question asks for come first, if any is known.

        Of a fact and the turns that it was drawn from the best stands for all: "Who is my boss?"
        has one answer, however it was worded ("It's Shona I answer to now").

        Args:
            own: the scores of all records, each by itself.
            scored: the same, with what facts lend to turns.
            shown: which of them to show.
        """
        shown, sources = shown.copy(), self.rows.sources
        first = list[int]()
        for fact in sorted(self._find_asked_facts(), key=lambda row: -own.score[row]):
            turns = sources[sources[:, 0] == fact, 1].tolist()
            told = [row for row in (fact, *turns) if self.wanted[row]]
            if not told:
                continue
            best = max(told, key=lambda row: own.score[row])
            if best == fact:  # Which says what the turns said.
                shown[told] = False
            shown[best] = True
            first.append(best)
        if not first:
            return scored, shown
        score, held = scored.score.copy(), np.zeros_like(scored.score)
        over = score[shown].max()
        for row in reversed(first):
            score[row] = over = np.nextafter(over, 2.0)
        held[first] = 1
        return scored.raised("attribute", held, score), shown

    def _find_asked_facts(self) -> list[int]:
        """Return the facts of the user that hold now of what is asked.

        English tells the past by words that other languages ask with: "Was trinke ich?".
        """
        rows = self.rows
        if not rows.names["attribute"]:
            return []
        past = self.question.past
        asked = [
            each.attribute
            for each in read_asked(self.question.text)
            if each.own and not each.former and not (past and each.language == "en")
        ]
        held = rows.named("attribute", *asked) & rows.named("subject", "user")
        held &= self.visible
        held[find_superseded(rows, self.visible)] = False
        told = self.records(np.flatnonzero(held).tolist())
        # What is so answers better than what is not: "is not allergic to nuts".
        return [row for row, fact in told.items() if fact.value is not None] or [*told]


def asks_for_many(question: str) -> bool:
    """Return whether a question asks for an attribute of which several values hold at once."""
    return any(attributes()[each.attribute].holds == "many" for each in read_asked(question))


def find_superseded(rows: Rows, found: Mask) -> Places:
    """Return the facts that were found and whose replacements were found, too."""
    old = pairs_among(rows.replaced, found)[:, 0]
    places: Places = old[rows["kind"][old] != KINDS[Kind.EPISODE]]
    return places


def _moved_above(scored: ScoredRecords, row: int, other: int) -> ScoredRecords:
    """Return scores in which a record is just above another one."""
    score = scored.score.copy()
    score[row] = np.nextafter(score[other], 2.0)
    return scored.moved(score)
