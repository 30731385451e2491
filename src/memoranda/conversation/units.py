"""The units of a conversation, and how they belong together: what a strategy decides on.

A unit is an assistant's tool calls with their results, or one message. A provider refuses a call
without its result and a result without its call, so no strategy ever sees them apart. All of this
is a pure function of the messages, and grows with them: one more costs the same at any length.
What only some strategies ask for, such as tasks and scores, is worked out when asked for.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Protocol, runtime_checkable

from memoranda.conversation.scoring import Score, scores
from memoranda.conversation.segments import Segmenter
from memoranda.conversation.signals import Signals, signals
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
        """The position of its first message in the transcript."""
        return self.messages[0].position or 0

    @property
    def end(self) -> int:
        """The position after its messages, if these stand together."""
        return self.position + len(self.messages)

    @property
    def together(self) -> bool:
        """Whether its messages are consecutive and in order."""
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


@dataclass(frozen=True, slots=True)
class Task:
    """Consecutive units that belong to one task.

    Attributes:
        start: the first of them.
        end: the one after the last.
        completed: whether the task is done.
    """

    start: int
    end: int
    completed: bool


class SignalReader:
    """Reads each message once: signals by message, tasks by unit. Not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._signals: dict[str, Signals] = {}
        self._start_over()

    def _start_over(self) -> None:
        self._segmenter = Segmenter(read=self.signals)
        self._units: list[Unit] = []
        self._starts: list[int] = []
        self._done: list[bool] = []  # after each unit, whether its task was said to be complete

    def signals(self, message: Message) -> Signals:
        """Return the signals of a message."""
        known = self._signals.get(message.id)
        if known is None:
            known = self._signals[message.id] = signals(message)
        return known

    def keep(self, messages: Collection[Message]) -> None:
        """Forget what was read of all other messages."""
        ids = {message.id for message in messages}
        self._signals = {key: said for key, said in self._signals.items() if key in ids}

    def tasks(self, units: Sequence[Unit]) -> list[Task]:
        """Return the tasks of units. A task ends only where a message says so (R5.1)."""
        self._read_on(units)
        starts = [0, *(start for start in self._starts if 0 < start < len(units)), len(units)]
        return [
            Task(start, end, end < len(units) or self._done[end - 1])
            for start, end in pairwise(starts)
            if end > start
        ]

    def _read_on(self, units: Sequence[Unit]) -> None:
        known = min(len(units), len(self._units))
        if known and units[known - 1] is not self._units[known - 1]:
            # Units only come at the end; else they were all made anew.
            self._start_over()
        for unit in units[len(self._units) :]:
            strong = False
            for message in unit.messages:
                boundary = self._segmenter.add(message)
                strong = strong or (boundary is not None and boundary.strong)
            if strong:
                self._starts.append(len(self._units))
            self._units.append(unit)
            self._done.append(self._segmenter.completed)


KEPT_WHEN_OLD = 0.2  # share of the free tokens for mistakes and standing rules of old tasks
CORRECTED_WITHIN = 3  # units after an error in which its correction is looked for


