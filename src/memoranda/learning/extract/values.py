"""Values that a technical request tells in passing: ``the new quota of 1,200 calls per day``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoranda.learning.extract.prose import MASK
from memoranda.learning.extract.rewriting import Person, finish, rewrite
from memoranda.learning.extract.words import STATE_NOUNS, STOP, word_set

_WORD = r"[A-Za-z][\w'/-]{0,24}"
_AMOUNT = r"(?:[$€£]\s?)?\d[\d,.]*\s?(?:%|[$€£]|°[CF])?"
_OF_VALUE = re.compile(
    rf"\b(?P<own>the|my|our|a|an)\s+(?P<noun>(?:{_WORD}\s){{0,3}}?{_WORD})\s+of\s+"
    rf"(?:about\s+|around\s+|roughly\s+|only\s+)?"
    rf"(?P<value>(?:[A-Z][a-z]{{2,8}}\s\d{{1,2}}(?:,\s\d{{4}})?|{_AMOUNT})"
    rf"(?:\s?(?!and\b|but\b|so\b|for\b|to\b|with\b|in\b|by\b|using\b|while\b|that\b|which\b){_WORD})"
    rf"{{0,4}})"
)
_WHICH = re.compile(
    r"(?P<head>,\s*which\s+)(?P<rest>(?:has|have|is|was|are|were|had)\s+[^,;?]{2,80})"
)
_HAVING = re.compile(r"\b(?:the|my|our)\s+[^,;?]{3,90}$")
_STOPS = re.compile(r"\b(?:to|and|but|so|that|if|I|I'm|I've|considering|using)\s+(?=the|my|our)")
_COPULA = re.compile(r"^(?P<topic>.{3,80}?\s(?:is|was|are))\s+(?:on\s+|at\s+|about\s+)?[\w€$£]")
GENERAL = word_set(
    "formula probability equation theorem definition answer question error example criterion sum"
)
"""What is true of a subject matter, not of anybody's project."""

_BARE = word_set("total average number count amount maximum minimum share size version")
_PERCENT = re.compile(
    r"\d%\s+(?P<noun>(?:[a-z-]+\s){0,2}?(?:coverage|accuracy|score|uptime|mastery|rate|completion)"
    r"(?:\s(?:on|for|of|in)\s[\w\s-]{2,40}?)?)(?=\s*(?:[,.]|$|and\b|but\b))"
)
_PERCENT_ALONE = re.compile(
    r"\b(?:reached|at|got|achieved|hit|have|to)\s+(?P<amount>\d[\d.]*%)"
    r"(?=$|[.,]|\s+(?:after|as|by|so|now|already|on)\b)"
)
_SCORE = 0.58


class Value(NamedTuple):
    """A value told: the sentence, what has it, the score, and where it stands in the clause."""

    content: str
    subject: str
    score: float
    start: int
    end: int


def values_in(shown: str, said: str, person: Person) -> Iterator[Value]:
    """Yield the values that the clause ``said`` tells of nouns.

    Args:
        shown: the clause, masked.
        said: the clause as it is written.
        person: whose project it is.
    """
    for found in _OF_VALUE.finditer(shown):
        noun = found["noun"].split()
        if noun[0].lower() in _BARE:
            continue
        if noun[-1].lower() not in STATE_NOUNS or MASK in found[0] or STOP.intersection(noun):
            continue
        subject = f"{person.possessive} {' '.join(noun)}"
        content = finish(f"{subject} is {said[found.start('value') : found.end('value')]}")
        yield Value(content, subject, _SCORE, found.start(), found.end())
    yield from _told_by_which(shown, said, person)


def _told_by_which(shown: str, said: str, person: Person) -> Iterator[Value]:
    """Yield ``the response time, which has improved to 250ms`` as a statement."""
    for found in _WHICH.finditer(shown):
        if not any(map(str.isdigit, found["rest"])):
            continue
        left = shown[max(0, found.start() - 90) : found.start()]
        stops = list(_STOPS.finditer(left))
        begin = found.start() - len(left) + (stops[-1].end() if stops else 0)
        head = _HAVING.search(shown, begin, found.start())
        if head is None or GENERAL.intersection(head[0].lower().split()):
            continue
        text = f"{said[head.start() : found.start()]} {said[found.start('rest') : found.end()]}"
        mask = f"{shown[head.start() : found.start()]} {shown[found.start('rest') : found.end()]}"
        content = rewrite(text, mask, person)
        subject = rewrite(head[0], head[0], person).rstrip(".")
        yield Value(content, subject, _SCORE, head.start(), found.end())


def complete_percent(said: str, before: str) -> str:
    """Return the clause ``said`` with what its percentage is of, where ``before`` tells.

    ``trying to achieve 100% test coverage``, ``I've reached 65%``: 65% test coverage.
    """
    alone, told = _PERCENT_ALONE.search(said), _PERCENT.search(before)
    if alone is None or told is None:
        return said
    return f"{said[: alone.end('amount')]} {told['noun']}{said[alone.end('amount') :]}"


def topic_of(content: str) -> str:
    """Return ``The deadline is`` of a statement that tells a value; empty for others."""
    found = _COPULA.match(content)
    if not found or (
        found["topic"].split()[0].lower() not in {"the", "my"} and ("'s " not in found["topic"])
    ):
        return ""
    return found["topic"]
