"""Checks what a model claims against the turns that it cites, and says why a claim is rejected.

The checks read words, numbers, names, days and denials; they are coarse and know no grammar. They
catch what models invent: a number nobody named, a day that does not follow from what was said, a
sentence about something else, and the contrary of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple, TypeVar

from memoranda.errors import InvalidInput
from memoranda.facts.reader import Speaker, read_written_facts
from memoranda.facts.requests import read_instruction
from memoranda.learning.claims import ROLES, Category, Claim, Turn
from memoranda.learning.extraction.exclusions import is_order
from memoranda.learning.parsed_text import UNSPACED, replace_idioms
from memoranda.model.checks import storable
from memoranda.model.models import Record
from memoranda.text.calendar import Table, calendar_numbers
from memoranda.text.dates.statements import DateParser
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.recalled import FENCE
from memoranda.text.secrets import has_secret
from memoranda.text.terms import without_accents

_SEPARATOR = compile_pattern(r"[.,:]")
_YEAR = compile_pattern(r"\d{4}(?:-\d\d)?")
ENGLISH = LanguageData("en", "evidence")
GERMAN = LanguageData("de", "evidence")
EVIDENCE = LanguageData("mul", "evidence")
COMPARISON = LanguageData("en", "comparison")
WORD = compile_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NUMBER = compile_pattern(r"\d+(?:[.,:]\d+)*")
_NO = compile_pattern(r"\bno\b", re.IGNORECASE)
STEM = 4
# What may stand between a sentence and a name in it.
OPENING = " \"'(\u201c\u2018\u00ab"
# How far from the moment of speaking a day may lie whose month alone was named.
NEAR = timedelta(days=400)
MOST_DAYS = 62
_TENS = range(20, 100, 10)
# Characters of one claim: it is a sentence.
LONGEST = 400
# Turns before a source that may say what it is an answer to.
JUST_BEFORE = 2
# Words of a claim from which one alone in its sources is chance.
MANY = 4
THE_USER = "the user"
# Fences of memory, of this prompt and of code; lines of recall.
MARKUP = compile_pattern(
    rf"[<‹]\s*/?\s*(?:{FENCE}|before|turns|system)\b|```|^\s*#|\[\d{{4}}-\d\d-\d\d \d\d:\d\d,",
    re.IGNORECASE,
)
Cited = TypeVar("Cited", Turn, Record)


def find_cited(named: Iterable[str], labels: Mapping[str, Cited]) -> list[Cited]:
    """Return what a model names by the labels it was shown, or by id, each once."""
    known = {each.id: each for each in labels.values()} | dict(labels)
    found = (known.get(name.strip().strip("[]#")) for name in named)
    return list({each.id: each for each in found if each is not None}.values())


@cache
def calendar_stems() -> set[str]:
    """Return the stems of the names of months and weekdays."""
    return stems(" ".join([*calendar_names("months"), *calendar_names("weekdays")]))


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """A statement as a model extracts it; see ``prompts/extract.md`` for each field."""

    content: str
    sources: list[str]
    subject: str = THE_USER
    category: Category = Category.STATE
    event_time: str | None = None
    confidence: float = 0.8
    quote: str = ""


class ClaimChecker:
    """Checks claims against the turns that a model was shown.

    Args:
        page: the turns that claims may rest on.
        before: turns said before them.
        reader: finds the times in a text.
    """

    def __init__(self, page: Sequence[Turn], before: Sequence[Turn], reader: DateParser) -> None:
        """Check claims of ``page``."""
        self.page = page
        self.labels = {f"t{number}": turn for number, turn in enumerate(page, 1)}
        self._around = [*before, *page]
        self._reader = reader
        self._text = "\n".join(turn.text for turn in self._around)
        self._speakers = stems(" ".join([THE_USER, *{turn.speaker for turn in self._around}]))

    def check(self, drawn: ClaimAnswer) -> Claim | str:
        """Return the claim as it holds, or why it does not."""
        content = " ".join(drawn.content.split())
        if why := _why_unfit(content):
            return why
        # A person's turns first.
        cited = sorted(find_cited(drawn.sources, self.labels), key=lambda turn: not turn.person)
        spoken = [turn for turn in cited if turn.person]
        if not spoken:
            return "no turn of a person says it"
        evidence = Evidence(
            list(dict.fromkeys([*self._just_before(spoken[0]), *cited])), self._reader
        )
        moment = read_time(drawn.event_time, spoken[0].at)
        if moment is not None and not evidence.covers(moment.date()):
            moment = None
        if why := self._why_unsupported(content, spoken, evidence):
            return why
        if evidence.is_unfounded(content, moment.date() if moment else None):
            return "a number or day in it was not said"
        return _claim(drawn, content, cited, moment or spoken[0].at)

    def is_founded(self, text: str) -> bool:
        """Return whether a text names no number, day or name that no turn of the page has."""
        strange = names(text) - stems(self._text) - self._speakers
        return not strange and not Evidence(self.page, self._reader).is_unfounded(text, None)

    def _why_unsupported(
        self, content: str, spoken: Sequence[Turn], evidence: Evidence
    ) -> str | None:
        """Return why the words of a claim are not those of the persons, if so."""
        if not self._is_said(content, spoken, evidence):
            return "no word of it was said"
        agreed = any(self._agrees(turn) for turn in spoken)
        asked = self._just_before(spoken[0]) if agreed else []
        if is_contrary(content, self._about(content), [turn.text for turn in [*asked, *spoken]]):
            return "the contrary of it was said"
        strange = names(content) - stems(self._text) - self._speakers
        return "a name in it was never said" if strange else None

    def _agrees(self, turn: Turn) -> bool:
        """Return whether a turn says yes, or accepts as a whole what was asked just before."""
        before = self._just_before(turn)[-1:]
        asked = any(each.text.rstrip().endswith(("?", "\uff1f")) for each in before)
        said = ["affirmation", "acceptance"] if asked else ["affirmation"]
        agrees = any(EVIDENCE.pattern(name).match(turn.text) for name in said)
        return agrees and not EVIDENCE.pattern("reservation").search(turn.text)

    def _just_before(self, turn: Turn) -> list[Turn]:
        place = self._around.index(turn)
        return self._around[max(0, place - JUST_BEFORE) : place]

    def about(self, content: str) -> set[str]:
        """Return the stems of what a claim says; whom it is about and when shows nothing."""
        return stems(content) - self._speakers - calendar_stems()

    def _about(self, content: str) -> set[str]:
        plain = EVIDENCE.pattern("user").sub(" ", content)
        return self.about(plain) or stems(plain)

    def _is_said(self, content: str, spoken: Sequence[Turn], evidence: Evidence) -> bool:
        """Return whether persons say words of it, or say yes to it."""
        own, about = "\n".join(turn.text for turn in spoken), self._about(content)
        answered = bool(numbers(content) & numbers(own))
        if not _overlaps(content, about, evidence):
            return not about and answered
        denied = denies(content) and any(map(EVIDENCE.pattern("denial").match, own.splitlines()))
        confirmed = denied or any(self._agrees(turn) for turn in spoken)
        # "33" and "yes" say as much as what they are an answer to.
        return bool(about & stems(own)) or answered or confirmed


def _overlaps(content: str, about: set[str], evidence: Evidence) -> bool:
    """Return whether enough of what is claimed was said: of whom alone is not enough."""
    found = about & evidence.stems
    if len(about) >= MANY:
        return len(found) > 1
    named = own_names(content, evidence.text)
    if found - named:
        return True
    rest = (about - (stems(content.split(maxsplit=1)[0]) & named)) or about
    return bool(found & rest) and 2 * len(found & rest) >= len(rest)


def _why_unfit(content: str) -> str | None:
    """Return why a text can be no claim whatever was said, if so."""
    if not content or len(content) > LONGEST:
        return "it is no single sentence"
    try:
        storable(content, "claim")
    except InvalidInput:
        return "it cannot be stored"
    if MARKUP.search(content):
        return "it quotes a fence"
    if is_order(content) or ENGLISH.pattern("order").match(content):
        return "it is an instruction"
    return "it tells a secret" if has_secret(content) else None


def read_time(written: str | None, near: datetime) -> datetime | None:
    """Return an ISO date (also without day or month) or date and time; ``None`` for others.

    Args:
        written: such as ``2023-05-02``, ``2023-05``, ``2023`` or ``2023-05-02T14:00``.
        near: a moment whose time zone holds where none is written.
    """
    text = (written or "").strip()
    if _YEAR.fullmatch(text):
        text = f"{text}-01" if len(text) > len("2023") else f"{text}-01-01"
    try:
        moment = datetime.fromisoformat(text)
        placed = moment if moment.tzinfo else moment.replace(tzinfo=near.tzinfo)
        return placed.astimezone(near.tzinfo)
    except (ValueError, OverflowError):
        return None


def _claim(drawn: ClaimAnswer, content: str, cited: Sequence[Turn], event_time: datetime) -> Claim:
    quote = " ".join(drawn.quote.split())
    quoted = [turn for turn in cited if turn.person and quote and _holds(turn.text, quote)]
    ordered = list(dict.fromkeys([*quoted[:1], *cited]))
    first = ordered[0]
    user = first.speaker.lower() == "user"
    return Claim(
        content=content,
        subject=" ".join(drawn.subject.split())[:LONGEST] or (THE_USER if user else first.speaker),
        category=drawn.category,
        sources=tuple(turn.id for turn in ordered),
        speaker=first.speaker,
        person=first.person,
        said_at=first.at,
        event_time=event_time,
        confidence=min(1.0, max(0.0, drawn.confidence)),
    )


def split_attributes(claim: Claim) -> list[Claim]:
    """Return a claim with the attribute that it states; one for each, where it states several.

    So what a model draws from a talk is stored, ended and kept as what rules draw from it.
    """
    own = claim.speaker in ROLES
    facts = read_written_facts(claim.content, Speaker("" if own else claim.speaker))
    if not facts and own and claim.category is Category.INSTRUCTION:
        return [replace(claim, fact=read_instruction(claim.content, claim.content, "en"))]
    if len(facts) == 1:
        return [replace(claim, fact=facts[0])]
    return [replace(claim, content=each.content, fact=each) for each in facts] or [claim]


def _holds(text: str, quote: str) -> bool:
    return without_accents(quote) in without_accents(" ".join(text.split()))


# --- what turns hold ----------------------------------------------------------------------


@cache
def calendar_names(table: Table) -> tuple[str, ...]:
    """Return the English names of ``months`` or ``weekdays`` in small letters, in order."""
    return tuple(calendar_numbers(table, "en"))


@cache
def _named_numbers() -> Mapping[str, str]:
    return {**COMPARISON.mapping("number_words"), **ENGLISH.mapping("counts")}


def _bare(word: str) -> str:
    """Return a word without accents and what is joined to it: ``ana`` of ``Ana's``."""
    return without_accents(word).split("'")[0].split("’")[0]


