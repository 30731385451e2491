"""Decides which names mean the same entity: folding, short forms, initials, legal forms.

Cautious on purpose: two names that stay apart cost a link; two people taken for one mix
their memories. So a short name is linked only while exactly one longer name fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from memoranda.entities.marks import names
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import fold_name

# How long a short form that is the beginning of a given name may be: Mel, Mike, Steph.
NICKNAME_LENGTHS = range(3, 6)

# How many letters it must leave out: one more is another name (Paul, Paula).
LONGER_BY = 2

# How many letters an initialism may have: UN, NYC, UNESCO.
INITIALS = range(2, 7)

_WORD = compile_pattern(r"[^\W_]+(?:['-][^\W_]+)*")
_PERSON_LIKE = frozenset({"person", "other"})


class RuleNameMatcher:
    """The rules of this module as a :class:`~memoranda.model.ports.NameMatcher`."""

    def __init__(self) -> None:
        """Take :func:`fold_name`, :func:`link` and :func:`keys`."""
        self.fold, self.link, self.keys = fold_name, link, keys


def same_person(short: str, full: str) -> bool:
    """Return whether ``short`` may be another way to call the person ``full``.

    Titles are left out ("Dr. Smith" is "Smith"). A single name is the given name, the family
    name or the beginning of the given name ("Mel" of "Melanie"). With several, the family names
    agree and the given names do ("M. Smith", "Mel Smith"). Never the other way round: ``full`` is
    the longer name.
    """
    one, whole = _person(short), _person(full)
    if not one or not whole or len(one) > len(whole):
        return False
    if one == whole:
        return True
    if len(one) == 1:
        return one[0] in {whole[0], whole[-1]} or _is_nickname(one[0], whole[0])
    if one[-1] != whole[-1]:
        return False
    initial = len(one[0]) == 1 and whole[0].startswith(one[0])
    return initial or one[0] == whole[0] or _is_nickname(one[0], whole[0])


def is_initialism(short: str, full: str) -> bool:
    """Return whether ``short`` is the initials of ``full``: NYC, N.Y.C., UN.

    Small words between do not count. ``short`` is as written: in capitals, so that no everyday
    word becomes initials.
    """
    letters = short.replace(".", "").strip()
    capitals = letters.isalpha() and letters.isupper()
    return capitals and fold_name(letters) == _initials(fold_name(full))


def same_thing(one: str, other: str) -> bool:
    """Return whether two names of a place or an organization are spellings of one.

    "Acme", "The Acme" and "Acme Ltd." are: articles and legal forms are left out.
    """
    return _thing(fold_name(one)) == _thing(fold_name(other))


def keys(name: str) -> frozenset[str]:
    """Return the blocking keys of ``name``: names that share none never mean the same.

    A store that keeps the keys of every name it knows finds with them all candidates for
    :func:`link`, in either direction, whatever their first letters: "Smith" meets "Robert
    Smith", "NYC" meets "New York City". Sharing a key proves nothing by itself. The keys of a
    name and of its folded form are the same; a name that folds to nothing has none.
    """
    folded = fold_name(name)
    if not folded:
        return frozenset()
    found = {f"t {_thing(folded)}"}
    person = _person(folded)
    found |= {f"p {word[: NICKNAME_LENGTHS.start]}" for word in (*person[:1], *person[-1:])}
    letters = (folded.replace(".", ""), _initials(folded))
    found |= {f"i {each}" for each in letters if len(each) in INITIALS and each.isalpha()}
    return frozenset(found)


def link(name: str, type: str, known: Mapping[str, str]) -> str | None:
    """Return the key in ``known`` that ``name`` also means, if there is exactly one.

    Args:
        name: as it is written in the text.
        type: as in :class:`~memoranda.model.models.Mention`.
        known: folded names and their types. A name in it is linked to itself.

    Returns:
        The key, or ``None`` where no or several known names fit: "Mel" is neither Melanie
        nor Melissa while both are known.
    """
    key = fold_name(name)
    if key in known:
        return key
    fitting = (other for other, kind in known.items() if _fits(name, key, type, other, kind))
    found = list(islice(fitting, 2))
    return found[0] if len(found) == 1 else None


def _fits(name: str, key: str, type: str, other: str, other_type: str) -> bool:
    if type in _PERSON_LIKE and other_type == "person":
        # A name that no rule took for a person is one only where it is the whole word.
        nickname = type == "person" or " " in other
        return nickname and same_person(key, other)
    if "person" in {type, other_type}:
        return False
    agree = type == other_type or "other" in {type, other_type}
    return agree and (is_initialism(name, other) or same_thing(name, other))


def _initials(folded: str) -> str:
    """Return the initials of a name of several words, without the small ones; else nothing."""
    weighty = [word[0] for word in _WORD.findall(folded) if word not in names.joiners]
    return "".join(weighty) if len(weighty) in INITIALS else ""


def _thing(folded: str) -> str:
    """Return the name under which a place or an organization is compared."""
    words = folded.replace(",", " ").split()
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    while len(words) > 1 and words[-1].rstrip(".") in names.legal_forms:
        words.pop()
    return " ".join(words) or folded


def _person(name: str) -> list[str]:
    """Return the words of a person's name, without titles."""
    words = _WORD.findall(fold_name(name))
    return [word for word in words if word not in names.titles]


def _is_nickname(short: str, given: str) -> bool:
    long_enough = len(short) in NICKNAME_LENGTHS and len(given) >= len(short) + LONGER_BY
    return long_enough and given.startswith(short)
