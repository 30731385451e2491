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
said again later (requirement R4.3)                -0.3
one of the last 5, else 10, else 20    +0.4, +0.2, +0.1
====================================== =====

A system prompt is worth 1.0, and no score leaves the range from 0 to 1.

The age is counted in whole days before the newest message, not before the present, so that
the same conversation always has the same scores. What is said again is worth as little as what
is finished: the later copy has all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.conversation.signals import Signals
from memoranda.model.models import Message

RECENCY = ((5, 0.4), (10, 0.2), (20, 0.1))
SUBSTANCE = 20  # characters that a text needs to be redundant: "yes" never is

_DECIMALS = 6  # sums of tenths are tenths


def score(message: Message, signals: Signals) -> float:
    """Return the importance of a message by its content alone, 0 to 1."""
    if message.role == "system":
        return 1.0
    parts = [
        (0.3, bool(message.tool_calls)),
        (0.2, message.role == "tool"),
        (0.2, signals.directive),
        (0.3, signals.error),
        (0.2, signals.correction),
        (0.1, signals.references),
        (-0.2, signals.casual),
    ]
    return round(min(1.0, max(0.0, 0.5 + sum(add * times for add, times in parts))), _DECIMALS)


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
        value += next((add for last, add in RECENCY if from_end < last), 0)
        values.append(round(value, _DECIMALS))
    return values


def redundant(messages: Sequence[Message]) -> list[bool]:
    """Return for each message whether a later one of the same role says the same again.

    A call is said again by a call of the same tool with the same arguments, a result by the
    same result of the same call. A text is said again word for word, if it is long enough to mean
    the same at another place.
    """
    calls: dict[str, tuple[str, str]] = {}
    keys = []
    for message in messages:
        made = tuple((call.name, call.arguments) for call in message.tool_calls)
        calls.update(zip((call.id for call in message.tool_calls), made, strict=True))
        answers = calls.get(message.tool_result.call_id) if message.tool_result else None
        told = message.content if answers or len(message.content) >= SUBSTANCE else ""
        key = (told, made, answers, message.images)
        keys.append((message.role, *key) if any(key) and message.role != "system" else None)
    last = {key: index for index, key in enumerate(keys)}
    return [key is not None and last[key] > index for index, key in enumerate(keys)]
