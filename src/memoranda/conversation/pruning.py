"""Pruning: when messages leave the view of a conversation, which, and the receipt of it.

Nothing leaves by itself below ``conversation.prune_from`` of the window. A pruning takes a block,
so that the next one is not due at once and requests begin as those before them. One that fails is
logged and tried again with the next message; the message that set it off is kept (N4.4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple, Unpack

from memoranda.conversation.live import ConversationState, StateReader, merge_spans
from memoranda.conversation.markers import mark_gaps
from memoranda.conversation.selection import Policy, SelectionInput
from memoranda.conversation.strategies import FINISHED_TASKS, find_strategy
from memoranda.conversation.transcript import Transcript, place_of
from memoranda.conversation.view import view_of
from memoranda.model.checks import limited, refuse_unknown
from memoranda.model.clock import CheckedClock, Clock, IdFactory, SystemClock
from memoranda.model.models import Message, Pruning, Recall, Record
from memoranda.model.ports import ConversationOptions, RecallRequest
from memoranda.model.query import Filter
from memoranda.model.reports import RequestReceipt
from memoranda.model.spans import runs_of
from memoranda.settings.sections import ConversationSettings
from memoranda.tokens.catalog import Catalog

log = logging.getLogger("memoranda.conversation")
PERCENT = 100
# Of a context that memory may fill, and the most tokens of it: so much of the budget is left to
# what it recalls.
RECALL_SHARE, RECALL_MOST = 0.08, 1_000
MOST_OF_VIEW = 0.75  # of a view that the newest messages and the request of the task may take

MANUAL = "manual"
AUTOMATIC = "automatic"


def reserve_recall(budget: int) -> int:
    """Return how many tokens of a context are left to what memory recalls."""
    return min(int(budget * RECALL_SHARE), RECALL_MOST)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one conversation, checked (see :class:`memoranda.Conversation`).

    Attributes:
        policy: how a view is chosen.
        settings: all else, with what the caller gave in place of what the settings say.
    """

    policy: Policy
    settings: ConversationSettings

    def budget(self, state: ConversationState) -> int:
        """Return how many tokens a context may take in the window of a conversation."""
        return self.settings.max_tokens or max(1, int(state.window * self.settings.budget_share))

    def cap(self, state: ConversationState) -> int:
        """Return the tokens to which thresholds, warnings and figures refer.

        The window; or the budget, where that is smaller than what a pruning begins at.
        """
        budget = self.budget(state)
        return budget if budget < int(state.window * self.settings.prune_at) else state.window


def check_limits(settings: ConversationSettings, **given: Unpack[ConversationOptions]) -> Limits:
    """Return the limits of a conversation if all of its arguments can be used.

    Raises:
        InvalidInput: one cannot; the message says which.
    """
    refuse_unknown(given, ConversationOptions.__annotations__, "argument")
    numbers = ("max_tokens", "max_messages", "keep_recent")
    wanted = {name: value for name, value in given.items() if name in numbers and value is not None}
    chosen = settings.model_copy(update={name: limited(wanted[name], name) for name in wanted})
    strategy, recent = given.get("strategy"), chosen.keep_recent
    policy = Policy(
        strategy=find_strategy(chosen.strategy if strategy is None else strategy),
        max_messages=max(chosen.max_messages, recent),
        keep_recent=recent,
    )
    return Limits(policy, chosen)


CLOCK = CheckedClock(SystemClock())
IDS = IdFactory(CLOCK)


class MemoryNotes(NamedTuple):
    """What memory has to say in every context of a conversation.

    Attributes:
        text: MEMORY.md; empty, if there is none.
        instructions: the lasting instructions of the user, a line each.
        learned: the facts that were learned from this conversation.
    """

    text: str = ""
    instructions: str = ""
    learned: Sequence[Record] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationServices:
    """What a conversation works with.

    Attributes:
        catalog: what is known of models.
        clock: tells the time.
        ids: makes the ids of messages and receipts.
        recall: asks memory for a context: what is asked, and which records may answer.
        notes: reads what memory has to say in every context.
        requests: carries out what messages ask of memory that ask something of it.
    """

    catalog: Catalog = field(default_factory=Catalog)
    clock: Clock = CLOCK
    ids: IdFactory = IDS
    recall: Callable[[RecallRequest, Filter], Recall] | None = None
    notes: Callable[[], MemoryNotes] = MemoryNotes
    requests: Callable[[Sequence[Message]], Sequence[RequestReceipt]] = lambda _: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """How full the context window is.

    Attributes:
        tokens: of a context with all messages that have not left the view.
        limit: the context window, or the cap, in tokens.
    """

    tokens: int
    limit: int

    @property
    def percent(self) -> float:
        """The share in use, in percent."""
        return round(self.tokens / self.limit * PERCENT, 1)


