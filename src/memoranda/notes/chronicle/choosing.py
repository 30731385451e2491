"""Which sentences an entry quotes: together they are to tell most in the room there is.

Greedy maximum coverage under a budget (Lin and Bilmes 2011, "A class of submodular functions for
document summarization"): the next sentence is the one that adds most words not told yet for its
length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memoranda.notes.chronicle.cues import Label
from memoranda.notes.chronicle.lines import LINE, Said
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "history")


FULL = 1_000_000
"""Characters that nothing has room for."""
MOST = 12
"""Lines that quote."""
WORTH: Mapping[Label, float] = {
    Label.ASKED: 1.0,
    Label.DECIDED: 1.6,
    Label.DONE: 1.4,
    Label.FAILED: 1.5,
    Label.PLANNED: 1.2,
    Label.OPEN: 1.3,
    Label.SAID: 1.0,
}
QUESTION = 0.35
"""What a question is worth that one person asks another, and not an assistant."""
REACTION = 0.6
"""What a person's sentence is worth that is about the other one: mostly praise."""
LABELLED = 18
"""Characters that a line has beside its sentences: who, and what is done."""
AGAIN, STILL = 0.05, 0.25
"""What a word is worth that is told already; the second where something is decided or the like."""
PLAIN = frozenset({Label.SAID, Label.ASKED, Label.PLANNED})
LEAST = 0.5
"""A sentence that adds less is not worth a line."""
POWER = 0.7
"""How much its length counts against a sentence: with 1, lines are many and short."""

Line = tuple[Said, ...]
"""Sentences of one turn that do the same, and stand on one line."""


def choose(said: Sequence[Said], room: int, *, chat: bool) -> list[Line]:
    """Return at most :data:`MOST` lines of at most ``room`` characters, in their order.

    Args:
        said: what may be quoted.
        room: characters, those around each sentence included.
        chat: whether questions are asked of an assistant.
    """
    worth = [_worth(each, chat=chat) for each in said]
    left = set(range(len(said)))
    told: set[str] = set()
    lines: dict[tuple[str, Label, int], list[Said]] = {}
    while True:
        best = max(
            (
                (_gain(said[at], told) * worth[at] / cost**POWER, -at, cost)
                for at in left
                if (cost := _cost(said[at], lines)) <= room
            ),
            default=None,
        )
        if best is None or best[0] * best[2] ** POWER < LEAST:
            break
        chosen = said[-best[1]]
        left.remove(-best[1])
        lines.setdefault(_line_of(chosen, lines), []).append(chosen)
        told |= chosen.words.keys()
        room -= best[2]
    ordered = [tuple(sorted(line, key=_place)) for line in lines.values()]
    return sorted(ordered, key=lambda line: line[0].place)


def _place(said: Said) -> int:
    return said.place


def _line_of(
    said: Said, lines: Mapping[tuple[str, Label, int], Sequence[Said]]
) -> tuple[str, Label, int]:
    """Return the line on which a sentence goes: one of its turn with room, or a new one."""
    number = 0
    while held := lines.get((said.turn.id, said.label, number)):
        if sum(len(each.text) + 1 for each in held) + len(said.text) <= LINE:
            break
        number += 1
    return said.turn.id, said.label, number


def _cost(said: Said, lines: Mapping[tuple[str, Label, int], Sequence[Said]]) -> int:
    """Return the characters that a sentence takes; more than there are where no line is left."""
    if lines.get(_line_of(said, lines)):
        return len(said.text) + 1
    return len(said.text) + LABELLED if len(lines) < MOST else FULL


def _worth(said: Said, *, chat: bool) -> float:
    if chat:
        return WORTH[said.label]
    if said.label is Label.ASKED:
        return QUESTION
    reaction = _EN.pattern("speaks_of_hearer").search(said.text) and not _EN.pattern(
        "speaks_of_self"
    ).search(said.text)
    return WORTH[said.label] * (REACTION if reaction else 1)


def _gain(said: Said, told: set[str]) -> float:
    again = AGAIN if said.label in PLAIN else STILL
    return sum(weight * (again if word in told else 1) for word, weight in said.words.items())
