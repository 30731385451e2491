"""Under which heading of MEMORY.md a fact stands."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.model.models import Record
from memoranda.model.notes import line_of
from memoranda.text.patterns import LanguageData

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
# The headings that memory makes, in the order of a new file.
TITLES = (*dict.fromkeys(_OF_CATEGORY.values()), FACTS)
LONGEST = 80
_COARSE = frozenset({"event", "state", "identity", "possession"})
_EN = LanguageData("en", "notes")


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
    if _EN.pattern("due").search(text):
        return "Plans and events"
    if category in _COARSE and _EN.pattern("kin", 0).search(text):
        return "People"
    if category == "event" and _EN.pattern("lasts").search(text):
        return "About the user"
    if category == "preference" and not _EN.pattern("taste").search(text):
        return "About the user"
    return title


def as_title(text: str) -> str:
    """Return ``text`` as a heading can have it: one line, no marks around it, not too long."""
    return line_of(text)[:LONGEST].strip("# \t")


def place(title: str) -> int:
    """Return where a heading comes in a new file; those of a person come last."""
    return TITLES.index(title) if title in TITLES else len(TITLES)