@runtime_checkable
class Strategy(Protocol):
    """Chooses what stays in a view, beside what stays in any case: a pure function.

    Attributes:
        name: as receipts say it.
        description: what it keeps, to follow the words "NAME keeps".
        pairs: whether question and answer go together, at most ``max_messages`` stay and the last
            request does; else messages are chosen one by one, by their tokens alone.
    """

    name: str
    description: str
    pairs: bool

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Take into ``selection``, which holds what stays in any case, what else may stay."""


class UserTurn:
    """A user's message and the reaction to it, as indexes of units.

    Attributes:
        asked: the user's message; what precedes the first is a turn without one.
        rest: what follows it, up to the next.
    """

    __slots__ = ("asked", "ends_in_words", "rest")

    def __init__(self, asked: tuple[int, ...]) -> None:
        """Begin with the question."""
        self.asked = asked
        self.rest: list[int] = []
        self.ends_in_words = False

    @property
    def work(self) -> Sequence[int]:
        """Tool calls with their results, and the messages between them."""
        return self.rest[:-1] if self.ends_in_words else self.rest

    @property
    def pair(self) -> tuple[int, ...]:
        """Question and final answer, which go together (R3.5)."""
        return (*self.asked, *(self.rest[-1:] if self.ends_in_words else ()))

    @property
    def all(self) -> tuple[int, ...]:
        """Everything of it, in order."""
        return (*self.asked, *self.rest)


class SelectionInput:
    """The units to choose from, in order, and what is known of them. Not thread-safe.

    Attributes:
        units: the units.
        turns: the turns, oldest first.
    """

    def __init__(self, units: Sequence[Unit], reader: SignalReader) -> None:
        """Choose from ``units``; ``reader`` knows their messages already."""
        self.units = units
        self.turns: list[UserTurn] = []
        self._reader = reader
        self._turn_of: list[int] = []
        self._scores: list[Score] = []
        self._ranked: list[tuple[int, ...]] = []
        self._notable: list[int] = []
        self._searched = 0
        self.grow()

    def grow(self) -> None:
        """Take in the units that were added since."""
        for index in range(len(self._turn_of), len(self.units)):
            unit = self.units[index]
            asks = unit.head.role == "user"
            if asks or not self.turns:
                self.turns.append(UserTurn((index,) if asks else ()))
            turn = self.turns[-1]
            self._turn_of.append(len(self.turns) - 1)
            if not asks and unit.head.role != "system":
                turn.rest.append(index)
                turn.ends_in_words = not unit.head.tool_calls
            self._scores, self._ranked = [], []

    def mates(self, index: int) -> tuple[int, ...]:
        """Return the units that stay or go with one: question and answer; else it alone."""
        pair = self.turns[self._turn_of[index]].pair
        return pair if index in pair else (index,)

    @property
    def ranked(self) -> list[tuple[int, ...]]:
        """The groups that stay or go together, the most important first, newer before older."""
        if not self._ranked:
            values = [score.value for score in self.scores]
            groups = [self.mates(index) for index in range(len(self.units))]
            self._ranked = sorted(
                (group for index, group in enumerate(groups) if group[0] == index),
                key=lambda group: (max(values[index] for index in group), group[-1]),
                reverse=True,
            )
        return self._ranked

    def signals(self, index: int) -> Signals:
        """Return the signals of a unit's first message."""
        return self._reader.signals(self.units[index].head)

    @property
    def tasks(self) -> list[Task]:
        """The tasks, oldest first, as ranges of units; the last is the current one."""
        return self._reader.tasks(self.units)

    @property
    def current(self) -> int:
        """The first unit of the current task."""
        tasks = self.tasks
        return tasks[-1].start if tasks else 0

    @property
    def scores(self) -> list[Score]:
        """The importance of each unit: that of its most important message."""
        if not self._scores:
            finished = {
                index
                for task in self.tasks
                if task.completed
                for index in range(task.start, task.end)
            }
            messages = [message for unit in self.units for message in unit.messages]
            owner = [index for index, unit in enumerate(self.units) for _ in unit.messages]
            every = scores(
                messages,
                completed=lambda place: owner[place] in finished,
                read=self._reader.signals,
            )
            together = groupby(zip(owner, every, strict=True), key=lambda pair: pair[0])
            self._scores = [
                max((item[1] for item in group), key=lambda score: score.value)
                for _, group in together
            ]
        return self._scores

    @property
    def kept_when_old(self) -> list[tuple[int, ...]]:
        """Groups that stay when old: errors with their corrections (R5.3), standing rules."""
        for index in range(self._searched, len(self.units)):
            if self._failed(index) or self._corrects(index):
                self._notable.append(index)
        self._searched = len(self.units)
        groups = ([index, *self._correction(index)] for index in self._notable)
        return [tuple(sorted({m for each in group for m in self.mates(each)})) for group in groups]

    def _failed(self, index: int) -> bool:
        return any(self._reader.signals(message).error for message in self.units[index].messages)

    def _corrects(self, index: int) -> bool:
        said = self.signals(index)
        return said.correction or (said.constraint and self.units[index].head.role == "user")

    def _correction(self, index: int) -> list[int]:
        if not self._failed(index):
            return []
        names = {call.name for call in self.units[index].head.tool_calls}
        for later in range(index + 1, min(index + 1 + CORRECTED_WITHIN, len(self.units))):
            again = names & {call.name for call in self.units[later].head.tool_calls}
            if again or self.signals(later).correction:
                return [later]
        return []


class Selection:
    """The units selected so far by a strategy; it never exceeds the room there is.

    Attributes:
        kept: which units stay.
        tokens: how many tokens are free.
        messages: how many messages may still come.
    """

    def __init__(
        self, units: Sequence[Unit], must: Iterable[int], tokens: int, messages: float
    ) -> None:
        """Start with what must stay; ``tokens`` and ``messages`` are what is free beside it."""
        self.kept = set(must)
        self.tokens = tokens
        self.messages = messages
        self._units = units

    def cost(self, group: Iterable[int]) -> tuple[int, int]:
        """Return the tokens and messages that a group adds."""
        new = [self._units[index] for index in group if index not in self.kept]
        return sum(unit.tokens for unit in new), sum(len(unit.messages) for unit in new)

    def take(self, group: Iterable[int]) -> bool:
        """Keep the whole group, if there is room; return whether it is kept."""
        members = tuple(group)
        tokens, messages = self.cost(members)
        if tokens > self.tokens or messages > self.messages:
            return False
        self.tokens -= tokens
        self.messages -= messages
        self.kept.update(members)
        return True

    def take_old(self, groups: Sequence[Sequence[int]], share: float = KEPT_WHEN_OLD) -> None:
        """Keep the newest of the groups within a share of what is free."""
        tokens, messages = int(self.tokens * share), self.messages * share
        for group in reversed(groups):
            more, count = self.cost(group)
            if more <= tokens and count <= messages and self.take(group):
                tokens -= more
                messages -= count
            if tokens <= 0:
                return

    def take_turns(self, turns: Sequence[UserTurn]) -> bool:
        """Keep turns from the newest back until one does not fit; return whether all did.

        Of the first turn that does not fit whole, question and answer stay if these fit, with as
        much of the newest work between them as there is room for. Work that alone exceeds half of
        the room is passed over, so that one long result does not take out all that was said
        before it.
        """
        large, whole = self.tokens / 2, True
        for turn in reversed(turns):
            if self.take(turn.all):
                continue
            whole = False
            if not self.take(turn.pair):
                return False
            for index in reversed(turn.work):
                if not self.take([index]) and self.cost([index])[0] <= large:
                    return False
        return whole

    def take_current(self, given: SelectionInput) -> bool:
        """Keep the most important groups of the current task; return whether all of them fit."""
        start = given.current
        current = [group for group in given.ranked if group[-1] >= start]
        return sum(self.take(group) for group in current) == len(current)