def stems(text: str) -> set[str]:
    """Return the words of ``text`` that say something, cut to their beginnings."""
    folded = without_accents(text)
    words = {_bare(word) for word in WORD.findall(folded)} - COMPARISON.words("stop_words")
    # In scripts without blanks between words, two signs stand for a word.
    pairs = {
        run[place : place + 2] for run in UNSPACED.findall(folded) for place in range(len(run) - 1)
    }
    return {word[:STEM] for word in words if len(word) > 1} | pairs


def names(text: str) -> set[str]:
    """Return the names inside of sentences of ``text``, cut to their beginnings."""
    words = {match[0].lower() for match in WORD.finditer(text)}
    german = len(words & GERMAN.words("function_words"))
    if german > len(words & ENGLISH.words("function_words")):
        return _german_names(text)
    no_names = {
        *calendar_names("months"),
        *calendar_names("weekdays"),
        *COMPARISON.words("stop_words"),
    }
    found = set()
    for match in WORD.finditer(text):
        word, before = match[0], text[: match.start()].rstrip(OPENING)[-1:]
        inside = bool(before) and before not in ".!?\n:"
        # The K of 5K is no name.
        if inside and len(word) > 1 and word[0].isupper() and without_accents(word) not in no_names:
            found.add(_bare(word)[:STEM])
    return found


