"""Pruning: when a conversation is pruned, which messages leave the view, and the receipt.

A pruning leaves less than what set it off, so that the next one is not due at once. One that
fails is logged and tried again with the next message; the message that set it off is kept (N4.4).

When a session has grown too long, all of it leaves the view. Its newest messages are told in
words, a recap, so that the conversation goes on where it was and no tool is run again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from threading import Thread
from typing import TypedDict

from memoranda.conversation.context import RECALL_SHARE, RECAPPED
from memoranda.conversation.ledger import ConversationState, Ledger, StateReader
from memoranda.conversation.scoring import MessagePlace, score
from memoranda.conversation.segments import Segmenter
from memoranda.conversation.summary import ExtractiveSummarizer
from memoranda.conversation.transcript import Transcript
from memoranda.conversation.units import Strategy
from memoranda.conversation.view import (
    FINISHED_TASKS,
    NO_ROOM,
    STABLE_TO,
    ConversationView,
    Policy,
    essentials,
    shortest,
    view_of,
)
from memoranda.errors import InvalidInput
from memoranda.model.checks import limited, storable
from memoranda.model.clock import IdFactory
from memoranda.model.events import Events
from memoranda.model.models import ConversationInfo, Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter, Summarizer
from memoranda.settings.sections import ConversationSettings


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one conversation, checked (see :class:`memoranda.Conversation`).

    Attributes:
        context_limit: the model's context window as the caller gave it.
        max_tokens: the budget of a context as the caller gave it.
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

    def thresholds(self, context_limit: int) -> Thresholds:
        """Return when to prune: shares of the window of which the budget is its share."""
        window = context_limit
        if self.max_tokens is not None:
            window = max(1, int(self.max_tokens / self.settings.budget_share))
        names = ("warn_at", "prune_at", "prune_to", "aggressive_at", "aggressive_to")
        return Thresholds(window=window, **{name: getattr(self.settings, name) for name in names})


class LimitOptions(TypedDict, total=False):
    """The limits of a conversation as its caller gives them (:class:`memoranda.Conversation`)."""

    context_limit: int | None
    max_tokens: int | None
    max_messages: int | None
    keep_recent: int | None
    strategy: str | Strategy | None


def check_limits(
    settings: ConversationSettings,
    *,
    context_limit: int | None = None,
    max_tokens: int | None = None,
    max_messages: int | None = None,
    keep_recent: int | None = None,
    strategy: str | Strategy | None = None,
) -> Limits:
    """Return the limits of a conversation if all of its arguments can be used.

    Raises:
        InvalidInput: one cannot; the message says which.
    """
    recent = limited(settings.keep_recent if keep_recent is None else keep_recent, "keep_recent")
    most = settings.max_messages if max_messages is None else max_messages
    policy = Policy(
        strategy=settings.strategy if strategy is None else strategy,
        max_messages=max(limited(most, "max_messages"), recent),
        keep_recent=recent,
        stable=settings.stable_prefix,
    )
    policy.check()
    return Limits(
        context_limit=None if context_limit is None else limited(context_limit, "context_limit"),
        max_tokens=None if max_tokens is None else limited(max_tokens, "max_tokens"),
        policy=policy,
        settings=settings,
    )


DEFAULT_LIMITS = check_limits(ConversationSettings())


log = logging.getLogger("memoranda.conversation")
BATCH = 5  # one in so many of the most messages leave a full window together
PERCENT = 100
REMEMBERED = 60  # messages before the first new one in which the present task is looked for

MANUAL = "manual"
AUTOMATIC = "automatic"
AGGRESSIVE = "aggressive"
TASK_BOUNDARY = "task_boundary"
SESSION_START = "session_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """How full the context window is.

    Attributes:
        tokens: of the system prompt and the messages in view.
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


@dataclass(frozen=True, slots=True)
class DuePruning:
    """A pruning that is due: what set it off, down to how many tokens, and why."""

    trigger: str
    target: int
    why: str


def due_pruning(used: int, limits: Thresholds) -> DuePruning | None:
    """Return the pruning that is due at ``used`` tokens; ``None`` below the first threshold."""
    share = f"{used:,} of {limits.window:,} tokens ({used * PERCENT / limits.window:.0f} %) in use"
    if used > limits.tokens(limits.aggressive_at):
        return DuePruning(AGGRESSIVE, limits.tokens(limits.aggressive_to), share)
    if used > limits.tokens(limits.prune_at):
        return DuePruning(AUTOMATIC, limits.tokens(limits.prune_to), share)
    return None


def has_too_many(ledger: Ledger, policy: Policy) -> bool:
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


def pruned_spans(
    ledger: Ledger, budget: int, policy: Policy, meter: MessageMeter
) -> tuple[PrunedSpan, ...]:
    """Return the live messages that a view of ``budget`` tokens leaves out, as spans."""
    return spans_of(ledger, view_of(ledger, budget, policy, meter))


