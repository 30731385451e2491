"""English verbs: their forms, and whether a clause reports an event or a state."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from memoranda.learning.parsed_text import ParsedWord, parse_text
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "comparison")
_FORMS = LanguageData("en", "extraction")
_VOWELS = "aeiou"
_SHORTEST_PAST = 4


def is_past(word: str) -> bool:
    """Return whether ``word``, in lower case, is a past form."""
    return word in _FORMS.words("past") or _ends_as_past(word)


def is_participle(word: str) -> bool:
    """Return whether ``word``, in lower case, can follow ``have``."""
    return word in _FORMS.words("participles") or _ends_as_past(word)


def _ends_as_past(word: str) -> bool:
    ends = len(word) >= _SHORTEST_PAST and word.endswith("ed")
    return ends and word not in _FORMS.words("not_past")


def third_person(verb: str, *, past: bool = True) -> str:
    """Return the form of ``verb``, as it stands after ``I`` or ``we``, for he or she.

    Args:
        verb: as it stands there, in lower case.
        past: how to read the few verbs whose past is like their present.
    """
    if verb in _FORMS.mapping("irregular_third"):
        return _FORMS.mapping("irregular_third")[verb]
    if verb in _FORMS.words("same_in_past"):
        return verb if past else verb + "s"
    return verb if is_past(verb) or verb.endswith("ing") else _with_s(verb)


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def expand_negation(word: str, *, third: bool) -> str | None:
    """Return ``word`` without its ``n't``; ``None`` where it has none.

    Args:
        word: in lower case.
        third: whether its subject has become a third person.
    """
    if third and word in _FORMS.mapping("contracted_third"):
        return _FORMS.mapping("contracted_third")[word]
    if word in _FORMS.mapping("contracted"):
        return _FORMS.mapping("contracted")[word]
    return f"{word[:-3]} not" if word.endswith("n't") and len(word) > len("n't") else None


class Aspect(StrEnum):
    """The tense and aspect of a clause."""

    STATE = "state"
    """How things are, go on, are wanted, used to be or never were."""
    WAS = "was"
    """How things were: ``Ana was glad``."""
    PERFECT = "perfect"
    """What has come to pass by now: ``Ana has moved``."""
    PAST = "past"
    """What came to pass: ``Ana moved``."""


_SHORTEST = 3
_S_ENDINGS = "us"
"""Letters before a last ``s`` that show that it is no ending of a verb: ``class``, ``bus``."""


def tells_event(text: str) -> bool:
    """Return whether ``text`` reports an event, rather than a state."""
    return read_aspect(text) is not Aspect.STATE


@lru_cache(maxsize=4096)
def read_aspect(text: str) -> Aspect:
    """Return tense and aspect of the first finite verb of ``text``.

    A state where no verb is recognised, so that nothing rests on a guess that it is an event.
    """
    words = parse_text(text).words
    for place, word in enumerate(words):
        if word.text in _EN.words("have_forms"):
            return _perfect(words, place)
        if word.text in _EN.words("was_forms") or (word.text == "got" and place):
            return _was(words, place)
        if word.text in _EN.words("present") or _present(words, place):
            return Aspect.STATE
        if place and word.kind == "word" and not word.name and is_past(word.text):
            return Aspect.STATE if _used_to(words, place) else Aspect.PAST
    return Aspect.STATE


def _was(words: Sequence[ParsedWord], place: int) -> Aspect:
    if _denied(words, place + 1):
        return Aspect.STATE
    after = _skip(words, place + 1)
    alone = after is None or not (
        is_participle(words[after].text) or words[after].text.endswith("ing")
    )
    return Aspect.WAS if alone and words[place].text in {"was", "were"} else Aspect.PAST


def _perfect(words: Sequence[ParsedWord], place: int) -> Aspect:
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


def _skip(words: Sequence[ParsedWord], place: int) -> int | None:
    """Return the place of the first word from ``place`` on that is no adverb."""
    return next(
        (at for at in range(place, len(words)) if words[at].text not in _EN.words("adverbs")), None
    )


def _denied(words: Sequence[ParsedWord], place: int) -> bool:
    return any(word.text in _EN.words("negators") for word in words[place : place + 3])


def _used_to(words: Sequence[ParsedWord], place: int) -> bool:
    after = words[place + 1].text if place + 1 < len(words) else ""
    return words[place].text == "used" and after == "to"


def _present(words: Sequence[ParsedWord], place: int) -> bool:
    """Return whether a word is a verb in the present: it stands behind its subject."""
    word = words[place]
    if word.text in _EN.words("likings") and not word.text.endswith("ed"):
        return True
    if word.kind != "word" or word.name or word.owned or word.text in _EN.words("adverbs", "ended"):
        return False
    before = next(
        (each for each in reversed(words[:place]) if each.text not in _EN.words("adverbs")), None
    )
    if before is None:
        return False
    if before.text in _EN.words("plain_subjects"):
        return not is_past(word.text)
    long = len(word.text) > _SHORTEST
    third = long and word.text[-1] == "s" and word.text[-2] not in _S_ENDINGS
    return third and (before.name or before.text in _EN.words("subjects"))
