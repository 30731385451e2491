"""The extractor that needs no model: turns in, claims out, by rules that would rather be silent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extract.clauses import Clause, clauses
from memoranda.learning.extract.content import carries, kept_length, weigh
from memoranda.learning.extract.foreign import read_foreign
from memoranda.learning.extract.inflect import is_past
from memoranda.learning.extract.prose import Sentence, sentences
from memoranda.learning.extract.refusal import is_joke, is_order, is_refused
from memoranda.learning.extract.rewriting import Token, finish, rewrite, tokens, uncapitalized
from memoranda.learning.extract.scene import Scene, agrees, person_of, scene_of
from memoranda.learning.extract.statements import Setting, Stated, read_statement
from memoranda.learning.extract.values import complete_percent, topic_of, values_in
from memoranda.learning.extract.withheld import without_withheld
from memoranda.learning.extract.words import (
    AUXILIARIES,
    COMPLETE,
    ENGLISH,
    HABITS,
    HYPOTHETICAL,
    INTERROGATIVES,
    LIKES,
    MODALS,
    SECOND,
)
from memoranda.model.life import DateMention
from memoranda.model.models import Mention
from memoranda.model.ports import EntityExtractor
from memoranda.text.secrets import tells_secret

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
_CAPITAL = re.compile(r"(?<=[\w,;] )[A-Z][a-z]+|^[A-Z][a-z]+ ")
_REMEMBER = re.compile(
    r"\s*(?:(?:and|also|but|please|pls|oh|ok|okay|so|hey|btw|important)\b[\s,:]*){0,4}"
    r"(?:(?:can|could|would|will)\s+you\s+)?(?:please\s+)?(?:(?:try\s+to|make\s+sure\s+to)\s+)?"
    r"(?:remember|note|bear\s+in\s+mind|keep\s+in\s+mind|don't\s+forget|do\s+not\s+forget|"
    r"for\s+(?:the\s+record|future\s+reference|your\s+information)|fyi|"
    r"(?:save|store|add)\s+(?:this\s+|it\s+)?(?:to|in)\s+(?:your\s+)?memory|"
    r"i\s+want\s+you\s+to\s+(?:know|remember))\b\s*(?:that\b|this\b)?\s*[:,-]?\s*",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\s*(?:(?:oh|oops|hmm|wait|ah|hey|well)\b[\s,!.-]*){0,3}(?:actually|no\b(?=\s*,)|correction|"
    r"sorry(?=\s*,)|my\s+mistake|i\s+(?:meant|misspoke)|scratch\s+that|to\s+correct\s+myself|"
    r"let\s+me\s+correct\s+that)\b[\s,:;.!-]*(?:i\s+(?:meant|mean)\b[\s,:]*)?",
    re.IGNORECASE,
)
_SURELY = re.compile(r"correct|sorry|mistake|meant|mean|misspoke|scratch", re.IGNORECASE)
_HE = re.compile(r"(?:he|she)(?:'s)?\b", re.IGNORECASE)


_QUOTES = re.compile(r'"[^"]*"|“[^”]*”|«[^»]*»|`[^`]*`|https?://\S+')
_OWN_WORDS = re.compile(r"\b(?:I|[Mm]y|me)\b(?!['-])|\bI'")
_POINTS = re.compile(r"(?:it|that)(?:'s|\s+is|\s+was)\s", re.IGNORECASE)
_VERBS = (AUXILIARIES | MODALS | {each + "s" for each in LIKES | HABITS}) - {"may"}
_OWNS = frozenset({"my", "our", "i", "we", "i'm", "we're"})


class DateResolver(Protocol):
    """Finds the times that a text speaks of, and writes them out."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return the times in ``text``, in order, none overlapping."""

    def resolve(self, text: str, said_at: datetime) -> str:
        """Return ``text`` with relative times made absolute."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A claim before its dates: the statement, its words in the turn, and how sure it is."""

    content: str
    subject: str
    category: Category
    score: float
    start: int
    end: int


class RuleExtractor:
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
        around = without_withheld([*before, *page])
        claims: list[Claim] = []
        topics: dict[str, str] = {}
        for place, turn in enumerate(around):
            if place < len(before) - _CONTEXT or not turn.person:
                continue
            scene = scene_of(turn, around, self._mentions(turn.text))
            scene.topic = topics.get(turn.speaker, "")
            drafts = [
                draft for sentence in sentences(turn.text) for draft in _read(sentence, turn, scene)
            ]
            topics[turn.speaker] = scene.topic
            if place >= len(before):
                claims += self._claims(drafts, turn)
        return claims

    def _mentions(self, text: str) -> list[Mention]:
        return self._names.extract(text) if _CAPITAL.search(text) else []

    def _claims(self, drafts: Sequence[_Draft], turn: Turn) -> list[Claim]:
        claims: dict[str, Claim] = {}
        for draft in drafts:
            claim = self._claim(draft, turn)
            if claim is not None:
                claims.setdefault(claim.content.casefold(), claim)
        return list(claims.values())

    def _claim(self, draft: _Draft, turn: Turn) -> Claim | None:
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


