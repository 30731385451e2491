"""Conversation: the face of one conversation, alone in memory or part of a Memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self

from memoranda.conversation import recap as overflow
from memoranda.conversation.billed import billed, taught
from memoranda.conversation.context import ContextBuilder, Order
from memoranda.conversation.formats.parse import make_turn, parse_messages
from memoranda.conversation.formats.turns import Turn
from memoranda.conversation.limits import Limits, checked
from memoranda.conversation.live import Live
from memoranda.conversation.moment import Asking, Moment, last_question
from memoranda.conversation.pruned import Pruned
from memoranda.conversation.pruner import Pruner, State
from memoranda.conversation.scoring import static
from memoranda.conversation.sessions.file_transcript import FileTranscript
from memoranda.conversation.system_extras import (
    Noted,
    notes_extra,
    recap_extra,
    without_recalled,
)
from memoranda.conversation.talk_stats import ConversationStats, stats
from memoranda.conversation.transcript import MemoryTranscript, Transcript
from memoranda.conversation.view import View
from memoranda.errors import InvalidInput
from memoranda.model.checks import known, named
from memoranda.model.events import Events
from memoranda.model.models import (
    NO_RECALL,
    Calibration,
    Context,
    ConversationInfo,
    Image,
    Message,
    Recall,
    ToolCall,
    ToolResult,
)
from memoranda.model.ports import Summarizer
from memoranda.model.text import clean
from memoranda.model.times import require_aware
from memoranda.parts import TalkParts
from memoranda.settings.settings import Settings

Recalled = Callable[[Asking], Recall]
"""Asks memory."""


class Conversation(Pruned):
    """An append-only transcript, and contexts of it that fit a budget. Thread-safe.

    Args:
        system: the system prompt; it is in every context.
        model: the model it is held with; decides how tokens are counted.
        context_limit: the model's context window, in tokens; known for many models.
        max_tokens: budget of a context; 80 % of the window, if not given (R8.2).
        max_messages: most messages in a view; 50, if the settings say nothing else (R8.1).
        keep_recent: how many of the newest always stay, while the budget allows; 10, if the
            settings say nothing else (R3.3, R8.4).
        strategy: ``rolling_window`` (the default of the settings), ``recency``,
            ``importance`` or ``hybrid`` (R8.3).
        settings: everything else; read from file and environment, if not given.
        summarizer: says in short what is pruned; called in the background.

    Raises:
        InvalidInput: an argument cannot be used.
    """

    def __init__(
        self,
        *,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        keep_recent: int | None = None,
        strategy: str | None = None,
        settings: Settings | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        """Start a conversation that lives as long as this object."""
        parts = TalkParts.usual(settings)
        limits = checked(
            parts.settings.conversation,
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
        )
        info = ConversationInfo(
            id="conversation",
            created_at=require_aware(parts.clock.now(), "clock"),
            system=named(system, "system"),
            model=named(model, "model"),
            context_limit=limits.context_limit,
        )
        self._begin(MemoryTranscript(info), limits, parts, recall=None, summarizer=summarizer)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        keep_recent: int | None = None,
        strategy: str | None = None,
        settings: Settings | None = None,
        summarizer: Summarizer | None = None,
    ) -> Self:
        """Open the conversation that lives in the session file ``path``, or start it (seed 002).

        Several processes may hold it. Arguments and errors are those of :class:`Conversation`,
        and ``StoreError`` if the file cannot be used; what is not given is as it says.
        """
        parts = TalkParts.usual(settings)
        limits = checked(
            parts.settings.conversation,
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
        )
        storage = parts.settings.storage
        transcript, other_model = FileTranscript.opened(
            path,
            created_at=require_aware(parts.clock.now(), "clock"),
            meters=parts.catalog.meter,
            system=named(system, "system"),
            model=named(model, "model"),
            context_limit=limits.context_limit,
            power_safe=storage.durability == "power",
            busy_timeout=storage.busy_timeout,
        )
        return cls.over(transcript, limits, parts, summarizer=summarizer, other_model=other_model)

    @classmethod
    def over(
        cls,
        transcript: Transcript,
        limits: Limits,
        parts: TalkParts,
        *,
        recall: Recalled | None = None,
        notes: Noted | None = None,
        summarizer: Summarizer | None = None,
        other_model: bool = False,
    ) -> Self:
        """Return the conversation whose messages ``transcript`` keeps.

        They are counted anew if they were counted for an ``other_model``.
        """
        conversation = object.__new__(cls)
        conversation._begin(transcript, limits, parts, recall, summarizer)
        conversation._notes = notes
        if other_model:
            transcript.calibrate(Calibration())
            conversation.recount()
        if limits.settings.at_session_start == "prune":
            conversation.start_session()
        return conversation

    def _begin(
        self,
        transcript: Transcript,
        limits: Limits,
        parts: TalkParts,
        recall: Recalled | None,
        summarizer: Summarizer | None,
    ) -> None:
        self._transcript = transcript
        self._limits = limits
        self._parts = parts
        self._recall = recall
        self._notes: Noted | None = None
        self._events = Events()
        self._lock = RLock()
        self._live = Live(transcript)
        self._counted = 0
        self._pruner = Pruner(
            transcript,
            self._live,
            limits,
            parts,
            recalls=recall is not None,
            summarizer=summarizer,
            events=self._events,
        )

    def add(
        self,
        role: str,
        content: str,
        *,
        tool_calls: Iterable[ToolCall | Mapping[str, Any]] = (),
        tool_result: ToolResult | str | None = None,
        images: Iterable[Image | str] = (),
        timestamp: datetime | None = None,
        task: str | None = None,
    ) -> Message:
        """Add one message at the end and return it. Waits for no model.

        Where this fills the context window beyond a threshold, older messages leave the
        view (:meth:`prune`); a subscriber of ``pruned`` is told.

        Args:
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: the text; may be empty where there are tool calls or images.
            tool_calls: calls the assistant makes: ``ToolCall`` or OpenAI's dicts.
            tool_result: which call a tool message answers: ``ToolResult`` or the call's id.
            images: pictures, or their addresses (``https://…``, ``data:image/…``).
            timestamp: when it was said, with its time zone; now, if not given.
            task: the title of the task that starts with this message.

        Raises:
            InvalidInput: an argument cannot be used; nothing was added.
        """
        said = make_turn(
            role,
            content,
            tool_calls=tool_calls,
            tool_result=tool_result,
            images=images,
            timestamp=timestamp,
            task=task,
        )
        return self._append([said])[0]

    def extend(self, messages: Iterable[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
        """Add many messages in one transaction: all of them, or none.

        Args:
            messages: messages of another conversation, or dicts in the form of OpenAI's
                chat completions, OpenAI's responses or Anthropic's messages.

        Raises:
            InvalidInput: a message has none of these forms; nothing was added.
        """
        return tuple(self._append(parse_messages(messages)))

    def _append(self, found: Sequence[Turn]) -> list[Message]:
        if not found:
            return []
        with self._lock:
            state = self._state()
            used = state.full
            messages = [self._message(turn, state) for turn in found]
            self._transcript.append(messages)
            state = self._state()
            fresh = self._kept(state, messages)
            told = self._pruner.added(state, fresh, used)
        self._transcript.announce()
        for message in fresh:
            self._events.emit("added", message)
        for name, subject in told:
            self._events.emit(name, subject)
        return fresh

    def _message(self, given: Turn, state: State) -> Message:
        given.check()
        turn = given
        message = Message(
            id=self._parts.ids.new("msg"),
            role=turn.role,
            content=turn.content,
            timestamp=known(turn.timestamp, "timestamp") or self._now(),
            tokens=state.meter.message(turn.content, turn.tool_calls, turn.images),
            tool_calls=turn.tool_calls,
            tool_result=turn.tool_result,
            images=turn.images,
            task=turn.task,
        )
        return replace(message, importance=static(message, state.ledger.reading.signals(message)))

    def _kept(self, state: State, messages: Sequence[Message]) -> list[Message]:
        # As they stand in the transcript, where another writer's may be among them.
        wanted = {message.id for message in messages}
        found: dict[str, Message] = {}
        for message in reversed(state.ledger.messages):
            if len(found) == len(wanted):
                break
            if message.id in wanted:
                found[message.id] = message
        if len(found) < len(wanted):  # Another writer took them out of view this instant.
            found = {item.id: item for item in self._transcript.messages(cleared=True)}
        return [found.get(message.id, message) for message in messages]

    def view(self, budget: int | None = None) -> View:
        """Return the messages that fit ``budget`` tokens beside the system prompt.

        A pure function of the transcript with its receipts, and the budget.

        Raises:
            BudgetTooSmall: system prompt and pinned messages alone do not fit.
        """
        with self._lock:
            state = self._state()
            return self._fitting(state, self._view(state, budget), budget)

    def context(
        self, prompt: str | None = None, *, budget: int | None = None, form: str = "openai"
    ) -> Context:
        """Return what to send to the model: system prompt, memory, conversation, prompt.

        Args:
            prompt: what the user says now. It is not added to the transcript, and not sent
                twice if it is there as the last message.
            budget: most tokens it may take; ``max_tokens``, if not given.
            form: of the messages: ``openai`` (chat completions), ``responses`` (OpenAI) or
                ``anthropic``; in the last two the system text is ``Context.system``.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt alone do not fit.
            InvalidInput: an argument cannot be used.
        """
        asked = None if prompt is None else clean(prompt, "prompt")
        notes = self._notes() if self._notes else ""
        with self._lock:
            now = self._moment(asked, budget, form, notes)
            question = now.builder.question(now.ledger, now.order) if self._recall else None
        # Memory may ask a model: meanwhile others can add and read.
        memory = NO_RECALL
        if self._recall and question and now.question:
            seen = question.seen | now.said | now.recapped
            memory = self._recall(Asking(now.question, question.budget, seen, now.builder.counter))
            if not self._limits.policy.stable:  # There the notes are to stay as they are.
                notes = without_recalled(notes, memory)
        with self._lock:
            now = self._moment(asked, budget, form, notes)
            built = now.builder.build(now.ledger, now.order, memory)
            self._counted = now.order.counted(built.tokens)
        return built

    def _moment(self, asked: str | None, budget: int | None, form: str, notes: str) -> Moment:
        state = self._state()
        ledger, said = state.ledger, frozenset[str]()
        last = ledger.messages[-1] if ledger.messages else None
        if last and (last.role, last.content, last.images) == ("user", asked, ()):
            # It was added before it was asked for: once is enough.
            ledger, said = ledger.but_last(), frozenset({last.record_id or ""})
        order = Order(
            system=state.info.system,
            prompt=asked,
            budget=self._budget(budget, state),
            form=form,
            calibration=state.info.calibration,
            recalls=self._recall is not None,
        )
        builder = ContextBuilder(state.meter, self._limits.policy)
        extras = [notes_extra(notes)] if notes.strip() else []
        told: tuple[Message, ...] = ()
        if any(overflow.RECAPPED in gap.why for gap in ledger.gaps):
            told = self._session(state).recapped
            extras.append(recap_extra(told))
        order = builder.joined(ledger, order, extras)
        recapped = frozenset(item.record_id for item in told if item.record_id)
        return Moment(builder, ledger, order, asked or last_question(ledger), said, recapped)

    def calibrate(self, actual: object) -> None:
        """Learn from how many tokens the provider counted in the last :meth:`context`.

        Later counts of this conversation are corrected by it: an estimate in proportion, an
        exact count by what is sent beside the messages, such as definitions of tools.

        Args:
            actual: the number, or the ``usage`` of the reply.

        Raises:
            InvalidInput: there is no such number in it, or no context was built yet.
        """
        tokens = billed(actual)
        with self._lock:
            state = self._state()
            if not self._counted:
                message = f"actual={tokens}: no context was built yet that it could be compared to"
                raise InvalidInput(message)
            lesson = taught(
                state.info.calibration,
                counted=self._counted,
                actual=tokens,
                exact=state.meter.counter.exact,
            )
            self._transcript.calibrate(lesson)

    def stats(self) -> ConversationStats:
        """Return counts and tokens, as a context without a prompt would have them."""
        with self._lock:
            state = self._state()
            shown = self._view(state, None, state.meter.reply)
        return stats(
            state.info, shown, self._transcript.prunings(), limit=state.window, meter=state.meter
        )
