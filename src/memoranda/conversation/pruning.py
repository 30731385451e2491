"""Pruning: when a conversation is pruned, which messages leave the view, and the receipt.

A pruning leaves less than what set it off, so that the next one is not due at once. One that
fails is logged and tried again with the next message; the message that set it off is kept (N4.4).

When a session has grown too long, all but its newest messages leave the view. The newest of what
went are told in short, in a recap, so that no tool is run again.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from math import inf
from typing import Unpack

from memoranda.conversation.context import RECALL_SHARE, RECAPPED
from memoranda.conversation.ledger import ConversationState, Ledger, StateReader, runs_of, span_of
from memoranda.conversation.scoring import score
from memoranda.conversation.segments import LOOK_BACK, find_boundaries
from memoranda.conversation.selection import Selection, Unit
from memoranda.conversation.strategies import FINISHED_TASKS, STRATEGIES, find_strategy
from memoranda.conversation.summary import ExtractiveSummarizer
from memoranda.conversation.transcript import Transcript, place_of, prunings_since
from memoranda.conversation.view import NO_ROOM, STABLE_TO, Policy, essentials, shortest, view_of
from memoranda.model.checks import limited, refuse_unknown, require_attributes, storable
from memoranda.model.clock import CheckedClock, Clock, IdFactory, SystemClock
from memoranda.model.events import Events
from memoranda.model.models import ConversationInfo, Message, PrunedSpan, Pruning, Recall
from memoranda.model.ports import ConversationOptions, RecallRequest, Summarizer
from memoranda.model.processes import start_thread
from memoranda.model.query import Filter
from memoranda.model.reports import RequestReceipt
from memoranda.settings.sections import ConversationSettings
from memoranda.tokens.catalog import Catalog, ChatMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """At how many tokens what happens (R2.4, R6.1, R6.2).

    Attributes:
        window: the context window.
        warn_at: from where subscribers are told.
        prune_at: from where messages leave the view.
        prune_to: what an automatic pruning leaves.
        aggressive_at: from where pruning goes further.
        aggressive_to: what an aggressive pruning leaves.
    """

    window: int
    warn_at: int
    prune_at: int
    prune_to: int
    aggressive_at: int
    aggressive_to: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one conversation, checked (see :class:`memoranda.Conversation`).

    Attributes:
        context_limit: the model's context window as the caller gave it.
        max_tokens: the budget of a context as the caller or the settings gave it.
        policy: how a view is chosen.
        settings: all else.
    """

    context_limit: int | None
    max_tokens: int | None
    policy: Policy
    settings: ConversationSettings

    def budget(self, context_limit: int) -> int:
        """Return how many tokens a context may take, with a window of ``context_limit``."""
        return self.max_tokens or max(1, int(context_limit * self.settings.budget_share))


def check_limits(settings: ConversationSettings, **given: Unpack[ConversationOptions]) -> Limits:
    """Return the limits of a conversation if all of its arguments can be used.

    Raises:
        InvalidInput: one cannot; the message says which.
    """
    refuse_unknown(given, ConversationOptions.__annotations__, "argument")

    def number(name: str) -> int | None:
        value = given.get(name)
        return None if value is None else limited(value, name)

    recent, strategy = number("keep_recent") or settings.keep_recent, given.get("strategy")
    policy = Policy(
        strategy=find_strategy(settings.strategy if strategy is None else strategy),
        max_messages=max(number("max_messages") or settings.max_messages, recent),
        keep_recent=recent,
        stable=settings.stable_prefix,
    )
    most = number("max_tokens") or settings.max_tokens
    return Limits(number("context_limit"), most, policy, settings)


