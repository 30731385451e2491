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
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoranda.conversation.signals import Signals, signals
from memoranda.model.models import Message, ToolCall
from memoranda.text.patterns import compile_pattern

RECENCY = ((5, 0.4), (10, 0.2), (20, 0.1))
FAR = 20  # messages from the end, from where only the content of a message counts

_DECIMALS = 6  # sums of tenths are tenths
_SUBSTANCE = 20  # letters and digits that a text needs to be redundant: "yes" never is
_FOLDED = 2_000  # characters up to which writings of the same text are compared
_SEPARATORS = compile_pattern(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Score:
    """How important a message is.

    Attributes:
        value: 0 to 1.
        why: what it is made of, each part with what it adds. They add up to ``value`` unless
            that is limited to 0 or 1.
    """

    value: float
    why: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        """One line: ``0.5 base · +0.3 tool call · -0.1 1 day old = 0.70``."""
        parts = [f"{add:+.1f} {name}" for name, add in self.why]
        total = sum(add for _, add in self.why)
        reached = "" if abs(total - self.value) < 10**-_DECIMALS else f"{total:.2f}, limited to "
        return f"{' · '.join(parts).removeprefix('+')} = {reached}{self.value:.2f}"


def score(
    message: Message,
    signals: Signals,
    *,
    from_end: int = FAR,
    days: int = 0,
    completed: bool = False,
    repeated: bool = False,
) -> Score:
    """Return the importance of a message, of its content alone if nothing else is given.

    Args:
        message: the message.
        signals: its signals.
        from_end: how many messages come after it; 0 is the newest.
        days: whole days from it to the newest message.
        completed: whether its task is complete.
        repeated: whether a later message says it again.
    """
    if message.role == "system":
        return Score(1.0, (("system prompt", 1.0),))
    recent = [(last, add) for last, add in RECENCY if from_end < last]
    parts = [
        ("base", 0.5, 1),
        ("tool call", 0.3, signals.tool_call),
        ("tool result", 0.2, signals.tool_result),
        ("constraint" if signals.constraint else "directive", 0.2, signals.directive),
        ("error", 0.3, signals.error),
        ("correction", 0.2, signals.correction),
        (_with_number(signals.references, "reference"), 0.1, signals.references),
        ("casual talk", -0.2, signals.casual),
        (f"{_with_number(days, 'day')} old", -0.1, days),
        ("task complete", -0.3, completed),
        ("said again later", -0.3, repeated),
        *((f"in the last {last}", add, 1) for last, add in recent[:1]),
    ]
    why = tuple((name, round(add * times, _DECIMALS)) for name, add, times in parts if times)
    total = round(sum(add for _, add in why), _DECIMALS)
    return Score(min(1.0, max(0.0, total)), why)


def scores(
    messages: Sequence[Message],
    *,
    completed: Container[int] = (),
    read: Callable[[Message], Signals] = signals,
) -> list[Score]:
    """Return the importance of every message of a conversation, in time linear in its length.

    Args:
        messages: the messages in order.
        completed: which messages belong to completed tasks, by their index.
        read: what gives the signals of a message, where they are known already.
    """
    newest = max((message.timestamp for message in messages), default=None)
    return [
        score(
            message,
            read(message),
            from_end=len(messages) - 1 - index,
            days=(newest - message.timestamp).days if newest else 0,
            completed=index in completed,
            repeated=again,
        )
        for index, (message, again) in enumerate(zip(messages, redundant(messages), strict=True))
    ]


def rank_values(messages: Sequence[Message], completed: int) -> list[float]:
    """Return by what messages are ranked: their scores, but for the limits of 0 and 1.

    From what each was found to be worth when it was added, so that no text is read again.

    Args:
        messages: the messages in order.
        completed: how many of the first of them belong to completed tasks.
    """
    newest = max((message.timestamp for message in messages), default=None)
    values = []
    for index, (message, again) in enumerate(zip(messages, redundant(messages), strict=True)):
        from_end = len(messages) - 1 - index
        value = 0.5 if message.importance is None else message.importance
        value -= 0.1 * ((newest - message.timestamp).days if newest else 0)
        value -= 0.3 * ((index < completed) + again)
        if from_end < FAR:
            value += next(add for last, add in RECENCY if from_end < last)
        values.append(value)
    return values


def redundant(messages: Sequence[Message]) -> list[bool]:
    """Return for each message whether a later one of the same role says the same again.

    A call is said again by a call of the same tool with the same arguments, a result by the
    same result of the same call. A text is said again by one that differs in case, spaces and
    punctuation at most, if it is long enough to mean the same at another place.
    """
    calls: dict[str, str] = {}
    keys = []
    for message in messages:
        calls.update((call.id, _call(call)) for call in message.tool_calls)
        keys.append(_statement_keys(message, calls))
    seen: set[tuple[str, ...]] = set()
    found = []
    for each in reversed(keys):
        found.append(bool(each) and seen.issuperset(each))
        seen.update(each)
    return found[::-1]


@lru_cache(maxsize=10_000)
def _write_plain(text: str) -> str:
    return _SEPARATORS.sub(" ", text.casefold()).strip()


def _statement_keys(message: Message, calls: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return what a message says, as keys: calls, result, text and pictures."""
    if message.role == "system":
        return []
    said = message.content
    if len(said) <= _FOLDED:
        said = _write_plain(said)
    if message.tool_result is not None:
        call = calls.get(message.tool_result.call_id, "")
        return [("result", call, said)] if call or len(said) >= _SUBSTANCE else []
    keys: list[tuple[str, ...]] = [("call", _call(call)) for call in message.tool_calls]
    keys += [("image", image.url) for image in message.images]
    return [*keys, (message.role, said)] if len(said) >= _SUBSTANCE else keys


def _call(call: ToolCall) -> str:
    """Return tool and arguments in one form, however the arguments are spaced and ordered."""
    try:
        arguments = json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _with_number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
