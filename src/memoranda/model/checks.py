"""Checks of values from outside: text, times, numbers and lists.

Text is any Unicode, but only what UTF-8 and SQLite can hold. Moments are aware datetimes outside,
whole UTC milliseconds inside; a naive datetime is refused rather than guessed at: the difference
between two guesses is a memory that is hours or a day wrong.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, TypeVar

from memoranda.errors import InvalidInput


def clean(value: object, name: str) -> str:
    """Return ``value`` if it can be stored and found again unchanged.

    Raises:
        InvalidInput: it is no text, is blank, or holds a NUL character or a lone
            surrogate (neither survives UTF-8 storage and full-text search).
    """
    text = storable(value, name)
    if not text.strip():
        raise InvalidInput(f"{name} is empty; give it some text")
    return text


def storable(value: object, name: str) -> str:
    """Return ``value``, which may be blank, if it holds no character that cannot be stored.

    Raises:
        InvalidInput: it is no text, or holds a NUL character or a lone surrogate.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, got {type(value).__name__}: {value!r:.80}")
    if "\x00" in value:
        raise InvalidInput(
            f"{name} holds a NUL character at position {value.index(chr(0))}; "
            f"remove it, for example with text.replace('\\x00', '')"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{name} holds a lone surrogate ({value[error.start]!r} at position {error.start}), "
            f"which no UTF-8 file can hold; decode the source with errors='replace'"
        ) from error
    return value


def content_hash(content: str) -> str:
    """Return the 128-bit BLAKE2b hash of ``content`` in hexadecimal."""
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


def to_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970-01-01 UTC, rounded down."""
    since = moment - EPOCH  # Its parts are whole numbers, and quicker than a division of spans.
    return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000


def from_ms(milliseconds: int) -> datetime:
    """The aware UTC datetime of ``milliseconds`` since 1970."""
    return EPOCH + MILLISECOND * milliseconds


def require_aware(moment: object, name: str) -> datetime:
    """Return ``moment`` in UTC, cut to the millisecond that is stored.

    One of the first or the last day of the calendar is moved into it by a day: in another zone it
    would be none, and programs that know no time write the first.

    Raises:
        InvalidInput: it is no datetime, or has no time zone.
    """
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{name} must be a datetime with a time zone, got {moment!r}")
    if moment.utcoffset() is None:
        raise InvalidInput(
            f"{name}={moment.isoformat()} has no time zone; say which one it is in, "
            f"for example datetime(…, tzinfo=timezone.utc) or value.astimezone()"
        )
    try:
        kept = from_ms(to_ms(moment))
    except OverflowError as error:
        message = f"{name}={moment.isoformat()} lies outside the years 1 to 9999 in UTC"
        raise InvalidInput(message) from error
    return min(max(kept, EARLIEST), LATEST)


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
        raise InvalidInput(f"{name}={value!r:.80} is not a time; write it as {forms}")
    local = zone is not None and parsed.tzinfo is None
    return require_aware(parsed.replace(tzinfo=zone) if local else parsed, name)


def iso(moment: datetime) -> str:
    """Return a moment as files have it: ``2026-02-27T14:30:00.000Z``.

    Raises:
        InvalidInput: it has no time zone.
    """
    at = require_aware(moment, "a time")
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


LARGEST = sys.float_info.max
MOST = 2**53  # More than there is of anything, and within the integers of any database.
Item = TypeVar("Item")
Function = TypeVar("Function")
Verb = TypeVar("Verb", bound=Callable[..., Any])


def limited(value: object, name: str, least: int = 1) -> int:
    """Return ``value``, or ``MOST`` if that is less, if it is a whole number of at least ``least``.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name}={value!r} must be a whole number of at least {least}")
    return min(value, MOST)


def number(value: object, name: str) -> float | None:
    """Return ``value`` if it is a number, or ``None``.

    Raises:
        InvalidInput: it is something else, or not a number (NaN).
    """
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value:  # noqa: PLR0124 - NaN
        raise InvalidInput(f"{name}={value!r:.80} must be a number")
    return max(-LARGEST, min(value, LARGEST))


def required_callable(value: Function, name: str, *, optional: bool = True) -> Function:
    """Return ``value`` if it can be called, or is ``None`` and may be left out.

    Raises:
        InvalidInput: it is something else.
    """
    if not callable(value) and not (optional and value is None):
        raise InvalidInput(f"{name} must be callable, got {type(value).__name__}: {value!r:.80}")
    return value


def named(text: object, name: str) -> str | None:
    """Return ``text`` after checking that it is text, ``None`` if not given.

    Raises:
        InvalidInput: it is no text, or one that cannot be stored.
    """
    return None if text is None else clean(text, name)


