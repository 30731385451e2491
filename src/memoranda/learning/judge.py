"""How a newer statement stands to a known fact: what ends it, says it again, or stands beside it.

An attribute fact is ended by another value where there is one at a time, by a denial or an ending
of exactly its value, and by what its attribute is tied to. What is narrower or merely alike stands
beside: retired for nothing a fact is lost, kept for nothing it is found behind the newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import CONTACT, relation_nouns
from memoranda.facts.reader import GONE, INSTRUCTION, FactStatement
from memoranda.facts.requests import replaces
from memoranda.facts.values import is_part_of_name, same_value
from memoranda.learning.claims import Relation
from memoranda.learning.known_facts import quoted_words
from memoranda.model.models import Record
from memoranda.search.questions import speaks_of_change
from memoranda.text.patterns import LanguageData, load
from memoranda.text.terms import TermAnalyzer, fold, normalize

# Share of the telling words of a statement that a repetition has (requirement S4.22).
JACCARD = 0.75
# The attributes of what somebody likes better, does not eat, how they eat, and their animals.
PREFERS, AVOIDS, DIET, PET = "prefers", "avoids", "diet", "pet"
# Attributes of things rather than people: a thing is the same in singular and plural.
_OF_THINGS = frozenset({"date", "favourite", "price", "time", "value"})
# Attributes that tie two: what rests on the tie is over with it, also where it names the other.
_OF_TWO = frozenset({"partner"})
# Attributes whose values are named in short: "the Civic" is the Honda Civic.
_SHORTENED = frozenset({"car", "likes"})
_NAMED = frozenset({"identity", "relation"})
_EDGE = " \t\n.,;:!?()[]\"'*_`"
_WORDS = LanguageData("mul", "comparison")
_ANALYZER = TermAnalyzer()


def judge_fact(
    old: Record | FactStatement, new: FactStatement, *, same_time: bool | None = None
) -> Relation | None:
    """Return how a statement stands to an older fact with an attribute; ``None`` without one.

    Args:
        old: the older fact.
        new: the newer statement.
        same_time: whether values that hold a time mean the same one; ``None`` if unknown.
    """
    if old.attribute is None or old.subject is None:
        return None
    if new.attribute == GONE:
        gone = _is_gone(old, new) and not _are_other_people(old, new)
        return Relation.UPDATE if gone else Relation.NONE
    names = (new.subject, *new.aliases)
    plural = new.attribute in _OF_THINGS
    if not any(same_value(old.subject, each, new.language, plural=plural) for each in names):
        return Relation.NONE
    if _are_other_people(old, new):
        return Relation.NONE
    if _ends_beside(old, new):
        return Relation.UPDATE
    return _relate_attribute(old, new, same_time=same_time)


def judge_text(old: str, new: str, *, threshold: float = JACCARD) -> Relation:
    """Return whether a sentence repeats an older one, or tells it anew with another number.

    It repeats it in the same words, or in most of them in the same order, with the same numbers,
    negations and names. Beyond that, sentences end nothing.
    """
    old, new = quoted_words(old), quoted_words(new)
    if _plain_words(old) == _plain_words(new):
        return Relation.DUPLICATE
    if _recounts(old, new):
        return Relation.UPDATE
    told, again = _terms(old), _terms(new)
    left = iter(told)
    held = bool(again) and all(each in left for each in again)
    close = held and len(again) >= threshold * len(told)
    return Relation.DUPLICATE if close and _particulars(old) == _particulars(new) else Relation.NONE


# --- attributes -------------------------------------------------------------------------------


def _relate_attribute(
    old: Record | FactStatement, new: FactStatement, *, same_time: bool | None
) -> Relation | None:
    """Return how a statement stands to an older fact of the same subject."""
    if old.attribute != new.attribute:
        return Relation.NONE
    if new.attribute == INSTRUCTION:
        told, again = old.value or old.content, new.value or ""
        if same_value(again, told):
            return Relation.DUPLICATE
        return Relation.UPDATE if replaces(again, told) else Relation.NONE
    dated = attributes()[new.attribute].dated
    return _relate_values(old, new, same_time=same_time if dated else None)


def _relate_values(
    old: Record | FactStatement, new: FactStatement, *, same_time: bool | None
) -> Relation | None:
    """Return how the newer of two values of one attribute stands to the older."""
    kind = attributes()[new.attribute]
    excluding = Relation.UPDATE if kind.holds == "one" else Relation.NONE
    if old.value is None:
        if new.value is None:
            return None  # Of two endings only their sentences tell whether one repeats the other.
        return Relation.UPDATE if _is_denial(old.content, new) else excluding
    if new.value is None:
        part = kind.name in _SHORTENED and is_part_of_name(new.ended or "", old.value)
        ended = part or not new.ended or _is_same(old.value, new.ended, new)
        return Relation.UPDATE if ended else Relation.NONE
    if new.ended and _is_same(old.value, new.ended, new):
        return Relation.UPDATE
    again = same_time and _agree_in_numbers(old.value, new.value)
    if same_time is None:
        again = _is_same(old.value, new.value, new)
    # The name of the one person of an attribute may be a short one.
    one = kind.holds == "one" and (kind.category == "relation" or kind.name == "name")
    if again or (one and is_part_of_name(new.value, old.value)):
        return Relation.DUPLICATE
    # "Tea to coffee" has the letters of "coffee to tea", and the terms of "coffee over tea".
    pairs = ((sorted(read(old.value)), sorted(read(new.value))) for read in (str.lower, _terms))
    turned = kind.name == PREFERS and any(one == other for one, other in pairs)
    return Relation.UPDATE if turned or _is_other_count(old.value, new) else excluding


def _agree_in_numbers(one: str, other: str) -> bool:
    """Return whether of two values one has all numbers of the other: no other hour of a day."""
    numbers = [{each for each in _plain_words(text) if each[0].isdigit()} for text in (one, other)]
    return numbers[0] <= numbers[1] or numbers[1] <= numbers[0]


def _is_same(one: str, other: str, new: FactStatement) -> bool:
    """Return whether two values of an attribute are the same; names have no plural."""
    plural = attributes()[new.attribute].category not in _NAMED
    return same_value(one, other, new.language, plural=plural)


def _is_denial(content: str, new: FactStatement) -> bool:
    """Return whether a fact is the sentence by which the user's value of a statement is denied."""
    table = load(new.language, "facts")
    rows = (row for name, row in table["attributes"].items() if name.startswith(new.attribute))
    forms = {row[key] for row in rows for key in ("denies", "ends") if key in row}
    given = {"who": table["words"]["user"], "value": new.value, "thing": "", "relation": ""}
    filled = (form.format(**given, whose="") for form in forms)
    return any(_plain_words(each) == _plain_words(content) for each in filled)