def _german_names(text: str) -> set[str]:
    """Return the names of a German ``text``, cut to their beginnings.

    Every noun is capitalized: a name is one that stands right after another, after a title or
    after a word for where, and is no word for the user or kin.
    """
    found = set()
    small = GERMAN.words("function_words")
    before, end = "", 0
    for match in WORD.finditer(text):
        word, between = match[0], text[end : match.start()] if before else "."
        joined = before and not between.strip(OPENING + ".")
        noun = before[:1].isupper() and before.lower() not in small and "." not in between
        opens = noun or before.lower() in GERMAN.words("before_names")
        plain = (
            len(word) == 1
            or word.lower() in small | GERMAN.words("persons")
            or without_accents(word) in COMPARISON.words("stop_words")
        )
        if joined and opens and word[0].isupper() and not plain:
            found.add(without_accents(word)[:STEM])
        before, end = word, match.end()
    return found


def own_names(text: str, said: str) -> set[str]:
    """Return the words capitalized in ``text`` and wherever they are ``said``, as stems."""
    small = {without_accents(word)[:STEM] for word in WORD.findall(said) if not word[0].isupper()}
    return {_bare(word)[:STEM] for word in WORD.findall(text) if word[0].isupper()} - small


def digits(text: str) -> set[str]:
    """Return the numbers of ``text`` that stand in digits, whole and in parts."""
    found = NUMBER.findall(text)
    parts = {part for match in found for part in _SEPARATOR.split(match)}
    return {_plain_number(number) for number in [*found, *parts]}


