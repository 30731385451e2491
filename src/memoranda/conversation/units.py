"""Units: the messages of a conversation, grouped so that none is parted from what it needs.

A provider refuses a call without its results and a result without its call, so both are one unit;
so are the items of one answer, and a model's reasoning with what it led to. Every other message is
a unit of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoranda.conversation.formats.raw import continues, is_opening, is_reasoning
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
    head = every[0] if len(every) == 1 else next(calling, None) or next(saying, every[0])
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
        tokens: of all units.
        messages: how many all units have.
    """

    units: Sequence[Unit]
    orphans: tuple[Message, ...]
    waiting: tuple[Message, ...]
    tokens: int
    messages: int


class UnitBuilder:
    """Groups messages that are added one after the other. Not thread-safe.

    A result finds its call by the call's id, also when something was said in between: the unit
    then stands where the call does. What fits nowhere is an orphan, and never holds up the rest.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Start with these messages."""
        self._units: list[Unit] = []
        self._tokens = self._messages = 0
        self._exchanges: list[list[Message]] = []  # calls without all of their results
        self._called: dict[str, list[Message]] = {}  # these, by the ids of results to come
        self._orphans: list[Message] = []
        self._reasoning: list[Message] = []  # the newest, which may lead to something yet
        self._answer: list[Message] = []  # the newest answer, where it may go on
        self._grouping: Grouping | None = None
        for message in messages:
            self.add(message)

    def add(self, message: Message) -> None:
        """Add the message that comes next."""
        self._grouping = None
        may_go_on = message.role == "assistant" and message.raw is not None
        if may_go_on and self._continues(message):
            self._answer.append(message)
            return
        if self._answer:
            self._place(self._answer)
        self._answer = [message] if may_go_on else []
        if not may_go_on:
            self._place([message])

    def group(self) -> Grouping:
        """Return the messages so far as units, as if the newest answer did not go on."""
        if self._grouping is None:
            parts = dict(vars(self))
            if self._answer:  # It may still go on: what comes of it now is not kept.
                self._units, self._exchanges = list(self._units), list(self._exchanges)
                self._called, self._orphans = dict(self._called), list(self._orphans)
                self._place(self._answer)
            waits = self._open_exchange()
            halves = [each for each in self._exchanges if each is not waits]
            orphans = [*self._orphans, *(item for each in halves for item in each)]
            self._grouping = Grouping(
                units=self._units,
                orphans=tuple(sorted(orphans, key=place_of)),
                waiting=(*waits, *self._reasoning),
                tokens=self._tokens,
                messages=self._messages,
            )
            if self._answer:
                vars(self).update(parts, _grouping=self._grouping)
        return self._grouping

    def _continues(self, message: Message) -> bool:
        if not self._answer or not continues(self._answer[-1], message):
            return False
        # Two calls under one id cannot both be answered in a way that a provider takes.
        ids = [call.id for item in (*self._answer, message) for call in item.tool_calls]
        return len(set(ids)) == len(ids)

    def _place(self, answer: Sequence[Message]) -> None:
        """Put an answer, or any other message, where it belongs."""
        self._orphans += self._reasoning
        settled = list(answer)
        while settled and settled[-1].raw is not None and is_reasoning(settled[-1]):
            settled.pop()
        self._reasoning = list(answer[len(settled) :])
        calls = [call.id for item in settled for call in item.tool_calls]
        if calls and len(set(calls)) < len(calls):
            self._orphans += settled
        elif calls:
            self._exchanges.append(settled)
            self._called.update(dict.fromkeys(calls, settled))
        elif settled and (settled[0].tool_result is not None or settled[0].role == "tool"):
            self._give_result(settled[0])
        elif settled:
            self._keep(unit_of(settled))

    def _give_result(self, message: Message) -> None:
        result = message.tool_result
        exchange = self._called.pop(result.call_id, None) if result is not None else None
        if exchange is None:
            self._orphans.append(message)
            return
        exchange.append(message)
        calls = sum(len(item.tool_calls) for item in exchange)
        if calls == sum(item.role == "tool" for item in exchange):
            self._exchanges = [each for each in self._exchanges if each is not exchange]
            self._keep(unit_of(exchange))

    def _keep(self, unit: Unit) -> None:
        late = bool(self._units) and self._units[-1].position > unit.position
        self._units.append(unit)
        self._tokens += unit.tokens
        self._messages += len(unit.messages)
        if late:
            self._units.sort(key=lambda each: each.position)

    def _open_exchange(self) -> list[Message]:
        last = self._exchanges[-1] if self._exchanges else []
        newest = self._units[-1].messages[-1] if self._units else None
        passed = last and newest is not None and place_of(newest) > place_of(last[0])
        return [] if passed else last
