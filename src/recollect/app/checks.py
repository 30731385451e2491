"""Checks of arguments that several verbs share."""

from __future__ import annotations

from datetime import datetime

from recollect.core.errors import InvalidInput
from recollect.core.times import require_aware


def limited(value: object, name: str) -> int:
    """Return ``value`` if it is a whole number of at least 1.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"{name}={value!r} must be a whole number of at least 1"
        raise InvalidInput(message)
    return value


def known(moment: datetime | None, name: str) -> datetime | None:
    """Return ``moment`` in UTC if one was given.

    Raises:
        InvalidInput: it has no time zone.
    """
    return None if moment is None else require_aware(moment, name)
