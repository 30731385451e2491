"""English verbs: past or not, and the form that goes with a third person."""

from __future__ import annotations

from memoranda.learning.extract.words import NOT_PAST, PARTICIPLES, PAST, SAME_IN_PAST

_IRREGULAR = {
    "have": "has",
    "do": "does",
    "go": "goes",
    "be": "is",
    "am": "is",
    "are": "is",
    "were": "was",
}
_VOWELS = "aeiou"
_SHORTEST_PAST = 4
_CONTRACTED = {
    "don't": "does not",
    "haven't": "has not",
    "aren't": "is not",
    "weren't": "was not",
    "ain't": "is not",
}
_FULL = {
    "can't": "cannot",
    "cannot": "cannot",
    "won't": "will not",
    "shan't": "shall not",
}


def is_past(word: str) -> bool:
    """Return whether ``word``, in lower case, is a past form."""
    return word in PAST or _ends_as_past(word)


def is_participle(word: str) -> bool:
    """Return whether ``word``, in lower case, can follow ``have``."""
    return word in PARTICIPLES or _ends_as_past(word)


def _ends_as_past(word: str) -> bool:
    return len(word) >= _SHORTEST_PAST and word.endswith("ed") and word not in NOT_PAST


def third_person(verb: str, *, past: bool = True) -> str:
    """Return the form of ``verb``, as it stands after ``I`` or ``we``, for he or she.

    Args:
        verb: as it stands there, in lower case.
        past: how to read the few verbs whose past is like their present.
    """
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in SAME_IN_PAST:
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
    if third and word in _CONTRACTED:
        return _CONTRACTED[word]
    if word in _FULL:
        return _FULL[word]
    return f"{word[:-3]} not" if word.endswith("n't") and len(word) > len("n't") else None
