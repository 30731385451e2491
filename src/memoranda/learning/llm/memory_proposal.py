"""Reads a model's new version of the notes as a proposal: only supported lines become claims.

A model writes the notes anew as a whole (``memory_update``). It may forget lines,
reword them or make some up. So its text is never the new notes: it says which lines it would
keep and drop, and each new line is held to the talk, as claims are that a model draws.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extraction.exclusions import is_joke, is_refused
from memoranda.learning.extraction.sentences import split_sentences
from memoranda.learning.extraction.speaker import ROLES
from memoranda.learning.llm.claim_checking import (
    JUST_BEFORE,
    MANY,
    THE_USER,
    ClaimAnswer,
    ClaimChecker,
    RejectedClaim,
    calendar_stems,
)
from memoranda.learning.llm.claim_evidence import ENGLISH, numbers, stems
from memoranda.learning.llm.model_extractor import MOST_PER_TURN
from memoranda.learning.parsed_text import parse_text
from memoranda.model.ports import DateReader
from memoranda.text.languages import load
from memoranda.text.patterns import compile_pattern, expand
from memoranda.text.terms import cut_sentences

TRIED = 3
"""Turns that a line is held to: those that share most words with it."""
COVERED = 0.5
"""Share of the words of a longer line that must have been said."""
_MARK = compile_pattern(r"^\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_NO_LINE = compile_pattern(r"^\s*(?:#|\||[-*_=]{3,}\s*$|\(empty\)\s*$|[^\n:]{1,60}:\s*$)")
_FENCE = compile_pattern(r"^\s*(?:```|~~~)")
_COMMENT = compile_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_EMPHASIS = compile_pattern(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


@cache
def _category_patterns() -> Mapping[Category, re.Pattern[str]]:
    words = load("en", "evidence")["categories"]
    return {
        Category(name): compile_pattern(rf"\b(?:{expand(source, {})})\b", re.IGNORECASE)
        for name, source in words.items()
    }


@dataclass(frozen=True, slots=True)
class MemoryProposal:
    """The claims and removals that a model's new version of the notes amounts to.

    Attributes:
        claims: new lines that hold, in their order.
        kept: ids whose lines the model would keep.
        dropped: ids whose lines it left out. It may have reworded or forgotten them, so this is
            no reason to forget anything.
        refused: new lines that do not hold, and why.
    """

    claims: tuple[Claim, ...]
    kept: frozenset[str]
    dropped: frozenset[str]
    refused: tuple[RejectedClaim, ...]


def read_proposal(
    memory: str,
    update: str,
    turns: Sequence[Turn],
    lines: Mapping[str, str],
    reader: DateReader,
) -> MemoryProposal:
    """Return the claims and removals in a model's new version of the notes.

    A new line becomes a claim if persons said it in the talk, in plain words of their own: not
    in a question, nor in a text, code or log that they pasted. Orders, secrets, fences, strange
    names, numbers and days, and the contrary of what was said are refused.

    Args:
        memory: the notes as they stood.
        update: the notes as the model wrote them; empty where nothing changes.
        turns: the talk it was shown.
        lines: id → text of the records whose lines stand in the notes.
        reader: finds the times that turns speak of.
    """
    if not update.strip():
        return MemoryProposal((), frozenset(lines), frozenset(), ())
    written = list(dict.fromkeys(_statements(update)))
    now = {_normal(line) for line in written} | {_normal(line) for line in _lines(update)}
    before = {_normal(line) for line in [*_lines(memory), *_statements(memory), *lines.values()]}
    kept = frozenset(each for each, line in lines.items() if _stands(line, now))
    claims, refused = _judged(
        [line for line in written if _normal(line) not in before], turns, reader
    )
    return MemoryProposal(tuple(claims), kept, frozenset(lines) - kept, tuple(refused))


def _stands(line: str, now: set[str]) -> bool:
    """Return whether a line is there, whole or as all its sentences."""
    parts = [_normal(part) for part in _statements(line)]
    return _normal(line) in now or (bool(parts) and now.issuperset(parts))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of Markdown that state something, without marks."""
    fenced = False
    for line in _COMMENT.sub(" ", text).splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        plain = " ".join(_EMPHASIS.sub("", _MARK.sub("", line)).split())
        if plain and not fenced and not _NO_LINE.match(line) and not _NO_LINE.match(plain):
            yield plain


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences of these lines: each must hold by itself."""
    for line in _lines(text):
        parts = cut_sentences(line, lines=False, capital=True)
        yield from (part.strip() for part in parts if part.strip())


def _normal(line: str) -> str:
    """Return a line as lines are compared: without case and punctuation."""
    plain = " ".join(_EMPHASIS.sub("", _MARK.sub("", line)).split())
    return parse_text(plain).normal or plain.casefold()


def _judged(
    new: Sequence[str], turns: Sequence[Turn], reader: DateReader
) -> tuple[list[Claim], list[RejectedClaim]]:
    page = [_own_words(turn) for turn in turns]
    checker = ClaimChecker(page, (), {}, reader)
    most = MOST_PER_TURN * sum(turn.person for turn in turns)
    claims: list[Claim] = []
    refused: list[RejectedClaim] = []
    for content in _distinct(new):
        judged = _check(checker, content)
        if isinstance(judged, RejectedClaim):
            refused.append(judged)
        elif len(claims) < most:
            claims.append(judged)
        else:
            refused.append(RejectedClaim(content, "it is one of too many for so short a talk"))
    return claims, refused


def _distinct(lines: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(_normal(line), line)
    return list(found.values())


def _own_words(turn: Turn) -> Turn:
    """Return a person's turn without questions, jokes, orders, and what is not their own word."""
    if not turn.person:
        return turn
    said = []
    for sentence in split_sentences(turn.text):
        text = turn.text[sentence.start : sentence.start + len(sentence.shown)]
        asks = sentence.question and ENGLISH.pattern("question").match(text)
        if not (asks or is_joke(text) or is_refused(text)):
            said.append(text)
    return replace(turn, text=" ".join(said))


