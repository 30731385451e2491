"""Units: the messages of a conversation, grouped so that none is parted from what it needs.

A provider refuses a call without its results and a result without its call, so both are one unit;
so are the items of one answer, and a model's reasoning with what it led to. Every other message is
a unit of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from memoranda.conversation.formats.parse import continues, is_opening, is_reasoning
from memoranda.conversation.transcript import place_of
from memoranda.model.models import Message


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages, in order, that cannot be parted; most often a single one.

    Attributes:
        head: the message that the others answer.
        messages: a call and then its results, or one message.
        position: of its first message in the transcript.
        tokens: the tokens of all of them.
        fixed: whether it stays whatever happens: a system message or a pinned one.
    """

    head: Message
    messages: tuple[Message, ...]
    position: int
    tokens: int
    fixed: bool


def unit_of(messages: Iterable[Message]) -> Unit:
    """Return the unit that these messages are."""
    every = tuple(messages)
    tokens = sum(message.tokens for message in every)
    fixed = any(message.pinned or message.role == "system" for message in every)
    calling = (message for message in every if message.tool_calls)
    saying = (message for message in every if not is_opening(message))
    head = next(calling, None) or next(saying, every[0])
    return Unit(head, every, place_of(every[0]), tokens, fixed)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Messages as units.

    Attributes:
        units: the units, in order.
        orphans: calls without all their results, results without a call, and reasoning that led
            to nothing.
        waiting: the newest call with the results that are there, while others are to come, and
            reasoning that may lead to something yet.
    """

    units: Sequence[Unit]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]


def group_units(messages: Iterable[Message]) -> Grouping:
    """Return messages as units.

    A result finds its call by the call's id, also when something was said in between: the unit
    then stands where the call does. What fits nowhere is an orphan, and never holds up the rest.
    """
    parts: list[list[Message]] = []  # what stands together, in the order of its first message
    called: dict[str, list[Message]] = {}  # of these the calls, by the ids of results to come
    again: list[list[Message]] = []  # calls of which one was called anew before its result
    orphans: list[Message] = []
    reasoning: list[Message] = []  # the newest, which may lead to something yet
    for answer in _answers(messages):
        orphans += reasoning
        reasoning = list(takewhile(is_reasoning, reversed(answer)))[::-1]
        settled = answer[: len(answer) - len(reasoning)]
        calls = [call.id for item in settled for call in item.tool_calls]
        if settled and (settled[0].tool_result is not None or settled[0].role == "tool"):
            result = settled[0].tool_result
            called.pop(result.call_id if result else "", orphans).append(settled[0])
        elif len(set(calls)) < len(calls):
            orphans += settled
        elif settled:
            parts.append(settled)
            again += [called[name] for name in calls if name in called]
            called.update(dict.fromkeys(calls, settled))
    open_calls = {id(part) for part in (*called.values(), *again)}
    units = [unit_of(part) for part in parts if id(part) not in open_calls]
    torn = [part for part in parts if id(part) in open_calls]
    ends = [place_of(unit.messages[-1]) for unit in units[-1:]]
    # Who went on to something else waits for no result any more.
    waiting = torn.pop() if torn and place_of(torn[-1][0]) > max(ends, default=-1) else []
    orphans += [message for part in torn for message in part]
    return Grouping(
        units=units, orphans=tuple(sorted(orphans, key=place_of)), waiting=(*waiting, *reasoning)
    )


def _answers(messages: Iterable[Message]) -> list[list[Message]]:
    """Return messages one by one, but the items of one answer together."""
    answers: list[list[Message]] = []
    for message in messages:
        if answers and continues(answers[-1][-1], message):
            answers[-1].append(message)
        else:
            answers.append([message])
    return answers
