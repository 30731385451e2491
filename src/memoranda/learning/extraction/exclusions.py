"""What never becomes a fact: orders to the assistant, jokes, and what a conversation takes back.

A person may say that something is not to be kept, that it was not true, or that somebody else
speaks in it. That stands in another sentence or message than what it is about, so a conversation
is looked at as a whole, before anything is read. What is excluded is broken off in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from memoranda.facts.forms import compile_form
from memoranda.facts.requests import find_withheld
from memoranda.facts.values import stems
from memoranda.learning.claims import Turn
from memoranda.learning.extraction.sentences import TurnPart, cut_out, split_sentences
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import has_secret

_EN = LanguageData("en", "extraction")
# So many things one turn takes back: each is looked for in all that its speaker said.
_MOST = 8
_PLAYS = compile_pattern(r"role", re.IGNORECASE)
_STOP = compile_pattern(r"[.!?\n]")
# What was said before, where nothing says that it is yet to come.
_POINTS_BACK = compile_pattern(
    r"^(?!.*\b(?:next|following|about to|going to)\b).*\b(?:this|that|it)\b", re.IGNORECASE
)
_WORD = compile_pattern(r"[^\W_]+(?:['-][^\W_]+)*")


def blank_exclusions(turns: Sequence[Turn]) -> list[Turn]:
    """Return ``turns`` with excluded parts blanked out, everything else at the same positions.

    That is: a turn said in confidence, and what is answered to it; one that its speaker takes
    back in the next; a statement that is asked to be forgotten or turns out made up; and what is
    said in a role, until the role or the conversation ends.
    """
    talk = _TurnRedactor(list(turns))
    silent = ahead = False
    for at, turn in enumerate(turns):
        said = _plain(turn.text[:MOST_READ])
        if turn.person:
            unsaid = _fits("unsaid", "unsaying_cues", said)
            withheld = find_withheld(said)
            bare = withheld is not None and _is_bare(said, withheld)
            back = bare and _POINTS_BACK.search(said) is not None
            if unsaid or back:
                talk.unsay(at)
            silent = unsaid or withheld is not None or ahead
            ahead = bare and not back
        if silent:
            talk.blank(at)
        elif turn.person:
            talk.forget(at, said)
            talk.retract(at, said)
            talk.leave_role(at, said)
    return talk.turns


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _is_bare(said: str, withheld: tuple[int, int]) -> bool:
    """Return whether a message only asks to keep something out of memory, and says nothing."""
    rest = said[: withheld[0]] + " " + said[withheld[1] :]
    return all(word.lower() in _EN.words("idle") for word in _WORD.findall(rest))


def _fits(pattern: str, cues: str, said: str) -> bool:
    low = said.lower()
    return any(cue in low for cue in _EN.words(cues)) and bool(_EN.pattern(pattern).search(said))


@dataclass(slots=True)
class _TurnRedactor:
    """What is left of the turns of a conversation, and who plays a role."""

    turns: list[Turn]
    roles: set[str] = field(default_factory=set)

    def blank(self, at: int) -> None:
        """Withhold a whole turn."""
        self.cut(at, 0, len(self.turns[at].text))

    def cut(self, at: int, start: int, end: int) -> None:
        """Withhold a part of a turn."""
        turn = self.turns[at]
        self.turns[at] = replace(turn, text=cut_out(turn.text, start, end))

    def before(self, at: int) -> int | None:
        """Return the place of the turn that the speaker of ``at`` said before it."""
        speaker = self.turns[at].speaker
        return next((n for n in range(at - 1, -1, -1) if self.turns[n].speaker == speaker), None)

    def unsay(self, at: int) -> None:
        """Withhold the turn before and what was answered to it."""
        before = self.before(at)
        for place in range(at if before is None else before, at):
            if place == before or not self.turns[place].person:
                self.blank(place)

    def forget(self, at: int, said: str) -> None:
        """Withhold ``Please forget that I'm vegetarian`` and what it names."""
        if "forget" not in said.lower() and "remember" not in said.lower():
            return
        request = _EN.pattern("forget_request")
        asked = [(each, request.match(each.shown)) for each in split_sentences(self.turns[at].text)]
        matched = [(each, found) for each, found in asked if found is not None]
        for sentence, _ in matched:
            self.cut(at, sentence.start, sentence.end)
        for sentence, found in matched[:_MOST]:
            self.withdraw(at, sentence.shown[found.end() :])

    def retract(self, at: int, said: str) -> None:
        """Withhold what ``I just made that up, I don't work at Siemens`` is about."""
        mark = _EN.pattern("untrue").search(said)
        if mark is None or _EN.pattern("no_retraction").search(said):
            return
        denied = islice(_EN.pattern("denies").finditer(said), _MOST)
        if sum([self.withdraw(at, found["i"] or found["am"]) for found in denied]):
            return
        ahead = [each for each in split_sentences(self.turns[at].text) if each.end <= mark.start()]
        before = self.before(at)
        if any(_stems(each.shown)[1] for each in ahead):
            for each in ahead:
                self.cut(at, each.start, each.end)
        elif before is not None:
            self.blank(before)

    def withdraw(self, at: int, denied: str) -> bool:
        """Withhold what the speaker said up to ``at`` that holds all that is denied."""
        names, words = _stems(denied)
        wanted = names or words
        own = (n for n in range(at + 1) if self.turns[n].speaker == self.turns[at].speaker)
        done = False
        for place in own if wanted else ():
            for sentence in list(_holding(self.turns[place].text, wanted)):
                self.cut(place, sentence.start, sentence.end)
                done = True
        return done

    def leave_role(self, at: int, said: str) -> None:
        """Withhold what is said in a role; a request to play one stays, up to where it begins."""
        speaker, place = self.turns[at].speaker, 0
        if speaker in self.roles:
            ended = _EN.pattern("role_ends").search(said)
            if ended is None:
                self.blank(at)
                return
            self.roles.discard(speaker)
            place = ended.end()
            self.cut(at, 0, place)
        cued = any(cue in said.lower() for cue in _EN.words("role_cues"))
        begun = _EN.pattern("role_begins").search(said, place) if cued else None
        if begun is None:
            return
        self.roles.add(speaker)
        start = begun.start()
        if _PLAYS.search(begun[0]) is None:
            end = _STOP.search(said, begun.end())
            start = end.start() if end else len(said)
        self.cut(at, start, len(self.turns[at].text))