def spans_of(ledger: Ledger, chosen: ConversationView) -> tuple[PrunedSpan, ...]:
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
    return tuple(span_of(run, ledger) for run in runs if any(item.id in gone for item in run))


def span_of(run: Sequence[Message], ledger: Ledger, why: str = NO_ROOM) -> PrunedSpan:
    """Return the span that takes a run of live messages out, with the best score among them."""
    newest = ledger.messages[-1]

    def value(item: Message) -> float:
        place = MessagePlace(
            from_end=(newest.position or 0) - (item.position or 0),
            days=max(0, (newest.timestamp - item.timestamp).days),
        )
        return score(item, ledger.reader.signals(item), place).value

    return PrunedSpan(
        first=run[0].position or 0,
        last=run[-1].position or 0,
        messages=len(run),
        tokens=sum(item.tokens for item in run),
        since=run[0].timestamp,
        until=run[-1].timestamp,
        why=why,
        score=max(map(value, run)),
    )


def everything_unpinned(policy: Policy) -> Policy:
    """Return the policy that takes out all but system messages and pins."""
    return replace(policy, strategy="recency", keep_recent=0)


def _sparing(ledger: Ledger, budget: int, policy: Policy) -> int:
    """Return the budget, or what the newest messages and the last request take, if that is more.

    Nobody asked for these to go (N2.3): a view that has no room for them leaves them out, but
    the next one, or a larger one, has them again.
    """
    must = essentials(ledger.grouping, policy)
    return max(budget, sum(ledger.units[index].tokens for index in must))


