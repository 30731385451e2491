"""How a newer fact stands to an older one, by their subjects, attributes and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import relation_nouns, same_roles
from memoranda.facts.reader import (
    INSTRUCTION,
    OVER,
    FactStatement,
    may_be_one_thing,
    read_written_facts,
)
from memoranda.facts.requests import replaces
from memoranda.facts.values import same_value, value_key
from memoranda.learning.claims import Category, Relation, Verdict
from memoranda.learning.conflicts.clauses import split_clauses
from memoranda.learning.parsed_text import parse_text, stem_set
from memoranda.learning.verbs import Aspect, read_aspect
from memoranda.model.models import Record
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.terms import cut_sentences

_EN = LanguageData("en", "comparison")
_CODE = compile_pattern(r"(?s)```.*?(?:```|\Z)")
# The attributes of who has died, and of whom somebody goes to for something.
GONE, CONTACT = "gone", "contact"
# That of what somebody does not eat or drink.
AVOIDS = "avoids"
# That of what a thing is called.
TITLE = "title"
# What a fact without attribute is of that can be over; what has happened stays true.
_GOING_ON = frozenset(
    {
        Category.IDENTITY,
        Category.POSSESSION,
        Category.PREFERENCE,
        Category.RELATION,
        Category.STATE,
        Category.DECISION,
        Category.CONSTRAINT,
    }
)
# Attributes of things rather than people: one is over with its value, or with the thing.
_OF_THINGS = frozenset({"date", "dose", "favourite", "place", "price", "title", "value"})
# Where a job is held, and the job: "sales clerk at Lupo" is over with Lupo.
_HELD_AT = ("employer", "job")
_OF_TIME = frozenset({"date", "time"})
# Attributes that tie two: what rests on the tie is over with it, also where it names the other.
_OF_TWO = frozenset({"partner"})
# Confidence of a verdict on two values of one attribute.
SAME_ATTRIBUTE = 0.95
# The same where the attributes are only read in two texts.
BY_TEXT = 0.8


def judge_fact(old: Record | FactStatement, new: FactStatement) -> Verdict | None:
    """Return how a fact stands to an older one where both have an attribute; else ``None``.

    Of an attribute with one value, the newer value takes the place of the older; of one with
    many, only what is said to have ended, or is denied, does.
    """
    named = _judge_by_name(old, new)
    if named is not None or old.attribute is None or old.subject is None:
        return named
    names = {new.subject, *(each.casefold() for each in new.aliases)}
    if new.attribute == GONE:
        told = (old.subject, old.value or "")
        ends = any(same_value(one, each) for one in told for each in names)
        return Verdict(Relation.UPDATE if ends else Relation.NONE, SAME_ATTRIBUTE, "it is over")
    about = any(_is_same_subject(old.subject, each, new) for each in names)
    if about and _ends_beside(old, new):
        return Verdict(Relation.UPDATE, SAME_ATTRIBUTE, f"ended with {new.attribute}")
    if not about or old.attribute != new.attribute or _are_other_roles(old, new):
        return Verdict(Relation.NONE, SAME_ATTRIBUTE, "they are about different attributes")
    if new.attribute == INSTRUCTION:
        relation = _relate_instructions(new.value or "", old.value or old.content)
    else:
        relation = _relate_values(new, old)
    return Verdict(relation, SAME_ATTRIBUTE, f"both are about {new.attribute}")


def _judge_by_name(old: Record | FactStatement, new: FactStatement) -> Verdict | None:
    """Return how a fact stands to one that it names; ``None`` if it names none."""
    ending = new.value is None and new.ended and new.attribute != INSTRUCTION
    if new.attribute == OVER or (ending and old.attribute is None):
        relation = Relation.UPDATE if _is_over(old, new) else Relation.NONE
        return Verdict(relation, SAME_ATTRIBUTE, "what it names is over")
    if old.attribute is not None:
        return None
    given_up = new.attribute == AVOIDS and new.value is not None and _is_given_up(old, new)
    if given_up or (is_cancelled(new) and _is_planned(old, new)):
        return Verdict(Relation.UPDATE, SAME_ATTRIBUTE, "it is given up")
    return None


def is_carried(old: Record, new: FactStatement) -> bool:
    """Return whether a fact rests on a value that the newer one ends: a manager on an employer."""
    carried = old.attribute in attributes()[new.attribute].carries
    return carried and _is_same_subject(old.subject or "", new.subject, new)


def other_names(new: FactStatement, title: Record) -> tuple[str, ...]:
    """Return the names that a fact gives to what a newer one is about.

    Where the club is called the Ngong Road Snails, the Snails are the club, and the club is them.
    """
    if title.attribute != TITLE or not title.value or not title.subject:
        return ()
    if new.attribute == TITLE or new.subject == "user":
        return ()
    if value_key(new.subject) <= value_key(title.value):
        return (title.subject,)
    return (title.value,) if new.subject == title.subject else ()


def _is_same_subject(old: str, subject: str, new: FactStatement) -> bool:
    """Return whether two subjects are one: a locker is the gym locker, but not the locker code."""
    if not same_value(old, subject):
        # A rehearsal is when one rehearses.
        things = _things(old) if new.attribute in _OF_TIME else frozenset()
        return bool(things) and things == _things(subject)
    return new.attribute not in _OF_THINGS or may_be_one_thing(old, subject, new.language)


def _ends_beside(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether a fact of another attribute is over with what the newer one says."""
    kind = attributes()[new.attribute]
    if new.value:
        opposed = old.attribute in kind.opposes and same_value(old.value or "", new.value)
        return old.attribute in kind.ends or opposed
    if not new.ended or new.attribute in _OF_TWO:
        return old.attribute in (*kind.frees, *kind.carries)
    held = (new.attribute, old.attribute) == _HELD_AT
    return held and value_key(new.ended) <= value_key(old.value or "")


