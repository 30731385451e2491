"""What readers find in a file: talks and what was said in them; and what they leave out."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from memoranda.errors import InvalidInput
from memoranda.model.json_object import JsonObject
from memoranda.model.models import ToolCall, ToolResult
from memoranda.model.text import clean
from memoranda.model.times import require_aware
from memoranda.transfer.formats import Item, located

NUL, NUL_PICTURE = "\x00", "\u2400"
SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


class Values(Protocol):
    """A file of JSON values that can be read again and again."""

    def items(self) -> Iterator[Item]:
        """Return its values with their places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing that was said, or done with a tool.

    Attributes:
        place: where it stands, for messages.
        key: the id it has in its file; the same in every copy of it.
        role: ``user``, ``assistant`` or ``tool``.
        text: what was said.
        at: when; ``None`` where nothing tells.
        calls: the calls of tools it makes.
        result: the call it answers.
        answer: the answer that it is a part of: parts that follow each other are one message.
    """

    place: str
    key: str
    role: str
    text: str
    at: datetime | None
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation as a file tells it.

    Attributes:
        id: its name in the memory.
        said: what was said, in order; a later copy of the file only adds at the end, or goes
            on elsewhere from some message on.
        at: when it began, where that is known.
        title: what it is called, where it has a title.
    """

    id: str
    said: tuple[Said, ...]
    at: datetime | None = None
    title: str | None = None


def conversations(
    file: Values, read: Callable[[Item, LeftOut], Talk], left_out: LeftOut
) -> Iterator[Talk]:
    """Return the conversations of an export, each as ``read`` finds it; count those without talk.

    Raises:
        InvalidInput: ``read`` cannot read one; the message names it.
    """
    for item in file.items():
        with located(item.place):
            talk = read(item, left_out)
        if talk.said:
            yield talk
        else:
            left_out.add("conversations without talk")


class LeftOut:
    """Counts what is not imported, by kind."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._counts: Counter[str] = Counter()
        self._told: dict[str, None] = {}

    def add(self, kind: str, number: int = 1) -> None:
        """Count ``number`` more of ``kind``, a noun in the plural."""
        self._counts[kind] += number

    def tell(self, line: str) -> None:
        """Add a line of its own."""
        self._told[line] = None

    def lines(self) -> tuple[str, ...]:
        """Return a line for each kind with its number, the most frequent first."""
        counted = (f"{kind}: {number:,}" for kind, number in self._counts.most_common() if number)
        return (*self._told, *counted)


def plain_text(text: str) -> str:
    """Return ``text`` with a stand-in for each character that no store can hold.

    Output of tools has NUL characters, and halves of characters where it was cut.
    """
    return SURROGATE.sub(REPLACEMENT, text.replace(NUL, NUL_PICTURE))


def text_of(fields: JsonObject, name: str) -> str:
    """Return a text that is not blank, with its characters that no store can hold replaced.

    Raises:
        InvalidInput: there is none.
    """
    value = fields.get(name)
    return clean(plain_text(value), name) if isinstance(value, str) else fields.text(name)


def moment_of(value: object, name: str) -> datetime | None:
    """Return a moment: ISO 8601 text, taken as UTC where it names no zone, or seconds since 1970.

    Raises:
        InvalidInput: it is something else.
    """
    found: datetime | None = None
    try:
        match value:
            case None:
                return None
            case bool():
                pass
            case int() | float() if math.isfinite(value):
                found = datetime.fromtimestamp(value, UTC)
            case str():
                found = datetime.fromisoformat(value)
                found = found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    if found is None:
        message = f"{name}={value!r:.80} is no time; write it as 2026-03-02T18:05:00Z"
        raise InvalidInput(message)
    return require_aware(found, name)


def distinct(said: Iterable[Said], at: datetime | None = None) -> tuple[Said, ...]:
    """Return what was said as a store takes it: each once, with its time or the one before.

    Args:
        said: in order.
        at: when it began.
    """
    found: dict[str, Said] = {}
    for item in said:
        at = item.at or at
        found.setdefault(item.key, _storable(item, at))
    return tuple(found.values())


def _storable(item: Said, at: datetime | None) -> Said:
    result = item.result
    return replace(
        item,
        at=at,
        text=plain_text(item.text),
        calls=tuple(
            ToolCall(*map(plain_text, (call.id, call.name, call.arguments))) for call in item.calls
        ),
        result=None if result is None else replace(result, call_id=plain_text(result.call_id)),
    )
