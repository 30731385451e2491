"""What a clause says that a subject has one of: where it lives, its job, its deadline.

Only attributes with one value at a time are read. Two sisters, two hobbies or two projects are
no conflict, so what may be had several times is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memoranda.learning.conflict.clauses import Clause
from memoranda.learning.reading import Word, read, stems
from memoranda.learning.wording import (
    CALENDAR,
    FAVOURED,
    FILLERS,
    FUNCTIONAL,
    MEASURES,
    NATIONS,
    PERSONS,
    SINGULAR,
    STOP_WORDS,
    TITLES,
    word_set,
)

_IS = r"(?:is|are|was|has been|has become|became|becomes|remains|equals|will be)"
_SHIFT = (
    r"(?:(?:has|have|had|is|was|were|been|be|got|getting|just)\s+){0,3}(?:been\s+)?"
    r"(?:changed|moved|extended|postponed|rescheduled|pushed|shifted|set|updated|increased|raised|"
    r"reduced|decreased|dropped|lowered|grown|grew|delayed|adjusted|revised|renamed|cut|risen|rose|"
    r"fell|fallen|switched|went|gone|brought forward|corrected|reached)"
    r"(?:\s+(?:back|up|down|forward))?(?:\s+from\s+.+?)?\s+(?:to|until|till|by|for|at)"
)
_LIVES = (
    r"\b(?:lives?|living|resides?|residing|(?:is|are|am|m|s) based|settled)"
    r"\s+(?:\w+ly\s+)?(?:now\s+)?in"
)
_MOVED = (
    r"(?<!was )(?<!were )(?<!been )(?<!is )\b(?:moved|relocated|moves|moving|relocating)"
    r"(?:\s+(?:back|out|over|again|together|away|recently|permanently|with \w+|from [\w ]+?|"
    r"in with \w+|last \w+))*\s+(?:to|into)"
)
_FAMILY = (
    r"\b(?:is|am|m|s|got|became)(?:\s+now)?"
    r"(?=\s+(?:single|married|divorced|engaged|widowed|separated)\b)"
)
_DIET = (
    r"\b(?:is|am|m|s|became|turned|went)(?:\s+now)?(?:\s+an?)?"
    r"(?=\s+(?:vegan|vegetarian|pescatarian|omnivore)\b)"
)
_FORMS = {
    "residence": (_LIVES, _MOVED),
    "birth": (r"\b(?:was|were|is) born\s+(?:in|on|at)",),
    "age": (r"\b(?:is|am|m|s|turned|turns)(?=\s+\d+(?:\s+years old.*)?$)",),
    "employer": (
        r"\b(?:works?|working|worked)\s+(?:\w+ly\s+)?(?:now\s+)?(?:at|for)",
        r"\b(?:joined(?=.+\bas\b)|(?:got|started|took) a (?:new )?job (?:at|with))",
        r"\b(?:(?:was|got) hired (?:at|by)|(?:started|began) working (?:at|for))",
    ),
    "occupation": (
        r"\b(?:works?|working)\s+(?:now\s+)?as(?:\s+an?)?",
        r"\b(?:became|becomes|(?:started|began)(?: work(?:ing)?)? as)\s+an?",
    ),
    "study": (
        r"\b(?:studies|majors? in|majoring in)",
        r"\bstudying(?=.+\b(?:at|in) (?:the )?(?:university|college|school)\b)",
    ),
    "drive": (r"\b(?:drives?|driving)\s+an?",),
    "rise": (r"\b(?:wakes? up|gets? up|goes to bed|go to bed)\s+at",),
    "family": (_FAMILY,),
    "diet": (_DIET,),
}
"""The verb of an attribute; before it stands whose it is, behind it the value."""
_PATTERNS = tuple(
    (name, re.compile(rf"^(?P<owner>.*?){form}\s+(?P<value>.+)$"))
    for name, forms in _FORMS.items()
    for form in forms
)
MOST_BESIDE = 1
"""Words that a fact may say beside its value and still be ended as a whole."""
LONGEST = 10
"""Words of a noun phrase; what is longer is a sentence."""
_SHIFTED = re.compile(rf"^(?P<noun>.+?)\s+(?:now\s+)?{_SHIFT}\s+(?P<value>.+)$")
_NOUN = re.compile(
    rf"^(?P<noun>.+?)\s+(?:now\s+)?{_IS}(?:\s+(?:now|on|at|in|for|scheduled for|due))*"
    r"\s+(?P<value>.+)$"
)
_HAS = re.compile(
    r"^(?P<owner>.*?)\b(?:has|have|with)\s+an?\s+(?P<noun>[\w ]+?)\s+of\s+(?P<value>.+)$"
)
_TAIL = re.compile(
    r"\s+(?:since|because|with|as of|after|before|during|these days|now|right now|at the moment|"
    r"and|for|in (?:19|20)\d\d|in \d|until|instead|rather than|not|from|due|when|where|which|who|"
    r"on|last|this|next|any ?more|again|as)\b.*$"
)
_OF_MANY = re.compile(r"\b(?:one|some|many|most|part|two|three|\d+) of\b")
_EMPTY = read("thing things something anything lot bit kind part " + " ".join(FAVOURED)).content
_SEVERAL = frozenset(
    stems(
        [
            "deadline",
            "meeting",
            "appointment",
            "launch",
            "release",
            "date",
            "time",
            "schedule",
            "venue",
            "location",
            "version",
            "score",
            "accuracy",
            "coverage",
        ]
    )
)
"""Nouns that belong to a person's projects rather than to the person."""
AIMS = word_set("goal target aim dream plan")
"""Nouns of which one has several, unless they are measured."""
_CLAUSAL = word_set("when if that which who it i he she they we you because what how where while")
"""Words that no plain noun phrase has."""
_PERSONAL = word_set("i he she they we you")
_FINITE = word_set("has have had is are was were says said thinks thought")
_NOWHERE = word_set(
    """night home dawn noon it moment fun free money hour hours day days week weeks month year
    years while least times once first last"""
)
"""What follows ``works at`` or ``works for`` and is no employer."""
_GROUPS = word_set("team department role position job company division project side stage phase")
"""What people move to without moving house."""
_DWELLINGS = word_set(
    "house home apartment flat studio condo dorm dormitory cabin van trailer bungalow cottage"
)
_SETTLEMENTS = word_set("city town village country countryside suburb suburbs")
_LEAD = re.compile(r"^(?:actually|sorry|no|correction|well|oh|and|then|recently|now|i meant)\s+")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a clause says of a subject.

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


