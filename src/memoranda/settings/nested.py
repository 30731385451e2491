"""Values in nested mappings, each at a place such as ``("tokens", "limits", "my-model")``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

Place = tuple[str, ...]
MISSING: Final = object()


def value_at(values: Any, place: Place) -> Any:
    """Return the value at ``place``, or :data:`MISSING`."""
    for name in place:
        if not isinstance(values, Mapping) or name not in values:
            return MISSING
        values = values[name]
    return values


def merge(*levels: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all mappings; where several have one, the last one's."""
    merged = dict[str, Any]()
    for level in levels:
        for name, above in level.items():
            below = merged.get(name, {})
            are_groups = isinstance(below, Mapping) and isinstance(above, Mapping)
            merged[name] = merge(below, above) if are_groups else above
    return merged


def nest(place: Place, value: Any) -> Any:
    """Return a mapping that holds ``value`` at ``place`` and nothing else."""
    return reduce(lambda inner, name: {name: inner}, reversed(place), value)
