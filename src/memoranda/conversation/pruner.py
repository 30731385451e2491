"""Prunes a conversation when it is due, writes the receipt, and says what happened.

A pruning that fails is logged and tried again with the next message; the message that set
it off is kept (N4.4).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from threading import Thread
from typing import Any

from memoranda.conversation import pruning
from memoranda.conversation.choosing import Policy
from memoranda.conversation.context import RECALL_SHARE
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.limits import Limits
from memoranda.conversation.live import Live
from memoranda.conversation.segments import Boundary, Segmenter
from memoranda.conversation.summary import ExtractiveSummarizer
from memoranda.conversation.transcript import Transcript
from memoranda.errors import InvalidInput
from memoranda.model.events import Events
from memoranda.model.models import ConversationInfo, Cut, Message, Pruning
from memoranda.model.ports import MessageMeter, Summarizer
from memoranda.model.text import storable
from memoranda.model.times import require_aware
from memoranda.parts import TalkParts

log = logging.getLogger("memoranda.conversation")
REMEMBERED = 60  # messages before the first new one in which the present task is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
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
        return round(self.tokens / self.limit * 100, 1)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The figures of the moment that a decision is made from."""

    ledger: Ledger
    info: ConversationInfo
    meter: MessageMeter
    window: int

    @property
    def system(self) -> int:
        """Tokens of the system prompt."""
        return self.meter.message(self.info.system) if self.info.system else 0

    @property
    def used(self) -> int:
        """Tokens of a context with all that is live, as the provider is taken to count."""
        spoken = self.system + self.ledger.tokens + self.meter.reply
        return self.billed(spoken) + self.info.calibration.overhead

    @property
    def marked(self) -> int:
        """Tokens of the markers that stand for what prunings took out."""
        return self.billed(self.ledger.marked(self.meter))

    @property
    def full(self) -> int:
        """Tokens in use, with those of the markers."""
        return self.used + self.marked

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for ``tokens`` of messages."""
        return int(tokens * self.info.calibration.scale)

    def without(self, messages: Iterable[Message]) -> int:
        """Return the tokens that are in use when these messages are gone."""
        orphans = {item.id for item in self.ledger.grouping.orphans()}
        gone = sum(item.tokens for item in messages if item.id not in orphans)
        left = self.system + self.ledger.tokens + self.meter.reply - gone
        return self.billed(left) + self.info.calibration.overhead

    def counted(self, tokens: int) -> int:
        """Return the messages' share of what the provider counts as ``tokens``."""
        return max(0, self.info.calibration.room(tokens) - self.system)


