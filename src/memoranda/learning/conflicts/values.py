"""Values of things: a deadline, a rate, a colour that a clause gives to what a noun names.

Only things with one value at a time are read. Two sisters, two hobbies or two projects are no
conflict, so what may be had several times is left alone. What holds of people and of what they
have is read as an attribute (:mod:`memoranda.facts`); this is for all other nouns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memoranda.learning.conflicts.clauses import ParsedClause
from memoranda.learning.parsed_text import ParsedWord, parse_text, stem_set
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "comparison")


# Words that a fact may say beside its value and still be ended as a whole.
MOST_BESIDE = 1
# Words of a noun phrase; what is longer is a sentence.
LONGEST = 10


@dataclass(frozen=True, slots=True)
class NounValue:
    """A noun phrase and the value that a clause gives to what it names.

    Attributes:
        key: stems of the subject and of the noun.
        people: those of them that name or mean somebody.
        value: stems of the value.
        sort: ``date``, ``number``, ``name`` or ``word``.
        single: whether there is one of it at a time.
        shifted: whether the clause says that its value changed.
        beside: how many words say something else beside the value: ``… and has three dogs``.
    """

    key: frozenset[str]
    people: frozenset[str]
    value: frozenset[str]
    sort: str
    single: bool = True
    shifted: bool = False
    beside: int = 0


def read_value(clause: ParsedClause) -> NounValue | None:
    """Return the value that a clause gives to what a noun names, if there is one at a time."""
    normal = " ".join(word.text for word in clause.words)
    while lead := _EN.pattern("value_lead").match(normal):
        normal = normal[lead.end() :]
    for form in ("has_value", "shifted_value", "noun_value"):
        if found := _EN.pattern(form).match(normal):
            noun, owner = found["noun"], found.groupdict().get("owner")
            shifted = form == "shifted_value" or (form == "noun_value" and clause.has("correcting"))
            whole = noun if owner is None else f"{owner} {noun}"
            return _make_noun(clause, whole, noun, found["value"], shifted=shifted)
    return None


def _make(clause: ParsedClause, owner: str, value: str) -> NounValue | None:
    whole, value = value.strip(), _EN.pattern("value_tail").sub("", value.strip())
    inside = {word.text for word in clause.words if word.name}
    wanted, key = _telling_words(value, "value_stops"), _telling_words(owner, "key_stops")
    if not wanted or any(word.kind in {"number", "date"} for word in key):
        return None
    kinds = {"date" if word.text in _EN.words("calendar") else word.kind for word in wanted}
    sort = "name" if any(word.text in inside for word in wanted) else "word"
    return NounValue(
        key=frozenset(word.stem for word in key),
        people=parse_text(owner).persons | {word.stem for word in key if word.text in inside},
        value=frozenset(word.stem for word in wanted),
        beside=_count_beside(whole[len(value) :]),
        sort=next((kind for kind in ("date", "number") if kind in kinds), sort),
    )


def _count_beside(tail: str) -> int:
    """Return how many words of what follows a value say something of their own."""
    if _EN.pattern("company").match(tail) and not _EN.words("finite_verbs") & set(tail.split()):
        return 0
    said = tail.partition(" and ")[2] or _EN.pattern("aside").sub("", tail)
    return len(_telling_words(said, "value_stops"))


def _telling_words(text: str, stops: str) -> list[ParsedWord]:
    return [word for word in parse_text(text).words if word.text not in _EN.words(stops)]


def _make_noun(
    clause: ParsedClause, owner: str, noun: str, value: str, *, shifted: bool
) -> NounValue | None:
    """Return what a noun is said to be, unless there are several of it, or it is an aim."""
    made = _make(clause, owner, value)
    several = _EN.pattern("of_many").search(noun) or _EN.pattern("of_many").match(value)
    if made is None or several or value.startswith(("to ", "from ")):
        return None
    key = made.key - made.people
    if not key - stem_set("empty_nouns"):
        return None
    words = noun.split()
    # "Ana's deadline" does not say which of several.
    owned = bool(made.people) or not {"user", "my", "our"}.isdisjoint(words)
    unsaid = owned and key <= stem_set("several_at_once")
    # "A nurse" names what it is, and does not only describe it.
    named = not _EN.words("favoured", "titles").isdisjoint(words)
    article = value.split(maxsplit=1)[0] in {"a", "an", "the"}
    nominal = made.sort != "word" or (_EN.words("aims").isdisjoint(words) and (named or article))
    single = _is_single(words) and not unsaid and (shifted or nominal)
    return replace(made, single=single, shifted=shifted)


def _is_single(words: Sequence[str]) -> bool:
    """Return whether a noun phrase names something of which there is one at a time."""
    if not words or len(words) > LONGEST or _EN.words("clausal") & set(words):
        return False
    last = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return last in _EN.words("functional") or (
        bool(_EN.words("favoured") & set(words)) and not plural
    )


def score_opposition(old: NounValue, new: NounValue, *, same_subject: bool) -> float:
    """Return how surely two values are of one thing, 0 to 1.

    Args:
        old: what was said before.
        new: what was said later.
        same_subject: whether both are known to be about the same.
    """
    if old.sort != new.sort or _agree(old, new):
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


def _unlike(old: NounValue, new: NounValue) -> bool:
    """Return whether two values are of different sorts: a city and a country, a day and an hour."""
    measures, nations = stem_set("measures"), stem_set("nations")
    if old.sort == "number" and old.value & measures != new.value & measures:
        return True
    if old.sort == "date" and not new.shifted:
        days = _EN.words("calendar")
        return old.value.isdisjoint(days) != new.value.isdisjoint(days)
    return old.value.isdisjoint(nations) != new.value.isdisjoint(nations)


def _agree(one: NounValue, other: NounValue) -> bool:
    """Return whether two values may both hold, as one says more of the same."""
    if one.sort == "word" and not other.shifted and one.value & other.value:
        return True
    return one.value <= other.value or other.value <= one.value
