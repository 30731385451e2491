"""Questions: whether a text asks, and whether it asks for what the assistant said."""

from __future__ import annotations

from functools import cache

from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import LanguageData, WordLists, languages_with, load

LONGEST_QUESTION = 200  # characters of a question without its mark

_TOPIC = "questions"
_WORDS = WordLists(_TOPIC)
_ASKS = ("?", "\uff1f", "\u061f")
# Around a question.
_EDGE = " .\t\n\"'”’»)]*_"


def asks(text: str) -> bool:
    """Return whether a text ends as a question does, or begins as one where it has no mark."""
    text = text.rstrip(_EDGE)
    if text.endswith(_ASKS):
        return True
    stated = len(text) > LONGEST_QUESTION or text.endswith("!")
    return not stated and any(form.search(text) is not None for form in _unmarked())


def names_assistant(question: str) -> bool:
    """Return whether a question asks for what the assistant said: "What did you suggest?"."""
    words = question.casefold().replace("’", "'").rstrip("?").split()
    return not _WORDS.assistant_words.isdisjoint(words) and _WORDS.own_words.isdisjoint(words)


@cache
def _unmarked() -> tuple[LinearPattern, ...]:
    """Return what a question without its mark begins with, in the languages that tell it."""
    return tuple(
        LanguageData(code, _TOPIC).pattern("unmarked")
        for code in languages_with(_TOPIC)
        if "unmarked" in load(code, _TOPIC)
    )