def _is_other_count(old: str, new: FactStatement) -> bool:
    """Return whether two values count the same things, or there were none of any before."""
    (many, _, things), (more, _, others) = old.partition(" "), (new.value or "").partition(" ")
    if fold(many) in _folded("none"):
        return fold(more) not in _folded("none")
    counted = all(fold(each) in _folded("counts") or each.isdecimal() for each in (many, more))
    return counted and bool(things) and same_value(things, others, new.language, plural=True)


def _allows(diet: str, food: str) -> bool:
    """Return whether a diet is over for who eats a food again: a vegetarian's for meat."""
    return any(
        food.casefold() in foods and diet.casefold() in diets
        for foods, diets in load("mul", "comparison")["excluded"]
    )


def _is_person(attribute: str | None) -> bool:
    """Return whether the values of an attribute, if there still is such a one, are people."""
    kind = attributes().get(attribute or "")
    return kind is not None and kind.category == "relation"


def _is_gone(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether a fact is of somebody who has died, or says that there is that somebody."""
    person = old.attribute == PET or _is_person(old.attribute)
    told = filter(None, (old.subject, old.value if person else None))
    names = (new.subject, *new.aliases)
    return any(same_value(one, each, new.language) for one in told for each in names)


def _ends_beside(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether a fact of another attribute is over with what the newer one says."""
    kind = attributes()[new.attribute]
    if new.value:
        opposed = old.attribute in kind.opposes and _is_same(old.value or "", new.value, new)
        # A new job: whatever was so before is over with what rested on it.
        freed = new.ended == "" and old.attribute in kind.frees and _is_person(old.attribute)
        return old.attribute in kind.ends or opposed or freed
    if (new.attribute, old.attribute) == (AVOIDS, DIET):
        return _allows(old.value or "", new.ended or "")
    return (not new.ended or new.attribute in _OF_TWO) and old.attribute in kind.frees


def _are_other_people(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether two facts name people by different relations: a son and a friend, both Tom."""
    named = (each.content.replace(each.value or "\n", "") for each in (old, new))
    told = (relation_nouns(each).items() for each in named)
    roles = [
        {n if k == CONTACT or n in _folded("loose_relations") else k for n, k in each}
        for each in told
    ]
    return all(roles) and roles[0].isdisjoint(roles[1])


# --- sentences --------------------------------------------------------------------------------


def _recounts(old: str, new: str) -> bool:
    """Return whether a sentence says what an older one did with a new number: "two dogs now"."""
    both = map(_plain_words, (old, new))
    told, now = ([each for each in words if not _is_number(each)] for words in both)
    numbered = len(told) < len(_plain_words(old)) and speaks_of_change(new)
    return numbered and same_value(" ".join(told), " ".join(now[: len(told)]), "en", plural=True)


def _is_number(word: str) -> bool:
    return word in _folded("counts") or any(map(str.isdigit, word))


def _particulars(text: str) -> frozenset[str]:
    """Return what keeps a sentence apart, however alike another's words are.

    That is its numbers, what is written with a capital inside of it, and the words that deny or
    limit it.
    """
    given = [each.strip(_EDGE) for each in normalize(text).split()]
    words = [each for each in map(fold, given) if each]
    names = {fold(each) for each in given[1:] if each[:1].isupper()} - {"i"}
    turning = {each for each in words if each in _folded("turning") or each.endswith("n't")}
    return frozenset(names | turning).union(filter(_is_number, words))


@lru_cache(maxsize=1024)
def _terms(text: str) -> Sequence[str]:
    """Return the telling words of a text by their stems, in order."""
    return _ANALYZER.query_terms(text)


@lru_cache(maxsize=1024)
def _plain_words(text: str) -> Sequence[str]:
    """Return the words of a text without case, accents and punctuation; itself without words."""
    words = [fold(each.strip(_EDGE)) for each in normalize(text).split()]
    return [each for each in words if each] or [text]


@cache
def _folded(name: str) -> frozenset[str]:
    """Return a list of words as words are compared."""
    return frozenset(fold(each) for each in _WORDS.words(name))
