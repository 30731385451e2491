"""What a strategy selects from, and what it selects: units, turns, tasks and scores.

What only some strategies ask for, such as scores, is worked out when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

from memoranda.conversation.live import LiveMessages
from memoranda.conversation.scoring import rank_values
from memoranda.conversation.signals import Signals
from memoranda.conversation.units import Unit

# Shares of the free tokens and messages that what binds later turns may take of them: rules,
# decisions, and mistakes with their corrections.
BINDING_TOKENS, BINDING_MESSAGES = 0.5, 0.75
CORRECTED_WITHIN = 3  # units after an error in which its correction is looked for
NEWEST = "among the newest that fit"
CURRENT = "current task"
REQUEST = "the request that the current task is about"
RULE, DECISION, MISTAKE = "a standing rule", "a decision", "a mistake and what corrected it"


@dataclass(frozen=True, slots=True)
class Task:
    """Consecutive units that belong to one task.

    Attributes:
        start: the first of them.
        end: the one after the last.
        title: as it was given or found; empty for what the conversation begins with.
    """

    start: int
    end: int
    title: str


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

    def __init__(self, units: Sequence[Unit], live: LiveMessages) -> None:
        """Choose from ``units``; ``live`` knows their messages already."""
        self.units = units
        self._live = live

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
    def _mates(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for turn in self.turns:
            found.update(dict.fromkeys(turn.pair, turn.pair))
            found.update((index, tuple(sorted((*turn.pair, index)))) for index in turn.work)
        return found

    def mates(self, index: int) -> tuple[int, ...]:
        """Return the units that stay with one: question and answer, also for work between them."""
        return self._mates.get(index, (index,))

    def signals(self, index: int) -> Signals:
        """Return the signals of a unit's first message."""
        return self._live.signals(self.units[index].head)

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks, oldest first, as ranges of units; the last is the current one."""
        titles = {0: ""} if self.units else {}
        for index, unit in enumerate(self.units):
            for message in unit.messages:
                if message.task is not None:
                    titles[index] = message.task
        places = [*titles, len(self.units)]
        return [Task(start, end, titles[start]) for start, end in pairwise(places)]

    @property
    def current(self) -> int:
        """The first unit of the current task."""
        return self.tasks[-1].start if self.tasks else 0

    @property
    def request(self) -> int | None:
        """The unit with the first request of the current task (R5.4)."""
        places = range(self.current, len(self.units))
        return next((each for each in places if self.units[each].head.role == "user"), None)

    @property
    def _finished(self) -> int:
        """How many messages belong to finished tasks."""
        return sum(len(unit.messages) for unit in self.units[: self.current])

    @cached_property
    def ranked(self) -> list[tuple[int, ...]]:
        """The groups that stay or go together, the most important first, newer before older.

        A unit is as important as its most important message.
        """
        messages = [message for unit in self.units for message in unit.messages]
        found = iter(rank_values(messages, self._finished))
        values = [max(next(found) for _ in unit.messages) for unit in self.units]
        groups = {self.mates(index): index for index in range(len(self.units))}
        return sorted(
            groups,
            key=lambda group: (max(values[index] for index in group), group[-1]),
            reverse=True,
        )

    @cached_property
    def binding(self) -> list[tuple[tuple[int, ...], str]]:
        """The groups that bind later turns, however old, each with why; the first go in first.

        Standing rules, decisions, and errors with their corrections (R5.3), of each the newest
        first.
        """
        found: dict[str, list[tuple[int, ...]]] = {RULE: [], DECISION: [], MISTAKE: []}
        for index in reversed(range(len(self.units))):
            why = self._binds(index)
            if why is not None:
                parts = [index, *(self._correction(index) if why == MISTAKE else ())]
                group = {mate for each in parts for mate in self.mates(each)}
                found[why].append(tuple(sorted(group)))
        return [(group, why) for why, groups in found.items() for group in groups]

    def _binds(self, index: int) -> str | None:
        unit, said = self.units[index], self.signals(index)
        if said.constraint and unit.head.role == "user":
            return RULE
        if said.decision:
            return DECISION
        failed = said.correction or any(self._live.signals(each).error for each in unit.messages)
        return MISTAKE if failed else None

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

    def take_binding(self, given: SelectionInput) -> None:
        """Keep the request of the current task, then what binds, within shares of what is free."""
        if given.request is not None:
            self.take(given.mates(given.request), REQUEST)
        tokens = int(self.tokens * BINDING_TOKENS)
        messages = self.messages * BINDING_MESSAGES
        for group, why in given.binding:
            more, count = self.cost(group)
            if more <= tokens and count <= messages and self.take(group, why):
                tokens -= more
                messages -= count

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
