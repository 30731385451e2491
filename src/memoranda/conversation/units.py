"""Messages that stay or go together: an assistant's tool calls and their results.

A provider refuses a call without its result and a result without its call, so no strategy
ever sees them apart.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field

from memoranda.model.models import Message


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages, in order, that cannot be parted; most often a single one.

    Attributes:
        messages: a call and then its results, or one message.
        tokens: the tokens of all of them.
        fixed: whether it stays whatever happens: a system message or a pinned one.
    """

    messages: tuple[Message, ...]
    tokens: int
    fixed: bool

    @classmethod
    def of(cls, *messages: Message) -> Unit:
        """Return the unit of these messages."""
        tokens = sum(message.tokens for message in messages)
        return cls(messages, tokens, any(_stays(message) for message in messages))

    @property
    def head(self) -> Message:
        """The message that the others answer."""
        return self.messages[0]

    @property
    def position(self) -> int:
        """Where it begins in the transcript."""
        return self.messages[0].position or 0

    @property
    def end(self) -> int:
        """The position after its messages, if these stand together."""
        return self.position + len(self.messages)

    @property
    def together(self) -> bool:
        """Whether its messages stand together and in order: nothing was said in between."""
        places = [message.position for message in self.messages]
        return places == list(range(self.position, self.end))


def _stays(message: Message) -> bool:
    return message.pinned or message.role == "system"


@dataclass(slots=True)
class _Exchange:
    """A call, and the results that have come so far."""

    call: Message
    results: dict[str, Message] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return len(self.results) == len(self.call.tool_calls)


class Grouping:
    """Groups messages into units as they come. Not thread-safe.

    A result finds its call by the call's id, also when something was said in between or
    other calls were made within: the unit then stands where the call does. What fits
    nowhere is left out, and never holds up the rest.

    Attributes:
        units: the units in order.
        fixed: which of them stay whatever happens.
        tokens_before: for each unit, and after the last, the tokens of all before it.
        messages_before: the same for their messages.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Start with ``messages``, which have positions."""
        self.units: list[Unit] = []
        self.fixed: list[int] = []
        self.tokens_before = [0]
        self.messages_before = [0]
        self._apart = 0
        self._open: dict[str, _Exchange] = {}
        self._pending: list[_Exchange] = []
        self._strays: list[Message] = []
        self.extend(messages)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages that come after those before."""
        for message in messages:
            if message.tool_calls:
                self._call(message)
            elif message.tool_result is not None or message.role == "tool":
                self._result(message)
            else:
                self._keep(Unit.of(message))

    @property
    def tokens(self) -> int:
        """The tokens of all units."""
        return self.tokens_before[-1]

    @property
    def messages(self) -> int:
        """How many messages all units have."""
        return self.messages_before[-1]

    @property
    def fixed_tokens(self) -> int:
        """The tokens of the units that stay whatever happens."""
        return sum(self.units[index].tokens for index in self.fixed)

    @property
    def regular(self) -> bool:
        """Whether all messages are in units that stand in the order of their messages."""
        return not (self._apart or self._pending or self._strays)

    def waiting(self) -> list[Message]:
        """Return the newest call whose results are still to come, with those that are there."""
        if not self._pending:
            return []
        last = self._pending[-1]
        newest = self.units[-1].messages if self.units else ()
        if newest and max(_place(message) for message in newest) > _place(last.call):
            return []
        return [last.call, *last.results.values()]

    def orphans(self) -> list[Message]:
        """Return calls without all their results and results without a call, in order."""
        waiting = {message.id for message in self.waiting()}
        halves = [
            message
            for exchange in self._pending
            for message in (exchange.call, *exchange.results.values())
            if message.id not in waiting
        ]
        return sorted([*self._strays, *halves], key=_place)

    def first(self, count: int) -> Grouping:
        """Return the grouping of the first ``count`` units; it is not to be extended."""
        fewer = copy(self)
        fewer.units = self.units[:count]
        fewer.fixed = [index for index in self.fixed if index < count]
        fewer.tokens_before = self.tokens_before[: count + 1]
        fewer.messages_before = self.messages_before[: count + 1]
        return fewer

    def _call(self, message: Message) -> None:
        exchange = _Exchange(message)
        ids = {call.id for call in message.tool_calls}
        if len(ids) < len(message.tool_calls):
            # Two calls under one id cannot both be answered in a way that a provider takes.
            self._strays.append(message)
            return
        self._pending.append(exchange)
        self._open.update(dict.fromkeys(ids, exchange))

    def _result(self, message: Message) -> None:
        answered = message.tool_result.call_id if message.tool_result else ""
        exchange = self._open.get(answered)
        if message.tool_result is None or exchange is None or answered in exchange.results:
            self._strays.append(message)
            return
        exchange.results[answered] = message
        if exchange.complete:
            self._pending.remove(exchange)
            for call in exchange.call.tool_calls:
                if self._open.get(call.id) is exchange:
                    del self._open[call.id]
            self._keep(Unit.of(exchange.call, *exchange.results.values()))

    def _keep(self, unit: Unit) -> None:
        self._apart += not unit.together
        if self.units and self.units[-1].position > unit.position:
            insort(self.units, unit, key=_begin)
            known, self.units = self.units, []
            self.fixed, self.tokens_before, self.messages_before = [], [0], [0]
            for each in known:
                self._put(each)
        else:
            self._put(unit)

    def _put(self, unit: Unit) -> None:
        if unit.fixed:
            self.fixed.append(len(self.units))
        self.units.append(unit)
        self.tokens_before.append(self.tokens_before[-1] + unit.tokens)
        self.messages_before.append(self.messages_before[-1] + len(unit.messages))


def units(messages: Sequence[Message]) -> tuple[list[Unit], list[Message]]:
    """Return the units of a transcript in order, and the tool messages that fit nowhere."""
    grouping = Grouping(messages)
    return grouping.units, sorted([*grouping.orphans(), *grouping.waiting()], key=_place)


def _begin(unit: Unit) -> int:
    return unit.position


def _place(message: Message) -> int:
    return message.position or 0
