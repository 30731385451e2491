"""How a newer statement stands to a known fact: what ends it, says it again, or stands beside it.

An attribute fact is ended by another value where there is one at a time, by a denial or an ending
of exactly its value, and by what its attribute is tied to. What is narrower or merely alike stands
beside: retired for nothing a fact is lost, kept for nothing it is found behind the newer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import relation_nouns, same_roles
from memoranda.facts.reader import INSTRUCTION, FactStatement
from memoranda.facts.requests import replaces
from memoranda.facts.values import is_part_of_name, same_value, stems, value_phrases
from memoranda.learning.claims import Claim, Relation
from memoranda.learning.known_facts import quoted_words
from memoranda.model.models import Record
from memoranda.text.patterns import LanguageData, compile_pattern, load
from memoranda.text.terms import TermAnalyzer, fold, normalize

# Share of the telling words of a statement that a repetition has (requirement S4.22).
JACCARD = 0.75
# The attributes of who has died, and whom somebody goes to for something.
GONE, CONTACT = "gone", "contact"
# Those of what somebody likes better, does not eat, how they eat, and their animals.
PREFERS, AVOIDS, DIET, PET = "prefers", "avoids", "diet", "pet"
# Attributes of things rather than people: one is over with its value, or with the thing.
_OF_THINGS = frozenset({"date", "favourite", "price", "value"})
# A job that names where it is held, "clerk at Lupo", is over with that employer.
_HELD_AT = ("employer", "job")
# Attributes that tie two: what rests on the tie is over with it, also where it names the other.
_OF_TWO = frozenset({"partner"})
_NAMED = frozenset({"identity", "relation"})
_EDGE = " \t\n.,;:!?()[]\"'*_`"
_UNSPACED_NOT = compile_pattern(r"[不没沒無无未非]|ない|ません")
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
        return Relation.UPDATE if _is_gone(old, new) else Relation.NONE
    names = (new.subject, *new.aliases)
    if not any(_is_same_subject(old.subject, each, new) for each in names):
        return Relation.NONE
    if _ends_beside(old, new):
        return Relation.UPDATE
    return _relate_attribute(old, new, same_time=same_time)


def judge_text(old: str, new: str, *, threshold: float = JACCARD) -> Relation:
    """Return whether a sentence only repeats an older one; beyond that, sentences end nothing.

    It does in the same words, or in most of them in the same order, with the same numbers,
    negations, names and persons.
    """
    old, new = quoted_words(old), quoted_words(new)
    if _plain_words(old) == _plain_words(new):
        return Relation.DUPLICATE
    told, again = _terms(old), _terms(new)
    left = iter(told)
    held = bool(again) and all(each in left for each in again)
    close = held and len(again) >= threshold * len(told)
    same = close and _particulars(old) == _particulars(new)
    return Relation.DUPLICATE if same else Relation.NONE


def is_outdated(old: Record, claim: Claim) -> bool:
    """Return whether a claim gives a thing, of which an older sentence tells, another value.

    That is a one-value attribute of a thing that the sentence names whole; or the claim says
    that it tells something new, in the same words with other numbers ("I have two dogs now").
    """
    told, now, fact = quoted_words(old.content), quoted_words(claim.content), claim.fact
    if fact is not None and fact.value:
        whole = set(_terms(fact.subject)) <= set(_terms(told))
        single = attributes()[fact.attribute].single and fact.subject != "user"
        return whole and single and tells_same_time(claim, old) is False
    if _folded("changing").isdisjoint(_plain_words(now)):
        return False
    words = _without_numbers(told)
    numbered = len(words) < len(_plain_words(told))
    return numbered and words == _without_numbers(now)[: len(words)]


def is_carried(old: Record, new: FactStatement) -> bool:
    """Return whether a fact rests on a value that the newer one ends: a manager on an employer."""
    carried = old.attribute in attributes()[new.attribute].carries
    return carried and _is_same_subject(old.subject or "", new.subject, new)


def tells_same_time(claim: Claim, known: Record) -> bool | None:
    """Return whether a claim and a fact are of the same time; ``None`` where one has none."""
    if claim.event_until is None or known.event_until is None:
        return None
    return (claim.event_time, claim.event_until) == (known.event_time, known.event_until)


# --- attributes -------------------------------------------------------------------------------


def _relate_attribute(
    old: Record | FactStatement, new: FactStatement, *, same_time: bool | None
) -> Relation:
    """Return how a statement stands to an older fact of the same subject."""
    if old.attribute != new.attribute or _are_other_roles(old, new):
        return Relation.NONE
    if new.attribute == INSTRUCTION:
        return _relate_instructions(old.value or old.content, new.value or "")
    dated = attributes()[new.attribute].dated
    return _relate_values(old, new, same_time=same_time if dated else None)


def _relate_values(
    old: Record | FactStatement, new: FactStatement, *, same_time: bool | None
) -> Relation:
    """Return how the newer of two values of one attribute stands to the older."""
    excluding = Relation.UPDATE if attributes()[new.attribute].single else Relation.NONE
    if old.value is None:
        if new.value is None:
            again = _plain_words(old.content) == _plain_words(new.content)
            return Relation.DUPLICATE if again else Relation.NONE
        return Relation.UPDATE if _is_denial(old.content, new) else excluding
    if new.value is None:
        ended = not new.ended or _is_same(old.value, new.ended, new)
        return Relation.UPDATE if ended else Relation.NONE
    if new.ended and _is_same(old.value, new.ended, new):
        return Relation.UPDATE
    if same_time is None:
        again = _is_same(old.value, new.value, new)
    else:
        again = same_time and _agree_in_numbers(old.value, new.value)
    if again or (_is_person(new) and is_part_of_name(new.value, old.value)):
        return Relation.DUPLICATE
    changed = _is_other_count(old.value, new) or _is_turned_round(old.value, new)
    return Relation.UPDATE if changed else excluding


def _agree_in_numbers(one: str, other: str) -> bool:
    """Return whether of two values one has all numbers of the other: no other hour of a day."""
    numbers = [{each for each in _plain_words(text) if each[0].isdigit()} for text in (one, other)]
    return numbers[0] <= numbers[1] or numbers[1] <= numbers[0]


def _is_same(one: str, other: str, new: FactStatement) -> bool:
    """Return whether two values of an attribute are the same; names have no plural."""
    plural = attributes()[new.attribute].category not in _NAMED
    return same_value(one, other, new.language, plural=plural)


def _is_person(new: FactStatement) -> bool:
    """Return whether a value is the name of the one person of an attribute, perhaps a short one."""
    kind = attributes()[new.attribute]
    return kind.single and (kind.category == "relation" or kind.name == "name")


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


def _is_turned_round(old: str, new: FactStatement) -> bool:
    """Return whether of two preferences one is the other turned round: tea to coffee."""
    if new.attribute != PREFERS:
        return False
    known, told = (
        value_phrases(each, new.language, _folded("rather")) for each in (old, new.value or "")
    )
    return len(known) > 1 and known == told[::-1]


def _allows(diet: str, food: str, language: str) -> bool:
    """Return whether a diet is over for who eats a food again: a vegetarian's for meat."""
    return any(
        any(same_value(food, each, language, plural=True) for each in foods)
        and any(same_value(diet, each, language) for each in diets)
        for foods, diets in load("mul", "comparison")["excluded"]
    )


