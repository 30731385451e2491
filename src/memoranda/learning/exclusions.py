"""What of a conversation is never learned: said in confidence, taken back, or played.

That stands in another sentence or message than what it is about, so a conversation is looked at
as a whole, before anything is read. What is excluded is broken off in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memoranda.facts.language import bare_words
from memoranda.facts.requests import find_memory_change, find_withheld
from memoranda.facts.values import value_key
from memoranda.learning.claims import Turn
from memoranda.learning.sentences import cut_out, english, english_words, own_sentences
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import word_list

_WORDS = partial(word_list, "stance")
_POINTS_AHEAD = frozenset({"next", "following", "about", "going"})


def blank_exclusions(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns with excluded parts blanked out, everything else at the same positions.

    That is: a turn said in confidence, and what is answered to it; one that its speaker takes
    back in the next; a statement that is asked to be forgotten or turns out made up; and what is
    said in a role, until the role or the conversation ends.
    """
    talk = _TurnRedactor(list(turns))
    silent = ahead = False
    for place, turn in enumerate(turns):
        if turn.person:
            said = turn.text[:MOST_READ].replace("\u2019", "'").replace("\u2018", "'")
            change = find_memory_change(said)
            # Beside another sentence, such a request goes alone.
            part = (change and change.new is None and change.beside) or said
            withheld = find_withheld(part)
            rest = part[: withheld[0]] + part[withheld[1] :] if withheld else part
            bare = bool(withheld) and (_is_idle(rest) or english("pointed").search(rest))
            words = set(bare_words(said))
            back = bare and bool(words & _WORDS("points_back")) and not words & _POINTS_AHEAD
            if back or english("unsaid").search(said):
                talk.unsay(place)
                withheld = withheld or (0, 0)
            silent = withheld is not None or ahead
            ahead = bare and not back
            if withheld or (change and change.new is None):
                talk.withdraw(place, change.about if change else rest)
        if silent:
            talk.blank(place)
        elif turn.person:
            talk.retract(place, said)
            talk.leave_role(place, said)
    return talk.turns


def _is_idle(text: str) -> bool:
    """Return whether a text says nothing by itself."""
    return _WORDS("idle").issuperset(bare_words(text))


@dataclass(slots=True)
class _TurnRedactor:
    """The turns of a conversation without what is excluded so far, and who plays a role."""

    turns: list[Turn]
    roles: set[str] = field(default_factory=set)

    def blank(self, place: int) -> None:
        """Withhold a whole turn."""
        self.cut(place, 0, len(self.turns[place].text))

    def cut(self, place: int, start: int, end: int) -> None:
        """Withhold a part of a turn."""
        turn = self.turns[place]
        self.turns[place] = replace(turn, text=cut_out(turn.text, start, end))

    def before(self, place: int) -> int | None:
        """Return the place of the turn that the same speaker said before this one."""
        speaker = self.turns[place].speaker
        earlier = range(place - 1, -1, -1)
        return next((each for each in earlier if self.turns[each].speaker == speaker), None)

    def unsay(self, place: int) -> None:
        """Withhold the turn before and what was answered to it."""
        before = self.before(place)
        for each in range(place if before is None else before, place):
            if each == before or not self.turns[each].person:
                self.blank(each)

    def retract(self, place: int, said: str) -> None:
        """Withhold what ``I made that up`` is about: what stands before it, or the last turn."""
        mark = english("untrue").search(said)
        if mark is None or english("no_retraction").search(said):
            return
        sentences = own_sentences(self.turns[place].text)
        ahead = [each for each in sentences if each.start < mark.span()[0]]
        before = self.before(place)
        if not all(_is_idle(each.shown) for each in ahead):
            for each in ahead:
                self.cut(place, each.start, each.end)
        elif before is not None:
            self.blank(before)

    def withdraw(self, place: int, named: str) -> None:
        """Withhold the sentences of the speaker, so far, that hold all that is named."""
        wanted = value_key(named) - english_words("idle")
        for at in range(place + 1) if wanted else ():
            if self.turns[at].speaker == self.turns[place].speaker:
                for sentence in list(own_sentences(self.turns[at].text)):
                    if wanted <= value_key(sentence.shown):
                        self.cut(at, sentence.start, sentence.end)

    def leave_role(self, place: int, said: str) -> None:
        """Withhold what is said in a role; a request to play one stays, up to where it begins."""
        speaker, begin = self.turns[place].speaker, 0
        if speaker in self.roles:
            ended = english("role_ends").search(said)
            if ended is None:
                self.blank(place)
                return
            self.roles.discard(speaker)
            begin = ended.span()[1]
            self.cut(place, 0, begin)
        begun = english("role_begins").search(said, begin)
        if begun is not None and (begun["cast"] or not english("no_play").search(said)):
            if not begun["once"]:
                self.roles.add(speaker)
            self.cut(place, begun.span()[0], len(self.turns[place].text))


def is_joke(text: str) -> bool:
    """Return whether a text says that it is a joke or not meant seriously."""
    return _shows(text, "joke") or (_shows(text, "laughs") and _shows(text, "too_much"))


def is_order(text: str) -> bool:
    """Return whether a text tells the assistant how to behave."""
    return _shows(english("no_assistants").sub("thing", text), "order")


def is_command(text: str) -> bool:
    """Return whether a person's own sentence tells the assistant how to behave."""
    return _shows(text, "command")


def is_override(text: str) -> bool:
    """Return whether a text would override what the assistant goes by, or have it play a role."""
    return _shows(text, "override") or _shows(text, "persona")


def is_injection(text: str) -> bool:
    """Return whether a text would override what the assistant goes by, now or by memory."""
    return _shows(text, "override") or (_shows(text, "keeping") and is_order(text))


def _shows(text: str, name: str) -> bool:
    """Return whether a text holds what a pattern of ``en/stance.toml`` finds."""
    return english(name).search(text.replace("\u2019", "'")) is not None
