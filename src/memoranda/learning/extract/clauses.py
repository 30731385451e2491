"""From a sentence to its clauses: the parts that could each stand as a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoranda.learning.extract.prose import MASK, Sentence
from memoranda.learning.extract.words import ADJUNCTS, AUXILIARIES, INTERROGATIVES

CLAUSE_LIMIT = 320
"""A clause of more characters is cut there: nobody speaks so."""

_PRONOUN = (
    r"(?:I|i|we|We|you|You|it|It|they|They|he|He|she|She|this|This|that's|there|There)"
    r"(?:'(?:m|ve|ll|d|re|s))?\b"
)
_FINITE = (
    r"(?:is|are|was|were|has|have|had|will|can|just|now|also|recently|got|love|loves|like|likes|"
    r"broke|died|went|came|gave|left|won|lost|took|made|told|started|\w{2,}ed)"
)
_NOUN_SUBJECT = rf"(?:my|our|the|My|Our|The)\s+(?:[\w'-]+\s+){{1,4}}{_FINITE}\b"
_LINK = r"(?:and|but|so|plus|yet|or|though|although|because|'cause|cause|while|then|now)"
_BOUNDARY = re.compile(
    rf"\s*(?:[—–;…]|(?<=\s)-{{1,3}}(?=\s)|-{{2,3}}|(?<=[a-z!])-(?=\s)|(?<=[a-z]):(?=\s)|(?<=[a-z])\.{{2,4}})\s*"
    rf"|,\s*(?:{_LINK}\s+)?(?:{_LINK}\s+)?(?={_PRONOUN}|{_NOUN_SUBJECT})"
    rf"|,?\s+(?:and|but|so|plus)\s+(?:now\s+|then\s+)?(?={_PRONOUN})"
    rf"|,?\s+but\s+"
    rf"|,\s*(?=(?:take|have|check|see)\s+(?:a\s+look|it|out|this|that|them)\b)"
    rf"|,\s*(?:(?:so|and|but|maybe|please|also|then)\s+)*"
    rf"(?=(?:can|could|would|will|do|does|did|should|what|how|why|when|please|maybe|here's|"
    rf"is\s+(?:there|it|this|that)|are\s+(?:there|you)|have\s+you|any)\b)"
)
_OPENS_SUBORDINATE = re.compile(
    r"\s*(?:(?:and|but|so|well|yeah|oh)\b[,\s]*)?"
    r"(?:when|while|since|after|before|if|as|although|though|once|whenever|until|because|even|"
    r"growing|back)\b",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"[\s,;:!.*_()\"'~-]*(?:(?:yeah|yes|yep|yup|nope|no|well|oh|wow|hey|hi|hello|ok|okay|sure|"
    r"haha|hah|hmm|ah|aw+|ugh|man|gosh|woah|whoa|right|exactly|anyway|anyways|so|and|but|plus|or|"
    r"also|actually|honestly|unfortunately|fortunately|luckily|sadly|thankfully|besides|though|"
    r"btw|by\s+the\s+way|as\s+you\s+know|in\s+fact|you\s+know|fyi|guess\s+what|great\s+news|"
    r"good\s+news|big\s+news|thanks(?:\s+(?:so\s+much|a\s+lot|again))?|thank\s+you|same\s+here|"
    r"totally|absolutely|definitely|oh\s+my\s+god|omg|first\s+of\s+all|then|because|'cause|"
    r"speaking\s+of\s+which|now(?=,)|in\s+the\s+meantime|on\s+another\s+note|that\s+said|for\s+me|personally|in\s+my\s+case|"
    r"to\s+be\s+honest|tbh|basically|of\s+course|cool|nice|awesome|great|"
    r"as\s+i\s+(?:(?:just|already|have|once)\s+)*(?:said|mentioned|told\s+you|wrote|noted|explained)"
    r"(?:\s+(?:before|earlier|already|last\s+time|above|yesterday))?(?=\s*,)|"
    r"since\s+(?:we|our)\s+last\s+(?:spoke|talked|chat|chatted|met|talk|conversation))"
    r"\b[\s,!.:;~-]*)+",
    re.IGNORECASE,
)
_COMPANIONS = re.compile(
    r"(?:[^,]{0,30},)?[\s]*(?:(?:yeah|yes|so|and|well|oh)[,\s]+)?(?:my|our|me|My|Our|Me|[A-Z][a-z]+)"
    r"(?:\s+[\w'-]+){0,3}\s*"
)
_LONGEST_ADJUNCT = 7
_EDGE = " \t,;:.!?-–—…*_\"'()~"


class Clause(NamedTuple):
    """A part of a sentence.

    Attributes:
        shown: its text, masked as in the sentence, without what leads into it.
        start: where it begins in the turn.
        asks: whether it is a question or a request.
        link: what joins it to the part before, in lower case: ``and``, ``but``, ``,``.
    """

    shown: str
    start: int
    asks: bool
    link: str


def clauses(sentence: Sentence, names: frozenset[str]) -> Iterator[Clause]:
    """Yield the clauses of ``sentence``.

    Args:
        sentence: where they stand.
        names: those spoken to, whose names may lead into a clause or end it.
    """
    parts = list(_parts(sentence.shown))
    asking = [_is_asking(sentence.shown[start:end]) for start, end, _ in parts]
    if sentence.question and not any(asking):
        asking[-1] = True
    for (start, end, link), asks in zip(parts, asking, strict=True):
        begin, stop = _trimmed(sentence.shown, start, end, names)
        if stop > begin:
            shown = sentence.shown[begin:stop]
            yield Clause(shown, sentence.start + begin, asks, link)


def _parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and link of each part; no cut inside a subordinate clause that leads."""
    begin, link, held = 0, "", False
    for found in _BOUNDARY.finditer(text):
        subordinate = _OPENS_SUBORDINATE.match(text, begin, found.start())
        leads = subordinate or _is_adjunct(text[begin : found.start()])
        if leads and not held and found[0].lstrip().startswith(","):
            held = True
            continue
        if found[0].strip() == "and" and _COMPANIONS.fullmatch(text, begin, found.start()):
            continue
        if found.start() > begin:
            yield begin, min(found.start(), begin + CLAUSE_LIMIT), link
        begin, link, held = found.end(), found[0].strip().lower(), False
    if begin < len(text):
        yield begin, min(len(text), begin + CLAUSE_LIMIT), link