def _are_other_roles(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether two facts name people for different things: a dentist and a landlord."""
    if new.attribute != CONTACT:
        return False
    nouns = [same_roles(relation_nouns(each.content)) for each in (old, new)]
    return all(nouns) and nouns[0].isdisjoint(nouns[1])


def _is_over(old: Record | FactStatement, new: FactStatement) -> bool:
    """Return whether an older fact is about what is named as over.

    Of an attribute that is its value, or the thing that has one of its own; else it must be
    something that goes on, said of the user, whose sentence names it.
    """
    over = _things(new.ended or "")
    if not over:
        return False
    if old.attribute is not None:
        if old.attribute not in attributes()[OVER].ends or old.value is None:
            return False
        named = {old.value} if old.subject == new.subject else set()
        if old.attribute in _OF_THINGS:
            named = {old.value, old.subject or ""}
        return any(over <= _things(each) for each in named)
    if old.metadata.get("category") not in _GOING_ON:
        return False
    about = str(old.metadata.get("subject", "")).casefold()
    own = about.endswith(new.subject) or (f"{new.subject}'s" in about and not relation_nouns(about))
    return own and over <= _things(old.content) and read_aspect(old.content) is Aspect.STATE


def is_cancelled(new: FactStatement) -> bool:
    """Return whether a fact says that what was to be on a day is not to be."""
    return new.value is None and new.attribute in _OF_TIME


def _is_given_up(old: Record, new: FactStatement) -> bool:
    """Return whether an older fact tells that somebody has what they have no more: coffee."""
    told = parse_text(old.content)
    own = str(old.metadata.get("subject", "")).casefold().endswith(new.subject)
    has = not told.texts.isdisjoint(_EN.words("consumes"))
    return own and has and not told.markers and _things(new.value or "") <= _things(old.content)


def _is_planned(old: Record, new: FactStatement) -> bool:
    """Return whether an older fact tells of plans for what is cancelled."""
    over = _things(new.subject)
    kind = old.metadata.get("category")
    going_on = kind in {Category.STATE, Category.EVENT} and "for" in old.content.split()
    planned = kind == Category.PLAN or (going_on and read_aspect(old.content) is Aspect.STATE)
    return planned and bool(over) and over <= _things(old.content)


def _things(text: str) -> frozenset[str]:
    """Return the stems of the words by which things are known again."""
    return parse_text(text).content - stem_set("loose_words")


def _relate_instructions(new: str, old: str) -> Relation:
    """Return how the newer of two instructions stands to the older."""
    if value_key(new) == value_key(old):
        return Relation.DUPLICATE
    return Relation.UPDATE if replaces(new, old) else Relation.NONE


def _relate_values(new: FactStatement, old: Record | FactStatement) -> Relation:
    """Return how the newer of two values of one attribute stands to the older."""
    excluding = Relation.UPDATE if attributes()[new.attribute].single else Relation.NONE
    if new.value is None and old.value is None:
        return Relation.DUPLICATE if old.content == new.content else Relation.NONE
    if new.value is None:
        ended = not new.ended or same_value(old.value or "", new.ended)
        return Relation.UPDATE if ended else Relation.NONE
    if old.value is not None and new.ended and same_value(old.value, new.ended):
        return Relation.UPDATE
    if old.value is None:
        again = value_key(new.value) <= value_key(old.content)
        return Relation.UPDATE if again else excluding
    if same_value(old.value, new.value):
        more = value_key(old.value) < value_key(new.value)
        return Relation.UPDATE if more else Relation.DUPLICATE
    return excluding


def find_new_values(old: str, new: str, *, single: bool) -> Iterator[Verdict]:
    """Yield a verdict where a text gives an attribute that another one states a new value.

    Args:
        old: what was said before.
        new: what was said later.
        single: whether both are facts rather than messages.
    """
    known = text_facts(old)
    told = text_facts(new) if known else ()
    if single and not (_says_one_value(old, known) and _says_one_value(new, told)):
        return
    changes = not parse_text(new).texts.isdisjoint(_EN.words("strong_cues"))
    for fact in told:
        # "The meeting is on Tuesday" may be said of the next one.
        shifted = changes or not attributes()[fact.attribute].dated
        for each in known:
            verdict = None if _are_unlike(each, fact) else judge_fact(each, fact)
            if shifted and verdict is not None and verdict.relation is Relation.UPDATE:
                yield replace(verdict, confidence=BY_TEXT)


def _says_one_value(text: str, facts: Sequence[FactStatement]) -> bool:
    """Return whether a fact says one attribute of somebody and no more, which is not one of many.

    What things are valued at is compared by their nouns.
    """
    if len(facts) != 1 or facts[0].attribute in _OF_THINGS:
        return False
    clauses = split_clauses(text)
    if len(clauses) != 1 or clauses[0].has("added", "partly"):
        return False
    return parse_text(text[facts[0].end :]).texts.isdisjoint(_EN.words("finite_verbs"))


def _are_unlike(one: FactStatement, other: FactStatement) -> bool:
    """Return whether one value is a country and the other one is none: both may hold."""
    nations = stem_set("nations")
    apart = [parse_text(each.value or "").content.isdisjoint(nations) for each in (one, other)]
    return apart[0] != apart[1]


@lru_cache(maxsize=1024)
def text_facts(text: str) -> tuple[FactStatement, ...]:
    """Return what the sentences of a text, without program code, state of known attributes."""
    sentences = cut_sentences(_CODE.sub(" . ", text), unspaced=False)
    return tuple(fact for each in sentences for fact in read_written_facts(each))
