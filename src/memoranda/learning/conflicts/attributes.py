"""Attributes that hold one value at a time: where somebody lives, a job, a deadline.

Only attributes with one value at a time are read. Two sisters, two hobbies or two projects are
no conflict, so what may be had several times is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from memoranda.learning.conflicts.clauses import ParsedClause
from memoranda.learning.parsed_text import ParsedWord, parse_text, stem_set
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern, expand

_EN = LanguageData("en", "comparison")


MOST_BESIDE = 1
"""Words that a fact may say beside its value and still be ended as a whole."""
LONGEST = 10
"""Words of a noun phrase; what is longer is a sentence."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute and its value, as a clause states them of a subject.

    Attributes:
        name: which attribute; of a noun, ``noun``.
        key: stems of the subject and of the noun.
        people: those of them that name or mean somebody.
        value: stems of the value.
        sort: ``date``, ``number``, ``name`` or ``word``.
        single: whether there is one of it at a time.
        shifted: whether the clause says that its value changed.
        beside: how many words say something else beside the value: ``… and has three dogs``.
    """

    name: str
    key: frozenset[str]
    people: frozenset[str]
    value: frozenset[str]
    sort: str
    single: bool = True
    shifted: bool = False
    beside: int = 0


def read_attribute(clause: ParsedClause) -> Attribute | None:
    """Return the attribute that a clause states, if it states one of those with one value."""
    normal = " ".join(word.text for word in clause.words)
    while lead := _EN.pattern("attribute_lead").match(normal):
        normal = normal[lead.end() :]
    for name, pattern in _attribute_patterns():
        found = pattern.match(normal)
        if found and _phrase(found["owner"]) and _valued(name, found["value"]):
            return _placed(_made(clause, name, found["owner"], found["value"]))
    if found := _EN.pattern("has_value").match(normal):
        noun = f"{found['owner']} {found['noun']}"
        return _noun(clause, noun, found["noun"], found["value"], shifted=False)
    for pattern in (_EN.pattern("shifted_value"), _EN.pattern("noun_value")):
        if found := pattern.match(normal):
            shifted = pattern is _EN.pattern("shifted_value") or bool(clause.correcting)
            return _noun(clause, found["noun"], found["noun"], found["value"], shifted=shifted)
    return None


@cache
def _attribute_patterns() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return attributes and what tells them: the owner, a verb and the value."""
    forms: Sequence[tuple[str, str]] = load("en", "comparison")["attribute_forms"]
    return [
        (name, compile_pattern(rf"^(?P<owner>.*?){expand(form, _EN)}\s+(?P<value>.+)$"))
        for name, form in forms
    ]


def _phrase(owner: str) -> bool:
    """Return whether a text names somebody, rather than begins another clause."""
    words = owner.split()
    return len(words) == 1 or not _EN.words("other_clause") & set(words)


def _valued(name: str, whole: str) -> bool:
    """Return whether a text is a value of an attribute."""
    value = _EN.pattern("value_tail").sub("", whole)
    words = set(value.split())
    if name == "employer":
        return not words & _EN.words("no_employers") and not value.split()[0].endswith("ing")
    return name != "residence" or not set(whole.split()) & _EN.words("groups")


def _placed(made: Attribute | None) -> Attribute | None:
    """Return where a thing moved to as a new value of where it is: only people reside."""
    if made is None or made.name != "residence" or not made.key - made.people or not made.people:
        return made
    return replace(made, name="noun", shifted=True)


def _noun(
    clause: ParsedClause, owner: str, noun: str, value: str, *, shifted: bool
) -> Attribute | None:
    made = _made(clause, "noun", owner, value)
    if made is None or not made.key - made.people - stem_set("empty_nouns"):
        return None
    if _one_of_many(noun, value):
        return None
    single = (
        _single(noun) and not _of_what(noun, made) and (shifted or _nominal(noun, value, made.sort))
    )
    return replace(made, single=single, shifted=shifted)


def _one_of_many(noun: str, value: str) -> bool:
    """Return whether there are several of a noun, or a value tells an aim or an origin."""
    several = _EN.pattern("of_many").search(noun) or _EN.pattern("of_many").match(value)
    return bool(several) or value.startswith(("to ", "from "))