def _read(sentence: Sentence, turn: Turn, scene: Scene) -> Iterator[_Draft]:
    """Yield what a sentence states."""
    said = turn.text[sentence.start : sentence.start + len(sentence.shown)]
    asked = _REMEMBER.match(sentence.shown)
    corrected = None if asked else _CORRECTION.match(sentence.shown)
    lead = asked or corrected
    if tells_secret(said) or is_joke(said) or (lead and is_order(said)):
        return
    if lead is None:
        foreign = list(_foreign(sentence, turn, scene))
        if foreign or not _is_english(sentence.shown):
            yield from foreign
            return
    else:
        end = lead.end()
        question = sentence.question and asked is None
        sentence = Sentence(sentence.shown[end:], sentence.start + end, question)
    sure = corrected is not None and _SURELY.search(corrected[0]) is not None
    reader = _Clauses(
        turn, scene, asked=asked is not None, corrected=corrected is not None, sure=sure
    )
    yield from reader.read(sentence)


def _is_english(shown: str) -> bool:
    words = shown.lower().split()
    if {"my", "our"}.intersection(words):
        return True
    known = sum(word.strip(".,!?;:'\"").partition("'")[0] in ENGLISH for word in words)
    return known > len(words) * _LEAST_ENGLISH


def _foreign(sentence: Sentence, turn: Turn, scene: Scene) -> Iterator[_Draft]:
    said = turn.text[sentence.start : sentence.start + len(sentence.shown)]
    found = read_foreign(sentence.shown, said, scene.person)
    if found is None or sentence.question or is_refused(said):
        return
    text, category, score, start, end = found
    at = sentence.start
    yield _Draft(text, scene.person.name, category, score, at + start, at + end)


