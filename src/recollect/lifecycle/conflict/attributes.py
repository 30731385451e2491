"""What a clause says that a subject has one of: where it lives, its job, its deadline.

Only attributes with one value at a time are read. Two sisters, two hobbies or two projects are
no conflict, so what may be had several times is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from recollect.lifecycle.conflict.clauses import Clause
from recollect.lifecycle.reading import Word, read, stems
from recollect.lifecycle.wording import FILLERS, FUNCTIONAL, MEASURES, NATIONS, SINGULAR, STOP_WORDS

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
        r"\b(?:joined|(?:got|started|took) a (?:new )?job (?:at|with))",
    ),
    "occupation": (
        r"\b(?:works?|working)\s+(?:now\s+)?as(?:\s+an?)?",
        r"\b(?:became|becomes|(?:started|began)(?: work(?:ing)?)? as)\s+an?",
    ),
    "study": (r"\b(?:studies|studying|majors? in|majoring in)",),
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
    r"on|last|this|next|any ?more|again)\b.*$"
)
_LEAD = re.compile(r"^(?:actually|sorry|no|correction|well|oh|and|then|recently|now|i meant)\s+")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a clause says of a subject.

    Attributes:
        name: which attribute; of a noun, ``noun``.
        key: stems of the subject and of the noun.
        people: those of them that name or mean somebody.
        value: stems of the value.
        sort: ``measure`` of numbers and dates, ``name`` or ``word``.
        single: whether there is one of it at a time.
        shifted: whether the clause says that its value changed.
    """

    name: str
    key: frozenset[str]
    people: frozenset[str]
    value: frozenset[str]
    sort: str
    single: bool = True
    shifted: bool = False


def attribute(clause: Clause) -> Attribute | None:
    """Return the attribute that a clause states, if it states one of those with one value."""
    normal = " ".join(word.text for word in clause.words)
    while lead := _LEAD.match(normal):
        normal = normal[lead.end() :]
    for name, pattern in _PATTERNS:
        if found := pattern.match(normal):
            return _placed(_made(clause, name, found["owner"], found["value"]))
    if found := _HAS.match(normal):
        noun = f"{found['owner']} {found['noun']}"
        return _noun(clause, noun, found["noun"], found["value"], shifted=False)
    for pattern in (_SHIFTED, _NOUN):
        if found := pattern.match(normal):
            shifted = pattern is _SHIFTED or bool(clause.correcting)
            return _noun(clause, found["noun"], found["noun"], found["value"], shifted=shifted)
    return None


def _placed(made: Attribute | None) -> Attribute | None:
    """Return where a thing moved to as a new value of where it is: only people reside."""
    if made is None or made.name != "residence" or not made.key - made.people or not made.people:
        return made
    return replace(made, name="noun", shifted=True)


def _noun(clause: Clause, owner: str, noun: str, value: str, *, shifted: bool) -> Attribute | None:
    made = _made(clause, "noun", owner, value)
    if made is None or not made.key - made.people:
        return None
    return replace(made, single=_single(noun), shifted=shifted)


def opposed(old: Attribute, new: Attribute, *, same_subject: bool) -> float:
    """Return how surely two attributes are one with two values, 0 to 1.

    Args:
        old: what was said before.
        new: what was said later.
        same_subject: whether both are known to be about the same.
    """
    if old.name != new.name or old.sort != new.sort or _agree(old.value, new.value):
        return 0.0
    single = new.shifted or (old.single and new.single)
    if not single or _unlike(old, new):
        return 0.0
    if old.key == new.key:
        return 0.9
    apart, people = old.key ^ new.key, old.people | new.people
    if same_subject and apart <= people and (not old.people or not new.people):
        return 0.85
    nested = old.key < new.key or new.key < old.key
    return 0.7 if nested and not apart & people and old.key and new.key else 0.0


_UNITS = frozenset(stems(sorted(MEASURES)))
_REGIONS = frozenset(read(" ".join(NATIONS)).content)


def _unlike(old: Attribute, new: Attribute) -> bool:
    """Return whether two values are of different sorts: a city and a country, a day and an hour."""
    if old.sort == "measure" and old.value & _UNITS != new.value & _UNITS:
        return True
    return bool(old.value & _REGIONS) != bool(new.value & _REGIONS)


def _agree(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two values may both hold, as one says more of the same."""
    return not one or not other or one <= other or other <= one


def _single(noun: str) -> bool:
    """Return whether a noun phrase names something of which there is one at a time."""
    words = noun.split()
    if not words or len(words) > LONGEST:
        return False
    head = words[: words.index("of")] if "of" in words[1:] else words
    return head[-1] in FUNCTIONAL or bool(SINGULAR & set(words))


def _made(clause: Clause, name: str, owner: str, value: str) -> Attribute | None:
    value = _TAIL.sub("", value.strip())
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
    kinds = {word.kind for word in wanted} & {"number", "date"}
    sort = "name" if any(word.text in inside for word in wanted) else "word"
    return Attribute(
        name=name,
        key=frozenset(word.stem for word in key),
        people=frozenset(people),
        value=frozenset(word.stem for word in wanted),
        sort="measure" if kinds else sort,
    )


def _read(text: str) -> tuple[Word, ...]:
    return read(text).words