DEFAULT_LIMITS = check_limits(ConversationSettings())
CLOCK = CheckedClock(SystemClock())
IDS = IdFactory(CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationServices:
    """What a conversation works with.

    Attributes:
        catalog: what is known of models.
        clock: tells the time.
        ids: makes the ids of messages and receipts.
        recall: asks memory for a context: what is asked, and which records may answer.
        notes: gives the text of MEMORY.md as it is now; empty, if there is none.
        summarizer: says in short what is pruned; called in the background.
        requests: carries out what messages ask of memory that ask something of it.
        instructions: gives the lasting instructions of the user, a line each.
    """

    catalog: Catalog = field(default_factory=Catalog)
    clock: Clock = CLOCK
    ids: IdFactory = IDS
    recall: Callable[[RecallRequest, Filter], Recall] | None = None
    notes: Callable[[], str] | None = None
    summarizer: Summarizer | None = None
    requests: Callable[[Sequence[Message]], Sequence[RequestReceipt]] | None = None
    instructions: Callable[[], str] | None = None


DEFAULT_SERVICES = ConversationServices()


log = logging.getLogger("memoranda.conversation")
BATCH = 5  # one in so many of the most messages leave a full window together
PERCENT = 100

MANUAL = "manual"
AUTOMATIC = "automatic"
AGGRESSIVE = "aggressive"
TASK_BOUNDARY = "task_boundary"
SESSION_START = "session_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """How full the context window is.

    Attributes:
        tokens: of a context with all messages that have not left the view.
        limit: the context window, in tokens.
    """

    tokens: int
    limit: int

    @property
    def percent(self) -> float:
        """The share in use, in percent."""
        return round(self.tokens / self.limit * PERCENT, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBoundary:
    """A new task starts.

    Attributes:
        message: the first message of it.
        title: its title, where one was given.
        why: what shows it.
    """

    message: Message
    title: str | None
    why: str


def has_too_many(ledger: Ledger, policy: Policy) -> bool:
    """Return whether live messages are due to be pruned by their number.

    A view never shows more than the window holds, beside what must stay; what has left it is
    written down in batches, but at once the first time.
    """
    if not policy.strategy.pairs or ledger.count <= policy.max_messages:
        return False
    must = sum(len(ledger.units[index].messages) for index in essentials(ledger, policy))
    over = ledger.count - max(policy.max_messages, must)
    return over > 0 and (not ledger.gaps or over >= max(2, policy.max_messages // BATCH))


def pruned_spans(
    ledger: Ledger, budget: int, policy: Policy, meter: ChatMeter
) -> tuple[PrunedSpan, ...]:
    """Return the live messages that a view of ``budget`` tokens leaves out, as scored spans.

    Tool messages without counterpart go only together with what they stand between, as
    the counterpart may still come.
    """
    left = view_of(ledger, budget, policy, meter)
    out = sorted((*left.pruned, *left.orphans), key=place_of)
    gone = {item.id for item in left.pruned}
    return tuple(
        scored_span(run, ledger, NO_ROOM)
        for run in runs_of(item for item in out if not item.pinned)
        if any(item.id in gone for item in run)
    )


def scored_span(run: Sequence[Message], ledger: Ledger, why: str) -> PrunedSpan:
    """Return the span that takes a run of live messages out, with the best score among them."""
    newest = ledger.messages[-1]

    def value(item: Message) -> float:
        days = max(0, (newest.timestamp - item.timestamp).days)
        from_end = place_of(newest) - place_of(item)
        return score(item, ledger.signals(item), from_end=from_end, days=days).value

    return replace(span_of(run, why), score=max(map(value, run)), named=ledger.particulars(run))


def everything_unpinned(policy: Policy) -> Policy:
    """Return the policy that takes out all but system messages and pins."""
    return replace(policy, strategy=STRATEGIES["recency"], keep_recent=0)


def _saved_by_shortening(ledger: Ledger, room: int, policy: Policy) -> int:
    """Return how many tokens a view of ``room`` saves on the newest messages.

    It shortens their long tool results: so these are no reason to take out all the rest.
    """
    must = [ledger.units[index] for index in essentials(ledger, policy)]
    whole = sum(unit.tokens for unit in must)
    return max(0, whole - max(sum(map(shortest, must)), room // 2))


class Pruner:
    """The triggers of one conversation. Not thread-safe: its conversation holds the lock.

    Args:
        transcript: what is pruned; it keeps the receipts.
        states: reads it, and is told what was pruned.
        limits: when to prune, and how.
        services: of the conversation.
        events: told when a summary is there.

    Raises:
        InvalidInput: the summarizer cannot summarize.
    """

    def __init__(
        self,
        transcript: Transcript,
        states: StateReader,
        limits: Limits,
        services: ConversationServices,
        events: Events,
    ) -> None:
        """Start with no message read."""
        require_attributes(services.summarizer, "summarizer", "summarize")
        self._transcript = transcript
        self._states = states
        self._limits = limits
        self._services = services
        self._events = events
        self._owed: TaskBoundary | None = None  # whose pruning is yet to succeed
        self._full: float = inf  # tokens in use when it was last asked whether pruning is due

    def thresholds(self, state: ConversationState) -> Thresholds:
        """Return when to prune: shares of the window of which the budget is its share.

        With a stable prefix the steps are larger, so that a prompt cache stays warm, and what
        memory recalls has a share of the context.
        """
        settings, window, room = self._limits.settings, state.window, 1.0
        if self._limits.max_tokens is not None:
            window = max(1, int(self._limits.max_tokens / settings.budget_share))
        low, aggressive_low = settings.prune_to, settings.aggressive_to
        if self._limits.policy.stable:
            low = aggressive_low = min(low, aggressive_low, STABLE_TO)
            room = 1.0 if self._services.recall is None else 1 - RECALL_SHARE
        return Thresholds(
            window=window,
            warn_at=int(window * settings.warn_at),
            prune_at=int(window * (settings.prune_at * room)),
            prune_to=int(window * (low * room)),
            aggressive_at=int(window * (settings.aggressive_at * room)),
            aggressive_to=int(window * (aggressive_low * room)),
        )

    def after_adding(
        self, state: ConversationState, fresh: Sequence[Message], before: int
    ) -> list[tuple[str, object]]:
        """Prune if ``fresh`` messages made it due; return the events that came of it.

        ``before`` is how many tokens were in use without them.
        """
        limits = self.thresholds(state)
        events: list[tuple[str, object]] = []
        try:
            boundaries = self._boundaries(state.ledger, fresh)
            events += [("task_boundary", item) for item in boundaries]
            # What requests carry may have grown since the last message, too.
            if min(before, self._full) < limits.warn_at <= state.full:
                usage = ContextUsage(tokens=state.full, limit=limits.window)
                events.append(("approaching_limit", usage))
            for receipt in self._prune_due(state, limits, boundaries):
                if receipt is not None:
                    events.append(("pruned", receipt))
        except Exception:
            log.exception("pruning failed; the next message tries again")
        self._full = state.full
        return events

    def _prune_due(
        self, state: ConversationState, limits: Thresholds, boundaries: Sequence[TaskBoundary]
    ) -> Iterator[Pruning | None]:
        policy, ledger = self._limits.policy, state.ledger
        room = state.counted(limits.prune_at)
        if boundaries and self._limits.settings.at_task_boundary == "prune":
            self._owed = boundaries[-1]
        if self._owed is not None:
            why = f"a new task starts: {self._owed.why}"
            yield self.prune(
                state, TASK_BOUNDARY, room, replace(policy, strategy=FINISHED_TASKS), why
            )
            self._owed = None
        aim = state.counted(limits.prune_to) - state.meter.format.reply
        due = min(limits.prune_at, limits.aggressive_at)
        saved = _saved_by_shortening(ledger, aim, policy) if state.full > due else 0
        used = state.full - state.billed(saved)
        if used > due:
            share = f"{used * PERCENT / limits.window:.0f} %"
            why = f"{used:,} of {limits.window:,} tokens ({share}) in use"
            trigger, target = AUTOMATIC, limits.prune_to
            if used > limits.aggressive_at:
                trigger, target = AGGRESSIVE, limits.aggressive_to
            left = state.counted(target) - state.meter.format.reply + saved
            yield self.prune(state, trigger, left, policy, why)
        if has_too_many(ledger, policy):
            why = f"{ledger.count} messages, and a view holds {policy.max_messages}"
            yield self.prune(state, AUTOMATIC, room, policy, why)

    def prune(
        self, state: ConversationState, trigger: str, room: int, policy: Policy, why: str
    ) -> Pruning | None:
        """Take out of view what does not fit ``room`` tokens; return the receipt, if any went."""
        if trigger != MANUAL:
            # Nobody asked for the newest and the last request to go (N2.3): a view that has no
            # room for them leaves them out, but the next one, or a larger one, has them again.
            room = max(room, state.ledger.tokens_of(essentials(state.ledger, policy)))
        spans = pruned_spans(state.ledger, room, policy, state.meter)
        return self.take_out(state, trigger, spans, why)

    def start_session(self, state: ConversationState, keep: int, recap: int) -> Pruning | None:
        """Take all but system messages and pins out of view, for a new session.

        But for the ``keep`` newest; the ``recap`` newest of what goes are told in a recap.
        """
        policy = self._limits.policy
        if keep or recap:
            room = state.counted(self.thresholds(state).prune_to)
            spans = overflow_spans(state, keep, recap, policy, room)
            why = "the session has grown long and starts anew"
            return self.take_out(state, OVERFLOW, spans, why)
        room, policy = state.ledger.fixed_tokens, everything_unpinned(policy)
        return self.prune(state, SESSION_START, room, policy, "a new session starts")

    def take_out(
        self, state: ConversationState, trigger: str, spans: tuple[PrunedSpan, ...], why: str
    ) -> Pruning | None:
        """Take ``spans`` out of view; return the receipt, if there are any."""
        if not spans:
            return None
        before = state.used
        out = {span.first: state.ledger.between(span.first, span.last) for span in spans}
        if self._services.summarizer is None and self._limits.settings.summaries == "extractive":
            short = ExtractiveSummarizer()
            spans = tuple(
                replace(span, summary=short.summarize(out[span.first]) or None) for span in spans
            )
        receipt = Pruning(
            id=self._services.ids.new("prn"),
            at=self._services.clock.now(),
            trigger=trigger,
            why=why,
            strategy=self._limits.policy.strategy.name,
            before=before,
            after=state.without(item for items in out.values() for item in items),
            cuts=spans,
        )
        self._transcript.prune(receipt)
        self._states.apply(receipt)
        if self._services.summarizer is not None:
            work = partial(self._summarize, receipt.id, out, self._services.summarizer)
            start_thread("memoranda-summary", work, lambda: None)  # It ends by itself.
        return receipt

    def _summarize(
        self, receipt: str, out: Mapping[int, Sequence[Message]], summarizer: Summarizer
    ) -> None:
        try:
            texts = {first: summarizer.summarize(messages) for first, messages in out.items()}
            summaries = {
                first: storable(text, "summary").strip()
                for first, text in texts.items()
                if text.strip()
            }
            if summaries:
                self._transcript.summarize(receipt, summaries)
        except Exception:
            log.exception("no summary of %s; its markers stay bare", receipt)
            return
        self._events.emit("summarized", receipt)

    def _boundaries(self, ledger: Ledger, fresh: Sequence[Message]) -> list[TaskBoundary]:
        new = {item.id for item in fresh}
        said = ledger.messages[-LOOK_BACK - len(fresh) :]
        first = next((place for place, item in enumerate(said) if item.id in new), len(said))
        return [
            TaskBoundary(message=said[place], title=boundary.title, why=boundary.why)
            for place, boundary in find_boundaries(said, first, ledger.signals)
            if said[place].id in new  # others may have added messages, too
        ]


# The trigger of a pruning after which a recap stands for the newest messages.
OVERFLOW = "overflow"
CONSOLIDATED = "consolidated; the session goes on without them"


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """The current session of a conversation: the messages since it began.

    Attributes:
        recapped: messages that its recap tells, from before it began.
        messages: messages since; those that were pruned among them.
    """

    recapped: tuple[Message, ...]
    messages: tuple[Message, ...]


def read_session(transcript: Transcript, info: ConversationInfo) -> ConversationSession:
    """Return the current session of a conversation.

    It begins after the newest pruning that began one, unless all of that is cleared.
    """
    told: list[PrunedSpan] = []
    start = info.start
    for pruning in prunings_since(transcript.prunings(), info.start):
        if pruning.trigger in {OVERFLOW, SESSION_START}:
            told = [cut for cut in pruning.cuts if cut.why == RECAPPED]
            start = max(cut.last for cut in pruning.cuts) + 1
    found = transcript.messages(after=(told[0].first if told else start) - 1)
    recapped = [
        item
        for item in found
        if not item.pinned and any(cut.first <= place_of(item) <= cut.last for cut in told)
    ]
    return ConversationSession(
        tuple(item for item in recapped if place_of(item) < start),
        tuple(item for item in found if place_of(item) >= start),
    )


def overflow_spans(
    state: ConversationState, keep: int, recap: int, policy: Policy, room: int
) -> tuple[PrunedSpan, ...]:
    """Return spans of the older messages but system messages and pins, parted at the recap.

    What the user said last and nobody answered stays in view beside the newest; so do, of what the
    recap does not tell, the mistakes with their corrections, and standing rules (R5.3).

    Args:
        state: the conversation.
        keep: how many of the newest stay; a call of tools stays with its results.
        recap: how many of the newest that go the recap tells; neither does it part those.
        policy: of the conversation.
        room: tokens of a view, of which what stays when old has its share.
    """
    ledger, meter = state.ledger, state.meter
    if ledger.messages and ledger.messages[-1].role == "user":
        ledger = ledger.but_last()
    newest = _newest(ledger.units, keep)
    told = newest + _newest(ledger.units[: len(ledger.units) - newest], recap)
    places = [*(unit.position for unit in ledger.units), ledger.next]
    starts = places[-1 - told], places[-1 - newest]
    stays = _kept_when_old(ledger, starts[0], policy, room - ledger.fixed_tokens)
    found: list[PrunedSpan] = []
    for cut in pruned_spans(ledger, ledger.fixed_tokens, everything_unpinned(policy), meter):
        inside = [item for item in ledger.between(cut.first, cut.last) if item.id not in stays]
        middle, end = (bisect_left(inside, place, key=place_of) for place in starts)
        runs = ((inside[:middle], CONSOLIDATED), (inside[middle:end], RECAPPED))
        found += [scored_span(part, ledger, why) for run, why in runs for part in runs_of(run)]
    return tuple(found)


def _newest(units: Sequence[Unit], count: int) -> int:
    """Return how many of the newest units hold ``count`` messages at least, or all."""
    sizes = accumulate(len(unit.messages) for unit in reversed(units))
    return min(len(units), sum(size < count for size in sizes) + 1) if count else 0


def _kept_when_old(ledger: Ledger, before: int, policy: Policy, room: int) -> set[str]:
    """Return the ids of the messages before a position that stay when old."""
    older = ledger.first(bisect_left(ledger.units, before, key=lambda unit: unit.position))
    selection = Selection(older.units, {}, max(room, 0), policy.messages)
    selection.take_old(older.selection_input())
    return {item.id for index in selection.kept for item in older.units[index].messages}
