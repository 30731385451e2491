"""Checks what a model claims against the turns that it cites, and says why a claim is rejected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extraction.exclusions import is_order
from memoranda.learning.llm.claim_evidence import (
    ENGLISH,
    Evidence,
    german_names,
    is_german,
    months,
    names,
    numbers,
    own_names,
    stems,
    weekdays,
)
from memoranda.learning.llm.negation import denies, is_contrary
from memoranda.model.checks import storable
from memoranda.model.ports import DateReader
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import FENCE
from memoranda.text.secrets import tells_secret
from memoranda.text.terms import without_accents

LONGEST = 400
"""Characters of one claim: it is a sentence."""
JUST_BEFORE = 2
"""Turns before a source that may say what it is an answer to."""
MANY = 4
"""Words of a claim from which one alone in its sources is chance."""
THE_USER = "the user"
EVIDENCE = LanguageData("mul", "evidence")
# Fences of memory, of this prompt and of code; lines of recall.
MARKUP = compile_pattern(
    rf"[<‹]\s*/?\s*(?:{FENCE}|before|turns|system)\b|```|^\s*#|\[\d{{4}}-\d\d-\d\d \d\d:\d\d,",
    re.IGNORECASE,
)


@cache
def calendar_stems() -> set[str]:
    """Return the stems of the names of months and weekdays."""
    return stems(" ".join([*months(), *weekdays()]))


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


@dataclass(frozen=True, slots=True)
class RejectedClaim:
    """A claim that the turns do not support, and why."""

    content: str
    why: str


@dataclass(frozen=True, slots=True)
class ClaimChecker:
    """Checks claims against the turns that a model was shown.

    Attributes:
        page: the turns that claims may rest on.
        before: turns said before them.
        labels: the turns of the page, by the labels that the model was shown.
        reader: finds the times in a text; without one, relative times are only guessed at.
    """

    page: Sequence[Turn]
    before: Sequence[Turn]
    labels: Mapping[str, Turn]
    reader: DateReader | None = None

    def check(self, drawn: ClaimAnswer) -> Claim | RejectedClaim:
        """Return the claim as it holds, or why it does not."""
        content = " ".join(drawn.content.split())
        if why := _unfit(content):
            return RejectedClaim(content, why)
        cited = self._cited(drawn.sources)
        spoken = [turn for turn in cited if turn.person]
        if not spoken:
            return RejectedClaim(content, "no turn of a person says it")
        context = self._just_before(spoken[0])
        around = Evidence(list(dict.fromkeys([*context, *cited])), self.reader)
        event_time = _event_time(drawn.event_time, spoken[0], around)
        if why := self._unsaid(content, spoken, around):
            return RejectedClaim(content, why)
        if around.unfounded(content, event_time.date() if event_time else None):
            return RejectedClaim(content, "a number or day in it was not said")
        return _claim(drawn, content, cited, event_time or spoken[0].at)

    def _cited(self, sources: Sequence[str]) -> list[Turn]:
        """Return the turns of the page that are named, by label or id; a person's first."""
        by_id = {turn.id: turn for turn in self.page}
        named = [source.strip().strip("[]#") for source in sources]
        turns = [self.labels.get(name) or by_id.get(name) for name in named]
        found = dict.fromkeys(turn for turn in turns if turn is not None)
        return sorted(found, key=lambda turn: not turn.person)

    def _just_before(self, turn: Turn) -> list[Turn]:
        around = [*self.before, *self.page]
        place = around.index(turn)
        return around[max(0, place - JUST_BEFORE) : place]

    def _unsaid(self, content: str, spoken: Sequence[Turn], around: Evidence) -> str | None:
        """Return why the words of a claim are not those of the persons, if so."""
        if not self._is_said(content, spoken, around):
            return "no word of it was said"
        if self._is_contrary(content, spoken):
            return "the contrary of it was said"
        return "a name in it was never said" if self._strange_names(content) else None

    def _is_said(self, content: str, spoken: Sequence[Turn], around: Evidence) -> bool:
        """Return whether persons say words of it, or say yes to it.

        Who speaks is in every claim, and days are written out: such words show nothing.
        """
        own = Evidence(spoken)
        about = self._about(content)
        answered = bool(numbers(content) & own.numbers)
        if not self._overlaps(content, about, around):
            return not about and answered
        answer = EVIDENCE.pattern("denial" if denies(content) else "affirmation")
        confirmed = any(answer.match(turn.text) for turn in spoken)
        # "33" and "yes" say as much as what they are an answer to.
        return bool(about & own.stems) or answered or confirmed

    def _about(self, content: str) -> set[str]:
        plain = EVIDENCE.pattern("user").sub(" ", content)
        return (stems(plain) - self._speakers() - calendar_stems()) or stems(plain)

    def _overlaps(self, content: str, about: set[str], around: Evidence) -> bool:
        """Return whether enough of what is claimed was said: of whom alone is not enough."""
        found = about & around.stems
        if len(about) >= MANY:
            return len(found) > 1
        named = own_names(content, around.text)
        if found - named:
            return True
        subject = stems(content.split(maxsplit=1)[0]) & named
        rest = (about - subject) or about
        return bool(found & rest) and 2 * len(found & rest) >= len(rest)

    def _is_contrary(self, content: str, spoken: Sequence[Turn]) -> bool:
        """Return whether the claim is the contrary of what persons say, or say yes to."""
        agreed = any(EVIDENCE.pattern("affirmation").match(turn.text) for turn in spoken)
        asked = self._just_before(spoken[0]) if agreed else []
        return is_contrary(content, self._about(content), [turn.text for turn in [*asked, *spoken]])

    def _strange_names(self, content: str) -> set[str]:
        text = "\n".join(turn.text for turn in [*self.before, *self.page])
        found = german_names(content) if is_german(content) else names(content)
        return found - stems(text) - self._speakers()

    def _speakers(self) -> set[str]:
        speakers = {turn.speaker for turn in [*self.before, *self.page]}
        return stems(" ".join([THE_USER, *speakers]))


def _unfit(content: str) -> str | None:
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
    return "it tells a secret" if tells_secret(content) else None


def _event_time(written: str | None, turn: Turn, evidence: Evidence) -> datetime | None:
    """Return the moment that was written, in the zone of the turn, if the turns speak of it."""
    moment = read_time(written, turn.at)
    return moment if moment is not None and evidence.covers(moment.date()) else None


def read_time(written: str | None, near: datetime) -> datetime | None:
    """Return an ISO date (also without day or month) or date and time; ``None`` for others.

    Args:
        written: such as ``2023-05-02``, ``2023-05``, ``2023`` or ``2023-05-02T14:00``.
        near: a moment whose time zone holds where none is written.
    """
    text = (written or "").strip()
    if re.fullmatch(r"\d{4}(?:-\d\d)?", text):
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
        said_at=first.at,
        event_time=event_time,
        confidence=min(1.0, max(0.0, drawn.confidence)),
        quote=quote if quoted else "",
    )


def _holds(text: str, quote: str) -> bool:
    return without_accents(quote) in without_accents(" ".join(text.split()))
