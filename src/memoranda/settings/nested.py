"""Values in nested mappings, each at a place such as ``("tokens", "limits", "my-model")``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Place = tuple[str, ...]
MISSING: Final = object()


def value_at(values: Any, place: Place) -> Any:
    """Return what stands at ``place``, or :data:`MISSING`."""
    for name in place:
        if not isinstance(values, Mapping) or name not in values:
            return MISSING
        values = values[name]
    return values


def walk(values: Mapping[str, Any], within: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield each place that holds something, groups before what is in them."""
    for name, value in values.items():
        yield (*within, name), value
        if isinstance(value, Mapping):
            yield from walk(value, (*within, name))


def with_value(values: Mapping[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """Return a copy of ``values`` with ``value`` at ``place``; what is in the way gives way."""
    name, *rest = place
    if rest:
        inner = values.get(name)
        value = with_value(inner if isinstance(inner, Mapping) else {}, tuple(rest), value)
    return {**values, name: value}


def without(values: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return a copy of ``values`` without what is at ``place``; its group stays, if empty."""
    name, *rest = place
    inner = values.get(name)
    if rest and isinstance(inner, Mapping):
        return {**values, name: without(inner, tuple(rest))}
    return {key: value for key, value in values.items() if rest or key != name}


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``values`` without the groups that hold nothing."""
    inner = {name: without_empty(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return {name: value for name, value in inner.items() if value != {}}
