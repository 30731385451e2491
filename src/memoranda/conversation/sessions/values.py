"""Typed values out of one JSON line and into it, with errors that name the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.text import clean, storable
from memoranda.model.times import require_aware

BOM = b"\xef\xbb\xbf"  # Editors of Windows put it before the first line.
MOST = 2**53  # Beyond it, other readers of JSON no longer tell whole numbers apart.


class Keys:
    """The keys of a JSON object, taken one by one.

    Args:
        value: what a line holds.

    Raises:
        InvalidInput: it is no object.
    """

    def __init__(self, value: object) -> None:
        """Refuse what is no object."""
        if not isinstance(value, Mapping):
            message = f"expected an object, found {value!r:.80}"
            raise InvalidInput(message)
        self._values: Mapping[str, Any] = value

    def get(self, name: str) -> Any:
        """Return the value as it is, ``None`` where there is none."""
        return self._values.get(name)

    def text(self, name: str) -> str:
        """Return a text, which may be blank."""
        return storable(self._needed(name), name)

    def optional_text(self, name: str) -> str | None:
        """Return a text that is not blank, or ``None``."""
        value = self.get(name)
        return None if value is None else clean(value, name)

    def moment(self, name: str) -> datetime:
        """Return a moment in UTC."""
        return _moment(self._needed(name), name)

    def optional_moment(self, name: str) -> datetime | None:
        """Return a moment in UTC, or ``None``."""
        value = self.get(name)
        return None if value is None else _moment(value, name)

    def whole(self, name: str, default: int = 0) -> int:
        """Return a whole number of at least 0."""
        value = default if self.get(name) is None else self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            message = f"{name}={value!r:.80} must be a whole number of at least 0"
            raise InvalidInput(message)
        return value

    def number(self, name: str, default: float) -> float:
        """Return a number of at least 0."""
        value = default if self.get(name) is None else self.get(name)
        valid = isinstance(value, int | float) and not isinstance(value, bool)
        if not valid or not 0 <= value <= MOST:
            message = f"{name}={value!r:.80} must be a number of at least 0"
            raise InvalidInput(message)
        return float(value)

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1, or ``None``."""
        if self.get(name) is None:
            return None
        value = self.number(name, 0.0)
        if value > 1:
            message = f"{name}={value!r} must be between 0 and 1"
            raise InvalidInput(message)
        return value

    def flag(self, name: str) -> bool:
        """Return true or false; false where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            message = f"{name}={value!r:.80} must be true or false"
            raise InvalidInput(message)
        return bool(value)

    def objects(self, name: str) -> tuple[Keys, ...]:
        """Return the objects of a list; none where there is none."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            message = f"{name} must be a list, got {value!r:.80}"
            raise InvalidInput(message)
        return tuple(Keys(item) for item in value or ())

    def _needed(self, name: str) -> Any:
        if self.get(name) is None:
            message = f"the key {name} is missing; found {', '.join(self._values) or 'none'}"
            raise InvalidInput(message)
        return self._values[name]


def _moment(value: object, name: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    if parsed is None:
        message = f"{name}={value!r:.80} is no time; write it as 2026-02-27T14:30:00.000Z"
        raise InvalidInput(message)
    return require_aware(parsed, name)


def iso(moment: datetime) -> str:
    """Return a moment as seed 002 writes it: ``2026-02-27T14:30:00.000Z``.

    Raises:
        InvalidInput: it has no time zone.
    """
    at = require_aware(moment, "a time")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dump(value: Mapping[str, Any]) -> bytes:
    """Return ``value`` as one line without its end.

    Raises:
        InvalidInput: a text in it holds a lone surrogate, or it is no JSON.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{value!r:.80} cannot be written as a line of JSON ({error})"
        raise InvalidInput(message) from error


def parsed(line: bytes) -> Any:
    """Return what a line holds.

    Raises:
        InvalidInput: it is no JSON, or no UTF-8.
    """
    try:
        return json.loads(line.removeprefix(BOM).decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        message = f"not valid JSON ({error})"
        raise InvalidInput(message) from error


def _refuse(constant: str) -> None:
    message = f"{constant} is no JSON number"
    raise ValueError(message)
