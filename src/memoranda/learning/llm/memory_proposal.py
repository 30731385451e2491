"""Reads a model's new version of the notes as a proposal: only supported lines become claims.

A model writes the notes anew as a whole (``memory_update``). It may forget lines,
reword them or make some up. So its text is never the new notes: each new line is held to the talk,
as claims are that a model draws.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memoranda.learning.claims import ROLES, Category, Claim, Turn
from memoranda.learning.extraction.exclusions import is_joke, is_refused
from memoranda.learning.extraction.sentences import split_sentences
from memoranda.learning.llm.claim_checking import (
    ENGLISH,
    ClaimAnswer,
    ClaimChecker,
    known_terms,
    numbers,
)
from memoranda.learning.llm.model_stages import MOST_PER_TURN
from memoranda.text.dates.statements import DateParser
from memoranda.text.lines import without_emphasis
from memoranda.text.patterns import LanguageData, compile_pattern, load
from memoranda.text.terms import cut_sentences

# Turns that a line is held to: those that share most words with it.
TRIED = 3
_CATEGORIES = LanguageData("en", "categories")
_MARK = compile_pattern(r"^\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_NO_LINE = compile_pattern(r"^\s*(?:#|\||[-*_=]{3,}\s*$|\(empty\)\s*$|[^\n:]{1,60}:\s*$)")
_FENCE = compile_pattern(r"^\s*(?:```|~~~)")
_COMMENT = compile_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def read_proposal(
    memory: str, update: str, turns: Sequence[Turn], reader: DateParser
) -> list[Claim]:
    """Return the claims in a model's new version of the notes, in the order of their lines.

    A new line becomes a claim if persons said it in the talk, in plain words of their own: not
    in a question, nor in a text, code or log that they pasted. Orders, secrets, fences, strange
    names, numbers and days, and the contrary of what was said are refused.

    Args:
        memory: the notes as they stood.
        update: the notes as the model wrote them; empty where nothing changes.
        turns: the talk it was shown.
        reader: finds the times that turns speak of.
    """
    written = list(dict.fromkeys(_statements(update)))
    before = {_normal(line) for line in [*_lines(memory), *_statements(memory)]}
    new: dict[str, str] = {}
    for line in written:
        if _normal(line) not in before:
            new.setdefault(_normal(line), line)
    checker = _LineChecker([_own_words(turn) for turn in turns], (), reader)
    claims = [claim for claim in map(checker.check_line, new.values()) if claim is not None]
    # Of many claims of so short a talk, the rest is invented.
    most = MOST_PER_TURN * sum(turn.person for turn in turns)
    return claims[:most]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of Markdown that state something, without marks."""
    fenced = False
    for line in _COMMENT.sub(" ", text).splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        plain = " ".join(without_emphasis(_MARK.sub("", line)).split())
        if plain and not fenced and not _NO_LINE.match(line) and not _NO_LINE.match(plain):
            yield plain


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences of these lines: each must hold by itself."""
    for line in _lines(text):
        parts = cut_sentences(line, lines=False, capital=True)
        yield from (part.strip() for part in parts if part.strip())


def _normal(line: str) -> str:
    """Return a line as lines are compared: without case and punctuation."""
    plain = " ".join(without_emphasis(_MARK.sub("", line)).split())
    return " ".join(word.strip(".,;:!?") for word in plain.casefold().split())


def _own_words(turn: Turn) -> Turn:
    """Return a person's turn without questions, jokes, orders, and what is not their own word."""
    if not turn.person:
        return turn
    said = []
    for sentence in split_sentences(turn.text):
        text = turn.text[sentence.start : sentence.end]
        found = ENGLISH.pattern("question").match(text) if sentence.question else None
        asks = found is not None and (found["who"] or "").lower() != "you"
        if not (asks or is_joke(text) or is_refused(text)):
            said.append(text)
    return replace(turn, text=" ".join(said))


class _LineChecker(ClaimChecker):
    """Checks lines that a model names no sources for against the turns that say most of them."""

    def check_line(self, content: str) -> Claim | None:
        """Return the claim that a line is, resting on the turns that say it, if it is one."""
        if ENGLISH.pattern("pronoun_opening").match(content):
            return None  # It cannot be understood alone.
        best = self._nearest(content)
        for turns in (_together(self.about(content), best), best[:1]):
            sources = [turn.id for turn in turns]
            drawn = ClaimAnswer(content, sources, self._subject(content), _category(content))
            judged = self.check(drawn)
            if isinstance(judged, Claim):
                return judged
        return None

    def _nearest(self, content: str) -> list[Turn]:
        """Return the persons' turns that share most with a line, the later ones first.

        Where none shares anything, the last one: it may be a yes.
        """
        about = self.about(content) | numbers(content)
        spoken = [turn for turn in reversed(self.page) if turn.person and turn.text]
        shared = {turn: len(about & known_terms(turn.text)) for turn in spoken}
        best = sorted(spoken, key=lambda turn: -shared[turn])[:TRIED]
        return [turn for turn in best if shared[turn]] or best[:1]

    def _subject(self, content: str) -> str:
        """Return whom a line is about, if it begins so; empty for who says it."""
        speakers = sorted({turn.speaker for turn in self.page if turn.person} - ROLES)
        opening = content.casefold()
        return next((one for one in speakers if opening.startswith(one.casefold())), "")


def _together(about: set[str], turns: Sequence[Turn]) -> list[Turn]:
    """Return the first of some turns, and those that say terms which the ones before do not."""
    left, found = set(about), list(turns[:1])
    for turn in turns:
        said = known_terms(turn.text)
        if turn not in found and left & said:
            found.append(turn)
        left -= said
    return found


def _category(content: str) -> Category:
    named = load("en", "categories")
    fitting = (name for name in named if _CATEGORIES.pattern(name).search(content))
    return Category(next(fitting, Category.STATE))
