"""Moving memory in and out: files of recollect, OpenAI messages, LoCoMo conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.lifecycle.ingest import Draft

ARGUMENTS = frozenset(
    {
        "content",
        "kind",
        "tags",
        "metadata",
        "event_time",
        "session",
        "role",
        "confidence",
        "decay_rate",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import or export moved.

    Attributes:
        format: of the file.
        users: whose memory was read or written.
        records: how many records were moved.
        messages: how many messages of conversations were moved.
        skipped: how many were there already.
    """

    format: str
    users: tuple[str, ...]
    records: int
    messages: int = 0
    skipped: int = 0


def draft(item: object, number: int) -> Draft:
    """Return what ``remember_many`` was given as a draft.

    Raises:
        InvalidInput: it is neither a text nor a dict of ``remember``'s arguments.
    """
    if isinstance(item, str):
        return Draft(content=item)
    if not isinstance(item, Mapping) or "content" not in item:
        message = f"item {number} must be a text or a dict with content, got {item!r:.80}"
        raise InvalidInput(message)
    unknown = set(item) - ARGUMENTS
    if unknown:
        message = (
            f"item {number} has unknown keys {', '.join(sorted(map(str, unknown)))}; "
            f"use {', '.join(sorted(ARGUMENTS))}"
        )
        raise InvalidInput(message)
    return Draft(**item)
