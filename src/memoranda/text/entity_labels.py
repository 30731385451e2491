"""The labels that all entity recognisers share."""

from __future__ import annotations

from functools import cache

from memoranda.text.patterns import compile_pattern, load

_SCHEME_PREFIX = compile_pattern(r"^[BIOELSU]-")
_SEPARATOR = compile_pattern(r"[\W_]+")


@cache
def _types() -> dict[str, str]:
    """Return the type of each label that is known; an empty one for what is no name."""
    labels = load("mul", "entity_labels").items()
    return {label: "" if kind == "no_name" else kind for kind, each in labels for label in each}


def entity_type(label: str) -> str | None:
    """Return the type of :class:`~memoranda.model.models.Mention` that ``label`` means.

    ``other`` for a name of a kind that has no type here (an event, a work of art, a
    nationality) and for an unknown label; ``None`` for what is no name: a date, a number.
    """
    key = _SEPARATOR.sub("", _SCHEME_PREFIX.sub("", label.strip())).lower()
    return _types().get(key, "other") or None