def _holding(text: str, wanted: frozenset[str]) -> Iterator[TurnPart]:
    """Yield the sentences that hold all the stems ``wanted`` and deny nothing."""
    for sentence in split_sentences(text):
        raw = _plain(text[sentence.start : sentence.end])
        denies = _EN.pattern("denies").search(raw) or _EN.pattern("untrue").search(raw)
        if not denies and wanted <= _stems(raw)[1]:
            yield sentence


def _stems(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the names in ``text``, and of all its words that tell anything."""
    found = (match[0] for match in _WORD.finditer(_plain(text)))
    words = [word for word in found if word.lower() not in _EN.words("idle")]
    stemmed = stems([word.lower().removesuffix("'s") for word in words])
    names = frozenset(stem for word, stem in zip(words, stemmed, strict=True) if word[0].isupper())
    return names, frozenset(stemmed)


def is_refused(text: str) -> bool:
    """Return whether ``text`` must not be kept, whatever it says."""
    return has_secret(text) or is_order(text)


def leans_on_talk(text: str) -> bool:
    """Return whether a statement can be understood only in its talk: ``since our last chat``."""
    half = _EN.pattern("half_told").search(text) is not None
    alone = half and _EN.pattern("company", 0).search(text) is None
    exclaimed = _EN.pattern("unclear_move", 0).search(text) is not None
    return alone or exclaimed or _EN.pattern("leaning").search(text) is not None


def is_joke(text: str) -> bool:
    """Return whether ``text`` says that it is a joke or not meant seriously."""
    laughed = compile_form(_EN.source("laughs")).search(text)
    told = laughed is not None and compile_form(_EN.source("too_much")).search(text) is not None
    return told or _EN.pattern("joke").search(text) is not None


def is_order(text: str) -> bool:
    """Return whether ``text`` tells the assistant how to behave."""
    return _EN.pattern("order").search(text) is not None


def is_override(text: str) -> bool:
    """Return whether ``text`` would override what the assistant goes by, or have it play a role."""
    return any(_EN.pattern(name).search(text) is not None for name in ("injection", "persona"))


def is_injection(text: str) -> bool:
    """Return whether ``text`` would override what the assistant goes by, now or by memory.

    Narrower than :func:`is_order`: ``you should come over`` is an order by its form alone.
    """
    return _EN.pattern("injection").search(text) is not None or (
        _EN.pattern("keep_request").search(text) is not None and is_order(text)
    )
