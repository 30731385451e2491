"""Items: values that an application keeps under a namespace and a key of its own choice."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean

# Bytes of a namespace and a key: an entry of an index has room for little more.
LONGEST = 2_000


def parse_namespace(given: object, name: str = "namespace") -> tuple[str, ...]:
    """Return the parts of a namespace, from the widest to the narrowest.

    Raises:
        InvalidInput: it is one text rather than several, or a part of it is empty.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        message = f"{name}={given!r:.80} must be a tuple of texts; write ('users', 'ana')"
        raise InvalidInput(message)
    return tuple(clean(part, f"a part of {name}") for part in given)


def parse_address(namespace: object, key: object) -> tuple[tuple[str, ...], str]:
    """Return the namespace and the key of one item.

    Raises:
        InvalidInput: one of them cannot be used, or they are too long.
    """
    parts, name = parse_namespace(namespace), clean(key, "key")
    size = sum(len(part.encode()) for part in (*parts, name))
    if size > LONGEST:
        message = (
            f"namespace and key={name!r:.40} take {size:,} bytes; they may take {LONGEST:,}, "
            f"so put what is longer into the content or the metadata"
        )
        raise InvalidInput(message)
    return parts, name


def require_plain(**given: object) -> None:
    """Refuse what no item has: whoever says and believes something is of memories.

    Raises:
        InvalidInput: a value was given.
    """
    for name, value in given.items():
        if value is not None:
            message = (
                f"{name}={value!r:.80} is of memories; an item has content, tags, metadata and "
                f"valid_until"
            )
            raise InvalidInput(message)
