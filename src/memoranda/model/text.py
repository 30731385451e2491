"""Text as it is stored: any Unicode, but only what UTF-8 and SQLite can hold."""

from __future__ import annotations

import hashlib

from memoranda.errors import InvalidInput


def clean(value: object, name: str) -> str:
    """Return ``value`` if it can be stored and found again unchanged.

    Raises:
        InvalidInput: it is no text, is blank, or holds a NUL character or a lone
            surrogate (neither survives UTF-8 storage and full-text search).
    """
    text = storable(value, name)
    if not text.strip():
        message = f"{name} is empty; give it some text"
        raise InvalidInput(message)
    return text


def storable(value: object, name: str) -> str:
    """Return ``value``, which may be blank, if it holds no character that cannot be stored.

    Raises:
        InvalidInput: it is no text, or holds a NUL character or a lone surrogate.
    """
    if not isinstance(value, str):
        message = f"{name} must be text, got {type(value).__name__}: {value!r:.80}"
        raise InvalidInput(message)
    if "\x00" in value:
        message = (
            f"{name} holds a NUL character at position {value.index(chr(0))}; "
            f"remove it, for example with text.replace('\\x00', '')"
        )
        raise InvalidInput(message)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = (
            f"{name} holds a lone surrogate ({value[error.start]!r} at position {error.start}), "
            f"which no UTF-8 file can hold; decode the source with errors='replace'"
        )
        raise InvalidInput(message) from error
    return value


def content_hash(content: str) -> str:
    """Return the 128-bit BLAKE2b hash of ``content`` in hexadecimal."""
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
