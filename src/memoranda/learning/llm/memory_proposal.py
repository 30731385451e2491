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
    cited = (_cite(each, checker) for each in sentences)
    return checker.check_all(claim for claim in cited if claim is not None)


def _cite(sentence: str, checker: ClaimChecker) -> ClaimAnswer | None:
    """Return the claim of a sentence, with the turns that say most of it."""
    if ENGLISH.pattern("pronoun_opening").match(sentence):
        return None  # It cannot be understood alone.
    about = checker.about(sentence)
    spoken = [turn for turn in checker.page[::-1] if own_words(turn)]
    shared = {turn: len(known_terms(own_words(turn)) & about) for turn in spoken}
    # Where no turn shares a word with it, the last one may be a yes.
    best = sorted(filter(shared.get, spoken), key=lambda turn: -shared[turn]) or spoken[:1]
    return ClaimAnswer(sentence, [turn.id for turn in best[:TRIED]])
