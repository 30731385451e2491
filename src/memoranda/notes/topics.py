"""Under which heading of MEMORY.md a fact stands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memoranda.model.models import Record
from memoranda.model.notes import line_of

FACTS = "Facts"
_OF_CATEGORY: Mapping[str, str] = {
    "identity": "About the user",
    "state": "About the user",
    "possession": "About the user",
    "preference": "Preferences",
    "relation": "People",
    "decision": "Decisions",
    "constraint": "About the user",
    "plan": "Plans and events",
    "event": "Plans and events",
}
TITLES = (*dict.fromkeys(_OF_CATEGORY.values()), FACTS)
"""The headings that memory makes, in the order of a new file."""
LONGEST = 80
_WORD = re.compile(r"\w+")
_COARSE = frozenset({"event", "state", "identity", "possession"})
_DUE = re.compile(
    r"\bdeadline\b[^.]{0,60}\b(?:is|was|moved|changed|set|extended|got|became|on|by)\b|"
    r"\b(?:is|are) due\b|\bdue (?:date|on|by)\b",
    re.IGNORECASE,
)
_KIN = re.compile(
    r"^(?:The user|[A-Z]\w+)'s (?:\w+ ){0,2}?(?:ex|ex-\w+|(?:step|grand)?(?:mother|father|son|"
    r"daughter|sister|brother)s?(?:-in-law)?|mom|mum|dad|parents?|wife|husband|partner|spouse|"
    r"(?:girl|boy)?friends?|fianc[eé]e?|child|children|kids?|twins|aunt|uncle|cousins?|nieces?|"
    r"nephews?|boss|manager|colleagues?|co-?workers?|teammates?|neighbou?rs?|(?:room|flat|house)-?mates?|"
    r"landlord|mentor|therapist|doctor|dentist|teacher|coach)(?: [A-Z]\w+){0,2} "
    r"(?:is|was|are|were)\b(?! \w+ing\b)",
)
"""Who somebody is to the user, told by a verb of being."""
_LASTS = re.compile(
    r"\b(?:used to \w+|(?:was|were|been) (?:born|raised|diagnosed)|grew up|is able to|"
    r"has (?:been|lived|worked|had|known)\b[^.]{0,80}\b(?:for|since)\b)",
    re.IGNORECASE,
)
"""What happened and still tells who somebody is."""
_TASTE = re.compile(
    r"\b(?:(?:dis)?lik(?:es?|ed|ing)|loves?|loved|loving|prefers?|preferred|preferring|enjoy(?:s|ed|ing)?|"
    r"hates?|hated|hating|adores?|detests?|favou?r\w*|fave?|fans?|fond|keen|into|passion\w*|"
    r"interest\w*|obsessed|crazy|addicted|stand|miss(?:es)?|appreciates?|wants?|hobby|hobbies|"
    r"cravings?|craves?|tastes?|allergic|top|go-to|weakness|crush|dreams?|fear\w*|afraid|scared|"
    r"excited|soft spot|used to)\b",
    re.IGNORECASE,
)


def topic(record: Record) -> str:
    """Return the heading for a record: where a person put it, else by what it is about.

    A record that was read from a line under a heading has that heading in its attribute
    ``section``; one that consolidation learned has the attribute ``category``.
    """
    section = record.attributes.get("section")
    if isinstance(section, str) and (title := as_title(section)):
        return title
    category = record.attributes.get("category")
    return FACTS if category is None else _by_text(str(category), record.content)


def _by_text(category: str, text: str) -> str:
    """Return the heading of a category; where it says too little, that of what the text tells."""
    title = _OF_CATEGORY.get(category, FACTS)
    if _DUE.search(text):
        return "Plans and events"
    if category in _COARSE and _KIN.search(text):
        return "People"
    if category == "event" and _LASTS.search(text):
        return "About the user"
    if category == "preference" and not _TASTE.search(text):
        return "About the user"
    return title


def as_title(text: str) -> str:
    """Return ``text`` as a heading can have it: one line, no marks around it, not too long."""
    return line_of(text)[:LONGEST].strip("# \t")


def key_of(title: str) -> str:
    """Return by what headings are compared: their words, without case, marks or pictures."""
    return " ".join(_WORD.findall(title.casefold())) or line_of(title)


def place(title: str) -> int:
    """Return where a heading comes in a new file; those of a person come last."""
    return TITLES.index(title) if title in TITLES else len(TITLES)
