"""Where a value stands among nested ones: ``("tokens", "limits", "my-model")``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Place = tuple[str, ...]
MISSING: Final = object()


def found(values: Any, place: Place) -> Any:
    """Return what stands at ``place``, or :data:`MISSING`."""
    for name in place:
        if not isinstance(values, Mapping) or name not in values:
            return MISSING
        values = values[name]
    return values


def every(values: Mapping[str, Any], within: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield each place that holds something, groups before what is in them."""
    for name, value in values.items():
        place = (*within, name)
        yield place, value
        if isinstance(value, Mapping):
            yield from every(value, place)


def placed(values: Mapping[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """Return a copy of ``values`` with ``value`` at ``place``; what is in the way gives way."""
    name, *rest = place
    if not rest:
        return {**values, name: value}
    inner = values.get(name)
    group = inner if isinstance(inner, Mapping) else {}
    return {**values, name: placed(group, tuple(rest), value)}


def without(values: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return a copy of ``values`` without what is at ``place``; its group stays, if empty."""
    name, *rest = place
    if not rest:
        return {key: value for key, value in values.items() if key != name}
    inner = values.get(name)
    if not isinstance(inner, Mapping):
        return dict(values)
    return {**values, name: without(inner, tuple(rest))}


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``values`` without the groups that hold nothing."""
    inner = {name: filled(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return {name: value for name, value in inner.items() if value != {}}
