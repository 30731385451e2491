"""When a conversation is pruned, and what then goes: decisions only, made from its figures.

A pruning leaves less than what set it off, so that the next one is not due at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memoranda.conversation.choosing import BOUNDARY, STABLE_TO, Policy, essentials
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.scoring import Place, score
from memoranda.conversation.shorten import shortest
from memoranda.conversation.view import NO_ROOM, View, view_of
from memoranda.model.models import Cut, Message
from memoranda.model.ports import MessageMeter

BATCH = 5  # one in so many of the most messages leave a full window together
PERCENT = 100

MANUAL = "manual"
AUTOMATIC = "automatic"
AGGRESSIVE = "aggressive"
TASK_BOUNDARY = "task_boundary"
SESSION_START = "session_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """At which shares of the context window what happens (R2.4, R6.1, R6.2).

    Attributes:
        window: the context window, in tokens.
        warn_at: from where subscribers are told.
        prune_at: from where messages leave the view.
        prune_to: what an automatic pruning leaves.
        aggressive_at: from where pruning goes further.
        aggressive_to: what an aggressive pruning leaves.
    """

    window: int
    warn_at: float = 0.8
    prune_at: float = 0.8
    prune_to: float = 0.6
    aggressive_at: float = 0.9
    aggressive_to: float = 0.5

    def stable(self, room: float) -> Thresholds:
        """Return these with the larger steps that keep a prompt cache warm.

        ``room`` is the share of a context that is the conversation's.
        """
        low = min(self.prune_to, self.aggressive_to, STABLE_TO) * room
        return replace(
            self,
            prune_at=self.prune_at * room,
            aggressive_at=self.aggressive_at * room,
            prune_to=low,
            aggressive_to=low,
        )

    def tokens(self, share: float) -> int:
        """Return how many tokens a share of the window is."""
        return int(self.window * share)


@dataclass(frozen=True, slots=True)
class Due:
    """A pruning that is due: what set it off, down to how many tokens, and why."""

    trigger: str
    target: int
    why: str


def due(used: int, limits: Thresholds) -> Due | None:
    """Return which pruning is due at ``used`` tokens; none below the first threshold."""
    share = f"{used:,} of {limits.window:,} tokens ({used * PERCENT / limits.window:.0f} %) in use"
    if used > limits.tokens(limits.aggressive_at):
        return Due(AGGRESSIVE, limits.tokens(limits.aggressive_to), share)
    if used > limits.tokens(limits.prune_at):
        return Due(AUTOMATIC, limits.tokens(limits.prune_to), share)
    return None


def overfull(ledger: Ledger, policy: Policy) -> bool:
    """Return whether live messages are due to be pruned by their number.

    A view never shows more than the window holds, beside what must stay; what has left it is
    written down in batches, but at once the first time.
    """
    grouping = ledger.grouping
    if grouping.messages <= policy.messages:
        return False
    must = sum(len(ledger.units[index].messages) for index in essentials(grouping, policy))
    over = grouping.messages - max(policy.messages, must)
    return over > 0 and (not ledger.gaps or over >= max(2, policy.max_messages // BATCH))


def cuts(ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter) -> tuple[Cut, ...]:
    """Return what a view of ``budget`` tokens leaves out of what is live."""
    return cuts_of(ledger, view_of(ledger, budget, policy, meter))


def sparing(ledger: Ledger, budget: int, policy: Policy) -> int:
    """Return the budget, or what the newest messages and the last request take, if that is more.

    Nobody asked for these to go (N2.3): a view that has no room for them leaves them out, but
    the next one, or a larger one, has them again.
    """
    must = essentials(ledger.grouping, policy)
    return max(budget, sum(ledger.units[index].tokens for index in must))


def relief(ledger: Ledger, room: int, policy: Policy) -> int:
    """Return how many tokens a view of ``room`` saves on the newest messages.

    It shortens their long tool results: so these are no reason to take out all the rest.
    """
    must = [ledger.units[index] for index in essentials(ledger.grouping, policy)]
    whole = sum(unit.tokens for unit in must)
    short = sum(map(shortest, must))
    return max(0, whole - max(short, room // 2))


def cuts_of(ledger: Ledger, chosen: View) -> tuple[Cut, ...]:
    """Return the live messages that a view leaves out, as runs with scores and reasons.

    Tool messages without counterpart go only together with what they stand between, as
    the counterpart may still come.
    """
    out = {item.id for item in (*chosen.pruned, *chosen.orphans)}
    gone = {item.id for item in chosen.pruned}
    runs: list[list[Message]] = []
    for item in ledger.messages:
        newest = runs[-1][-1] if runs else None
        if item.id not in out or item.pinned:
            continue
        if newest is not None and (newest.position or 0) + 1 == item.position:
            runs[-1].append(item)
        else:
            runs.append([item])
    return tuple(cut_of(run, ledger) for run in runs if any(item.id in gone for item in run))


def cut_of(run: Sequence[Message], ledger: Ledger, why: str = NO_ROOM) -> Cut:
    """Return the cut that takes a run of live messages out, with the best score among them."""
    newest = ledger.messages[-1]
    places = [
        Place(
            from_end=(newest.position or 0) - (item.position or 0),
            days=max(0, (newest.timestamp - item.timestamp).days),
        )
        for item in run
    ]
    values = [
        score(item, ledger.reading.signals(item), place).value
        for item, place in zip(run, places, strict=True)
    ]
    return Cut(
        first=run[0].position or 0,
        last=run[-1].position or 0,
        messages=len(run),
        tokens=sum(item.tokens for item in run),
        since=run[0].timestamp,
        until=run[-1].timestamp,
        why=why,
        score=max(values),
    )


def finished(policy: Policy) -> Policy:
    """Return the policy that takes out finished tasks."""
    return replace(policy, strategy=BOUNDARY)


def fresh(policy: Policy) -> Policy:
    """Return the policy that takes out all but system messages and pins."""
    return replace(policy, strategy="recency", keep_recent=0)
