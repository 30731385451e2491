"""The attributes that facts can have, and what follows from each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from memoranda.text.patterns import load


@dataclass(frozen=True, slots=True)
class AttributeType:
    """An attribute of a person or thing, such as where somebody lives.

    Attributes:
        name: under which facts are stored: ``home``.
        holds: ``one`` value at a time, so that a newer one takes its place, or ``many``.
        category: what kind of fact it is; decides the heading in MEMORY.md.
        dated: whether its values are times, which become absolute ones.
        ends: attributes of the same subject whose values end when this one changes.
        frees: those that end when this one ends without another value.
        opposes: those of which no value can hold beside the same one of this.
    """

    name: str
    holds: str
    category: str
    dated: bool = False
    ends: tuple[str, ...] = ()
    frees: tuple[str, ...] = ()
    opposes: tuple[str, ...] = ()


@cache
def attributes() -> dict[str, AttributeType]:
    """Return all attributes by name (``languages/mul/attributes.toml``)."""
    return {name: AttributeType(name, **row) for name, row in load("mul", "attributes").items()}
