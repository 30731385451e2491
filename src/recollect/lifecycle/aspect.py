"""Whether a clause tells what happened once, or how things are: by its first finite verb."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from recollect.lifecycle.extract.inflect import is_participle, is_past
from recollect.lifecycle.reading import Word, read
from recollect.lifecycle.wording import (
    ADVERBS,
    ENDED,
    LIKING,
    NEGATORS,
    PRESENT,
    SUBJECTS,
    word_set,
)

_HAVE = word_set("has have had ve having")
_WAS = word_set("was were did")
_SHORTEST = 3


@lru_cache(maxsize=4096)
def happened(text: str) -> bool:
    """Return whether ``text`` tells what came to pass: ``Ana moved``, ``Ana has moved``.

    What is, what goes on (``has been working``), what is wanted, what used to be and what never
    was are no events. Judged by the first finite verb alone; false where none is recognised.
    """
    words = read(text).words
    for place, word in enumerate(words):
        if word.text in _HAVE:
            return _perfect(words, place)
        if word.text in _WAS or (word.text == "got" and place):
            return not _denied(words, place + 1)
        if word.text in PRESENT or _present(words, place):
            return False
        if place and word.kind == "word" and not word.name and is_past(word.text):
            return not _used_to(words, place)
    return False


def _perfect(words: Sequence[Word], place: int) -> bool:
    """Return whether a form of ``have`` begins to tell an event."""
    after = _skip(words, place + 1)
    if _denied(words, place + 1):
        return False
    if after is None or not is_participle(words[after].text):
        return words[place].text == "had"
    if words[after].text != "been":
        return words[after].text != "got"
    then = _skip(words, after + 1)
    return then is not None and (words[then].text == "to" or is_participle(words[then].text))


def _skip(words: Sequence[Word], place: int) -> int | None:
    """Return the place of the first word from ``place`` on that is no adverb."""
    return next((at for at in range(place, len(words)) if words[at].text not in ADVERBS), None)


def _denied(words: Sequence[Word], place: int) -> bool:
    return any(word.text in NEGATORS for word in words[place : place + 3])


def _used_to(words: Sequence[Word], place: int) -> bool:
    after = words[place + 1].text if place + 1 < len(words) else ""
    return words[place].text == "used" and after == "to"


def _present(words: Sequence[Word], place: int) -> bool:
    """Return whether a word is a verb in the present: it stands behind its subject."""
    word = words[place]
    if word.text in LIKING and not word.text.endswith("ed"):
        return True
    if word.kind != "word" or word.name or word.owned or word.text in ADVERBS | ENDED:
        return False
    before = next((each for each in reversed(words[:place]) if each.text not in ADVERBS), None)
    if before is None:
        return False
    if before.text in {"i", "we", "you", "they"}:
        return not is_past(word.text)
    third = word.text.endswith("s") and len(word.text) > _SHORTEST and word.text[-2] not in "us"
    return third and (before.name or before.text in SUBJECTS)
