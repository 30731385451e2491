"""What kind of thing a name names, as far as its form and the words around it tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoranda.entities import words as w
from memoranda.entities.everyday import is_plain
from memoranda.entities.gazetteer import GIVEN_NAMES, ORGANIZATIONS, PLACES, PRODUCTS
from memoranda.entities.runs import INNER_CAPITAL, LONGEST_NAME, Token

_SURNAME = re.compile(r"(?:Mc|Mac|De|Di|Du|La|Le|O['’])[A-Z][a-z]+")
WITH_DIGIT = re.compile(r"(?=\w{3}|\w+-)[A-Z][A-Za-z]*-?\d[\w.-]*")
_SHORT = 2
_ARTICLES = w.words("the a an this that my your our their his her its")
_AT_WORK = w.words("at for")


def kind_of(name: str, tokens: Sequence[Token], first: int, last: int) -> str:
    """Return the type that the form of a name or the words around it tell."""
    by_form = kind_by_form(name, tokens[first].name.lower(), tokens[last].name.lower())
    return by_form or _kind_by_cue(tokens, first, last) or "other"


def kind_by_form(name: str, begin: str, end: str) -> str | None:
    """Return the type that the form of ``name`` tells; its first and last word in small letters."""
    low, several = name.lower(), " " in name
    place = several and (end in w.PLACE_ENDS or begin in w.PLACE_STARTS)
    told: str | None = None
    if low in PLACES:
        told = "location"
    elif low in ORGANIZATIONS:
        told = "organization"
    elif low in PRODUCTS:
        told = "project"
    elif several and (
        end in w.ORGANIZATION_ENDS or (begin in w.ORGANIZATION_STARTS and " of " in low)
    ):
        told = "organization"
    elif place:
        told = "location"
    elif begin in GIVEN_NAMES and " of " not in low and not end.isdigit():
        told = "person"
    elif (
        WITH_DIGIT.fullmatch(name)
        or end.isdigit()
        or (INNER_CAPITAL.fullmatch(name) and not _SURNAME.fullmatch(name))
    ):
        told = "project"
    return told


def _kind_by_cue(tokens: Sequence[Token], first: int, last: int) -> str | None:
    """Look at the words before and after: "Hey Mel!", "X said", "moved to X"."""
    before = tokens[first - 1].name.lower() if first else ""
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    close = first > 0 and tokens[first].gap == " "
    if after is not None and after.gap == " " and after.name in w.SPEECH:
        return "person"
    if close and before in w.PERSON_BEFORE:
        return "person"
    ends = after is None or after.gap[:1] in ",.!?;"
    if before in w.VOCATIVES and tokens[first].gap in {" ", ", "} and ends:
        return "person"
    if close and before not in _ARTICLES and not tokens[last].name.isupper():
        nearby = {token.name.lower() for token in tokens[max(0, first - 4) : first]}
        if before in _AT_WORK and nearby & w.WORK:
            return "organization"
        if before == "at" or (before in w.PLACE_PREPOSITIONS and nearby & w.MOTION):
            return "location"
    return "person" if _is_full_name(tokens, first, last, before) else None


def _is_full_name(tokens: Sequence[Token], first: int, last: int, before: str) -> bool:
    """Tell two or three plain words, none of them an everyday one: most often a person."""
    run = [token.name for token in tokens[first : last + 1]]
    return (
        1 < len(run) <= LONGEST_NAME
        and before not in _ARTICLES
        and all(
            word.isalpha() and word[1:].islower() and len(word) > _SHORT and not _is_no_part(word)
            for word in run
        )
    )


def _is_no_part(word: str) -> bool:
    """Tell a word that stands in no person's name."""
    return is_plain(word) or word.lower() in ORGANIZATIONS or word.lower() in PRODUCTS
