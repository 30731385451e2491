"""Under which heading of MEMORY.md a fact stands."""

from __future__ import annotations

from functools import cache

from memoranda.model.models import Record
from memoranda.model.notes import line_of
from memoranda.text.patterns import LanguageData

LONGEST = 80
_COARSE = frozenset({"event", "state", "identity", "possession"})
_EN = LanguageData("en", "notes")


@cache
def own_titles() -> tuple[str, ...]:
    """Return the headings that memory makes, in the order of a new file."""
    return tuple(dict.fromkeys(_EN.mapping("headings").values()))


def topic(record: Record) -> str:
    """Return the heading for a record: where a person put it, else by what it is about.

    A record that was read from a line under a heading has that heading in its attribute
    ``section``; one that consolidation learned has the attribute ``category``.
    """
    section = record.metadata.get("section")
    # As a heading can have it: one line, no marks around it, not too long.
    if isinstance(section, str) and (title := line_of(section)[:LONGEST].strip("# \t")):
        return title
    headings, category = _EN.mapping("headings"), record.metadata.get("category")
    sort = "other" if category is None else _refine(str(category), record.content)
    return headings.get(sort, headings["other"])


def _refine(category: str, text: str) -> str:
    """Return a category; where it says too little, the one that the text tells."""
    if _EN.pattern("due").search(text):
        return "plan"
    if category in _COARSE and _EN.pattern("kin", 0).search(text):
        return "relation"
    lasts = category == "event" and _EN.pattern("lasts").search(text)
    if lasts or (category == "preference" and not _EN.pattern("taste").search(text)):
        return "state"
    return category


def place(title: str) -> int:
    """Return where a heading comes in a new file; those of a person come last."""
    own = own_titles()
    return own.index(title) if title in own else len(own)
