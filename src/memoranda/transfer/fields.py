"""Typed values out of a JSON object of a file, with errors that name the key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.text import clean
from memoranda.model.times import require_aware

LARGEST = 2**63 - 1  # The largest whole number that a database column holds.


def moment(value: object, name: str) -> datetime:
    """Return the moment of an ISO 8601 text with a time zone, in UTC.

    Raises:
        InvalidInput: it is something else.
    """
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    if parsed is None:
        message = f"{name}={value!r:.80} is no time; write it as 2026-03-02T18:05:00+01:00"
        raise InvalidInput(message)
    return require_aware(parsed, name)


class Fields:
    """The keys of a JSON object, taken one by one.

    Args:
        value: what the file holds.

    Raises:
        InvalidInput: it is no object.
    """

    def __init__(self, value: object) -> None:
        """Take the object; nothing of it is checked yet."""
        if not isinstance(value, Mapping):
            message = f"expected an object with keys, got {value!r:.80}"
            raise InvalidInput(message)
        self._values: Mapping[str, Any] = value

    def require_only(self, known: frozenset[str]) -> None:
        """Refuse keys that are not ``known``: what they say would be lost."""
        unknown = sorted(self._values.keys() - known)
        if unknown:
            message = f"unknown keys {', '.join(unknown)}; use {', '.join(sorted(known))}"
            raise InvalidInput(message)

    def names(self) -> tuple[str, ...]:
        """Return the keys."""
        return tuple(self._values)

    def get(self, name: str) -> Any:
        """Return the value as it is, ``None`` where there is none."""
        return self._values.get(name)

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        return clean(self._needed(name), name)

    def optional_text(self, name: str) -> str | None:
        """Return a text that is not blank, or ``None``."""
        return None if self.get(name) is None else self.text(name)

    def moment(self, name: str) -> datetime:
        """Return a moment in UTC."""
        return moment(self._needed(name), name)

    def optional_moment(self, name: str) -> datetime | None:
        """Return a moment in UTC, or ``None``."""
        return None if self.get(name) is None else self.moment(name)

    def number(self, name: str, default: float, *, most: float = math.inf) -> float:
        """Return a finite number between 0 and ``most``."""
        value = default if self.get(name) is None else self.get(name)
        valid = isinstance(value, int | float) and not isinstance(value, bool)
        if not valid or not 0 <= value <= min(most, LARGEST):
            upper = f"between 0 and {most:g}" if most < math.inf else "of at least 0"
            message = f"{name}={value!r:.80} must be a number {upper}"
            raise InvalidInput(message)
        return float(value)

    def optional_number(self, name: str, *, most: float = math.inf) -> float | None:
        """Return a finite number between 0 and ``most``, or ``None``."""
        return None if self.get(name) is None else self.number(name, 0.0, most=most)

    def whole(self, name: str, default: int = 0) -> int:
        """Return a whole number of at least 0."""
        value = default if self.get(name) is None else self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
            message = f"{name}={value!r:.80} must be a whole number of at least 0"
            raise InvalidInput(message)
        return value

    def flag(self, name: str) -> bool:
        """Return true or false; false where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            message = f"{name}={value!r:.80} must be true or false"
            raise InvalidInput(message)
        return bool(value)

    def list(self, name: str) -> tuple[Any, ...]:
        """Return the elements of a list; none where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            message = f"{name} must be a list, got {value!r:.80}"
            raise InvalidInput(message)
        return tuple(value or ())

    def _needed(self, name: str) -> Any:
        if self.get(name) is None:
            message = f"the key {name} is missing; found {', '.join(self._values) or 'none'}"
            raise InvalidInput(message)
        return self._values[name]
