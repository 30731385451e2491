"""How important a message is: the scoring algorithm of requirements R4.1 to R4.4.

Every message starts at 0.5. What it is adds or takes away, and so does where it stands:

====================================== =====
a tool call                            +0.3
a tool's result                        +0.2
a user's directive or constraint       +0.2
an error message                       +0.3
a correction or clarification          +0.2
each reference to an earlier message   +0.1
each day of age                        -0.1
casual talk                            -0.2
part of a task that is complete        -0.3
said again later (R4.3)                -0.3
one of the last 5, else 10, else 20    +0.4, +0.2, +0.1
====================================== =====

A system prompt is worth 1.0, and no score leaves the range from 0 to 1.

The age is counted in whole days before the newest message, not before the present, so that
the same conversation always has the same scores. What is said again is worth as little as what
is finished: the later copy has all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from memoranda.conversation.signals import Signals, signals
from memoranda.model.models import Message, ToolCall

BASE = 0.5
TOOL_CALL = 0.3
TOOL_RESULT = 0.2
DIRECTIVE = 0.2
ERROR = 0.3
CORRECTION = 0.2
REFERENCE = 0.1
DAY = -0.1
CASUAL = -0.2
COMPLETED = -0.3
REDUNDANT = -0.3
RECENCY = ((5, 0.4), (10, 0.2), (20, 0.1))

_A_DAY = timedelta(days=1)
_DECIMALS = 6  # sums of tenths are tenths
_SUBSTANCE = 20  # letters and digits that a text needs to be redundant: "yes" never is
_FOLDED = 10_000  # characters up to which writings of the same text are compared
_SEPARATORS = re.compile(r"[\W_]+")

Part = tuple[str, float]


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message stands in its conversation.

    Attributes:
        from_end: how many messages come after it; 0 is the newest.
        days: whole days from it to the newest message.
        completed: whether its task is complete.
        redundant: whether a later message says it again.
    """

    from_end: int
    days: int = 0
    completed: bool = False
    redundant: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """How important a message is.

    Attributes:
        value: 0 to 1.
        why: what it is made of, each part with what it adds. They add up to ``value`` unless
            that is limited to 0 or 1.
    """

    value: float
    why: tuple[Part, ...]

    def __str__(self) -> str:
        """One line: ``0.5 base · +0.3 tool call · -0.1 1 day old = 0.70``."""
        parts = [f"{add:+.1f} {name}" for name, add in self.why]
        total = sum(add for _, add in self.why)
        reached = "" if abs(total - self.value) < 10**-_DECIMALS else f"{total:.2f}, limited to "
        return f"{' · '.join(parts).removeprefix('+')} = {reached}{self.value:.2f}"


def score(message: Message, signals: Signals, place: MessagePlace) -> Score:
    """Return the importance of a message at its place."""
    if message.role == "system":
        return _SYSTEM
    return _sum([*_content_parts(signals), *_place_parts(place)])


def content_score(message: Message, signals: Signals) -> float:
    """Return the importance of the content alone, 0 to 1: without place, age and completion."""
    return 1.0 if message.role == "system" else _sum(_content_parts(signals)).value


def scores(
    messages: Sequence[Message],
    *,
    completed: Collection[int] | Callable[[int], bool] = (),
    read: Callable[[Message], Signals] = signals,
) -> list[Score]:
    """Return the importance of every message of a conversation, in time linear in its length.

    Args:
        messages: the messages in order.
        completed: which messages belong to completed tasks, by their index.
        read: what gives the signals of a message, where they are known already.
    """
    done = completed if callable(completed) else frozenset(completed).__contains__
    newest = max((message.timestamp for message in messages), default=None)
    again = redundant(messages)
    last = len(messages) - 1
    return [
        score(
            message,
            read(message),
            MessagePlace(
                from_end=last - index,
                days=(newest - message.timestamp) // _A_DAY if newest else 0,
                completed=done(index),
                redundant=again[index],
            ),
        )
        for index, message in enumerate(messages)
    ]


def redundant(messages: Sequence[Message]) -> list[bool]:
    """Return for each message whether a later one of the same role says the same again.

    A call is said again by a call of the same tool with the same arguments, a result by the
    same result of the same call. A text is said again by one that differs in case, spaces and
    punctuation at most, if it is long enough to mean the same at another place.
    """
    seen: set[tuple[str, ...]] = set()
    calls: dict[str, str] = {}
    keys: list[list[tuple[str, ...]]] = []
    for message in messages:
        calls.update((call.id, _call(call)) for call in message.tool_calls)
        keys.append(_statement_keys(message, calls))
    found = [False] * len(messages)
    for index in reversed(range(len(messages))):
        found[index] = bool(keys[index]) and seen.issuperset(keys[index])
        seen.update(keys[index])
    return found


def _statement_keys(message: Message, calls: dict[str, str]) -> list[tuple[str, ...]]:
    """Return what a message says, as keys: calls, result, text and pictures."""
    if message.role == "system":
        return []
    said = _normalize(message.content)
    if message.tool_result is not None:
        call = calls.get(message.tool_result.call_id)
        known = call is not None or len(said) >= _SUBSTANCE
        return [("result", call or "", said)] if known else []
    claims: list[tuple[str, ...]] = [("call", _call(call)) for call in message.tool_calls]
    claims += [("image", image.url) for image in message.images]
    if len(said) >= _SUBSTANCE:
        claims.append((message.role, said))
    return claims


def _call(call: ToolCall) -> str:
    """Return tool and arguments in one form, however the arguments are spaced and ordered."""
    try:
        arguments = json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _normalize(text: str) -> str:
    if len(text) > _FOLDED:
        return text
    return _SEPARATORS.sub(" ", text.casefold()).strip()


def _content_parts(signals: Signals) -> list[Part]:
    parts = [
        ("base", BASE, True),
        ("tool call", TOOL_CALL, signals.tool_call),
        ("tool result", TOOL_RESULT, signals.tool_result),
        ("constraint" if signals.constraint else "directive", DIRECTIVE, signals.directive),
        ("error", ERROR, signals.error),
        ("correction", CORRECTION, signals.correction),
        (_with_number(signals.references, "reference"), REFERENCE, signals.references),
        ("casual talk", CASUAL, signals.casual),
    ]
    return [(name, add * times) for name, add, times in parts if times]


def _place_parts(place: MessagePlace) -> list[Part]:
    recent = next(((last, add) for last, add in RECENCY if place.from_end < last), (0, 0.0))
    parts = [
        (f"{_with_number(place.days, 'day')} old", DAY, place.days),
        ("task complete", COMPLETED, place.completed),
        ("said again later", REDUNDANT, place.redundant),
        (f"in the last {recent[0]}", recent[1], recent[0] > 0),
    ]
    return [(name, add * times) for name, add, times in parts if times]


def _with_number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _sum(parts: Sequence[Part]) -> Score:
    rounded = tuple((name, round(add, _DECIMALS)) for name, add in parts)
    total = round(sum(add for _, add in rounded), _DECIMALS)
    return Score(min(1.0, max(0.0, total)), rounded)


_SYSTEM = Score(1.0, (("system prompt", 1.0),))
