"""Extracts facts without a model: messages in, claims out, by rules that would rather be silent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from memoranda.learning.claims import Category, Claim, ClaimDraft, Turn
from memoranda.learning.extraction.clauses import (
    Clause,
    carries_content,
    measure_kept,
    split_clauses,
    weigh_words,
)
from memoranda.learning.extraction.exclusions import blank_exclusions, is_joke, is_order, is_refused
from memoranda.learning.extraction.other_languages import read_foreign
from memoranda.learning.extraction.rewriting import (
    ClauseToken,
    finish_sentence,
    lower_first_word,
    rewrite,
    split_tokens,
)
from memoranda.learning.extraction.sentences import Sentence, split_sentences
from memoranda.learning.extraction.speaker import (
    SpeakerContext,
    build_context,
    can_stand_for,
    find_person,
)
from memoranda.learning.extraction.statements import (
    ClauseContext,
    ClauseStatement,
    complete_percent,
    find_topic,
    find_values,
    read_statement,
)
from memoranda.learning.verbs import is_past
from memoranda.model.models import DateMention, Mention
from memoranda.model.ports import EntityExtractor
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import tells_secret

_EN = LanguageData("en", "extraction")


THRESHOLD = 0.5
"""What a claim must score by default; see ``benchmarks/facts.py`` for what others give."""

_SURE = 0.9
_MOST = 0.95
_DATED = 0.08
_DATED_PLAN = 0.16
_WORTH_DATING = 0.12
_HEARER_COST = 0.1
_BARE = 0.2
_FEW = 2
_SHORTEST = 2
_CONTEXT = 6
_LEAST_ENGLISH = 0.2
_CAPITAL = compile_pattern(r"(?<=[\w,;] )[A-Z][a-z]+|^[A-Z][a-z]+ ")


_QUOTES = compile_pattern(r'"[^"]*"|“[^”]*”|«[^»]*»|`[^`]*`|https?://\S+')


class DateResolver(Protocol):
    """Finds the time expressions in a text, and writes them out as absolute dates."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return the times in ``text``, in order, none overlapping."""

    def resolve(self, text: str, said_at: datetime) -> str:
        """Return ``text`` with relative times made absolute."""


class RuleFactExtractor:
    """The :class:`~memoranda.learning.claims.Extractor` that needs no model.

    Finds what persons state of themselves, of those near them and of their projects, and says
    each as one sentence with names and dates in full. English; in German, Spanish and French
    only what somebody asks to remember, and a few forms of name, age and taste. Stateless and
    thread-safe; time is linear in the text.
    """

    def __init__(
        self, dates: DateResolver, names: EntityExtractor, *, threshold: float = THRESHOLD
    ) -> None:
        """Read with these.

        Args:
            dates: finds times, and makes relative ones absolute.
            names: finds names, to tell persons from the rest.
            threshold: what a claim must score, 0 to 1: less gives more claims, and more junk.
        """
        self._dates = dates
        self._names = names
        self._threshold = threshold

    def extract(self, page: Sequence[Turn], *, before: Sequence[Turn] = ()) -> list[Claim]:
        """Return the claims of ``page`` in the order they were said."""
        around = blank_exclusions([*before, *page])
        claims: list[Claim] = []
        topics: dict[str, str] = {}
        for place, turn in enumerate(around):
            if place < len(before) - _CONTEXT or not turn.person:
                continue
            context = build_context(turn, around, self._mentions(turn.text))
            context.topic = topics.get(turn.speaker, "")
            sentences = split_sentences(turn.text)
            drafts = [draft for each in sentences for draft in _read(each, turn, context)]
            topics[turn.speaker] = context.topic
            if place >= len(before):
                claims += self._claims(drafts, turn)
        return claims

    def _mentions(self, text: str) -> list[Mention]:
        return self._names.extract(text) if _CAPITAL.search(text) else []

    def _claims(self, drafts: Sequence[ClaimDraft], turn: Turn) -> list[Claim]:
        claims: dict[str, Claim] = {}
        for draft in drafts:
            claim = self._claim(draft, turn)
            if claim is not None:
                claims.setdefault(claim.content.casefold(), claim)
        return list(claims.values())

    def _claim(self, draft: ClaimDraft, turn: Turn) -> Claim | None:
        if draft.score < self._threshold - _WORTH_DATING:
            return None
        quote = turn.text[draft.start : draft.end]
        times = self._dates.read(draft.content, turn.at)
        score = draft.score
        if times:
            score += _DATED_PLAN if draft.category is Category.PLAN else _DATED
        if round(score, 3) < self._threshold:
            return None
        content = self._dates.resolve(draft.content, turn.at) if times else draft.content
        if _speaks_for_itself(content, turn.speaker):
            return None
        time = min(times, key=lambda each: _PRECISION.get(each.precision, 9), default=None)
        return Claim(
            content=content,
            subject=draft.subject,
            category=draft.category,
            sources=(turn.id,),
            speaker=turn.speaker,
            said_at=turn.at,
            event_time=time.since if time else turn.at,
            confidence=round(min(_MOST, score), 2),
            quote=quote,
        )


