"""Decides which names mean the same entity: folding, short forms, initials, legal forms.

Cautious on purpose: two names that stay apart cost a link; two people taken for one mix
their memories. So a short name is linked only while exactly one longer name fits.
"""

from __future__ import annotations

from functools import lru_cache

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
# Marks of keys: a short form is found by the names that it may stand for, and these by it.
_COUNTERPARTS = {"=": "=", "<": ">", ">": "<"}


# With it this module is a :class:`~memoranda.model.ports.NameMatcher`.
fold = fold_name


def same_person(short: str, full: str) -> bool:
    """Return whether ``short`` may be another way to call the person ``full``.

    Titles are left out ("Dr. Smith" is "Smith"). A single name is the given name, the family
    name or the beginning of the given name ("Mel" of "Melanie"). With several, the family names
    agree and the given names do ("M. Smith", "Mel Smith"). Never the other way round: ``full`` is
    the longer name.
    """
    one, whole = _person(fold_name(short)), _person(fold_name(full))
    if not one or not whole or len(one) > len(whole):
        return False
    called = {whole[0], *_nicknames(whole[0])}
    if len(one) == 1:
        return one[0] in called | {whole[-1]}
    return one[-1] == whole[-1] and one[0] in called | {whole[0][0]}


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


@lru_cache(maxsize=1024)
def keys(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return under which keys a store keeps ``name``, and looks for what may mean the same.

    So it finds all candidates for :func:`means`, in either direction ("Smith" and "Robert Smith",
    "NYC" and "New York City"), and of thousands of people called Robert none but those. The keys of
    a name and of its folded form are the same; a name that folds to nothing has none.
    """
    folded = fold_name(name)
    person, letters = _person(folded), folded.replace(".", "")
    alike, short, full = {_thing(folded)}, set[str](), {_initials(folded)}
    if person:
        full |= {person[0], person[-1], *_nicknames(person[0])}
    if len(person) > 1:
        alike.add(f"{person[0][0]} {person[-1]}")
    else:
        short.update(person)
    if len(letters) in INITIALS and letters.isalpha():
        short.add(letters)
    marked = {"=": alike, "<": short, ">": full}
    kept = frozenset(mark + each for mark, forms in marked.items() for each in forms if each)
    return kept, frozenset(_COUNTERPARTS[key[0]] + key[1:] for key in kept)


def means(name: str, type: str, known: str, known_type: str) -> bool:
    """Return whether ``name``, as it is written, also means the thing of a known folded name.

    Types are as in :class:`~memoranda.model.models.Mention`. Who knows several that fit links the
    name to none: "Mel" is neither Melanie nor Melissa while both are known.
    """
    if type in _PERSON_LIKE and known_type == "person":
        # A name that no rule took for a person is one only where it is the whole word.
        return (type == "person" or " " in known) and same_person(name, known)
    if "person" in {type, known_type}:
        return False
    agree = type == known_type or "other" in {type, known_type}
    return agree and (is_initialism(name, known) or same_thing(name, known))


def _initials(folded: str) -> str:
    """Return the initials of a name of several words, without the small ones; else nothing."""
    weighty = [word[0] for word in _WORD.findall(folded) if word not in names("joiners")]
    return "".join(weighty) if len(weighty) in INITIALS else ""


def _thing(folded: str) -> str:
    """Return the name under which a place or an organization is compared."""
    words = folded.replace(",", " ").split()
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    while len(words) > 1 and words[-1].rstrip(".") in names("legal_forms"):
        words.pop()
    return " ".join(words) or folded


def _person(folded: str) -> list[str]:
    """Return the words of a person's name, without titles."""
    return [word for word in _WORD.findall(folded) if word not in names("titles")]


def _nicknames(given: str) -> set[str]:
    """Return the beginnings of a given name by which its bearer may be called."""
    return {given[:length] for length in NICKNAME_LENGTHS if len(given) >= length + LONGER_BY}
