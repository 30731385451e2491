"""What a strategy selects from, and what it selects: units, turns, tasks and scores.

What only some strategies ask for, such as scores, is worked out when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

from memoranda.conversation.live import LiveMessages
from memoranda.conversation.scoring import rank_values

# Shares of the free tokens and messages that mistakes with their corrections may take of them.
BINDING_TOKENS, BINDING_MESSAGES = 0.5, 0.75
CORRECTED_WITHIN = 3  # units after an error in which its correction is looked for
NEWEST = "among the newest that fit"
CURRENT = "current task"
MISTAKE = "a mistake and what corrected it"


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
    pairs: bool = True

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Take into ``selection``, which holds what stays in any case, what else may stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: one of ``STRATEGIES``, or a caller's own.
        max_messages: most messages in a view of which some are out, beside those that must stay
            (requirement R8.1).
        keep_recent: how many of the newest stay while they fit (requirements R3.3, R8.4).
        prune_to: share of a budget that is filled again where it is exceeded.
        always: whether the strategy also chooses where everything fits.
    """

    strategy: Strategy
    max_messages: int = 50
    keep_recent: int = 10
    prune_to: float = 1.0
    always: bool = False

    @property
    def messages(self) -> float:
        """Most messages in a view; a strategy without pairs counts tokens alone."""
        return self.max_messages if self.strategy.pairs else float("inf")


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
        """Question and final answer, which go together (requirement R3.5)."""
        return self.asked + self.answer

    @property
    def all(self) -> tuple[int, ...]:
        """Everything of it, in order."""
        return self.asked + self.work + self.answer


class SelectionInput:
    """The units to choose from, in order, and what is known of them. Not thread-safe."""

    def __init__(self, live: LiveMessages, policy: Policy, until: int | None = None) -> None:
        """Choose from the units of the live messages, or only from the first ``until`` of them."""
        self.units, self.live, self.policy = live.group().units[:until], live, policy

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
        return self._mates.get(index, (index,)) if self.policy.strategy.pairs else (index,)

    @cached_property
    def essential(self) -> dict[int, str]:
        """The units that come first, each with why: fixed ones, the newest, the last request.

        With those that they belong to, where the strategy keeps question and answer together.
        """
        left = self.policy.keep_recent
        must = {index: "always in" for index, unit in enumerate(self.units) if unit.fixed}
        for index in reversed(range(len(self.units))):
            if left <= 0:
                break
            must.setdefault(index, f"among the {self.policy.keep_recent} newest")
            left -= len(self.units[index].messages)
        if self.last_request is not None and self.policy.keep_recent:
            must.setdefault(self.last_request, "the last request")
        for index in list(must):
            for mate in self.mates(index):
                why = f"question and answer stay together: #{self.units[index].position}"
                must.setdefault(mate, why)
        return must

    @property
    def last_request(self) -> int | None:
        """The unit of the user's last message, where the strategy keeps it."""
        places = reversed(range(len(self.units))) if self.policy.strategy.pairs else ()
        return next((index for index in places if self.units[index].head.role == "user"), None)

    @cached_property
    def tasks(self) -> list[range]:
        """The tasks, oldest first, as ranges of units; the last is the current one."""
        starts = {0} if self.units else set()
        starts |= {
            index
            for index, unit in enumerate(self.units)
            if any(message.task is not None for message in unit.messages)
        }
        return [range(*ends) for ends in pairwise([*sorted(starts), len(self.units)])]

    @property
    def current(self) -> int:
        """The first unit of the current task."""
        return self.tasks[-1].start if self.tasks else 0

    @property
    def request(self) -> int | None:
        """The unit with the first request of the current task (requirement R5.4)."""
        places = range(self.current, len(self.units))
        return next((each for each in places if self.units[each].head.role == "user"), None)

    @cached_property
    def ranked(self) -> list[tuple[int, ...]]:
        """The groups that stay or go together, the most important first, newer before older.

        A unit is as important as its most important message.
        """
        messages = [message for unit in self.units for message in unit.messages]
        finished = sum(len(unit.messages) for unit in self.units[: self.current])
        found = iter(rank_values(messages, finished))
        values = [max(next(found) for _ in unit.messages) for unit in self.units]
        return sorted(
            {self.mates(index) for index in range(len(self.units))},
            key=lambda group: (max(values[index] for index in group), group[-1]),
            reverse=True,
        )

    @cached_property
    def mistakes(self) -> list[tuple[int, ...]]:
        """The groups of errors with their corrections, the newest first (requirement R5.3)."""
        found = []
        for index in reversed(range(len(self.units))):
            unit = self.units[index]
            failed = any(self.live.signals(each).error for each in unit.messages)
            if failed or self.live.signals(unit.head).correction:
                parts = [index, *self._correction(index)]
                found.append(tuple(sorted({mate for each in parts for mate in self.mates(each)})))
        return found

    def _correction(self, index: int) -> Sequence[int]:
        names = {call.name for call in self.units[index].head.tool_calls}
        for later in range(index + 1, min(index + 1 + CORRECTED_WITHIN, len(self.units))):
            head = self.units[later].head
            again = names & {call.name for call in head.tool_calls}
            if again or self.live.signals(head).correction:
                return [later]
        return []


class Selection:
    """The units selected so far by a strategy; it never exceeds the room there is.

    Attributes:
        kept: which units stay, each with why.
        tokens: how many tokens are free.
        messages: how many messages may still come.
    """

    def __init__(self, given: SelectionInput, room: int) -> None:
        """Start with what must stay of ``room`` tokens."""
        self._given, self.kept = given, dict[int, str]()
        tokens, messages = self.cost(given.essential)
        self.tokens, self.messages = room - tokens, max(given.policy.messages - messages, 0)
        self.kept |= given.essential

    def cost(self, group: Iterable[int]) -> tuple[int, int]:
        """Return the tokens and messages that a group adds."""
        new = [self._given.units[index] for index in group if index not in self.kept]
        return sum(unit.tokens for unit in new), sum(len(unit.messages) for unit in new)

    def take(self, group: Iterable[int], why: str = "the strategy keeps it") -> bool:
        """Keep a group with the units that belong to it, if there is room; return whether it is."""
        whole = {mate for index in group for mate in self._given.mates(index)}
        tokens, messages = self.cost(whole)
        if tokens > self.tokens or messages > self.messages:
            return False
        self.tokens -= tokens
        self.messages -= messages
        for index in whole:
            self.kept.setdefault(index, why)
        return True

    def take_binding(self) -> None:
        """Keep the request of the current task, then mistakes, within shares of what is free."""
        if self._given.request is not None:
            self.take([self._given.request], "the request that the current task is about")
        tokens = int(self.tokens * BINDING_TOKENS)
        messages = self.messages * BINDING_MESSAGES
        for group in self._given.mistakes:
            more, count = self.cost(group)
            if more <= tokens and count <= messages and self.take(group, MISTAKE):
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

    def take_current(self) -> bool:
        """Keep the most important groups of the current task; return whether all of them fit."""
        given = self._given
        current = [group for group in given.ranked if group[-1] >= given.current]
        return sum(self.take(group, CURRENT) for group in current) == len(current)
