"""When a conversation is pruned, what then goes, and the receipt of it.

A pruning leaves less than what set it off, so that the next one is not due at once. One that
fails is logged and tried again with the next message; the message that set it off is kept (N4.4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from threading import Thread

from memoranda.conversation.context import RECALL_SHARE
from memoranda.conversation.ledger import ConversationState, Ledger, StateReader
from memoranda.conversation.limits import Limits, Thresholds
from memoranda.conversation.scoring import MessagePlace, score
from memoranda.conversation.segments import Segmenter
from memoranda.conversation.selection import FINISHED_TASKS, Policy, essentials, shortest
from memoranda.conversation.summary import ExtractiveSummarizer
from memoranda.conversation.transcript import Transcript
from memoranda.conversation.view import NO_ROOM, ConversationView, view_of
from memoranda.errors import InvalidInput
from memoranda.model.checks import storable
from memoranda.model.clock import IdFactory
from memoranda.model.events import Events
from memoranda.model.models import Message, PrunedSpan, Pruning
from memoranda.model.ports import MessageMeter, Summarizer

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
    """Return which pruning is due at ``used`` tokens; none below the first threshold."""
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
    """Return what a view of ``budget`` tokens leaves out of what is live."""
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
