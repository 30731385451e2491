"""The type of entity that a name stands for, by its form and the words around it."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.entities.capitals import INNER_CAPITAL, LONGEST_NAME, WordToken
from memoranda.entities.vocabulary import (
    given_names,
    is_plain,
    names,
    organizations,
    places,
    products,
)
from memoranda.text.patterns import compile_pattern

_SURNAME = compile_pattern(r"(?:Mc|Mac|De|Di|Du|La|Le|O['’])[A-Z][a-z]+")
WITH_DIGIT = compile_pattern(r"(?=\w{3}|\w+-)[A-Z][A-Za-z]*-?\d[\w.-]*")
_SHORT = 2
_AT_WORK = frozenset({"at", "for"})


def type_of(name: str, tokens: Sequence[WordToken], first: int, last: int) -> str:
    """Return the entity type of a name, by its form or the words around it."""
    by_form = type_by_form(name, tokens[first].name.lower(), tokens[last].name.lower())
    return by_form or _type_by_cue(tokens, first, last) or "other"


def type_by_form(name: str, begin: str, end: str) -> str | None:
    """Return the type that the form of ``name`` tells; its first and last word in small letters."""
    low, several = name.lower(), " " in name
    place = several and (end in names.place_ends or begin in names.place_starts)
    told: str | None = None
    if low in places():
        told = "location"
    elif low in organizations():
        told = "organization"
    elif low in products():
        told = "project"
    elif several and (
        end in names.organization_ends or (begin in names.organization_starts and " of " in low)
    ):
        told = "organization"
    elif place:
        told = "location"
    elif begin in given_names() and " of " not in low and not end.isdigit():
        told = "person"
    elif (
        WITH_DIGIT.fullmatch(name)
        or end.isdigit()
        or (INNER_CAPITAL.fullmatch(name) and not _SURNAME.fullmatch(name))
    ):
        told = "project"
    return told


def _type_by_cue(tokens: Sequence[WordToken], first: int, last: int) -> str | None:
    """Look at the words before and after: "Hey Mel!", "X said", "moved to X"."""
    before = tokens[first - 1].name.lower() if first else ""
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    close = first > 0 and tokens[first].gap == " "
    if after is not None and after.gap == " " and after.name in names.speech:
        return "person"
    if close and before in names.person_before:
        return "person"
    ends = after is None or after.gap[:1] in ",.!?;"
    if before in names.vocatives and tokens[first].gap in {" ", ", "} and ends:
        return "person"
    if close and before not in names.articles and not tokens[last].name.isupper():
        nearby = {token.name.lower() for token in tokens[max(0, first - 4) : first]}
        if before in _AT_WORK and nearby & names.work:
            return "organization"
        if before == "at" or (before in names.place_prepositions and nearby & names.motion):
            return "location"
    return "person" if _is_full_name(tokens, first, last, before) else None


def _is_full_name(tokens: Sequence[WordToken], first: int, last: int, before: str) -> bool:
    """Tell two or three plain words, none of them an everyday one: most often a person."""
    run = [token.name for token in tokens[first : last + 1]]
    return (
        1 < len(run) <= LONGEST_NAME
        and before not in names.articles
        and all(
            word.isalpha() and word[1:].islower() and len(word) > _SHORT and not _is_no_part(word)
            for word in run
        )
    )


def _is_no_part(word: str) -> bool:
    """Tell a word that stands in no person's name."""
    return is_plain(word) or word.lower() in organizations() or word.lower() in products()
