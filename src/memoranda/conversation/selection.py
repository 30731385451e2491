"""Selects which units of a conversation stay within a number of tokens (law 1 of the views).

System messages and pins stay always, the newest messages and the last request before the
rest. Where these do not fit together, long tool results among them are shortened, to their head
and tail, and then the oldest of them go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from memoranda.conversation.gaps import reference
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.strategies.hybrid import Hybrid
from memoranda.conversation.strategies.importance import Importance
from memoranda.conversation.strategies.recency import Recency
from memoranda.conversation.strategies.rolling_window import RollingWindow
from memoranda.conversation.strategies.strategy import Selection, SelectionInput, Strategy
from memoranda.conversation.strategies.task_boundary import CurrentTask
from memoranda.conversation.units import Grouping, Unit
from memoranda.errors import InvalidInput
from memoranda.model.models import Message
from memoranda.model.ports import MessageMeter

KeptUnits = dict[int, Unit]
"""What stays, by the number of the unit: the unit itself, or a shortened copy."""

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (RollingWindow(), Recency(), Importance(), Hybrid())
}
FINISHED_TASKS = CurrentTask()
STABLE_TO = 0.4  # share of a budget that a pruning leaves where prefixes are to be stable
SHORTEST = 80  # tokens that a shortened tool result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a view is chosen.

    Attributes:
        strategy: ``rolling_window``, ``recency``, ``importance``, ``hybrid`` or one's own.
        max_messages: most messages in a view, beside those that must stay (R8.1).
        keep_recent: how many of the newest stay while they fit (R3.3, R8.4).
        stable: prune in large steps, so that the start of the view rarely changes.
    """

    strategy: str | Strategy = "rolling_window"
    max_messages: int = 50
    keep_recent: int = 10
    stable: bool = False

    def check(self) -> None:
        """Refuse a strategy that cannot be used.

        Raises:
            InvalidInput: there is none of that name, and it is no object that selects.
        """
        if isinstance(self.strategy, str):
            known = self.strategy in STRATEGIES
        else:
            known = isinstance(self.strategy, Strategy)
        if not known:
            raise InvalidInput(
                f"strategy={self.strategy!r:.80} is unknown; use one of {', '.join(STRATEGIES)}"
            )

    @property
    def chosen(self) -> Strategy:
        """The strategy itself."""
        return STRATEGIES[self.strategy] if isinstance(self.strategy, str) else self.strategy

    @property
    def messages(self) -> float:
        """Most messages in a view; a strategy without pairs counts tokens alone."""
        return self.max_messages if self.pairs else float("inf")

    @property
    def pairs(self) -> bool:
        """Whether question and answer go together."""
        return self.chosen.pairs


def choose(ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter) -> KeptUnits:
    """Return which units stay within ``budget`` tokens; fixed ones even beyond it."""
    grouping = ledger.grouping
    step = _last_step(grouping, budget, policy) if policy.stable else None
    if step is not None:
        fewer = replace(policy, max_messages=max(1, int(policy.max_messages * STABLE_TO)))
        low = int(budget * STABLE_TO)
        kept = choose_once(ledger.selection_input(step), grouping.first(step), low, fewer, meter)
        kept.update(enumerate(grouping.units[step:], step))
        request = last_request(grouping.units)
        fits = sum(unit.tokens for unit in kept.values()) <= budget
        if fits and (request is None or request in kept):
            return kept
    return choose_once(ledger.selection_input(), grouping, budget, policy, meter)


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
    given: SelectionInput, grouping: Grouping, budget: int, policy: Policy, meter: MessageMeter
) -> KeptUnits:
    """Return which units stay, whatever earlier views held."""
    units = grouping.units
    fits = grouping.tokens <= budget and grouping.messages <= policy.messages
    if fits and policy.strategy is not FINISHED_TASKS:
        return dict(enumerate(units))
    must = essentials(grouping, policy)
    left = budget - sum(units[index].tokens for index in must)
    if left < 0:
        last = last_request(units) if policy.pairs else None
        return squeeze(grouping, must, last, budget, meter)
    held = sum(len(units[index].messages) for index in must)
    selection = Selection(units, must, left, max(policy.messages - held, 0))
    if policy.pairs:
        for index in sorted(must, reverse=True):
            selection.take(given.mates(index))
    policy.chosen.select(given, selection)
    return {index: units[index] for index in selection.kept}


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


def least_tokens(grouping: Grouping, budget: int, policy: Policy) -> int:
    """Return the tokens of what comes before any marker.

    All that is essential, where it fits; else what is fixed, with the last request if there
    is room for that. In a strategy without pairs whatever it keeps does: it knows no markers.
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


def squeeze(
    grouping: Grouping, must: Iterable[int], request: int | None, budget: int, meter: MessageMeter
) -> KeptUnits:
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
    kept.update(zip(stay, shorten([units[index] for index in stay], left, meter), strict=True))
    return kept


# Shortening


def shortest(unit: Unit) -> int:
    """Return the tokens of a unit after all that can be shortened in it was."""
    return sum(min(item.tokens, SHORTEST) if _can(item) else item.tokens for item in unit.messages)


def shorten(units: Sequence[Unit], budget: int, meter: MessageMeter) -> list[Unit]:
    """Return the units with their longest tool results cut to one length, so that they fit.

    ``budget`` is at least the sum of their :func:`shortest`.
    """
    cap = _longest_kept(units, budget)
    return [
        Unit.of(*(_shortened(item, cap, meter) for item in unit.messages))
        if any(_can(item) and item.tokens > cap for item in unit.messages)
        else unit
        for unit in units
    ]


def _can(message: Message) -> bool:
    return message.tool_result is not None and not message.pinned and not message.images


def _longest_kept(units: Sequence[Unit], budget: int) -> int:
    # The largest length to which the results must be cut, found from the shortest up.
    left = budget - sum(i.tokens for unit in units for i in unit.messages if not _can(i))
    sizes = sorted(i.tokens for unit in units for i in unit.messages if _can(i))
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return max(share, SHORTEST)
        left -= size
    return max(sizes, default=0)


def _shortened(message: Message, cap: int, meter: MessageMeter) -> Message:
    if not _can(message) or message.tokens <= cap:
        return message
    text = message.content
    kept = len(text) * cap // message.tokens
    while True:
        content = _head_and_tail(text, kept, message.position or 0)
        tokens = meter.message(content)
        if tokens <= cap or kept == 0:
            return replace(message, content=content, tokens=tokens)
        kept = min(kept - 1, kept * cap // tokens)


def _head_and_tail(text: str, kept: int, place: int) -> str:
    head = int(kept * HEAD_SHARE)
    tail = kept - head
    cut = len(text) - kept
    end = text[len(text) - tail :] if tail else ""
    whole = reference(place, place)
    return f"{text[:head]}\n... [{cut} characters removed] ... (expand {whole})\n{end}"
