"""What a question asks for: how things are now, how they were, or neither for sure.

Only what is true now can be out of date. "What is my rent?" has one answer at a time, the
newest; "Which cities did I see?" has many, and "What was the rent at first?" has an old one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile

from memoranda.text.folding import fold, normalize

_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|original(?:ly)?|initial(?:ly)?|previous(?:ly)?|former(?:ly)?"
    r"|at first|in the beginning|back then|earlier|no longer|before(?=\W*$| i\b| we\b| the change"
    r"| that\b| it\b)|(?:my|our|the|his|her|their) (?:old|past|last|very first)"
    r"|first (?:said?|told|tell|mention\w*|plan\w*|thought|choice|wanted)"
    r"|(?:has|have|what) (?:\w+ ){0,4}changed|how (?:\w+ ){1,5}(?:evolv|progress|develop)\w*"
    r"|histor(?:y|ical\w*)|over time|difference|compare[ds]?|comparison|order in which|sequence"
    r"|between|across|list (?:the|all|of|every))\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"(?:^\W*(?:am|is|are|do|does)"
    r"|(?:^\W*|[,;:.!?]\W+|\b(?:me|know|remember|wonder(?:ing)?|forgot|so|and|hey|ok(?:ay)?)\W+)"
    r"(?:(?:by|on|at|in|to|for|from|since|until|with|under|of) )?"
    r"(?:how (?:many|much|long|often|old|far|big|large|high|tall|fast|heavy)"
    r"|(?P<what>what|which|whose)|where|who|whom|when))\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_DONE = re.compile(
    r"(?P<counted>\bhow (?:many|much|often)\b.*)"
    r"\bdid (?=(?:i|we)\b)(?!\w+ (?:say|tell|mention|first))",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"(?:\b(?:is|are|am|do|does|have|has|will|can|should)\b|'s\b|'re\b|'ve\b)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_DOES = re.compile(r"\W*(?:do|does|has|have)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:i|we|my|our|me|us|mine|ours)\b", re.IGNORECASE)
_HEAD_ENDS = re.compile(
    r"\b(?:of|for|in|on|at|is|are|am|do|does|have|has|to|with|during|per|after|that|i|we|will|did"
    r"|can|should|from|by|about|using|used|including)\b|[,?.!]",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^\W*(?:(?:is|are|s|am|my|our|your|the|a|an|do|does|i|we)\b\W*)+", re.IGNORECASE
)
_MANY = re.compile(
    r"\b(?!(?:this|status|address|boss|class|bus|gas|lens|access|process|focus|basis|thesis"
    r"|analysis|diagnosis|business|progress|always|news|its|us)\b)\w{2,}[^su\W]s\W*$",
    re.IGNORECASE,
)
GENERIC = frozenset(
    re.findall(
        r"\w+",
        "average total current number amount percentage percent kind type name names overall"
        " latest new exact time value version",
    )
)
_SORTS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), frozenset(sorts.split()))
    for pattern, sorts in (
        (r"\bhow many (?:\w+ ){0,2}(?:seconds|minutes|hours|days|weeks|months|years)\b", "span"),
        (
            r"\bhow many (?:\w+ ){0,2}(?:miles|met(?:er|re)s|kilo\w+|grams|lit(?:er|re)s)\b",
            "measure",
        ),
        (r"\bhow many\b", "number"),
        (r"\bhow often\b", "number span"),
        (r"\bhow (?:long|old)\b", "span number clock"),
        (r"\bhow (?:much|far|big|large|high|tall|fast|heavy)\b", "money number share measure span"),
        (r"\bpercent(?:age)?\b", "share"),
        (r"\bwhat time\b", "clock date"),
        (r"^\W*when\b|\b(?:deadline|due)\b|\bwhat (?:date|day)\b|\bdate\b", "date clock"),
    )
)


SHORT = 3  # letters from which a common beginning means a common word


class Asks(Enum):
    """Which state of things a question is about."""

    NOW = "now"
    THEN = "then"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        text: normalised.
        weights: its terms, each with its share (0 to 1) of what the question tells.
        head: the terms of what is asked for: "response" and "time" in "What is the response
            time of the API?"; empty where that is not clear.
        beginnings: what the inflections of its telling words begin with.
        nouns: beginnings of the word for it, in any inflection, or of all the question's words.
        sorts: the sorts of values that can answer it; empty is any, or a text.
        own: whether it is about the one who asks.
        done: whether it asks how often something was done: what is done again is done more
            often, so only who speaks of a change has a newer answer.
        many: whether it asks for several things.
    """

    text: str
    weights: Mapping[str, float]
    head: frozenset[str]
    beginnings: tuple[str, ...]
    nouns: tuple[str, ...]
    sorts: frozenset[str]
    own: bool
    done: bool
    many: bool

    def touches(self, sentence: str) -> bool:
        """Return whether ``sentence`` can hold a term of the question, at little cost."""
        text = sentence.lower() if sentence.isascii() else fold(sentence)
        return any(beginning in text for beginning in self.beginnings)

    def share(self, terms: frozenset[str]) -> float:
        """Return how much of the question (0 to 1) is in ``terms``."""
        return sum(weight for term, weight in self.weights.items() if term in terms)


def state_of(query: str) -> Asks:
    """Return which state of things ``query`` is about."""
    text = _DONE.sub(r"\g<counted>do ", normalize(query))
    if _PAST.search(text):
        return Asks.THEN
    return Asks.NOW if _STATE.search(text) and _PRESENT.search(text) else Asks.OPEN


def read(query: str, terms: Sequence[str], weights: Sequence[float]) -> Question:
    """Return what ``query`` asks for.

    Args:
        query: the question.
        terms: its terms.
        weights: how much each of them tells, on any scale; nothing where nobody used it.
    """
    text = " ".join(normalize(query).split())
    state = _STATE.search(text)
    head = _head(state["rest"]) if state is not None else ""
    telling = {term: weight for term, weight in zip(terms, weights, strict=True) if weight}
    whole = sum(telling.values())
    named, words = _terms_of(head, telling), _terms_of(text, telling)
    beginnings = tuple({stem for _, stem in words})
    return Question(
        text=text,
        weights={term: weight / whole for term, weight in telling.items()},
        head=frozenset(term for term, _ in named),
        beginnings=beginnings,
        nouns=(named[-1][1],) if named else beginnings,
        sorts=next((sorts for pattern, sorts in _SORTS if pattern.search(text)), frozenset()),
        own=_OWN.search(text) is not None,
        done=_DONE.search(text) is not None,
        many=state is not None and state["what"] is not None and _MANY.search(head) is not None,
    )


def _head(rest: str) -> str:
    if _DOES.match(rest):
        return ""
    rest = _LEADS.sub("", rest)
    end = _HEAD_ENDS.search(rest)
    return rest if end is None else rest[: end.start()]


def _terms_of(text: str, terms: Collection[str]) -> list[tuple[str, str]]:
    """Return the term of each telling word of ``text``, with what its inflections begin with.

    What is not ASCII has no inflections here: such terms stand for themselves.
    """
    found = []
    for word in _WORD.findall(fold(text)):
        near = [term for term in terms if term[:SHORT] == word[:SHORT]]
        if near and len(word) >= SHORT and word not in GENERIC:
            stem, term = max((_shared(word, term), term) for term in near)
            found.append((term, stem))
    return found + [(term, term) for term in terms if not term.isascii()]


def _shared(one: str, other: str) -> str:
    """Return what both words begin with."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in alike)
