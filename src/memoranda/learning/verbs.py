"""English verbs: their forms, and whether a clause reports an event or a state."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from memoranda.learning.parsed_text import ParsedWord, parse_text
from memoranda.text.patterns import LanguageData

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


def is_finite(word: str) -> bool:
    """Return whether ``word``, in lower case, is an auxiliary, a past form or does as one does."""
    habit = word.endswith("s") and word[:-1] in _FORMS.words("habits", "likes")
    return habit or is_past(word) or word in _FORMS.words("auxiliaries", "modals")


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
    doing = (
        verb.endswith("ing") and verb not in _FORMS.words("habits") and len(verb) > _SHORTEST_PAST
    )
    return verb if is_past(verb) or doing else _with_s(verb)


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def base_form(verb: str) -> str:
    """Return a verb of a third person in the present, in lower case, as it stands after ``I``."""
    if verb.endswith("ies") and len(verb) > _SHORTEST_PAST:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "goes", "does")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith(("ss", "us", "is", "as")) else verb


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

    # How things are, go on, are wanted, used to be or never were.
    STATE = "state"
    # How things were: ``Ana was glad``.
    WAS = "was"
    # What has come to pass by now: ``Ana has moved``.
    PERFECT = "perfect"
    # What came to pass: ``Ana moved``.
    PAST = "past"


_SHORTEST = 3
# Letters before a last ``s`` that show that it is no ending of a verb: ``class``, ``bus``.
_S_ENDINGS = "us"


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
            after = _after_adverbs(words, place)
            alone = not (is_participle(after) or after.endswith("ing"))
            was = alone and word.text in {"was", "were"}
            return Aspect.STATE if _is_denied(words, place) else Aspect.WAS if was else Aspect.PAST
        if word.text in _EN.words("present") or _is_present(words, place):
            return Aspect.STATE
        if place and word.kind == "word" and not word.name and is_past(word.text):
            used_to = [each.text for each in words[place : place + 2]] == ["used", "to"]
            return Aspect.STATE if used_to else Aspect.PAST
    return Aspect.STATE


def _after_adverbs(words: Sequence[ParsedWord], place: int) -> str:
    """Return the first word behind ``place`` that is no adverb; empty where there is none."""
    adverbs = _EN.words("adverbs")
    return next((word.text for word in words[place + 1 :] if word.text not in adverbs), "")


def _is_denied(words: Sequence[ParsedWord], place: int) -> bool:
    return any(word.text in _EN.words("negators") for word in words[place + 1 : place + 4])


def _perfect(words: Sequence[ParsedWord], place: int) -> Aspect:
    """Return the aspect of what a form of ``have`` begins."""
    behind = [word.text for word in words[place + 1 :]]
    plain = (each for each in behind if each not in _EN.words("adverbs"))
    verb, then = next(plain, ""), next(plain, "")
    always = bool(verb) and "always" in behind[: behind.index(verb)]
    if _is_denied(words, place) or always:
        return Aspect.STATE
    if not is_participle(verb):
        return Aspect.PAST if words[place].text == "had" else Aspect.STATE
    if verb != "been":
        return Aspect.STATE if verb in {"got", "had"} else Aspect.PERFECT
    return Aspect.PERFECT if then == "to" or is_participle(then) else Aspect.STATE


def _is_present(words: Sequence[ParsedWord], place: int) -> bool:
    """Return whether a word is a verb in the present: it stands behind its subject."""
    word, adverbs = words[place], _EN.words("adverbs")
    if word.text in _EN.words("likings") and not word.text.endswith("ed"):
        return True
    other = word.kind != "word" or word.name or word.owned
    before = next((each for each in reversed(words[:place]) if each.text not in adverbs), None)
    if other or before is None or word.text in adverbs | _EN.words("ended"):
        return False
    if before.text in _EN.words("plain_subjects"):
        return not is_past(word.text)
    long = len(word.text) > _SHORTEST
    third = long and word.text[-1] == "s" and word.text[-2] not in _S_ENDINGS
    return third and (before.name or before.text in _EN.words("subjects"))