def numbers(text: str) -> set[str]:
    """Return the numbers of ``text`` in digits, without separators; named ones too."""
    found, named, ten = digits(text), _named_numbers(), 0
    for word in WORD.findall(text.lower()):
        value = int(named.get(word.removesuffix("s"), named.get(word, "-1")))
        if value >= 0:
            found |= {str(value), str(ten + value)}
        ten = value if value in _TENS else 0
    return found


def _plain_number(number: str) -> str:
    return _SEPARATOR.sub("", number).lstrip("0") or "0"


class Evidence:
    """The words, numbers, names and days that some turns contain together.

    Args:
        turns: the turns a claim may rest on.
        reader: finds the times they speak of.
    """

    def __init__(self, turns: Sequence[Turn], reader: DateParser) -> None:
        """Read the turns."""
        self.text = "\n".join(turn.text for turn in turns)
        self.stems = stems(self.text)
        self.numbers = numbers(self.text)
        self._days = {turn.at.date() for turn in turns}
        # The first day of each time, and the first that is no part of it.
        self._spans = [(day, day + timedelta(days=1)) for day in sorted(self._days)]
        self._spans += [
            (mention.since.date(), _after(mention.until))
            for turn in turns
            for mention in reader.read(turn.text, turn.at)
        ]

    def covers(self, day: date) -> bool:
        """Return whether the turns mention ``day``, or a time that it follows from."""
        if any(since <= day < until for since, until in self._spans):
            return True
        said = {str(day.year), str(day.day)} & self.numbers
        named = calendar_names("months")[day.month - 1] in without_accents(self.text)
        return named and (bool(said) or any(abs(day - each) <= NEAR for each in self._days))

    def is_unfounded(self, content: str, day: date | None) -> bool:
        """Return whether a number, month or weekday of ``content`` is not in the turns.

        Args:
            content: what is claimed.
            day: when it is claimed to have happened, if that is covered.
        """
        days = list(self._dated(day))
        known = self.numbers | {
            str(value) for one in days for value in (one.year, one.month, one.day)
        }
        for since, until in self._spans:
            known |= {str(y) for y in range(since.year, min(until.year, since.year + 100) + 1)}
        for match in NUMBER.findall(content):
            parts = {_plain_number(part) for part in _SEPARATOR.split(match)}
            if _plain_number(match) not in known and not parts <= known | {"0"}:
                return True
        told = without_accents(self.text)
        dated = {
            "month": {calendar_names("months")[one.month - 1] for one in days},
            "weekday": {calendar_names("weekdays")[one.weekday()] for one in days},
        }
        for name, in_days in dated.items():
            for found in ENGLISH.pattern(name, 0).finditer(content):
                word = next(filter(None, found.groups())).lower()
                if word[:3] not in told and word not in in_days:
                    return True
        return False

    def _dated(self, day: date | None) -> Iterable[date]:
        if day is not None:
            yield day
        for since, until in self._spans:
            length = min((until - since).days, MOST_DAYS)
            yield from (since + timedelta(days=step) for step in range(length))
            # Of a longer time, what it begins and ends with.
            yield until - timedelta(days=1)


