"""Checks what a model claims against the turns that it cites, and says why a claim is rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TypeVar

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extraction.exclusions import is_order
from memoranda.learning.llm.claim_evidence import (
    ENGLISH,
    EVIDENCE,
    Evidence,
    calendar_names,
    denies,
    is_contrary,
    names,
    numbers,
    own_names,
    stems,
)
from memoranda.model.checks import storable
from memoranda.model.models import Record
from memoranda.model.ports import DateReader
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import FENCE
from memoranda.text.secrets import tells_secret
from memoranda.text.terms import without_accents

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

    def __init__(self, page: Sequence[Turn], before: Sequence[Turn], reader: DateReader) -> None:
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

    def _why_unsupported(
        self, content: str, spoken: Sequence[Turn], evidence: Evidence
    ) -> str | None:
        """Return why the words of a claim are not those of the persons, if so."""
        if not self._is_said(content, spoken, evidence):
            return "no word of it was said"
        agreed = any(EVIDENCE.pattern("affirmation").match(turn.text) for turn in spoken)
        asked = self._just_before(spoken[0]) if agreed else []
        if is_contrary(content, self._about(content), [turn.text for turn in [*asked, *spoken]]):
            return "the contrary of it was said"
        strange = names(content) - stems(self._text) - self._speakers
        return "a name in it was never said" if strange else None

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
        answer = EVIDENCE.pattern("denial" if denies(content) else "affirmation")
        confirmed = any(answer.match(turn.text) for turn in spoken)
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
    return "it tells a secret" if tells_secret(content) else None


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
    )


def _holds(text: str, quote: str) -> bool:
    return without_accents(quote) in without_accents(" ".join(text.split()))
