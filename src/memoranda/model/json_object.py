"""Typed values out of a JSON object of a file and into it, with errors that name the key."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, tzinfo
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, require_aware, require_shallow, storable

# Beyond it, other readers of JSON no longer tell whole numbers apart.
MOST = 2**53
PLAIN = {str, int, float, bool, NoneType}
Value = TypeVar("Value")


class JsonObject:
    """The keys of a JSON object, taken one by one.

    Args:
        value: what a file holds.

    Raises:
        InvalidInput: it is no object.
    """

    def __init__(self, value: object) -> None:
        """Refuse what is no object; nothing of it is checked yet."""
        if not isinstance(value, Mapping):
            raise InvalidInput(f"expected an object with keys, found {value!r:.80}")
        self._values: Mapping[str, Any] = value

    def get(self, name: str) -> Any:
        """Return the value as it is, ``None`` where there is none."""
        return self._values.get(name)

    def text(self, name: str, *, blank: bool = False) -> str:
        """Return a text that is not blank, or that may be."""
        value = self._needed(name)
        return storable(value, name) if blank else clean(value, name)

    def optional_text(self, name: str, *, blank: bool = False) -> str | None:
        """Return a text that is not blank, or that may be, or ``None``."""
        return None if self.get(name) is None else self.text(name, blank=blank)

    def optional_object(self, name: str) -> Mapping[str, Any] | None:
        """Return an object as it is, or ``None``."""
        value = self.get(name)
        if value is not None and not isinstance(value, dict):
            raise InvalidInput(f"{name} must be an object, got {value!r:.80}")
        return require_shallow(value, name)

    def moment(self, name: str) -> datetime:
        """Return a moment in UTC."""
        return parse_moment(self._needed(name), name)

    def optional_moment(self, name: str) -> datetime | None:
        """Return a moment in UTC, or ``None``."""
        return None if self.get(name) is None else self.moment(name)

    def number(self, name: str, default: float, *, most: float = math.inf) -> float:
        """Return a finite number between 0 and ``most``."""
        value = default if self.get(name) is None else self.get(name)
        valid = isinstance(value, int | float) and not isinstance(value, bool)
        if not valid or not 0 <= value <= min(most, MOST):
            upper = f"between 0 and {most:g}" if most < math.inf else "of at least 0"
            raise InvalidInput(f"{name}={value!r:.80} must be a number {upper}")
        return float(value)

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1, or ``None``."""
        return None if self.get(name) is None else self.number(name, 0.0, most=1.0)

    def whole(self, name: str, default: int = 0) -> int:
        """Return a whole number of at least 0."""
        value = default if self.get(name) is None else self.get(name)
        if not is_whole(value):
            raise InvalidInput(f"{name}={value!r:.80} must be a whole number of at least 0")
        return int(value)

    def flag(self, name: str) -> bool:
        """Return true or false; false where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise InvalidInput(f"{name}={value!r:.80} must be true or false")
        return bool(value)

    def list(self, name: str) -> tuple[Any, ...]:
        """Return the elements of a list; none where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            raise InvalidInput(f"{name} must be a list, got {value!r:.80}")
        return tuple(value or ())

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list, none of them blank; none where there is none."""
        return tuple(clean(value, name) for value in self.list(name))

    def objects(self, name: str) -> tuple[JsonObject, ...]:
        """Return the objects of a list; none where there is none."""
        return tuple(map(JsonObject, self.list(name)))

    def _needed(self, name: str) -> Any:
        if self.get(name) is None:
            names = ", ".join(self._values) or "none"
            raise InvalidInput(f"the key {name} is missing; found {names}")
        return self._values[name]


def is_whole(value: object) -> bool:
    """Whether a value is a whole number of at least 0 that every reader of JSON understands."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def parse_moment(value: object, name: str, zone: tzinfo | None = None) -> datetime:
    """Return the moment of an ISO 8601 text, in UTC.

    Args:
        value: the text.
        name: what it is called in an error.
        zone: where a text without a time zone was written; without it, one is required.

    Raises:
        InvalidInput: it is something else.
    """
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    if parsed is None:
        forms = "2025-03-31 or 2025-03-31T18:30" if zone else "2026-02-27T14:30:00.000Z"
        raise InvalidInput(f"{name}={value!r:.80} is no time; write it as {forms}")
    local = zone is not None and parsed.tzinfo is None
    return require_aware(parsed.replace(tzinfo=zone) if local else parsed, name)


def iso(moment: datetime) -> str:
    """Return a moment as files have it: ``2026-02-27T14:30:00.000Z``.

    Raises:
        InvalidInput: it has no time zone.
    """
    at = require_aware(moment, "a time")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_READERS: Mapping[object, Callable[[JsonObject, str], object]] = {
    str | None: JsonObject.optional_text,
    datetime: JsonObject.moment,
    datetime | None: JsonObject.optional_moment,
    int: JsonObject.whole,
    float | None: JsonObject.share,
    bool: JsonObject.flag,
    tuple[str, ...]: JsonObject.texts,
}


def read_dataclass(
    cls: Callable[..., Value], line: JsonObject, /, *, blank: Collection[str] = (), **given: object
) -> Value:
    """Return a dataclass of the values that ``line`` has under the names of its fields.

    Args:
        cls: the dataclass; its fields are texts, numbers, moments, flags, optional ones, or other
            dataclasses of such fields, alone or in a tuple.
        line: the object.
        blank: fields whose text may be blank, also those of dataclasses in it.
        given: the values of other fields, and of those that are to be read in another way.

    Raises:
        InvalidInput: a value is missing or of another type.
    """
    return cls(
        **given,
        **{
            field.name: _read(field, hint, line, blank)
            for field, hint in _fields(cls)
            if field.name not in given
        },
    )


@cache
def _fields(kind: Any) -> tuple[tuple[Field[Any], object], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind))


@cache
def _nested(hint: object) -> Any:
    """Return the dataclass that a field holds, alone or in a tuple; ``None`` where it does not."""
    return next((kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)), None)


def _read(field: Field[Any], hint: object, line: JsonObject, blank: Collection[str]) -> object:
    name = field.name
    if field.default is not MISSING and line.get(name) is None:
        return field.default
    if nested := _nested(hint):
        if get_origin(hint) is tuple:
            return tuple(read_dataclass(nested, each, blank=blank) for each in line.objects(name))
        return read_dataclass(nested, JsonObject(line.get(name)), blank=blank)
    if hint is float:
        return line.number(name, 0.0)
    if hint is str or name in blank:
        return line.text(name, blank=name in blank)
    return _READERS[hint](line, name)


def fields_of(value: Any) -> Mapping[str, object]:
    """Return the fields of a dataclass by name."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def json_value(
    value: object,
    *,
    moment: Callable[[datetime], str] = iso,
    form: Callable[[Any], Mapping[str, object]] = fields_of,
) -> Any:
    """Return ``value`` as what JSON can hold; dataclasses become objects.

    Args:
        value: a value of a dataclass, or one itself.
        moment: how a moment is written.
        form: what of a dataclass is written, and under which names.
    """
    if type(value) in PLAIN:  # Most are, and the questions below take long.
        return value
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
        return [json_value(item, moment=moment, form=form) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        value = form(value)
    if isinstance(value, Mapping):
        return {str(k): json_value(item, moment=moment, form=form) for k, item in value.items()}
    return str(value) if isinstance(value, Path) else value