def _of_what(noun: str, made: Attribute) -> bool:
    """Return whether someone has several of a noun: ``Ana's deadline`` does not say which."""
    owned = bool(made.people) or not {"user", "my", "our"}.isdisjoint(noun.split())
    return owned and made.key - made.people <= stem_set("several_at_once")


def _nominal(noun: str, value: str, sort: str) -> bool:
    """Return whether a value names what a noun is, rather than describes it: ``a nurse``."""
    if sort != "word":
        return True
    if _EN.words("aims") & set(noun.split()):
        return False
    named = set(noun.split()) & (_EN.words("favoured", "titles"))
    return bool(named) or value.split(maxsplit=1)[0] in {"a", "an", "the"}


def score_opposition(old: Attribute, new: Attribute, *, same_subject: bool) -> float:
    """Return how surely two attributes are one with two values, 0 to 1.

    Args:
        old: what was said before.
        new: what was said later.
        same_subject: whether both are known to be about the same.
    """
    if old.name != new.name or old.sort != new.sort or _agree(old, new):
        return 0.0
    single = new.shifted or (old.single and new.single)
    if not single or _unlike(old, new) or old.beside > MOST_BESIDE:
        return 0.0
    if old.key == new.key:
        return 0.9
    apart, people = old.key ^ new.key, old.people | new.people
    if apart & stem_set("persons"):
        return 0.0
    if same_subject and apart <= people and (not old.people or not new.people):
        return 0.85
    nested = old.key < new.key or new.key < old.key
    personal = (old.key | new.key) & stem_set("personal_nouns") or apart & people
    return 0.7 if nested and not personal and old.key and new.key else 0.0


def _unlike(old: Attribute, new: Attribute) -> bool:
    """Return whether two values are of different sorts: a city and a country, a day and an hour."""
    measures, nations = stem_set("measures"), stem_set("nations")
    if old.sort == "number" and old.value & measures != new.value & measures:
        return True
    if old.sort == "date" and not new.shifted:
        return old.value.isdisjoint(_EN.words("calendar")) != new.value.isdisjoint(
            _EN.words("calendar")
        )
    if old.name == "residence" and old.sort == "word":
        places = stem_set("dwellings"), stem_set("settlements")
        return not any(old.value & each and new.value & each for each in places)
    return old.value.isdisjoint(nations) != new.value.isdisjoint(nations)


def _agree(one: Attribute, other: Attribute) -> bool:
    """Return whether two values may both hold, as one says more of the same."""
    if one.sort == "word" and not other.shifted and one.value & other.value:
        return True
    return one.value <= other.value or other.value <= one.value


def _single(noun: str) -> bool:
    """Return whether a noun phrase names something of which there is one at a time."""
    words = noun.split()
    if not words or len(words) > LONGEST or _EN.words("clausal") & set(words):
        return False
    head = words[: words.index("of")] if "of" in words[1:] else words
    return head[-1] in _EN.words("functional") or (
        bool(_EN.words("favoured") & set(words)) and not _plural(head[-1])
    )


def _plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _made(clause: ParsedClause, name: str, owner: str, value: str) -> Attribute | None:
    whole, value = value.strip(), _EN.pattern("value_tail").sub("", value.strip())
    inside = {word.text for word in clause.words if word.name}
    wanted = _telling_words(value, "value_stops")
    key = _telling_words(owner, "key_stops")
    if not wanted or any(word.kind in {"number", "date"} for word in key):
        return None
    people = parse_text(owner).persons | {word.stem for word in key if word.text in inside}
    kinds = {"date" if word.text in _EN.words("calendar") else word.kind for word in wanted}
    sort = "name" if any(word.text in inside for word in wanted) else "word"
    return Attribute(
        name=name,
        key=frozenset(word.stem for word in key),
        people=frozenset(people),
        value=frozenset(word.stem for word in wanted),
        beside=_beside(whole[len(value) :]),
        sort=next((kind for kind in ("date", "number") if kind in kinds), sort),
    )


def _beside(tail: str) -> int:
    """Return how many words of what follows a value say something of their own."""
    if _EN.pattern("company").match(tail) and not _EN.words("finite_verbs") & set(tail.split()):
        return 0
    said = tail.partition(" and ")[2] or _EN.pattern("aside").sub("", tail)
    return len(_telling_words(said, "value_stops"))


def _telling_words(text: str, stops: str) -> list[ParsedWord]:
    return [word for word in parse_text(text).words if word.text not in _EN.words(stops)]