def _is_same_subject(old: str, subject: str, new: FactStatement) -> bool:
    """Return whether two facts are of the same person or thing."""
    plural = new.attribute in _OF_THINGS or attributes()[new.attribute].dated
    return same_value(old, subject, new.language, plural=plural)


def _is_gone(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether a fact is of somebody who has died, or says that there is that somebody."""
    # An older fact may have an attribute that is none any more.
    kind = attributes().get(old.attribute or "")
    person = old.attribute == PET or (kind is not None and kind.category == "relation")
    told = [old.subject or "", *([old.value] if person and old.value else [])]
    names = (new.subject, *new.aliases)
    return any(same_value(one, each, new.language) for one in told for each in names)


def _ends_beside(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether a fact of another attribute is over with what the newer one says."""
    kind = attributes()[new.attribute]
    if new.value:
        opposed = old.attribute in kind.opposes and _is_same(old.value or "", new.value, new)
        return old.attribute in kind.ends or opposed
    if (new.attribute, old.attribute) == (AVOIDS, DIET):
        return _allows(old.value or "", new.ended or "", new.language)
    if not new.ended or new.attribute in _OF_TWO:
        return old.attribute in (*kind.frees, *kind.carries)
    return (new.attribute, old.attribute) == _HELD_AT and _is_held_at(old.value or "", new.ended)


def _is_held_at(job: str, employer: str) -> bool:
    """Return whether a job ends in a small word and exactly an employer: ``clerk at Lupo``."""
    words, named = job.split(), employer.split()
    before, where = words[: -len(named)], " ".join(words[-len(named) :])
    return bool(before) and before[-1].islower() and same_value(where, employer)


def _are_other_roles(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether two facts name people for different things: a dentist and a landlord."""
    if new.attribute != CONTACT:
        return False
    nouns = [same_roles(relation_nouns(each.content)) for each in (old, new)]
    return all(nouns) and nouns[0].isdisjoint(nouns[1])


def _relate_instructions(old: str, new: str) -> Relation:
    """Return how the newer of two instructions stands to the older."""
    if same_value(new, old):
        return Relation.DUPLICATE
    return Relation.UPDATE if replaces(new, old) else Relation.NONE


# --- sentences --------------------------------------------------------------------------------


def _particulars(text: str) -> frozenset[str]:
    """Return what keeps a sentence apart, however alike another's words are.

    That is its numbers, what is written with a capital inside of it, the words that deny or limit
    it, and whom its pronouns and words for kin mean.
    """
    given = [each.strip(_EDGE) for each in normalize(text).split()]
    words = [each for each in map(fold, given) if each]
    names = {fold(each) for each in given[1:] if each[:1].isupper()} - {"i"}
    turning = {each for each in words if each in _folded("turning") or each.endswith("n't")}
    numbers = {each for each in words if each in _folded("counts") or any(map(str.isdigit, each))}
    denials = {*turning, *_UNSPACED_NOT.findall(text)}
    return frozenset(names | numbers | denials | _persons(words) | set(relation_nouns(text)))


def _without_numbers(text: str) -> list[str]:
    """Return the stems of a text without its numbers, and without words for change."""
    plurals = load("mul", "comparison")["plurals"]
    words = [plurals.get(each, each) for each in _plain_words(text)]
    left = _folded("counts") | _folded("changing")
    return stems([each for each in words if each not in left and not each[0].isdigit()])


def _persons(words: Iterable[str]) -> frozenset[str]:
    """Return whom the pronouns and words for kin among words mean, by their English pronouns."""
    given, rows = frozenset(words), load("mul", "comparison")["persons"]
    return frozenset(row[0] for row in rows if any(fold(each) in given for each in row))


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