def _is_adjunct(part: str) -> bool:
    """Return whether ``part`` only says when or where: ``Last week``, ``In the meantime``."""
    lead = _LEAD_IN.match(part)
    words = part[lead.end() if lead else 0 :].lower().split()
    return (
        0 < len(words) <= _LONGEST_ADJUNCT
        and words[0].strip(_EDGE) in ADJUNCTS
        and not AUXILIARIES.intersection(words)
    )


def _is_asking(part: str) -> bool:
    lead = _LEAD_IN.match(part)
    words = part[lead.end() if lead else 0 :].split(maxsplit=2)
    if not words:
        return False
    first = words[0].strip(_EDGE).lower()
    if first in {"when", "while", "where"}:
        return "?" in part
    if first == "may" and words[1:] and words[1][0].isdigit():
        return False
    return first in INTERROGATIVES


def _trimmed(text: str, start: int, end: int, names: frozenset[str]) -> tuple[int, int]:
    """Return the clause without greetings, connectives and the names of those spoken to."""
    while True:
        lead = _LEAD_IN.match(text, start, end)
        begin = lead.end() if lead else start
        while begin < end and text[begin] in _EDGE:
            begin += 1
        begin = _past_name(text, begin, end, names)
        if begin == start:
            break
        start = begin
    while end > start and text[end - 1] in _EDGE and text[end - 1] != MASK:
        end -= 1
    comma = text.rfind(",", start, end)
    if comma > start and _is_name(text[comma + 1 : end].strip(), names):
        end = comma
    return start, end


def _past_name(text: str, begin: int, end: int, names: frozenset[str]) -> int:
    stop = begin
    while stop < end and text[stop].isalpha():
        stop += 1
    if not _is_name(text[begin:stop], names) or text[stop : min(stop + 1, end)] not in {",", "!"}:
        return begin
    return stop + 1


_SHORTEST_NAME = 3


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Return whether ``word`` is one of the names or the start of one (Mel, Melanie)."""
    return (
        len(word) >= _SHORTEST_NAME
        and word[0].isupper()
        and any(name.startswith(word) or word.startswith(name) for name in names)
    )