_DOINGS = frozenset({Category.EVENT, Category.PLAN, Category.IDENTITY})
_LASTING = frozenset({Category.IDENTITY, Category.POSSESSION, Category.RELATION})
_PRECISION = {"time": 0, "day": 1, "week": 2, "month": 3, "year": 4, "span": 5}


def _read(sentence: Sentence, turn: Turn, context: SpeakerContext) -> Iterator[ClaimDraft]:
    """Yield what a sentence states."""
    said = turn.text[sentence.start : sentence.start + len(sentence.shown)]
    asked = _EN.pattern("remember_request").match(sentence.shown)
    corrected = None if asked else _EN.pattern("correction").match(sentence.shown)
    lead = asked or corrected
    if tells_secret(said) or is_joke(said) or (lead and is_order(said)):
        return
    if lead is None:
        foreign = read_foreign(sentence.shown, said, context.person)
        if foreign is not None and not sentence.question and not is_refused(said):
            yield foreign.move(sentence.start)
            return
        if not _is_english(sentence.shown):
            return
    else:
        end = lead.end()
        question = sentence.question and asked is None
        sentence = Sentence(sentence.shown[end:], sentence.start + end, question)
    sure = corrected is not None and _EN.pattern("sure_correction").search(corrected[0]) is not None
    yield from _ClauseReader(turn, context, asked is not None, corrected is not None, sure).read(
        sentence
    )


def _is_english(shown: str) -> bool:
    words = shown.lower().split()
    if {"my", "our"}.intersection(words):
        return True
    known = sum(word.strip(".,!?;:'\"").partition("'")[0] in _EN.words("english") for word in words)
    return known > len(words) * _LEAST_ENGLISH


