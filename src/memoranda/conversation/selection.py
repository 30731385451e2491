"""What a strategy selects from, and what it selects: units, turns, tasks and scores.

A unit is an assistant's tool calls with their results, or one message. A provider refuses a call
without its result and a result without its call, so no strategy ever sees them apart. What only
some strategies ask for, such as tasks and scores, is worked out when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

from memoranda.conversation.scoring import scores
from memoranda.conversation.segments import START, Boundary, find_boundaries, is_completed
from memoranda.conversation.signals import Signals
from memoranda.model.models import Message

KEPT_WHEN_OLD = 0.2  # share of the free tokens for mistakes and standing rules of old tasks
CORRECTED_WITHIN = 3  # units after an error in which its correction is looked for
NEWEST = "among the newest that fit"
CURRENT = "current task"


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


@dataclass(frozen=True, slots=True)
class Task:
    """Consecutive units that belong to one task.

    Attributes:
        start: the first of them.
        end: the one after the last.
        completed: whether the task is done: the next one began, or one of its last messages says
            so.
        boundary: why it begins here.
    """

    start: int
    end: int
    completed: bool
    boundary: Boundary


class TaskReader:
    """Finds the tasks of units, reading each once as they come. Not thread-safe.

    Args:
        read: returns the signals of a message.
    """

    def __init__(self, read: Callable[[Message], Signals]) -> None:
        """Start with nothing read."""
        self.read = read
        self._start_over()

    def _start_over(self) -> None:
        self._messages: list[Message] = []
        self._units: list[Unit] = []
        self._starts: dict[int, Boundary] = {}
        self._done: list[bool] = []  # after each unit, whether its task was said to be complete

    def tasks(self, units: Sequence[Unit]) -> list[Task]:
        """Return the tasks of units. A task ends only where a message says so (R5.1)."""
        known = min(len(units), len(self._units))
        if known and units[known - 1] is not self._units[known - 1]:
            # Units only come at the end; else they were all made anew.
            self._start_over()
        for unit in units[len(self._units) :]:
            new = len(self._messages)
            self._messages += unit.messages
            for _, boundary in find_boundaries(self._messages, new, self.read):
                self._starts[len(self._units)] = boundary
            self._units.append(unit)
            self._done.append(is_completed(self._messages, self.read))
        starts = {0: START} | self._starts
        places = [*(start for start in starts if start < len(units)), len(units)]
        return [
            Task(start, end, end < len(units) or self._done[end - 1], starts[start])
            for start, end in pairwise(places)
        ]


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


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A user's message and the reaction to it, as indexes of units.

    Attributes:
        asked: the user's message; what precedes the first is a turn without one.
        work: tool calls with their results, and the messages between them.
        answer: the final answer in words.
    """

    asked: tuple[int, ...]
    work: tuple[int, ...]
    answer: tuple[int, ...]

    @property
    def pair(self) -> tuple[int, ...]:
        """Question and final answer, which go together (R3.5)."""
        return self.asked + self.answer

    @property
    def all(self) -> tuple[int, ...]:
        """Everything of it, in order."""
        return self.asked + self.work + self.answer