def attribute(clause: Clause) -> Attribute | None:
    """Return the attribute that a clause states, if it states one of those with one value."""
    normal = " ".join(word.text for word in clause.words)
    while lead := _LEAD.match(normal):
        normal = normal[lead.end() :]
    for name, pattern in _PATTERNS:
        found = pattern.match(normal)
        if found and _phrase(found["owner"]) and _valued(name, found["value"]):
            return _placed(_made(clause, name, found["owner"], found["value"]))
    if found := _HAS.match(normal):
        noun = f"{found['owner']} {found['noun']}"
        return _noun(clause, noun, found["noun"], found["value"], shifted=False)
    for pattern in (_SHIFTED, _NOUN):
        if found := pattern.match(normal):
            shifted = pattern is _SHIFTED or bool(clause.correcting)
            return _noun(clause, found["noun"], found["noun"], found["value"], shifted=shifted)
    return None


def _phrase(owner: str) -> bool:
    """Return whether a text names somebody, rather than begins another clause."""
    words = owner.split()
    return len(words) == 1 or not (_CLAUSAL - _PERSONAL | _FINITE) & set(words)


def _valued(name: str, whole: str) -> bool:
    """Return whether a text is a value of an attribute."""
    value = _TAIL.sub("", whole)
    words = set(value.split())
    if name == "employer":
        return not words & _NOWHERE and not value.split()[0].endswith("ing")
    return name != "residence" or not set(whole.split()) & _GROUPS


def _placed(made: Attribute | None) -> Attribute | None:
    """Return where a thing moved to as a new value of where it is: only people reside."""
    if made is None or made.name != "residence" or not made.key - made.people or not made.people:
        return made
    return replace(made, name="noun", shifted=True)


def _noun(clause: Clause, owner: str, noun: str, value: str, *, shifted: bool) -> Attribute | None:
    made = _made(clause, "noun", owner, value)
    if made is None or not made.key - made.people - _EMPTY or _one_of_many(noun, value):
        return None
    single = (
        _single(noun) and not _of_what(noun, made) and (shifted or _nominal(noun, value, made.sort))
    )
    return replace(made, single=single, shifted=shifted)


