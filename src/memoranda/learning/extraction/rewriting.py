"""Rewrites first-person statements in the third person: ``I'm`` to ``Ana is``.

A speaker is called by name, or ``the user``. After the first mention their own things are
``their``; only relatives are always said to be whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memoranda.learning.extraction.sentences import MASK
from memoranda.learning.verbs import expand_negation, is_participle, third_person
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern

_EN = LanguageData("en", "extraction")


TOKEN = compile_pattern(rf"{MASK}+|[^\W_{MASK}]+(?:['’_-][^\W_{MASK}]+)*|[^\w\s]|_")
_SELF = frozenset({"i", "we"})
_NEAR = 3


class ClauseToken(NamedTuple):
    """A word or mark of a clause: as written, in lower case, and where it stands in the clause."""

    text: str
    low: str
    start: int
    end: int


def split_tokens(shown: str) -> list[ClauseToken]:
    """Return the words and marks of ``shown``; what is masked is one word."""
    return [
        ClauseToken(found[0], found[0].lower(), found.start(), found.end())
        for found in TOKEN.finditer(shown)
    ]


@dataclass(frozen=True, slots=True)
class Person:
    """How rewritten sentences name the speaker, and whom ``you`` means.

    Attributes:
        name: ``Caroline``, or ``the user``.
        hearer: whom ``you`` means, where only one can be meant; empty otherwise.
    """

    name: str
    hearer: str = ""

    @property
    def possessive(self) -> str:
        """``Caroline's``, ``the user's``."""
        return f"{self.name}'s"


def rewrite(text: str, shown: str, person: Person, prefix: str = "") -> str:
    """Return the statement ``text`` of ``person`` in the third person: one sentence, not yet dated.

    Args:
        text: a clause as it is written.
        shown: the same, masked.
        person: who says it.
        prefix: what it leaves out: ``I`` or ``I am``.
    """
    offset = len(prefix) + 1 if prefix else 0
    if prefix:
        lowered = text[0].lower() + text[1:]
        text, shown = f"{prefix} {lowered}", f"{prefix} {lowered[0]}{shown[1:]}"
    walk = _ThirdPersonRewriter(text, split_tokens(shown), person)
    return finish_sentence(walk.run(), keep=offset == 0)


def finish_sentence(sentence: str, *, keep: bool = True) -> str:
    """Return ``sentence`` with a capital, single spaces and a full stop."""
    sentence = re.sub(r"\s+", " ", sentence)
    sentence = re.sub(r"\s+([,.;:!?%)])", r"\1", sentence).strip(" ,;:.!-–—…*")
    if not sentence:
        return ""
    first = sentence[0].upper() if keep or sentence[0].islower() else sentence[0]
    return f"{first}{sentence[1:]}."


def lower_first_word(name: str) -> str:
    """Return ``name`` as it stands inside a sentence: ``The deadline`` gets a small letter."""
    word = name.partition(" ")[0]
    return name[:1].lower() + name[1:] if word.lower() in _EN.words("uncapitalized") else name


class _ThirdPersonRewriter:
    """One pass over the words of a clause, with what was seen so far."""

    def __init__(self, text: str, words: list[ClauseToken], person: Person) -> None:
        self.text = text
        self.words = words
        self.person = person
        self.out: list[str] = []
        self.named = False
        self.plural = False
        self.past = not any(word.low in _EN.words("frequency") for word in words)
        self.pending = False
        """Whether the next verb is the speaker's, and must agree."""
        self.present = False
        """Whether the last such verb was in the present and may be followed by ``and …``."""

    def run(self) -> str:
        """Return the clause with every word put into the third person."""
        end = 0
        for place, word in enumerate(self.words):
            gap = self.text[end : word.start]
            made = self._word(place, word)
            if made:
                self.out += gap, made
            elif not self.out or not self.out[-1].endswith(" "):
                self.out.append(" ")
            end = word.end
        return "".join(self.out) + self.text[end:]

    def _word(self, place: int, word: ClauseToken) -> str:
        head, mark, tail = word.low.partition("'")
        if head in _SELF and (word.low == head or mark):
            return self._subject(place, head, tail)
        if self.pending:
            return self._verb(word)
        if word.low in _EN.words("own_pronouns"):
            return self._own(place, word.low)
        if self.person.hearer and head in _EN.words("hearer_pronouns"):
            return self._hearer(head, tail)
        return self._other(place, word)

    def _other(self, place: int, word: ClauseToken) -> str:
        """Return a word that does not speak of the speaker; verbs joined by ``and`` agree."""
        low = word.low
        if self.present and self._continues(place, low):
            return third_person(low, past=False)
        if low in {"to", "can", "will", "by"} or low.endswith("ing"):
            self.present = False
        if low == "this" and self._introduces(place):
            return "an" if self.words[place + 1].low[0] in "aeiou" else "a"
        expanded = expand_negation(low, third=False)
        return expanded or _EN.mapping("spoken_forms").get(low, self.text[word.start : word.end])

    def _subject(self, place: int, head: str, tail: str) -> str:
        name = self.person.name
        self.plural = place > 0 and self.words[place - 1].low == "and" and head == "i"
        verb = {"m": "am", "re": "are", "ve": "have", "ll": "will"}.get(tail, "")
        if tail == "d":
            verb = "had" if self._after(place, is_participle) else "would"
        if tail == "s":
            self.named = True
            return f"{name}'s"
        self.named = True
        if not verb:
            self.pending = True
            return name
        return f"{name} {self._agree(verb)}"

    def _agree(self, verb: str) -> str:
        if self.plural:
            return {"am": "are"}.get(verb, verb)
        if verb in _EN.words("modals") or verb in {"had", "did"}:
            return verb
        return third_person(verb, past=self.past)

    def _verb(self, word: ClauseToken) -> str:
        """Return a word between the speaker and the verb, or the verb, which then agrees."""
        low, written = word.low, self.text[word.start : word.end]
        if not word.text[0].isalpha():
            self.pending = low in {",", "(", ")"}
            return written
        if low in _EN.words("fillers"):
            return ""
        expanded = expand_negation(low, third=not self.plural)
        if (low in _EN.words("adverbs") and expanded is None) or low in {"no", "longer"}:
            return written
        self.pending = False
        if expanded is None and low not in _EN.mapping("slang_third"):
            expanded = self._agree(low)
            changed = expanded != low and not self.plural
            self.present = changed and low not in _EN.words("auxiliaries")
        made = expanded or _EN.mapping("slang_third")[low]
        return written if made == low else made

    def _continues(self, place: int, low: str) -> bool:
        before = self.words[place - 1].low if place else ""
        if before in _EN.words("adverbs") and place > 1:
            before = self.words[place - 2].low
        verb = low in _EN.words("habits") and low not in _EN.words("ambiguous_verbs")
        return before in {"and", "or", "but"} and verb

    def _introduces(self, place: int) -> bool:
        return is_mere_article([word.low for word in self.words[place + 1 : place + 2]])

    def _own(self, place: int, low: str) -> str:
        person = self.person
        if low in {"my", "our"}:
            following = [word.low for word in self.words[place + 1 : place + 1 + _NEAR]]
            if self.named and not _EN.words("relatives").intersection(following):
                return "their"
            self.named = True
            return person.possessive
        if low in {"mine", "ours"}:
            return "theirs" if self.named else person.possessive
        if low in {"myself", "ourselves"}:
            return "themselves"
        self.named = True
        return person.name

    def _hearer(self, head: str, tail: str) -> str:
        hearer = self.person.hearer
        if head in {"your", "yours"}:
            return f"{hearer}'s"
        verb = {"re": "is", "ve": "has", "ll": "will", "d": "would"}.get(tail)
        return f"{hearer} {verb}" if verb else hearer

    def _after(self, place: int, fits: object) -> bool:
        following = [
            word.low
            for word in self.words[place + 1 : place + 1 + _NEAR]
            if word.low not in _EN.words("adverbs")
        ]
        return bool(following) and callable(fits) and bool(fits(following[0]))


def is_mere_article(following: Sequence[str]) -> bool:
    """Return whether ``this`` before ``following`` is a mere ``a``: ``this cute pup``."""
    return bool(following) and following[0] in _EN.words("evaluative")