def _check(checker: ClaimChecker, content: str) -> Claim | RejectedClaim:
    """Return the claim that a line is, resting on the turns that say it, or why it is none."""
    if ENGLISH.pattern("pronoun_opening").match(content):
        return RejectedClaim(content, "it cannot be understood alone")
    about = _about(checker, content)
    best = _nearest(checker, content, about)
    tried = [_together(checker, about, best), *([place] for place in best), best]
    why = RejectedClaim(content, "no turn of a person says it")
    for places in filter(None, tried):
        if not _covered(checker, about, places):
            why = RejectedClaim(content, "too little of it was said")
            continue
        sources = [checker.page[place].id for place in places]
        drawn = ClaimAnswer(content, sources, _subject(checker, content), _category(content))
        judged = checker.check(drawn)
        if isinstance(judged, Claim):
            return judged
        why = judged
    return why


def _nearest(checker: ClaimChecker, content: str, about: set[str]) -> list[int]:
    """Return the persons' turns that share most with a line; of equals the later, which holds.

    Where none shares anything, the last one: it may be a yes.
    """
    figures = numbers(content)
    shared = {
        place: len(about & stems(turn.text)) + len(figures & numbers(turn.text))
        for place, turn in enumerate(checker.page)
        if turn.person and turn.text
    }
    best = sorted(shared, key=lambda place: (shared[place], place), reverse=True)[:TRIED]
    return [place for place in best if shared[place]] or best[:1]


def _together(checker: ClaimChecker, about: set[str], best: Sequence[int]) -> list[int]:
    """Return the first of these turns, and those that say words of a line which it does not."""
    left, found = set(about), list(best[:1])
    for place in best:
        said = stems(checker.page[place].text)
        if place not in found and left & said:
            found.append(place)
        left -= said
    return found


def _about(checker: ClaimChecker, content: str) -> set[str]:
    speakers = stems(" ".join([THE_USER, *(turn.speaker for turn in checker.page)]))
    return stems(content) - speakers - calendar_stems()


def _covered(checker: ClaimChecker, about: set[str], places: Sequence[int]) -> bool:
    """Return whether enough of a longer line is in these turns and in what they answer."""
    if len(about) < MANY:
        return True
    near = {at for place in places for at in range(max(0, place - JUST_BEFORE), place + 1)}
    said = set().union(*(stems(checker.page[at].text) for at in near))
    return len(about & said) >= COVERED * len(about)


def _subject(checker: ClaimChecker, content: str) -> str:
    """Return whom a line is about, if it begins so; empty for who says it."""
    speakers = {turn.speaker for turn in checker.page if turn.person} - ROLES
    opening = content.casefold()
    return next((one for one in sorted(speakers) if opening.startswith(one.casefold())), "")


def _category(content: str) -> Category:
    rules = _category_patterns().items()
    return next((category for category, rule in rules if rule.search(content)), Category.STATE)
