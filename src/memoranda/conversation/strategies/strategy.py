"""What a strategy is, and what it decides on: the units of a conversation, and how they belong.

All of it is a pure function of the units, and grows with them: one more unit costs the same at any
length. What only some strategies ask for, such as tasks and scores, is worked out when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol, runtime_checkable

from memoranda.conversation.scoring import Score, SignalReader, Task, scores
from memoranda.conversation.signals import Signals
from memoranda.conversation.units import Unit

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
    """What a user said and what was done about it, as numbers of units.

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
        """Tool calls with their results, and what was said between them."""
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
    """What stays, while a strategy makes up its mind: it never takes more than there is.

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