def _after(until: datetime) -> date:
    """Return the first day that is not part of what ends at ``until``."""
    midnight = until.time() == until.time().min
    try:
        return until.date() if midnight else until.date() + timedelta(days=1)
    except OverflowError:
        return until.date()


class EvidenceClause(NamedTuple):
    """A clause that was said: its stems, whether it denies, and whether it says what is over."""

    stems: set[str]
    denies: bool
    ends: bool


def is_contrary(content: str, about: set[str], texts: Sequence[str]) -> bool:
    """Return whether a claim says the contrary of the clauses that it shares words with.

    The clause that shares most words decides, and where two share as many, a claim is let be.

    Args:
        content: what is claimed.
        about: the stems of what it says.
        texts: what was said.
    """
    clauses = [clause for text in texts for clause in _clauses(text)]
    if denies(content):
        near = [clause for clause in clauses if clause.stems & about]
        # "No." and "Not anymore." say nothing else, and so belong to what they answer.
        bare = any(clause.denies and not clause.stems for clause in clauses)
        return bool(near) and not bare and not any(one.denies or one.ends for one in near)
    if EVIDENCE.pattern("ending").search(content):
        return False
    most = max((len(clause.stems & about) for clause in clauses), default=0)
    nearest = [clause for clause in clauses if most and len(clause.stems & about) == most]
    return bool(nearest) and all(clause.denies for clause in nearest)


def _clauses(text: str) -> list[EvidenceClause]:
    portuguese = EVIDENCE.pattern("portuguese").search(text) is not None
    parts = EVIDENCE.pattern("clause_end").split(_without_idioms(text))
    return [
        EvidenceClause(
            stems(EVIDENCE.pattern("negator").sub(" ", part)),
            denies(_NO.sub(" ", part) if portuguese else part),
            EVIDENCE.pattern("ending").search(part) is not None,
        )
        for part in parts
        if part.strip()
    ]


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, and not in form alone."""
    plain = _without_idioms(text)
    negated = EVIDENCE.pattern("negator").search(plain)
    return negated is not None and not EVIDENCE.pattern("ends_denial").search(plain)


def _without_idioms(text: str) -> str:
    """Return ``text`` with the idioms that deny nothing, or in their own way, in other words."""
    return replace_idioms(EVIDENCE.pattern("no_denial").sub(" ", text.replace("\u2019", "'")))
