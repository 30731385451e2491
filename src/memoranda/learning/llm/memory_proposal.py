"""Reads lines that a model wrote into the notes: only what persons said becomes a claim.

A model writes the notes anew as a whole (``memory_update``). It may forget lines, reword them or
make some up. So its text is never the new notes: each new line is checked as a claim is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoranda.learning.claims import Claim, Turn
from memoranda.learning.llm.claim_checking import (
    ENGLISH,
    ClaimAnswer,
    ClaimChecker,
    known_terms,
    own_words,
)
from memoranda.learning.llm.model_stages import MOST_PER_TURN
from memoranda.text.dates.statements import DateParser
from memoranda.text.sentences import sentence_texts

# Turns that a line is held to: those that share most words with it.
TRIED = 3


def read_lines(
    lines: Iterable[str], turns: Sequence[Turn], reader: DateParser, owner: str = ""
) -> list[Claim]:
    """Return the claims that new lines of notes are: each of their sentences must hold by itself.

    Args:
        lines: lines of a model.
        turns: the talk it was shown.
        reader: finds the times that turns speak of.
        owner: the name of the user.
    """
    checker = ClaimChecker(turns, (), reader, owner)
    sentences = dict.fromkeys(
        each for line in lines for each in sentence_texts(line.replace("**", ""))
    )
    claims = [claim for each in sentences if (claim := _read_sentence(each, checker)) is not None]
    # Of many claims of so short a talk, the rest is invented.
    return claims[: MOST_PER_TURN * sum(turn.person for turn in turns)]


def _read_sentence(sentence: str, checker: ClaimChecker) -> Claim | None:
    """Return the claim that a sentence is, resting on the turns that say most of it."""
    if ENGLISH.pattern("pronoun_opening").match(sentence):
        return None  # It cannot be understood alone.
    about = checker.about(sentence)
    spoken = [turn for turn in checker.page[::-1] if own_words(turn)]
    shared = {turn: len(known_terms(own_words(turn)) & about) for turn in spoken}
    # Where no turn shares a word with it, the last one may be a yes.
    best = sorted(filter(shared.get, spoken), key=lambda turn: -shared[turn]) or spoken[:1]
    checked = checker.check(ClaimAnswer(sentence, [turn.id for turn in best[:TRIED]]))
    return None if isinstance(checked, str) else checked
