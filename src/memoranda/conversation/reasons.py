"""Says in words why a part of a conversation is in its view, or is not.

It asks the parts that make the decision, in the order in which they make it: what must stay,
what belongs together, and then the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from memoranda.conversation.choosing import essentials, last_request
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.limits import Limits
from memoranda.conversation.units import Unit
from memoranda.conversation.view import View
from memoranda.model.models import Message

TOLD = {
    "rolling_window": (
        "the newest turns that fit, a question together with its answer; of what is older "
        "only mistakes with their corrections, and standing rules"
    ),
    "recency": "the newest messages that fit, one by one, without gaps",
    "importance": (
        "what scores highest, a question together with its answer; the current task "
        "before any earlier one"
    ),
    "hybrid": (
        "the newest turns of the current task, then the rest of it by score, then earlier "
        "tasks, each of them whole"
    ),
}
"""By strategy, what stays in a view beside what must (seed 000, R7.5)."""


def told(limits: Limits, budget: int) -> tuple[str, str]:
    """Return two sentences: what the strategy keeps, and what stays whatever it says."""
    policy = limits.policy
    always = ["system messages", "pins"]
    always.append(
        "the newest message"
        if policy.keep_recent == 1
        else f"the {policy.keep_recent} newest messages"
    )
    if policy.pairs:
        always.append("the last request")
    most = f"{budget:,} tokens"
    if policy.messages != float("inf"):
        most += f" and {policy.max_messages} messages"
    kept = f"{policy.strategy} keeps {TOLD[policy.strategy]}"
    if policy.stable:
        kept += "; it prunes rarely and in large steps, so that the start of the view stays"
    rest = (
        f"Always in: {', '.join(always[:-1])} and {always[-1]}; at most {most}. "
        "What is left out stays in the transcript: it can be searched and expanded."
    )
    return f"{kept}.", rest


class Reasons:
    """Why the units of a ledger are in a view, or are not.

    A unit is a message, or a tool call with its results.
    """

    def __init__(self, ledger: Ledger, shown: View, limits: Limits, *, budget: int) -> None:
        """Explain ``shown``, the view of ``ledger`` within ``budget`` tokens."""
        self._units: Sequence[Unit] = ledger.units
        self._policy = limits.policy
        self._budget = budget
        self._shown = {message.id for message in shown.messages}
        self._complete = not shown.pruned
        self._must = essentials(ledger.grouping, self._policy)
        self._request = last_request(self._units)
        self.scene = ledger.scene()

    def kept(self, index: int, message: Message) -> str:
        """Return why a message of the unit ``index`` is in the view."""
        unit = self._units[index]
        if message.role == "system":
            return "system message, always in"
        if message.pinned:
            return "always in"
        if unit.fixed:
            other = next(item for item in unit.messages if item.pinned or item.role == "system")
            return f"belongs to #{other.position}, which is pinned"
        return self._chosen(index)

    def _chosen(self, index: int) -> str:
        policy = self._policy
        if index == self._request and policy.pairs:
            return "the last request"
        if index in self._must:
            return f"among the {policy.keep_recent} newest"
        return "everything fits" if self._complete else self._preferred(index)

    def _preferred(self, index: int) -> str:
        policy = self._policy
        if policy.pairs:
            mates = [mate for mate in self.scene.mates(index) if mate != index]
            sure = next((mate for mate in mates if mate in self._must), None)
            if sure is not None:
                return f"question and answer stay together: #{self._units[sure].position}"
            if index < self._window and index in self._old:
                return self._old[index]
        if policy.strategy in {"rolling_window", "recency"}:
            return "among the newest that fit"
        if index >= self.scene.current and len(self.scene.tasks) > 1:
            return "current task"
        return "of an earlier task that fits" if policy.strategy == "hybrid" else "scores enough"

    def left(self, index: int) -> str:
        """Return why the unit ``index`` is not in the view."""
        strategy, tokens = self._policy.strategy, self._units[index].tokens
        if index in self._must:
            return "new, but what must stay leaves no room for it"
        if strategy in {"rolling_window", "recency"}:
            return f"older than what fits: {self._limit}"
        if index >= self.scene.current:
            return f"no room for its {tokens:,} tokens beside what comes first: {self._limit}"
        if strategy == "hybrid":
            return f"of an earlier task, and no room for all of that: {self._limit}"
        return f"no room for its {tokens:,} tokens beside the current task and what scores more"

    @cached_property
    def _limit(self) -> str:
        count = sum(len(unit.messages) for unit in self._units)
        tokens = sum(unit.tokens for unit in self._units)
        if tokens <= self._budget and count > self._policy.messages:
            return f"{self._policy.max_messages} messages"
        return f"{self._budget:,} tokens"

    @cached_property
    def _window(self) -> int:
        # The first of the units that are in view without a gap up to the newest.
        for index in reversed(range(len(self._units))):
            if self._units[index].head.id not in self._shown:
                return index + 1
        return 0

    @cached_property
    def _old(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for group in self.scene.kept_when_old:
            said = [self.scene.signals(index) for index in group]
            why = "an old mistake and what corrected it"
            if any(each.constraint for each in said) and not any(
                each.error or each.correction for each in said
            ):
                why = "a standing rule"
            found.update(dict.fromkeys(group, why))
        return found