@dataclass(slots=True)
class Pruner:
    """The triggers of one conversation. Not thread-safe: its conversation holds the lock.

    Attributes:
        transcript: what is pruned; it keeps the receipts.
        states: reads it, and is told what was pruned.
        limits: when to prune, and how.
        services: of the conversation.
        new_task: whether one began whose pruning is yet to be done.
        used: tokens in use when it was last asked whether pruning is due.
    """

    transcript: Transcript
    states: StateReader
    limits: Limits
    services: ConversationServices
    new_task: bool = False
    used: float = inf

    def _prune_at(self, state: ConversationState) -> int:
        """Return from how many tokens messages leave: recalled memory has a share of a context."""
        budget, cap = self.limits.budget(state), self.limits.cap(state)
        reserved = 0 if self.services.recall is None else reserve_recall(budget)
        return min(int(cap * self.limits.settings.prune_at), budget - reserved)

    def after_adding(
        self, state: ConversationState, begun: Sequence[Message], before: int
    ) -> list[tuple[str, object]]:
        """Prune if what was added made it due; return the events that came of it.

        Args:
            state: the conversation with it.
            begun: the messages of it with which a task begins.
            before: how many tokens were in use without it.
        """
        events: list[tuple[str, object]] = [("task_boundary", item) for item in begun]
        self.new_task = self.new_task or bool(begun)
        used, cap = state.used, self.limits.cap(state)
        warn_at = min(int(cap * self.limits.settings.warn_at), self._prune_at(state))
        # What requests carry may have grown since the last message, too.
        if min(before, self.used) < warn_at <= used:
            events.append(("approaching_limit", ContextUsage(tokens=used, limit=cap)))
        try:
            done = self._prune_due(state, cap)
            events.extend(("pruned", receipt) for receipt in done if receipt is not None)
        except Exception:
            log.exception("pruning failed; the next message tries again")
        self.used = used
        return events

    def _prune_due(self, state: ConversationState, cap: int) -> Iterator[Pruning | None]:
        policy, settings = self.limits.policy, self.limits.settings
        budget, prune_at = self.limits.budget(state), self._prune_at(state)
        prune_from = int(cap * settings.prune_from)
        if state.used <= prune_from:
            return
        if self.new_task and settings.at_task_boundary == "prune":
            finished = replace(policy, strategy=FINISHED_TASKS, always=True)
            room = state.room(prune_at)
            yield self.prune(state, "task_boundary", room, finished, "a new task starts")
        self.new_task = False
        used, room = state.used, state.room(int(budget * settings.prune_to))
        if used > prune_at:
            why = f"{used:,} of {cap:,} tokens ({used * PERCENT / cap:.0f} %) in use"
            trigger = AUTOMATIC
            if used > int(cap * settings.aggressive_at):
                trigger, room = "aggressive", state.room(int(budget * settings.aggressive_to))
            yield self.prune(state, trigger, room, policy, why)
        count = len(state.live.messages)
        if count > policy.messages and state.used > prune_from:
            why = f"{count} messages, and a view holds {policy.max_messages}"
            fewer = max(int(policy.max_messages * settings.prune_to), policy.keep_recent)
            fitting = replace(policy, max_messages=fewer, always=True)
            yield self.prune(state, AUTOMATIC, room, fitting, why)

    def prune(
        self, state: ConversationState, trigger: str, room: int, policy: Policy, why: str
    ) -> Pruning | None:
        """Take out of view what does not fit ``room`` tokens; return the receipt, if any went."""
        given = SelectionInput(state.live, policy)
        # Where few tokens are to be freed, what is left is to hold what markers tell in a context.
        told = self.limits.budget(state) if policy.always else room
        if trigger != MANUAL:
            room = max(room, self._least_room(state, given))
        shown = view_of(given, room, state.meter, told)
        # Tool messages without counterpart go only together with what they stand between, as the
        # counterpart may still come.
        going = {item.id for item in shown.pruned if not item.pinned}
        out = sorted((*shown.pruned, *shown.orphans), key=place_of)
        runs = runs_of(item for item in out if not item.pinned)
        spans = state.live.describe([run for run in runs if going & {x.id for x in run}])
        if not spans:
            return None
        gone = sum(span.tokens for span in spans)
        gaps = merge_spans([*state.live.gaps, *spans])
        marked = sum(marker.cost for marker in mark_gaps(gaps, state.meter, state.window))
        receipt = Pruning(
            id=self.services.ids.new("prn"),
            at=self.services.clock.now(),
            trigger=trigger,
            why=why,
            strategy=self.limits.policy.strategy.name,
            before=state.used,
            after=state.billed(state.head + state.live.tokens - gone + marked),
            cuts=tuple(spans),
        )
        self.transcript.prune(receipt)
        self.states.apply(receipt)
        return receipt

    def _least_room(self, state: ConversationState, given: SelectionInput) -> int:
        """Return the tokens of what nobody asked to go: the newest and the last request (N2.3).

        A view that has no room for them leaves them out, but the next one, or a larger one, has
        them again. And the request that the current task is about (requirement R5.4), where it is
        not too large for any view.
        """
        must, whole = given.essential.keys(), state.room(self._prune_at(state))
        request = () if given.request is None else given.mates(given.request)
        least, more = (
            sum(given.units[index].tokens for index in group) for group in (must, {*must, *request})
        )
        if not given.policy.strategy.pairs or more > whole * MOST_OF_VIEW:
            return least
        return more + whole // 10  # for what stands for the rest
