"""The parts of a context on its way out, and the names under which its calls go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Marker, Message, ToolCall
from memoranda.model.text import content_hash

NAME = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64
UNNAMED = "unnamed"
PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]+")
ANY_ID = re.compile(r".+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Note:
    """A text that stands among the messages and that nobody said."""

    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What messages said that are out of view, in short: data, and so in the user's role."""

    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user says now."""

    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """An assistant's calls and, directly after, the result of each."""

    call: Message
    results: tuple[Message, ...]

    @property
    def stray_images(self) -> list[Image]:
        """The pictures in it, for forms that take them from the user alone."""
        return [image for item in (self.call, *self.results) for image in item.images]


Part = Message | Exchange | Note | Quote | Prompt


def parts(entries: Iterable[Message | Marker]) -> list[Part]:
    """Return the parts that a view consists of.

    Raises:
        InvalidInput: a call is not followed by all its results, or a result follows no call.
            No provider takes that.
    """
    found: list[Part] = []
    for entry in entries:
        last = found[-1] if found else None
        if isinstance(entry, Marker):
            found.append(Quote(entry.text) if entry.quotes else Note(entry.text))
        elif entry.tool_calls:
            found.append(Exchange(entry, ()))
        elif entry.role != "tool":
            found.append(entry)
        elif isinstance(last, Exchange):
            found[-1] = Exchange(last.call, (*last.results, entry))
        else:
            raise _parted(entry)
    for part in found:
        if isinstance(part, Exchange) and not _is_whole(part):
            raise _parted(part.call)
    return found


def _is_whole(exchange: Exchange) -> bool:
    answered = [item.tool_result.call_id for item in exchange.results if item.tool_result]
    calls = [call.id for call in exchange.call.tool_calls]
    return len(set(calls)) == len(calls) and sorted(answered) == sorted(calls)


def _parted(message: Message) -> InvalidInput:
    text = (
        f"message {message.id} is a tool call or a result that was parted from its "
        f"counterpart, which no provider takes; leave it out or bring both"
    )
    return InvalidInput(text)


class CallIds:
    """Ids of calls as a provider takes them. The same view gives the same ids.

    An id that the provider takes stays as it is; any other becomes a hash of itself, which
    does not depend on what else is in the view. Of ids that occur again in a later exchange,
    the later ones are numbered, unless ``repeated``.

    Args:
        form: what an id must match.
        longest: most characters of an id.
        repeated: whether later exchanges may use an id again.
    """

    def __init__(self, form: re.Pattern[str], longest: int, *, repeated: bool = False) -> None:
        """Start without any id taken."""
        self._form = form
        self._longest = longest
        self._repeated = repeated
        self._taken: set[str] = set()

    def of(self, calls: Sequence[ToolCall]) -> Mapping[str, str]:
        """Return the ids to send for those of ``calls``, which are answered together."""
        if self._repeated:
            self._taken.clear()
        return {call.id: self._free(self._sendable(call.id)) for call in calls}

    def _sendable(self, id: str) -> str:
        if self._form.fullmatch(id) and len(id) <= self._longest:
            return id
        return f"call_{content_hash(id)}"

    def _free(self, id: str) -> str:
        chosen, number = id, 1
        while chosen in self._taken:
            number += 1
            ending = f"_{number}"
            chosen = id[: self._longest - len(ending)] + ending
        self._taken.add(chosen)
        return chosen


def function_name(name: str) -> str:
    """Return the name of a function as both providers take it: letters, digits, ``_``, ``-``."""
    return NAME.sub("_", name)[:LONGEST_NAME] or UNNAMED


def call_arguments(text: str) -> str:
    """Return the arguments of a call for forms in which they are text."""
    return text if text.strip() else "{}"