@dataclass(slots=True)
class _ClauseReader:
    """Reads the clauses of one sentence.

    Attributes:
        turn: whose sentence it is.
        context: in which it is said.
        asked: whether somebody asks to remember it.
        corrected: whether it may correct what was said before.
        sure: whether it surely does.
    """

    turn: Turn
    context: SpeakerContext
    asked: bool
    corrected: bool
    sure: bool

    def read(self, sentence: Sentence) -> Iterator[ClaimDraft]:
        """Yield what each clause states; after a doubt the rest of the sentence is doubtful."""
        before: Clause | None = None
        for clause in split_clauses(sentence, self.context.hearers):
            said = self._said(clause)
            if is_refused(said):
                before = None
                continue
            yield from self._clause(clause, said, before)
            before = clause

    def _said(self, clause: Clause) -> str:
        return self.turn.text[clause.start : clause.start + len(clause.shown)]

    def _clause(self, clause: Clause, said: str, before: Clause | None) -> Iterator[ClaimDraft]:
        words = split_tokens(clause.shown)
        if self.context.chat:
            for value in find_values(clause.shown, said, self.context.person):
                yield value.move(clause.start)
        corrected = None if clause.asks else self._corrected(clause, said)
        if corrected is not None:
            yield corrected
            return
        if clause.asks or len(words) < _SHORTEST or words[0].low in _EN.words("asking_words"):
            return
        setting = ClauseContext(
            self.context.chat,
            frozenset(self.context.people),
            loose=self.asked or self.sure,
            opens=before is None,
        )
        pronoun = _EN.pattern("he_or_she").match(clause.shown)
        if pronoun and self.context.last:
            draft = self._of_last(clause, pronoun, setting)
        else:
            draft = self._stated(clause, words, said, setting)
            if draft is not None and before is not None and self.context.chat:
                told = rewrite(before.shown, before.shown, self.context.person)
                draft = draft._replace(content=complete_percent(draft.content, told))
        if draft is not None:
            yield draft

    def _stated(
        self, clause: Clause, words: Sequence[ClauseToken], said: str, setting: ClauseContext
    ) -> ClaimDraft | None:
        stated = read_statement(words, setting)
        if stated is None or _is_doubtful(words, stated):
            self._note_person(words, None)
            return None
        self._note_person(words, stated)
        kept, score = self._kept(words, stated)
        if not kept:
            return None
        begin, end = kept[0].start, kept[-1].end
        content = rewrite(
            said[begin:end], clause.shown[begin:end], self.context.person, stated.prefix
        )
        subject = self._subject(said, words, stated)
        self.context.topic = find_topic(content) or self.context.topic
        at = clause.start
        return ClaimDraft(content, subject, self._category(stated), score, at + begin, at + end)

    def _kept(
        self, words: Sequence[ClauseToken], stated: ClauseStatement
    ) -> tuple[Sequence[ClauseToken], float]:
        """Return the words that can stand alone, none if too few, and the score they give."""
        words, category = words[stated.first :], stated.predicate.category
        rest = stated.predicate.rest - stated.first
        hearer = bool(self.context.person.hearer)
        length = measure_kept(words, rest, hearer=hearer, persons=stated.third)
        count, bonus = weigh_words(
            words[rest:length], lasting=stated.predicate.category in _LASTING
        )
        if length <= rest or count == 0:
            return (), 0.0
        if count <= _FEW and category in _DOINGS and _is_bare(words[rest:length]):
            bonus -= _BARE
        score = round(stated.predicate.score + bonus, 3)
        if any(word.low in _EN.words("second") for word in words[:length]):
            score -= _HEARER_COST
        if self.asked or self.sure:
            score = max(score, _SURE)
        return words[:length], score

    def _category(self, stated: ClauseStatement) -> Category:
        if self.asked:
            return Category.REMEMBER
        return Category.CORRECTION if self.sure else stated.predicate.category

    def _subject(self, said: str, words: Sequence[ClauseToken], stated: ClauseStatement) -> str:
        own = words[stated.first].low in {"my", "our"}
        if not stated.subject or (own and not stated.third):
            return self.context.person.name
        first, last = words[stated.first], words[stated.subject - 1]
        group = said[first.start : last.end]
        spoken = rewrite(group, group, self.context.person).rstrip(".").removesuffix("'s")
        return lower_first_word(spoken)

    def _note_person(self, words: Sequence[ClauseToken], stated: ClauseStatement | None) -> None:
        """Remember the one person that a clause brings up, for a ``she`` that follows."""
        found = {self.context.people[word.low] for word in words if word.low in self.context.people}
        if len(found) == 1:
            self.context.last = found.pop()
        elif len(found) > 1:
            self.context.last = ""
        elif stated is not None and stated.third:
            self.context.last = find_person(words[stated.first : stated.subject])

    def _of_last(
        self, clause: Clause, pronoun: re.Match[str], setting: ClauseContext
    ) -> ClaimDraft | None:
        """Read ``She works at Siemens`` where it is clear who she is."""
        name = self.context.last
        tail = " is" if pronoun[0].endswith("'s") else ""
        first = name.split()[0].lower().removesuffix("'s")
        if not can_stand_for(pronoun[0], name):
            return None
        shown = name + tail + clause.shown[pronoun.end() :]
        said = name + tail + self._said(clause)[pronoun.end() :]
        words = split_tokens(shown)
        stated = read_statement(words, replace(setting, people=frozenset({first})))
        if stated is None or not stated.third:
            return None
        kept, score = self._kept(words, stated)
        if not kept:
            return None
        end = kept[-1].end
        content = rewrite(said[:end], shown[:end], self.context.person)
        stop = clause.start + pronoun.end() + end - len(name + tail)
        subject = self._subject(said, words, stated)
        return ClaimDraft(content, subject, self._category(stated), score, clause.start, stop)

    def _corrected(self, clause: Clause, said: str) -> ClaimDraft | None:
        """Read ``Actually, it's April 5`` where it is clear what has that value."""
        if not (self.corrected and self.context.topic) or _has_subject(clause.shown):
            return None
        found = _EN.pattern("pointing_value").match(clause.shown)
        value = said[found.end() :].lstrip() if found else said
        if not found and not _EN.pattern("bare_value", 0).fullmatch(value):
            return None
        content = finish_sentence(f"{self.context.topic} {value}")
        subject = lower_first_word(self.context.topic.rpartition(" ")[0])
        start = clause.start
        return ClaimDraft(content, subject, Category.CORRECTION, _SURE, start, start + len(said))


def _speaks_for_itself(content: str, speaker: str) -> bool:
    """Return whether ``content`` still holds a ``my`` or ``I`` of the speaker: it was misread."""
    rest = _QUOTES.sub("", content).replace(speaker, "")
    return _EN.pattern("own_words", 0).search(rest) is not None


def _has_subject(shown: str) -> bool:
    """Return whether a corrected clause says itself what it is of: ``my start date was …``."""
    if _EN.pattern("pointing_value").match(shown):
        return False
    words = split_tokens(shown)
    owned = bool(words) and words[0].low in _EN.words("own_subjects")
    return owned or any(_is_verb(word.low) for word in words)


def _is_verb(low: str) -> bool:
    if low == "may":
        return False
    habit = low.endswith("s") and low[:-1] in _EN.words("likes", "habits")
    return habit or low in _EN.words("auxiliaries", "modals") or is_past(low)


def _is_bare(words: Sequence[ClauseToken]) -> bool:
    """Return whether all that is said is a verb: ``we talked``."""
    told = [word.low for word in words if carries_content(word)]
    if len(told) == 1 and told[0].endswith("ing"):
        return told[0] not in _EN.words("complete")
    return all(is_past(each) and each not in _EN.words("complete") for each in told)


def _is_doubtful(words: Sequence[ClauseToken], stated: ClauseStatement) -> bool:
    """Return whether a clause is supposed or wished rather than said."""
    lead = words[stated.first : stated.predicate.rest]
    return any(word.low in _EN.words("hypothetical") for word in lead) or words[0].low == "if"
