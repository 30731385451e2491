"""What the labels of other people's annotation schemes are called here.

OntoNotes (English, Chinese, …), WikiNER (PER, LOC, ORG, MISC), and those of the Swedish,
Norwegian, Polish, Romanian and Korean corpora; and the words that language models use.
"""

from __future__ import annotations

import re

_SCHEME_PREFIX = re.compile(r"^[BIOELSU]-")
_WORDS = re.compile(r"[\W_]+")

_TYPES = {
    "person": """
        per person persons people prs ps persname human character firstname lastname name
    """,
    "organization": """
        org organization organisation orgname og gpeorg company corporation institution team
        agency group business school university band brand club
    """,
    "location": """
        loc location gpe gpeloc fac facility lc place placename geogname city country region
        address street state venue geo landmark
    """,
    "project": """
        product prod pro project software app application tool technology library framework
        system model
    """,
}
_NO_NAMES = """
    date time datetime duration percent percentage money quantity ordinal cardinal number num
    numeric numericvalue dt ti qt tme msr measure period drv url email mention hashtag phone
"""
"""Labels of what is no name: numbers and times, and marks that rules find exactly."""

_OURS = {
    label: kind for kind, labels in _TYPES.items() for label in labels.split()
} | dict.fromkeys(_NO_NAMES.split(), "")


def our_type(label: str) -> str | None:
    """Return the type of :class:`~memoranda.model.models.Mention` that ``label`` means.

    ``other`` for a name of a kind that has no type here (an event, a work of art, a
    nationality) and for an unknown label; ``None`` for what is no name: a date, a number.
    """
    key = _WORDS.sub("", _SCHEME_PREFIX.sub("", label.strip())).lower()
    return _OURS.get(key, "other") or None