def require_attributes(given: object | None, name: str, *wanted: str) -> None:
    """Refuse an object that lacks what it is to be used for; ``None`` is not given.

    Raises:
        InvalidInput: it is a class, or an attribute is missing.
    """
    if isinstance(given, type):
        raise InvalidInput(f"{name}={given!r:.80} is a class; pass an object of it")
    missing = [attribute for attribute in wanted if not hasattr(given, attribute)]
    if given is not None and missing:
        message = f"{name}={given!r:.80} cannot be used: it has no {' and no '.join(missing)}"
        raise InvalidInput(message)


# How near a slip of the finger comes to the right name (difflib).
ALIKE = 0.7


def nearest(
    name: object, known: Iterable[str], *, most: int = 1, alike: float = ALIKE
) -> list[str]:
    """Return the ``known`` names, at most ``most``, that ``name`` was probably meant to be.

    Case does not count; of a dotted name the last part is enough.
    """
    names = list(known)
    parts = {each.rpartition(".")[2].lower(): each for each in names}
    parts |= {each.lower(): each for each in names}
    found = get_close_matches(str(name).lower(), parts, most, alike)
    return list(dict.fromkeys(parts[each] for each in found))


def unknown(name: object, known: Iterable[str], what: str) -> str:
    """Return what to say of a ``name`` that does not exist: the nearest that does, and all."""
    names = list(known)
    near = "".join(f"did you mean {each}? " for each in nearest(name, names))
    if not names:
        return f"{what}={name!r:.80} is unknown; there are none"
    return f"{what}={name!r:.80} is unknown; {near}use one of {', '.join(names)}"


def refuse_unknown(given: Iterable[object], known: Iterable[str], what: str) -> None:
    """Refuse names that are not among the ``known`` ones.

    Args:
        given: the names.
        known: those that exist.
        what: what they name, such as ``argument``.

    Raises:
        InvalidInput: one does not exist; the message suggests the nearest.
    """
    names = list(known)
    for each in given:
        if each not in names:
            raise InvalidInput(unknown(each, names, what))


def list_arguments(
    options: type, defaults: Mapping[str, Any] | None = None
) -> Callable[[Verb], Verb]:
    """Return a decorator that shows what ``**`` takes in the signature of a verb.

    Args:
        options: the ``TypedDict`` of its last parameter.
        defaults: the defaults that are not ``None``.
    """
    shown = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=(defaults or {}).get(name),
            annotation=kind.__forward_arg__,
        )
        for name, kind in options.__annotations__.items()
    ]

    def add(verb: Verb) -> Verb:
        plain = signature(verb)
        named = list(plain.parameters.values())[:-1]
        vars(verb)["__signature__"] = plain.replace(parameters=[*named, *shown])
        return verb

    return add


def several(items: Iterable[Item], name: str) -> Iterable[Item]:
    """Return ``items`` if they are many things rather than one.

    Raises:
        InvalidInput: it is one text or one mapping, or nothing that can be gone through.
    """
    given: object = items
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} must be a list, got {given!r:.80}; write […]")
    return items


def known(moment: datetime | None, name: str) -> datetime | None:
    """Return ``moment`` in UTC if one was given.

    Raises:
        InvalidInput: it has no time zone.
    """
    return None if moment is None else require_aware(moment, name)


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put the place where an error may be, such as ``item 3``, before the message of one."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{prefix}: {error}") from error


def parse_metadata(metadata: object, name: str = "metadata") -> Mapping[str, Any]:
    """Return a copy of ``metadata`` as JSON would give it back."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise InvalidInput(f"{name} must be a mapping with text keys, got {metadata!r:.80}")
    copy: dict[str, Any] = json.loads(json_text(dict(metadata), name))
    return require_json(copy, name)


# Lists and objects within each other: whoever reads, masks or converts JSON calls itself for each.
DEEPEST = 100


def require_json(value: Item, name: str) -> Item:
    """Return a value of JSON if it can be stored and read again.

    Raises:
        InvalidInput: a text in it cannot be stored, or its lists and objects are within each other
            more than ``DEEPEST`` times.
    """
    inside: list[object] = [value]
    for _ in range(DEEPEST):
        for text in (each for each in inside if isinstance(each, str)):
            storable(text, name)
        inside = [
            inner
            for each in inside
            if isinstance(each, dict | list)
            for inner in ((*each, *each.values()) if isinstance(each, dict) else each)
        ]
        if not inside:
            return value
    raise too_deep(name)


def too_deep(name: str) -> InvalidInput:
    """Return what is to be raised of a value that is deeper than ``DEEPEST``."""
    message = f"{name} holds more than {DEEPEST} lists or objects within each other; flatten it"
    return InvalidInput(message)


def json_text(value: object, name: str) -> str:
    """Return ``value`` as JSON text.

    Raises:
        InvalidInput: JSON or UTF-8 cannot hold it.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{name} must be plain JSON (no NaN, no objects of classes): {error}"
        raise InvalidInput(message) from error
    return text
