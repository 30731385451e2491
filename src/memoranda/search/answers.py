"""What a question wants to hear: whose word, and which kind of thing.

Words and meaning find what speaks of the same. Of that, the assistant says again what it was told,
and news of an answer to "Who?" holds another name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property

from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import LanguageData, WordLists, compile_pattern, languages_with, load
from memoranda.text.sentences import sentence_texts

LONGEST = 600  # characters of a text that is read
LONGEST_QUESTION = 200  # characters of a question without its mark

_TOPIC = "answers"
_WORDS = WordLists(_TOPIC)
_WORD = compile_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_NUMBER = compile_pattern(r"\d+")
_ASKS = ("?", "\uff1f", "\u061f")
# Around a question.
_EDGE = " \t\n\"'”’»)]*_"


def asks(text: str) -> bool:
    """Return whether a text ends as a question does, or begins as one where it has no mark."""
    text = text.rstrip(_EDGE)
    if text.endswith(_ASKS):
        return True
    stated = len(text) > LONGEST_QUESTION or text.endswith((".", "!"))
    return not stated and any(form.search(text) is not None for form in _questions())


class ExpectedAnswer:
    """What a question wants to hear: a name, a time, a number, a code, a colour or anything."""

    def __init__(self, question: str) -> None:
        """Read a question."""
        self._text = question.casefold()
        self._question = frozenset(map(_bare, _words(question)))
        # Whether it asks what the assistant said, who else only says again what was told.
        self.of_assistant = not self._question.isdisjoint(_WORDS.assistant)

    @cached_property
    def kind(self) -> str | None:
        """Which kind of thing is asked for."""
        return next((kind for pattern, kind in _kinds() if pattern.search(self._text)), None)

    def held(self, text: str) -> set[str]:
        """Return what a text holds of the kind that is asked for."""
        return set() if self.kind is None else _HELD[self.kind](text, self._question)


def _names(text: str, asked: frozenset[str]) -> set[str]:
    """Return the names in a text that are not asked about, but for the beginnings of sentences."""
    return {
        word
        for sentence in sentence_texts(text)
        for word in _words(sentence)[1:]
        if word[0].isupper() and _bare(word) not in asked and word not in _WORDS.capitals
        if _bare(word).removesuffix("s") not in _times()
    }


def _held_times(text: str, _: frozenset[str]) -> set[str]:
    words = {word.removesuffix("s") for word in _words(text.casefold())}
    return set(_NUMBER.findall(text)) | (words & _times())


def _numbers(text: str, _: frozenset[str]) -> set[str]:
    return set(_NUMBER.findall(text)) | (set(_words(text.casefold())) & _WORDS.numbers)


def _codes(text: str, _: frozenset[str]) -> set[str]:
    return {number for number in _NUMBER.findall(text) if len(number) > 1}


def _colours(text: str, _: frozenset[str]) -> set[str]:
    return set(_words(text.casefold())) & _WORDS.colours


_HELD: Mapping[str, Callable[[str, frozenset[str]], set[str]]] = {
    "name": _names,
    "time": _held_times,
    "number": _numbers,
    "code": _codes,
    "colour": _colours,
}


def _bare(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("’s")


def _words(text: str) -> list[str]:
    found: list[str] = _WORD.findall(text)
    return found


@cache
def _questions() -> tuple[LinearPattern, ...]:
    """Return what a question without its mark begins with, in the languages that tell it."""
    return tuple(
        LanguageData(code, _TOPIC).pattern("question")
        for code in languages_with(_TOPIC)
        if "question" in load(code, _TOPIC)
    )


@cache
def _kinds() -> tuple[tuple[LinearPattern, str], ...]:
    """Return what asks for each kind, in all languages."""
    return tuple(
        (compile_pattern(pattern), kind)
        for code in languages_with(_TOPIC)
        for kind, pattern in load(code, _TOPIC)["kinds"].items()
    )


@cache
def _times() -> frozenset[str]:
    named = {*month_numbers(), *calendar_numbers("weekdays")} - {"may"}
    return _WORDS.times | {word.removesuffix("s") for word in named}