class SelectionInput:
    """The units to choose from, in order, and what is known of them. Not thread-safe."""

    def __init__(self, units: Sequence[Unit], reader: TaskReader) -> None:
        """Choose from ``units``; ``reader`` knows their messages already."""
        self.units = units
        self._reader = reader

    @cached_property
    def turns(self) -> list[UserTurn]:
        """The turns, oldest first."""
        units = self.units
        asked = {index for index, unit in enumerate(units) if unit.head.role == "user"}
        found = []
        for start, end in pairwise(sorted({0, *asked, len(units)})):
            first = start + (start in asked)
            rest = [index for index in range(first, end) if units[index].head.role != "system"]
            spoken = len(rest) - 1 if rest and not units[rest[-1]].head.tool_calls else len(rest)
            turn = UserTurn(tuple(range(start, first)), tuple(rest[:spoken]), tuple(rest[spoken:]))
            found.append(turn)
        return found

    @cached_property
    def _pairs(self) -> dict[int, tuple[int, ...]]:
        return {index: turn.pair for turn in self.turns for index in turn.pair}

    def mates(self, index: int) -> tuple[int, ...]:
        """Return the units that stay or go with one: question and answer; else it alone."""
        return self._pairs.get(index, (index,))

    def signals(self, index: int) -> Signals:
        """Return the signals of a unit's first message."""
        return self._reader.read(self.units[index].head)

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks, oldest first, as ranges of units; the last is the current one."""
        return self._reader.tasks(self.units)

    @property
    def current(self) -> int:
        """The first unit of the current task."""
        return self.tasks[-1].start if self.tasks else 0

    @property
    def finished(self) -> set[int]:
        """The units of completed tasks."""
        done = (task for task in self.tasks if task.completed)
        return {index for task in done for index in range(task.start, task.end)}

    @cached_property
    def ranked(self) -> list[tuple[int, ...]]:
        """The groups that stay or go together, the most important first, newer before older.

        A unit is as important as its most important message.
        """
        units, done = self.units, self.finished
        owners = [index for index, unit in enumerate(units) for _ in unit.messages]
        found = scores(
            [message for unit in units for message in unit.messages],
            completed={place for place, owner in enumerate(owners) if owner in done},
            read=self._reader.read,
        )
        values = [0.0] * len(units)
        for owner, score in zip(owners, found, strict=True):
            values[owner] = max(values[owner], score.value)
        groups = {self.mates(index) for index in range(len(units))}
        return sorted(
            groups,
            key=lambda group: (max(values[index] for index in group), group[-1]),
            reverse=True,
        )

    @cached_property
    def kept_when_old(self) -> list[tuple[tuple[int, ...], str]]:
        """Groups that stay when old, and why: errors with corrections (R5.3), standing rules."""
        found = []
        for index, unit in enumerate(self.units):
            said = self.signals(index)
            failed = any(self._reader.read(message).error for message in unit.messages)
            rule = said.constraint and unit.head.role == "user"
            if failed or said.correction or rule:
                parts = [index, *(self._correction(index) if failed else ())]
                group = sorted({mate for each in parts for mate in self.mates(each)})
                mistake = failed or said.correction
                why = "an old mistake and what corrected it" if mistake else "a standing rule"
                found.append((tuple(group), why))
        return found

    def _correction(self, index: int) -> Sequence[int]:
        names = {call.name for call in self.units[index].head.tool_calls}
        for later in range(index + 1, min(index + 1 + CORRECTED_WITHIN, len(self.units))):
            again = names & {call.name for call in self.units[later].head.tool_calls}
            if again or self.signals(later).correction:
                return [later]
        return []


class Selection:
    """The units selected so far by a strategy; it never exceeds the room there is.

    Attributes:
        kept: which units stay, each with why.
        tokens: how many tokens are free.
        messages: how many messages may still come.
    """

    def __init__(
        self, units: Sequence[Unit], must: Mapping[int, str], tokens: int, messages: float
    ) -> None:
        """Start with what must stay; ``tokens`` and ``messages`` are what is free beside it."""
        self.kept = dict(must)
        self.tokens = tokens
        self.messages = messages
        self._units = units

    def cost(self, group: Iterable[int]) -> tuple[int, int]:
        """Return the tokens and messages that a group adds."""
        new = [self._units[index] for index in group if index not in self.kept]
        return sum(unit.tokens for unit in new), sum(len(unit.messages) for unit in new)

    def take(self, group: Sequence[int], why: str = "the strategy keeps it") -> bool:
        """Keep the whole group, if there is room; return whether it is kept."""
        tokens, messages = self.cost(group)
        if tokens > self.tokens or messages > self.messages:
            return False
        self.tokens -= tokens
        self.messages -= messages
        for index in group:
            self.kept.setdefault(index, why)
        return True

    def take_old(self, given: SelectionInput) -> None:
        """Keep the newest of what stays when old, within a share of what is free."""
        tokens, messages = int(self.tokens * KEPT_WHEN_OLD), self.messages * KEPT_WHEN_OLD
        for group, why in reversed(given.kept_when_old):
            more, count = self.cost(group)
            if more <= tokens and count <= messages and self.take(group, why):
                tokens -= more
                messages -= count
            if tokens <= 0:
                return

    def take_turns(self, turns: Sequence[UserTurn], why: str) -> None:
        """Keep turns from the newest back until one does not fit.

        Of the first turn that does not fit whole, question and answer stay if these fit, with as
        much of the newest work between them as there is room for. Work that alone exceeds half of
        the room is passed over, so that one long result does not take out all that was said
        before it.
        """
        large = self.tokens / 2
        for turn in reversed(turns):
            if self.take(turn.all, why):
                continue
            if not self.take(turn.pair, why):
                return
            for index in reversed(turn.work):
                if not self.take([index], why) and self.cost([index])[0] <= large:
                    return

    def take_current(self, given: SelectionInput) -> bool:
        """Keep the most important groups of the current task; return whether all of them fit."""
        start = given.current
        current = [group for group in given.ranked if group[-1] >= start]
        return sum(self.take(group, CURRENT) for group in current) == len(current)