def _saved_by_shortening(ledger: Ledger, room: int, policy: Policy) -> int:
    """Return how many tokens a view of ``room`` saves on the newest messages.

    It shortens their long tool results: so these are no reason to take out all the rest.
    """
    must = [ledger.units[index] for index in essentials(ledger.grouping, policy)]
    whole = sum(unit.tokens for unit in must)
    return max(0, whole - max(sum(map(shortest, must)), room // 2))


class Pruner:
    """The triggers of one conversation. Not thread-safe: its conversation holds the lock.

    Args:
        transcript: what is pruned; it keeps the receipts.
        states: reads it, and is told what was pruned.
        limits: when to prune, and how.
        ids: makes the ids of receipts.
        now: tells the time.
        events: told when a summary is there.
        recalls: whether contexts also hold what memory recalls: a stable prefix leaves room.
        summarizer: says in short what is pruned; runs in the background.

    Raises:
        InvalidInput: the summarizer cannot summarize.
    """

    def __init__(
        self,
        transcript: Transcript,
        states: StateReader,
        limits: Limits,
        *,
        ids: IdFactory,
        now: Callable[[], datetime],
        events: Events,
        recalls: bool,
        summarizer: Summarizer | None,
    ) -> None:
        """Start with no message read."""
        if summarizer is not None and not callable(getattr(summarizer, "summarize", None)):
            raise InvalidInput(
                f"summarizer={summarizer!r:.80} cannot be used: it has no summarize(messages)"
            )
        self._transcript = transcript
        self._states = states
        self._limits = limits
        self._room = 1 - RECALL_SHARE if recalls else 1.0
        self._ids = ids
        self._now = now
        self._summarizer = summarizer
        self._events = events
        self._segmenter: Segmenter | None = None
        self._read_to = -1
        self._owed: TaskBoundary | None = None  # whose pruning is yet to succeed

    def thresholds(self, state: ConversationState) -> Thresholds:
        """Return when to prune."""
        limits = self._limits.thresholds(state.window)
        return limits.stable(self._room) if self._limits.policy.stable else limits

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
            if before < limits.tokens(limits.warn_at) <= state.full:
                usage = ContextUsage(tokens=state.full, limit=limits.window)
                events.append(("approaching_limit", usage))
            for receipt in self._prune_due(state, limits, boundaries):
                if receipt is not None:
                    events.append(("pruned", receipt))
        except Exception:
            log.exception("pruning failed; the next message tries again")
        return events

    def _prune_due(
        self, state: ConversationState, limits: Thresholds, boundaries: Sequence[TaskBoundary]
    ) -> Iterator[Pruning | None]:
        policy = self._limits.policy
        if boundaries and self._limits.settings.at_task_boundary == "prune":
            self._owed = boundaries[-1]
        if self._owed is not None:
            room = state.counted(limits.tokens(limits.prune_at))
            why = f"a new task starts: {self._owed.why}"
            finished = replace(policy, strategy=FINISHED_TASKS)
            yield self.prune(state, TASK_BOUNDARY, room, finished, why)
            self._owed = None
        aim = state.counted(limits.tokens(limits.prune_to)) - state.meter.reply
        saved = _saved_by_shortening(state.ledger, aim, policy)
        due = due_pruning(state.full - state.billed(saved), limits)
        if due is not None:
            room = state.counted(due.target) - state.meter.reply + saved
            yield self.prune(state, due.trigger, room, policy, due.why)
        if has_too_many(state.ledger, policy):
            room = state.counted(limits.tokens(limits.prune_at))
            held = state.ledger.grouping.messages
            why = f"{held} messages, and a view holds {policy.max_messages}"
            yield self.prune(state, AUTOMATIC, room, policy, why)

    def prune(
        self, state: ConversationState, trigger: str, room: int, policy: Policy, why: str
    ) -> Pruning | None:
        """Take out of view what does not fit ``room`` tokens; return the receipt, if any went."""
        if trigger != MANUAL:
            room = _sparing(state.ledger, room, policy)
        spans = pruned_spans(state.ledger, room, policy, state.meter)
        return self.take_out(state, trigger, spans, why)

    def take_out(
        self, state: ConversationState, trigger: str, spans: tuple[PrunedSpan, ...], why: str
    ) -> Pruning | None:
        """Take ``spans`` out of view; return the receipt, if there are any."""
        if not spans:
            return None
        before = state.used
        out = {span.first: state.ledger.between(span.first, span.last) for span in spans}
        if self._summarizer is None and self._limits.settings.summaries == "extractive":
            short = ExtractiveSummarizer()
            spans = tuple(
                replace(span, summary=short.summarize(out[span.first]) or None) for span in spans
            )
        receipt = Pruning(
            id=self._ids.new("prn"),
            at=self._now(),
            trigger=trigger,
            why=why,
            strategy=self._limits.policy.chosen.name,
            before=before,
            after=state.without(item for items in out.values() for item in items),
            cuts=spans,
        )
        self._transcript.prune(receipt)
        self._states.apply(receipt)
        if self._summarizer is not None:
            work = Thread(
                target=self._summarize,
                args=(receipt.id, out, self._summarizer),
                name="memoranda-summary",
                daemon=True,
            )
            work.start()
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
        # Others may have added messages, too, which this conversation has not read yet.
        if self._segmenter is None:
            self._segmenter = Segmenter(read=ledger.reader.signals)
            unread = ledger.messages[-REMEMBERED - len(fresh) :]
        else:
            unread = list(
                takewhile(
                    lambda item: (item.position or 0) > self._read_to, reversed(ledger.messages)
                )
            )[::-1]
        new = {item.id for item in fresh}
        found = []
        for item in unread:
            boundary = self._segmenter.add(item)
            self._read_to = item.position or 0
            if boundary is not None and boundary.strong and item.id in new:
                why = "; ".join(boundary.reasons)
                found.append(TaskBoundary(message=item, title=boundary.title, why=why))
        return found


OVERFLOW = "overflow"
"""The trigger of a pruning after which a recap stands for the newest messages."""
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
    """Return the current session of a conversation."""
    cuts, start = _session_start(transcript.prunings(), info.start)
    first = cuts[0].first if cuts else start
    recapped: list[Message] = []
    new: list[Message] = []
    for message in transcript.messages(after=first - 1):
        place = message.position or 0
        if place >= start:
            new.append(message)
        elif not message.pinned and any(cut.first <= place <= cut.last for cut in cuts):
            recapped.append(message)
    return ConversationSession(tuple(recapped), tuple(new))


def _session_start(prunings: Sequence[Pruning], start: int) -> tuple[tuple[PrunedSpan, ...], int]:
    """Return the spans that the recap in force tells, and where the present session begins.

    ``start`` is the position of the first message that is not cleared; what was pruned before it
    is over.
    """
    for pruning in reversed(prunings):
        cuts = [cut for cut in pruning.cuts if cut.first >= start]
        if pruning.trigger in {OVERFLOW, SESSION_START} and cuts:
            recapped = tuple(cut for cut in cuts if cut.why == RECAPPED)
            return recapped, max(cut.last for cut in cuts) + 1
    return (), start


def overflow_spans(
    ledger: Ledger, keep: int, policy: Policy, meter: MessageMeter
) -> tuple[PrunedSpan, ...]:
    """Return spans of all but system messages and pins, parted where the recap begins.

    What the user said last and nobody answered stays in view.

    Args:
        ledger: the live messages.
        keep: how many of the newest the recap tells; a call of tools stays with its results.
        policy: of the conversation.
        meter: measures markers.
    """
    if ledger.messages and ledger.messages[-1].role == "user":
        ledger = ledger.but_last()
    room = ledger.grouping.fixed_tokens
    first = _recap_start(ledger, keep)
    found: list[PrunedSpan] = []
    for cut in spans_of(ledger, view_of(ledger, room, everything_unpinned(policy), meter)):
        inside = ledger.between(cut.first, cut.last)
        older = [item for item in inside if (item.position or 0) < first]
        newer = inside[len(older) :]
        runs = ((older, CONSOLIDATED), (newer, RECAPPED))
        found += [span_of(run, ledger, why) for run, why in runs if run]
    return tuple(found)


def _recap_start(ledger: Ledger, keep: int) -> int:
    count, start = 0, ledger.next
    for unit in reversed(ledger.units):
        if count >= keep:
            break
        count += len(unit.messages)
        start = unit.position
    return start
