"""Decides which units of a conversation stay within a number of tokens (law 1 of the views).

System messages and pins stay always, the newest messages and the last request before the
rest. Where these do not fit together, long tool results among them are shortened, and then
the oldest of them go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from memoranda.conversation.ledger import Ledger
from memoranda.conversation.scene import Choice, Scene
from memoranda.conversation.shorten import fitted, shortest
from memoranda.conversation.strategies import (
    hybrid,
    importance,
    recency,
    rolling_window,
    task_boundary,
)
from memoranda.conversation.units import Grouping, Unit
from memoranda.errors import InvalidInput
from memoranda.model.ports import MessageMeter

Keep = Callable[[Scene, Choice], None]
Kept = dict[int, Unit]
"""What stays, by the number of the unit: the unit itself, or a shortened copy."""

STRATEGIES: dict[str, Keep] = {
    "rolling_window": rolling_window.keep,
    "recency": recency.keep,
    "importance": importance.keep,
    "hybrid": hybrid.keep,
}
BOUNDARY = "task_boundary"
STABLE_TO = 0.4  # share of a budget that a pruning leaves where prefixes are to be stable


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: ``rolling_window``, ``recency``, ``importance`` or ``hybrid``.
        max_messages: most messages in a view, beside those that must stay (R8.1).
        keep_recent: how many of the newest stay while they fit (R3.3, R8.4).
        stable: prune in large steps, so that the start of the view rarely changes.
    """

    strategy: str = "rolling_window"
    max_messages: int = 50
    keep_recent: int = 10
    stable: bool = False

    @property
    def keep(self) -> Keep:
        """The function of the strategy."""
        return task_boundary.keep if self.strategy == BOUNDARY else STRATEGIES[self.strategy]

    def check(self) -> None:
        """Refuse a strategy that a caller cannot choose.

        Raises:
            InvalidInput: there is none of that name.
        """
        if self.strategy not in STRATEGIES:
            names = ", ".join(STRATEGIES)
            raise InvalidInput(f"strategy={self.strategy!r} is unknown; use one of {names}")

    @property
    def messages(self) -> float:
        """Most messages in a view; the strategy of seed 003 counts tokens alone."""
        return float("inf") if self.strategy == "recency" else self.max_messages

    @property
    def pairs(self) -> bool:
        """Whether question and answer go together; in the strategy of seed 003 they do not."""
        return self.strategy != "recency"


def choose(ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter) -> Kept:
    """Return which units stay within ``budget`` tokens; fixed ones even beyond it."""
    grouping = ledger.grouping
    step = _last_step(grouping, budget, policy) if policy.stable else None
    if step is not None:
        fewer = replace(policy, max_messages=max(1, int(policy.max_messages * STABLE_TO)))
        low = int(budget * STABLE_TO)
        kept = choose_once(ledger.scene(step), grouping.first(step), low, fewer, meter)
        kept.update(enumerate(grouping.units[step:], step))
        request = last_request(grouping.units)
        fits = sum(unit.tokens for unit in kept.values()) <= budget
        if fits and (request is None or request in kept):
            return kept
    return choose_once(ledger.scene(), grouping, budget, policy, meter)


def _last_step(grouping: Grouping, budget: int, policy: Policy) -> int | None:
    # The view was pruned when its units first exceeded the limits, and again each time that
    # as much was added as a pruning frees. Which units that were follows from their sizes
    # alone: between two prunings the view only grows at its end.
    by_tokens = _step(grouping.tokens_before, budget)
    by_count = _step(grouping.messages_before, policy.messages)
    return max(by_tokens, by_count) or None


def _step(before: Sequence[int], limit: float) -> int:
    total, freed = before[-1], limit * (1 - STABLE_TO)
    if total <= limit or freed <= 0:
        return 0
    mark = limit + (ceil((total - limit) / freed) - 1) * freed
    return bisect_right(before, mark)


def choose_once(
    scene: Scene, grouping: Grouping, budget: int, policy: Policy, meter: MessageMeter
) -> Kept:
    """Return which units stay, whatever earlier views held."""
    units = grouping.units
    fits = grouping.tokens <= budget and grouping.messages <= policy.messages
    if fits and policy.strategy != BOUNDARY:
        return dict(enumerate(units))
    must = essentials(grouping, policy)
    left = budget - sum(units[index].tokens for index in must)
    if left < 0:
        last = last_request(units) if policy.pairs else None
        return squeezed(grouping, must, last, budget, meter)
    held = sum(len(units[index].messages) for index in must)
    choice = Choice(units, must, left, max(policy.messages - held, 0))
    if policy.pairs:
        for index in sorted(must, reverse=True):
            choice.take(scene.mates(index))
    policy.keep(scene, choice)
    return {index: units[index] for index in choice.kept}


def essentials(grouping: Grouping, policy: Policy) -> set[int]:
    """Return which units stay while they fit: fixed, the newest, and the last request."""
    units = grouping.units
    must = set(grouping.fixed)
    left = policy.keep_recent
    for index in reversed(range(len(units))):
        if left <= 0:
            break
        must.add(index)
        left -= len(units[index].messages)
    request = last_request(units)
    if request is not None and policy.pairs and policy.keep_recent:
        must.add(request)
    return must


def last_request(units: Sequence[Unit]) -> int | None:
    """Return which unit is the last thing the user said."""
    for index in reversed(range(len(units))):
        if units[index].head.role == "user":
            return index
    return None


def least(grouping: Grouping, budget: int, policy: Policy) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there
    is room for that. In the strategy of seed 003 whatever it keeps does: it knows no markers.
    """
    if not policy.pairs:
        return budget
    units = grouping.units
    whole = sum(units[index].tokens for index in essentials(grouping, policy))
    if whole <= budget:
        return whole
    fixed = grouping.fixed_tokens
    request = last_request(units)
    asked = 0 if request is None or units[request].fixed else units[request].tokens
    return fixed + asked if fixed + asked <= budget else fixed


def squeezed(
    grouping: Grouping, must: Iterable[int], request: int | None, budget: int, meter: MessageMeter
) -> Kept:
    """Return what stays where not even the essential units fit as they are."""
    units = grouping.units
    kept = {index: units[index] for index in grouping.fixed}
    # The last request goes last, however long ago it was.
    order = sorted(set(must) - kept.keys(), key=lambda index: (index == request, index))
    left = budget - grouping.fixed_tokens
    if request in order and units[request].tokens > left:
        order.remove(request)  # No room for it, whatever else goes.
    needed = sum(shortest(units[index]) for index in order)
    while order and needed > left:
        needed -= shortest(units[order.pop(0)])
    stay = sorted(order)
    kept.update(zip(stay, fitted([units[index] for index in stay], left, meter), strict=True))
    return kept
