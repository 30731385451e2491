"""Whether a clause tells what happened once, or how things are: by its first finite verb."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from memoranda.learning.extract.inflect import is_participle, is_past
from memoranda.learning.reading import Word, read
from memoranda.learning.wording import (
    ADVERBS,
    ENDED,
    LIKING,
    NEGATORS,
    PRESENT,
    SUBJECTS,
    word_set,
)


class Aspect(StrEnum):
    """How a clause stands to time."""

    STATE = "state"
    """How things are, go on, are wanted, used to be or never were."""
    WAS = "was"
    """How things were: ``Ana was glad``."""
    PERFECT = "perfect"
    """What has come to pass by now: ``Ana has moved``."""
    PAST = "past"
    """What came to pass: ``Ana moved``."""


_HAVE = word_set("has have had ve having")
_WAS = word_set("was were did")
_SHORTEST = 3
_PRONOUNS = word_set("i we you they")
_S_ENDINGS = "us"
"""Letters before a last ``s`` that show that it is no ending of a verb: ``class``, ``bus``."""


def happened(text: str) -> bool:
    """Return whether ``text`` tells what came to pass, rather than how things are."""
    return aspect(text) is not Aspect.STATE


@lru_cache(maxsize=4096)
def aspect(text: str) -> Aspect:
    """Return how the first finite verb of ``text`` stands to time.

    A state where no verb is recognised, so that nothing rests on a guess that it is an event.
    """
    words = read(text).words
    for place, word in enumerate(words):
        if word.text in _HAVE:
            return _perfect(words, place)
        if word.text in _WAS or (word.text == "got" and place):
            return _was(words, place)
        if word.text in PRESENT or _present(words, place):
            return Aspect.STATE
        if place and word.kind == "word" and not word.name and is_past(word.text):
            return Aspect.STATE if _used_to(words, place) else Aspect.PAST
    return Aspect.STATE


def _was(words: Sequence[Word], place: int) -> Aspect:
    if _denied(words, place + 1):
        return Aspect.STATE
    after = _skip(words, place + 1)
    alone = after is None or not (
        is_participle(words[after].text) or words[after].text.endswith("ing")
    )
    return Aspect.WAS if alone and words[place].text in {"was", "were"} else Aspect.PAST


def _perfect(words: Sequence[Word], place: int) -> Aspect:
    """Return the aspect of what a form of ``have`` begins."""
    after = _skip(words, place + 1)
    plain = Aspect.PAST if words[place].text == "had" else Aspect.STATE
    if _denied(words, place + 1) or any(
        word.text == "always" for word in words[place + 1 : after or place]
    ):
        return Aspect.STATE
    if after is None or not is_participle(words[after].text):
        return plain
    if words[after].text != "been":
        return Aspect.STATE if words[after].text in {"got", "had"} else Aspect.PERFECT
    then = _skip(words, after + 1)
    told = then is not None and (words[then].text == "to" or is_participle(words[then].text))
    return Aspect.PERFECT if told else Aspect.STATE


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
    if before.text in _PRONOUNS:
        return not is_past(word.text)
    third = (
        word.text.endswith("s") and len(word.text) > _SHORTEST and word.text[-2] not in _S_ENDINGS
    )
    return third and (before.name or before.text in SUBJECTS)
