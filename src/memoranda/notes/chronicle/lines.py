"""From turns to what an entry may quote of them: plain sentences, on one line and short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.exclusions import blank_exclusions, is_injection
from memoranda.learning.extraction.sentences import (
    blank_recalled,
    blank_reports,
    blank_texts,
    split_sentences,
)
from memoranda.learning.extraction.speaker import ROLES
from memoranda.notes.chronicle.cues import Label, is_casual, label_of
from memoranda.notes.chronicle.plain import MARK, MARKUP, cut, one_line
from memoranda.notes.chronicle.words import weights
from memoranda.text.languages import LanguageData
from memoranda.text.secrets import HIDDEN, looks_secret, mask_secrets

_EN = LanguageData("en", "history")


LINE = 160
"""Characters of a sentence in an entry."""
READ = 20_000
"""Characters that are read of what a tool gave."""
LONG, HEAD, TAIL = 2_500, 900, 500
"""Of a person's turn longer than the first, what stands in the middle is taken for pasted."""
AGENTS = frozenset({"assistant", "agent", "model"})
"""Speakers that are no persons, and whose words are words."""
SPEAKER = 40
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_FULL_STOP = re.compile(r"(?<=[\u3002\uff01\uff1f])(?!$)")
_ASKS = re.compile(r"[?\uff1f\u061f]|[吗嗎呢か]\s*[\u3002]?$")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_REQUEST_END = re.compile(r"[.!?:\n]")
_OPENING = re.compile(r"[^\w\"'(]+")
TERSE = 4
"""Words of a sentence that, after one about a secret, may be the secret itself."""
SHORT = 3
"""Letters of a name by which people call each other."""
_MEMBER = re.compile(
    r"\s*\{.{0,200}?\"(?:error|message|detail)\"\s*:\s*\"([^\"]{1,400})\"", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that an entry may quote.

    Attributes:
        place: where it stands in the talk.
        turn: who said it, and when.
        label: what it does.
        text: the sentence on one line, perhaps shortened.
        whole: the sentence on one line.
        words: what its words tell, by their stems.
        quotable: whether it may be a line; an assistant's may not, unless nobody else spoke.
    """

    place: int
    turn: Turn
    label: Label
    text: str
    whole: str
    words: Mapping[str, float]
    quotable: bool = True

    @property
    def weight(self) -> float:
        """How much it tells."""
        return sum(self.words.values())


def read(turns: Sequence[Turn]) -> list[Said]:
    """Return what may be quoted of ``turns``, in order; nothing that is secret or no sentence."""
    turns = blank_exclusions(turns)
    speakers = {turn.speaker for turn in turns if turn.person}
    words = {word.lower() for speaker in speakers - ROLES for word in speaker.split()}
    names = frozenset(words | {word[:SHORT] for word in words})
    chat = speakers <= ROLES or not all(turn.person for turn in turns)
    found: list[Said] = []
    suspect = False
    for turn in turns:
        for text, asks in _sentences(turn):
            # What is said right after a word about a secret may be the secret.
            terse = suspect and not asks and len(text.split()) <= TERSE
            hidden = terse or HIDDEN in text or looks_secret(text)
            suspect = _EN.pattern("secret_topic").search(text) is not None or (suspect and hidden)
            if turn.person and is_injection(text):
                continue
            if hidden or MARKUP.search(text) or is_casual(text, names):
                continue
            label = label_of(text, asks=asks, person=turn.person, chat=chat)
            found.append(_said(len(found), turn, label, text, names))
        if failure := _failure(turn):
            found.append(Said(len(found), turn, Label.FAILED, failure, failure, weights(failure)))
    return found


def _said(place: int, turn: Turn, label: Label | None, text: str, names: frozenset[str]) -> Said:
    text = _without_lead(text, names)
    short = _window(text)
    told = {word: weight for word, weight in weights(short).items() if word not in names}
    quotable = label is not None and not text.endswith(":")
    return Said(place, turn, label or Label.SAID, short, text, told, quotable=quotable)


def _sentences(turn: Turn) -> Iterator[tuple[str, bool]]:
    """Yield the sentences that a turn's speaker says in plain words, and whether they ask."""
    if turn.speaker == "system" or not (turn.person or turn.speaker in AGENTS):
        return
    text = mask_secrets(turn.text)
    for sentence in split_sentences(text):
        if len(text) > LONG and HEAD < sentence.start < len(text) - TAIL:
            continue
        raw = text[sentence.start : sentence.start + len(sentence.shown)]
        for part in _FULL_STOP.split(raw):
            said = _MARK.sub("", one_line(_EMPHASIS.sub("", part)))
            if said:
                yield said, sentence.question or _ASKS.search(said) is not None
    if turn.person and (request := _request(text)):
        yield request, True


def _request(text: str) -> str:
    """Return how a person asks to work on a text, without that text."""
    own = blank_reports(_FENCE.sub(lambda found: "\n" * len(found[0]), blank_recalled(text)))
    kept = blank_texts(own)
    place = next(
        (at for at, pair in enumerate(zip(own, kept, strict=True)) if pair[0] != pair[1]), None
    )
    if place is None:
        return ""
    opening = _OPENING.match(own, place)
    place = opening.end() if opening else place
    end = _REQUEST_END.search(own, place)
    return one_line(own[place : end.start() if end else None])[:LINE]


def _failure(turn: Turn) -> str:
    """Return what a tool said first when it failed."""
    text = turn.text[:READ]
    if turn.person or turn.speaker in AGENTS | {"system"}:
        return ""
    if test := _EN.pattern("failed_test", re.MULTILINE).search(text):
        said = cut(one_line(test[0]), LINE)
        return _told_by(turn, said)
    if not _EN.pattern("failure").match(text):
        return ""
    rows = [line for line in text.split("\n") if line.strip()]
    traced = rows[0].lstrip().lower().startswith("traceback")
    member = _MEMBER.match(text)
    said = cut(one_line(member[1] if member else rows[-1] if traced else rows[0]), LINE)
    return "" if looks_secret(text) else _told_by(turn, said)


def _told_by(turn: Turn, said: str) -> str:
    """Return what a tool said, with its name; nothing where that is secret or an order."""
    hidden = looks_secret(said) or MARKUP.search(said) or is_injection(said)
    return "" if hidden else f"{one_line(turn.speaker)[:SPEAKER]} \u2014 {said}"


@lru_cache(maxsize=64)
def _lead(names: frozenset[str]) -> re.Pattern[str]:
    """Return what courtesies look like that stand before a sentence, and may call one by name."""
    called = "".join(rf"|{re.escape(name)}" for name in sorted(names))
    leads = f"(?:{_EN.source('courtesies')})" + (rf"(?:\s(?:{called[1:]})\b)?" if called else "")
    return re.compile(
        rf"(?:(?:{leads}{called})\b(?:\s*[,!.\u2026-]+\s*|\s+(?=(?:i|we|my)\b)))+", re.IGNORECASE
    )


def _without_lead(text: str, names: frozenset[str]) -> str:
    """Return a sentence without the courtesies before it."""
    lead = _lead(names).match(text)
    return text[lead.end() :] or text if lead else text


def _window(text: str) -> str:
    """Return the sentence, or of a long one the run of clauses that tells most."""
    if len(text) <= LINE:
        return text
    parts = [part for part in _EN.pattern("clause_break", 0).split(text) if part]
    told = [sum(weights(part).values()) for part in parts]
    runs = [(first, end) for first in range(len(parts)) for end in _ends(parts, first)]
    first, end = max(runs, key=lambda run: (sum(told[run[0] : run[1]]), run[0] - run[1]))
    shown = " ".join(parts[first:end]).rstrip(" ,;:")
    opened = f"{MARK} " if first else ""
    closed = f" {MARK}" if end < len(parts) else ""
    return opened + cut(shown, LINE - len(opened) - len(closed)) + closed


def _ends(parts: Sequence[str], first: int) -> Iterator[int]:
    """Yield where a run of clauses that begins at ``first`` may end: it fits, or is one clause."""
    length = 0
    for end in range(first + 1, len(parts) + 1):
        length += len(parts[end - 1]) + 1
        if length > LINE - len(MARK) * 4 and end > first + 1:
            return
        yield end