class _Clauses:
    """Reads the clauses of one sentence."""

    def __init__(
        self, turn: Turn, scene: Scene, *, asked: bool, corrected: bool, sure: bool
    ) -> None:
        """Read what ``turn`` says.

        Args:
            turn: whose sentence it is.
            scene: in which it is said.
            asked: whether somebody asks to remember it.
            corrected: whether it may correct what was said before.
            sure: whether it surely does.
        """
        self.turn = turn
        self.scene = scene
        self.asked = asked
        self.corrected = corrected
        self.sure = sure

    def read(self, sentence: Sentence) -> Iterator[_Draft]:
        """Yield what each clause states; after a doubt the rest of the sentence is doubtful."""
        before: Clause | None = None
        for clause in clauses(sentence, self.scene.hearers):
            said = self._said(clause)
            if is_refused(said):
                before = None
                continue
            yield from self._clause(clause, said, before)
            before = clause

    def _said(self, clause: Clause) -> str:
        return self.turn.text[clause.start : clause.start + len(clause.shown)]

    def _clause(self, clause: Clause, said: str, before: Clause | None) -> Iterator[_Draft]:
        words = tokens(clause.shown)
        if self.scene.chat:
            yield from self._values(clause, said)
        corrected = None if clause.asks else self._corrected(clause, said)
        if corrected is not None:
            yield corrected
            return
        if clause.asks or len(words) < _SHORTEST or words[0].low in INTERROGATIVES - {"when"}:
            return
        setting = Setting(
            self.scene.chat,
            frozenset(self.scene.people),
            loose=self.asked or self.sure,
            opens=before is None,
        )
        pronoun = _HE.match(clause.shown)
        if pronoun and self.scene.last:
            draft = self._of_last(clause, pronoun, setting)
        else:
            draft = self._stated(clause, words, said, setting)
            if draft is not None and before is not None and self.scene.chat:
                draft = self._with_percent(draft, before)
        if draft is not None:
            yield draft

    def _stated(
        self, clause: Clause, words: Sequence[Token], said: str, setting: Setting
    ) -> _Draft | None:
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
            said[begin:end], clause.shown[begin:end], self.scene.person, stated.prefix
        )
        subject = self._subject(said, words, stated)
        self.scene.topic = topic_of(content) or self.scene.topic
        at = clause.start
        return _Draft(content, subject, self._category(stated), score, at + begin, at + end)

    def _with_percent(self, draft: _Draft, before: Clause) -> _Draft:
        told = rewrite(before.shown, before.shown, self.scene.person)
        return replace(draft, content=complete_percent(draft.content, told))

    def _kept(self, words: Sequence[Token], stated: Stated) -> tuple[Sequence[Token], float]:
        """Return the words that can stand alone, none if too few, and the score they give."""
        words = words[stated.first :]
        rest = stated.reading.rest - stated.first
        hearer = bool(self.scene.person.hearer)
        length = kept_length(words, rest, hearer=hearer, persons=stated.third)
        count, bonus = weigh(words[rest:length], lasting=stated.reading.category in _LASTING)
        if length <= rest or count == 0:
            return (), 0.0
        if count <= _FEW and stated.reading.category in _DOINGS and _is_bare(words[rest:length]):
            bonus -= _BARE
        score = round(stated.reading.score + bonus, 3)
        if any(word.low in SECOND for word in words[:length]):
            score -= _HEARER_COST
        if self.asked or self.sure:
            score = max(score, _SURE)
        return words[:length], score

    def _category(self, stated: Stated) -> Category:
        if self.asked:
            return Category.REMEMBER
        return Category.CORRECTION if self.sure else stated.reading.category

    def _subject(self, said: str, words: Sequence[Token], stated: Stated) -> str:
        own = words[stated.first].low in {"my", "our"}
        if not stated.subject or (own and not stated.third):
            return self.scene.person.name
        first, last = words[stated.first], words[stated.subject - 1]
        group = said[first.start : last.end]
        spoken = rewrite(group, group, self.scene.person).rstrip(".").removesuffix("'s")
        return uncapitalized(spoken)

    def _note_person(self, words: Sequence[Token], stated: Stated | None) -> None:
        """Remember the one person that a clause brings up, for a ``she`` that follows."""
        found = {self.scene.people[word.low] for word in words if word.low in self.scene.people}
        if len(found) == 1:
            self.scene.last = found.pop()
        elif len(found) > 1:
            self.scene.last = ""
        elif stated is not None and stated.third:
            self.scene.last = person_of(words[stated.first : stated.subject])

    def _of_last(self, clause: Clause, pronoun: re.Match[str], setting: Setting) -> _Draft | None:
        """Read ``She works at Siemens`` where it is clear who she is."""
        name = self.scene.last
        tail = " is" if pronoun[0].endswith("'s") else ""
        first = name.split()[0].lower().removesuffix("'s")
        if not agrees(pronoun[0], name):
            return None
        shown = name + tail + clause.shown[pronoun.end() :]
        said = name + tail + self._said(clause)[pronoun.end() :]
        words = tokens(shown)
        stated = read_statement(words, replace(setting, people=frozenset({first})))
        if stated is None or not stated.third:
            return None
        kept, score = self._kept(words, stated)
        if not kept:
            return None
        end = kept[-1].end
        content = rewrite(said[:end], shown[:end], self.scene.person)
        stop = clause.start + pronoun.end() + end - len(name + tail)
        subject = self._subject(said, words, stated)
        return _Draft(content, subject, self._category(stated), score, clause.start, stop)

    def _corrected(self, clause: Clause, said: str) -> _Draft | None:
        """Read ``Actually, it's April 5`` where it is clear what has that value."""
        if not (self.corrected and self.scene.topic):
            return None
        if _has_subject(clause.shown):
            return None
        found = re.match(
            r"(?:(?:it|that)(?:'s|\s+is|\s+was)\s+)(?=\S)", clause.shown, re.IGNORECASE
        )
        value = said[found.end() :] if found else said
        if not found and not re.fullmatch(r"(?:on\s+|at\s+)?[\w€$£%:., -]*\d[\w€$£%:., -]*", value):
            return None
        content = finish(f"{self.scene.topic} {value}")
        subject = uncapitalized(self.scene.topic.rpartition(" ")[0])
        start = clause.start
        return _Draft(content, subject, Category.CORRECTION, _SURE, start, start + len(said))

    def _values(self, clause: Clause, said: str) -> Iterator[_Draft]:
        for value in values_in(clause.shown, said, self.scene.person):
            yield _Draft(
                value.content,
                value.subject,
                Category.STATE,
                value.score,
                clause.start + value.start,
                clause.start + value.end,
            )


def _speaks_for_itself(content: str, speaker: str) -> bool:
    """Return whether ``content`` still holds a ``my`` or ``I`` of the speaker: it was misread."""
    return _OWN_WORDS.search(_QUOTES.sub("", content).replace(speaker, "")) is not None


def _has_subject(shown: str) -> bool:
    """Return whether a corrected clause says itself what it is of: ``my start date was …``."""
    if _POINTS.match(shown):
        return False
    words = tokens(shown)
    verbs = [at for at, word in enumerate(words) if word.low in _VERBS or is_past(word.low)]
    return bool(verbs) or bool(words and words[0].low in _OWNS)


def _is_bare(words: Sequence[Token]) -> bool:
    """Return whether all that is said is a verb: ``we talked``."""
    told = [word.low for word in words if carries(word)]
    if len(told) == 1 and told[0].endswith("ing"):
        return told[0] not in COMPLETE
    return all(is_past(each) and each not in COMPLETE for each in told)


def _is_doubtful(words: Sequence[Token], stated: Stated) -> bool:
    """Return whether a clause is supposed or wished rather than said."""
    lead = words[stated.first : stated.reading.rest]
    return any(word.low in HYPOTHETICAL for word in lead) or words[0].low == "if"