def _one_of_many(noun: str, value: str) -> bool:
    """Return whether there are several of a noun, or a value tells an aim or an origin."""
    several = _OF_MANY.search(noun) or _OF_MANY.match(value)
    return bool(several) or value.startswith(("to ", "from "))


def _of_what(noun: str, made: Attribute) -> bool:
    """Return whether someone has several of a noun: ``Ana's deadline`` does not say which."""
    owned = bool(made.people) or not {"user", "my", "our"}.isdisjoint(noun.split())
    return owned and made.key - made.people <= _SEVERAL


def _nominal(noun: str, value: str, sort: str) -> bool:
    """Return whether a value names what a noun is, rather than describes it: ``a nurse``."""
    if sort != "word":
        return True
    if AIMS & set(noun.split()):
        return False
    named = set(noun.split()) & (FAVOURED | TITLES)
    return bool(named) or value.split(maxsplit=1)[0] in {"a", "an", "the"}


def opposed(old: Attribute, new: Attribute, *, same_subject: bool) -> float:
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
    if apart & _RELATIVES:
        return 0.0
    if same_subject and apart <= people and (not old.people or not new.people):
        return 0.85
    nested = (old.key < new.key or new.key < old.key) and not (old.key | new.key) & _OWN
    return 0.7 if nested and not apart & people and old.key and new.key else 0.0


_RELATIVES = frozenset(stems(sorted(PERSONS)))
_OWN = frozenset(stems(["name", "surname", "nickname", "age", "birthday"]))
"""Nouns of a person that also each thing of that person has."""
_UNITS = frozenset(stems(sorted(MEASURES)))
_REGIONS = frozenset(read(" ".join(NATIONS)).content)


def _unlike(old: Attribute, new: Attribute) -> bool:
    """Return whether two values are of different sorts: a city and a country, a day and an hour."""
    if old.sort == "number" and old.value & _UNITS != new.value & _UNITS:
        return True
    if old.sort == "date" and not new.shifted:
        return bool(old.value & CALENDAR) != bool(new.value & CALENDAR)
    if old.name == "residence" and old.sort == "word":
        return not any(old.value & each and new.value & each for each in _PLACES)
    return bool(old.value & _REGIONS) != bool(new.value & _REGIONS)


_PLACES = tuple(read(" ".join(each)).content for each in (_DWELLINGS, _SETTLEMENTS))


def _agree(one: Attribute, other: Attribute) -> bool:
    """Return whether two values may both hold, as one says more of the same."""
    if one.sort == "word" and not other.shifted and one.value & other.value:
        return True
    return one.value <= other.value or other.value <= one.value


def _single(noun: str) -> bool:
    """Return whether a noun phrase names something of which there is one at a time."""
    words = noun.split()
    if not words or len(words) > LONGEST or _CLAUSAL & set(words):
        return False
    head = words[: words.index("of")] if "of" in words[1:] else words
    return head[-1] in FUNCTIONAL or (bool(FAVOURED & set(words)) and not _plural(head[-1]))


def _plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _made(clause: Clause, name: str, owner: str, value: str) -> Attribute | None:
    whole, value = value.strip(), _TAIL.sub("", value.strip())
    inside = {word.text for word in clause.words if word.name}
    wanted = [word for word in _read(value) if word.text not in STOP_WORDS | FILLERS]
    key = [
        word
        for word in _read(owner)
        if word.text not in STOP_WORDS | FILLERS | SINGULAR - {"favorite", "favourite"}
    ]
    if not wanted or any(word.kind in {"number", "date"} for word in key):
        return None
    people = read(owner).persons | {word.stem for word in key if word.text in inside}
    kinds = {"date" if word.text in CALENDAR else word.kind for word in wanted}
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
    if _COMPANY.match(tail) and not _FINITE & set(tail.split()):
        return 0
    said = tail.partition(" and ")[2] or _ASIDE.sub("", tail)
    return len([word for word in _read(said) if word.text not in STOP_WORDS | FILLERS])


_COMPANY = re.compile(r"\s*,?\s*(?:together )?with\b")
"""With whom: ``… with the user's partner and their cat`` goes where the value goes."""
_ASIDE = re.compile(r"\b(?:since|as of|for|in|on|until|from|because|with)\b.*$")
"""What says when, why or whereby of the value before it."""


def _read(text: str) -> tuple[Word, ...]:
    return read(text).words
