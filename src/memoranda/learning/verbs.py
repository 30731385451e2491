"""English verbs and their forms."""

from __future__ import annotations

from memoranda.text.patterns import LanguageData

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
