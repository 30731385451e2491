"""Checks of arguments that several verbs share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from memoranda.errors import InvalidInput
from memoranda.model.text import clean
from memoranda.model.times import require_aware

MOST = 2**53  # More than there is of anything, and within the integers of any database.
Item = TypeVar("Item")


def limited(value: object, name: str) -> int:
    """Return ``value``, or ``MOST`` if that is less, if it is a whole number of at least 1.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"{name}={value!r} must be a whole number of at least 1"
        raise InvalidInput(message)
    return min(value, MOST)


def number(value: object, name: str) -> float | None:
    """Return ``value`` if it is a number, or ``None``.

    Raises:
        InvalidInput: it is something else, or not a number (NaN).
    """
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        message = f"{name}={value!r} must be a number"
        raise InvalidInput(message)
    return value


def named(text: object, name: str) -> str | None:
    """Return ``text`` if one was given.

    Raises:
        InvalidInput: it is no text, or one that cannot be stored.
    """
    return None if text is None else clean(text, name)


def several(items: Iterable[Item], name: str) -> Iterable[Item]:
    """Return ``items`` if they are many things rather than one.

    Raises:
        InvalidInput: it is one text or one mapping, or nothing that can be gone through.
    """
    given: object = items
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        message = f"{name} must be a list, got {given!r:.80}; write […]"
        raise InvalidInput(message)
    return items


def known(moment: datetime | None, name: str) -> datetime | None:
    """Return ``moment`` in UTC if one was given.

    Raises:
        InvalidInput: it has no time zone.
    """
    return None if moment is None else require_aware(moment, name)


@contextmanager
def located(place: str) -> Iterator[None]:
    """Put ``place`` before the message of an ``InvalidInput`` that is raised inside."""
    try:
        yield
    except InvalidInput as error:
        message = f"{place}: {error}"
        raise InvalidInput(message) from error