class Pruner:
    """The triggers of one conversation. Not thread-safe: its conversation holds the lock."""

    def __init__(
        self,
        transcript: Transcript,
        live: Live,
        limits: Limits,
        parts: TalkParts,
        *,
        recalls: bool,
        summarizer: Summarizer | None,
        events: Events,
    ) -> None:
        """Prune ``transcript`` within ``limits``; ``summarizer`` runs in the background.

        Where contexts also hold what memory ``recalls``, a stable prefix leaves room for that.
        """
        if summarizer is not None and not callable(getattr(summarizer, "summarize", None)):
            message = f"summarizer={summarizer!r:.80} cannot be used: it has no summarize(messages)"
            raise InvalidInput(message)
        self._transcript = transcript
        self._live = live
        self._limits = limits
        self._room = 1 - RECALL_SHARE if recalls else 1.0
        self._parts = parts
        self._summarizer = summarizer
        self._events = events
        self._segmenter: Segmenter | None = None
        self._read_to = -1
        self._owed: TaskBoundary | None = None  # whose pruning is yet to succeed

    def thresholds(self, state: State) -> pruning.Thresholds:
        """Return when to prune."""
        limits = self._limits.thresholds(state.window)
        return limits.stable(self._room) if self._limits.policy.stable else limits

    def added(
        self, state: State, fresh: Sequence[Message], before: int
    ) -> list[tuple[str, object]]:
        """Prune if ``fresh`` messages made it due; return the events that came of it.

        ``before`` is how many tokens were in use without them.
        """
        limits = self.thresholds(state)
        told: list[tuple[str, object]] = []
        try:
            boundaries = self._boundaries(state.ledger, fresh)
            told += [("task_boundary", item) for item in boundaries]
            if before < limits.tokens(limits.warn_at) <= state.full:
                told.append(("approaching_limit", Usage(tokens=state.full, limit=limits.window)))
            for done in self._due(state, limits, boundaries):
                if done is not None:
                    told.append(("pruned", done))
        except Exception:
            log.exception("pruning failed; the next message tries again")
        return told

    def _due(
        self, state: State, limits: pruning.Thresholds, boundaries: Sequence[TaskBoundary]
    ) -> Iterator[Pruning | None]:
        policy = self._limits.policy
        if boundaries and self._limits.settings.at_task_boundary == "prune":
            self._owed = boundaries[-1]
        if self._owed is not None:
            room = state.counted(limits.tokens(limits.prune_at))
            why = f"a new task starts: {self._owed.why}"
            finished = pruning.finished(policy)
            yield self.prune(state, pruning.TASK_BOUNDARY, room, finished, why)
            self._owed = None
        aim = state.counted(limits.tokens(limits.prune_to)) - state.meter.reply
        saved = pruning.relief(state.ledger, aim, policy)
        due = pruning.due(state.full - state.billed(saved), limits)
        if due is not None:
            room = state.counted(due.target) - state.meter.reply + saved
            yield self.prune(state, due.trigger, room, policy, due.why)
        if pruning.overfull(state.ledger, policy):
            room = state.counted(limits.tokens(limits.prune_at))
            held = state.ledger.grouping.messages
            why = f"{held} messages, and a view holds {policy.max_messages}"
            yield self.prune(state, pruning.AUTOMATIC, room, policy, why)

    def prune(
        self, state: State, trigger: str, room: int, policy: Policy, why: str
    ) -> Pruning | None:
        """Take out of view what does not fit ``room`` tokens; return the receipt, if any went."""
        if trigger != pruning.MANUAL:
            room = pruning.sparing(state.ledger, room, policy)
        cuts = pruning.cuts(state.ledger, room, policy, state.meter)
        return self.cut(state, trigger, cuts, why)

    def cut(self, state: State, trigger: str, cuts: tuple[Cut, ...], why: str) -> Pruning | None:
        """Take ``cuts`` out of view; return the receipt, if there are any."""
        if not cuts:
            return None
        before = state.used
        out = {cut.first: self._messages(state.ledger, cut) for cut in cuts}
        if self._summarizer is None and self._limits.settings.summaries == "extractive":
            short = ExtractiveSummarizer()
            cuts = tuple(
                replace(cut, summary=short.summarize(out[cut.first]) or None) for cut in cuts
            )
        receipt = Pruning(
            id=self._parts.ids.new("prn"),
            at=require_aware(self._parts.clock.now(), "clock"),
            trigger=trigger,
            why=why,
            strategy=self._limits.policy.strategy,
            before=before,
            after=state.without(item for items in out.values() for item in items),
            cuts=cuts,
        )
        self._transcript.prune(receipt)
        self._live.pruned(receipt)
        if self._summarizer is not None:
            self._summarize(receipt.id, out, self._summarizer)
        return receipt

    def _messages(self, ledger: Ledger, cut: Cut) -> list[Message]:
        return [item for item in ledger.messages if cut.first <= (item.position or 0) <= cut.last]

    def _summarize(
        self, receipt: str, out: Mapping[int, Sequence[Message]], summarizer: Summarizer
    ) -> None:
        def work() -> None:
            try:
                texts: dict[int, Any] = {
                    first: summarizer.summarize(messages) for first, messages in out.items()
                }
                said = {
                    first: storable(text, "summary").strip()
                    for first, text in texts.items()
                    if text.strip()
                }
                if said:
                    self._transcript.summarize(receipt, said)
            except Exception:
                log.exception("no summary of %s; its markers stay bare", receipt)
                return
            self._events.emit("summarized", receipt)

        Thread(target=work, name="memoranda-summary", daemon=True).start()

    def _boundaries(self, ledger: Ledger, fresh: Sequence[Message]) -> list[TaskBoundary]:
        # Others may have added messages, too, which this conversation has not read yet.
        if self._segmenter is None:
            self._segmenter = Segmenter(read=ledger.reading.signals)
            unread = ledger.messages[-REMEMBERED - len(fresh) :]
        else:
            unread = list(takewhile(self._is_unread, reversed(ledger.messages)))[::-1]
        new = {item.id for item in fresh}
        found = []
        for item in unread:
            boundary = self._segmenter.add(item)
            self._read_to = item.position or 0
            if boundary is not None and boundary.strong and item.id in new:
                found.append(_boundary(item, boundary))
        return found

    def _is_unread(self, message: Message) -> bool:
        return (message.position or 0) > self._read_to


def _boundary(message: Message, boundary: Boundary) -> TaskBoundary:
    return TaskBoundary(
        message=message,
        title=boundary.title,
        why="; ".join(boundary.reasons),
    )
