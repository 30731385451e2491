"""Conversation: the face of one conversation, alone in memory or part of a Memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from recollect.app.checks import known, limited, named, several
from recollect.app.parts import TalkParts
from recollect.conversation.context import REPLY_OVERHEAD, ContextBuilder, measure
from recollect.conversation.shapes import Turn, parse_role, turns
from recollect.conversation.transcript import MemoryTranscript, Transcript
from recollect.conversation.view import Strategy, View, strategy_named
from recollect.core.errors import InvalidInput
from recollect.core.events import Callback, Events
from recollect.core.models import Context, ConversationInfo, Message, Recall, ToolCall, ToolResult
from recollect.core.text import clean, storable
from recollect.core.times import require_aware

PERCENT = 100
Recalled = Callable[[str, int, frozenset[str]], Recall]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (seed 000, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that would stay out, though not cleared.
        total_tokens: tokens of the view.
        token_limit: the model's context window.
        percent_used: of that limit.
        tokens_by_role: tokens of the view by role.
        oldest_message: when the oldest message in view was said.
        last_prune: when the message was said that last pushed others out of the view;
            ``None`` while all are in it.
        exact: whether tokens are the model's own count rather than an estimate.
    """

    total_messages: int
    messages_in_context: int
    pruned_messages: int
    total_tokens: int
    token_limit: int
    percent_used: float
    tokens_by_role: Mapping[str, int]
    oldest_message: datetime | None
    last_prune: datetime | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a transcript a context may hold, checked (see :class:`Conversation`)."""

    context_limit: int | None
    max_tokens: int | None
    strategy: Strategy


def checked(
    *,
    context_limit: int | None = None,
    max_tokens: int | None = None,
    max_messages: int = 50,
    keep_recent: int = 10,
    strategy: str = "rolling_window",
) -> Limits:
    """Return the arguments of a conversation if all of them can be used.

    Raises:
        InvalidInput: one cannot; the message says which.
    """
    recent = limited(keep_recent, "keep_recent")
    most = max(limited(max_messages, "max_messages"), recent)
    return Limits(
        context_limit=None if context_limit is None else limited(context_limit, "context_limit"),
        max_tokens=None if max_tokens is None else limited(max_tokens, "max_tokens"),
        strategy=strategy_named(strategy, max_messages=most, keep_recent=recent),
    )


USUAL = checked()


class Conversation:
    """An append-only transcript, and contexts of it that fit a budget. Thread-safe.

    Args:
        system: the system prompt; it is in every context.
        model: the model it is held with.
        context_limit: the model's context window, in tokens.
        max_tokens: budget of a context; 80 % of the window, if not given (R8.2).
        max_messages: most messages in a view (``rolling_window``, R8.1).
        keep_recent: how many of the newest always stay, while the budget allows (R3.3).
        strategy: ``rolling_window`` or ``recency``.

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
        max_messages: int = 50,
        keep_recent: int = 10,
        strategy: str = "rolling_window",
    ) -> None:
        """Start a conversation that lives as long as this object."""
        limits = checked(
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
        )
        parts = TalkParts.usual()
        info = ConversationInfo(
            id="conversation",
            created_at=require_aware(parts.clock.now(), "clock"),
            system=named(system, "system"),
            model=named(model, "model"),
            context_limit=limits.context_limit,
        )
        self._begin(MemoryTranscript(info), limits, parts, recall=None)

    @classmethod
    def over(
        cls,
        transcript: Transcript,
        limits: Limits,
        parts: TalkParts,
        recall: Recalled | None = None,
    ) -> Self:
        """Return the conversation whose messages ``transcript`` keeps."""
        conversation = object.__new__(cls)
        conversation._begin(transcript, limits, parts, recall)
        return conversation

    def _begin(
        self, transcript: Transcript, limits: Limits, parts: TalkParts, recall: Recalled | None
    ) -> None:
        self._transcript = transcript
        self._max_tokens = limits.max_tokens
        self._builder = ContextBuilder(parts.counter, limits.strategy)
        self._parts = parts
        self._recall = recall
        self._events = Events()

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._transcript.info().id

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._transcript.info().system

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages since the last :meth:`clear`, in order."""
        return tuple(self._transcript.messages())

    def __len__(self) -> int:
        """Return how many messages there are since the last :meth:`clear`."""
        return len(self._transcript.messages())

    def __bool__(self) -> bool:
        """A conversation is true also while it is empty."""
        return True

    def add(
        self,
        role: str,
        content: str,
        *,
        tool_calls: Iterable[ToolCall | Mapping[str, Any]] = (),
        tool_result: ToolResult | str | None = None,
        timestamp: datetime | None = None,
    ) -> Message:
        """Add one message at the end and return it. Waits for no model.

        Args:
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: the text; may be empty where there are tool calls.
            tool_calls: calls the assistant makes: ``ToolCall`` or OpenAI's dicts.
            tool_result: which call a tool message answers: ``ToolResult`` or the call's id.
            timestamp: when it was said, with its time zone; now, if not given.

        Raises:
            InvalidInput: an argument cannot be used; nothing was added.
        """
        calls = tuple(
            call if isinstance(call, ToolCall) else _parsed_call(call)
            for call in several(tool_calls, "tool_calls")
        )
        result = ToolResult(tool_result) if isinstance(tool_result, str) else tool_result
        turn = Turn(
            role=parse_role(role),
            content=content,
            tool_calls=calls,
            tool_result=result,
            timestamp=timestamp,
        )
        return self._append([turn])[0]

    def extend(self, messages: Iterable[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
        """Add many messages in one transaction: all of them, or none.

        Args:
            messages: messages of another conversation, or dicts in the form of OpenAI's
                chat completions or of Anthropic's messages.

        Raises:
            InvalidInput: a message has neither form; nothing was added.
        """
        found: list[Turn] = []
        for message in several(messages, "messages"):
            if isinstance(message, Message):
                found.append(_turn(message))
            else:
                found.extend(turns(message))
        return tuple(self._append(found))

    def _append(self, found: Sequence[Turn]) -> list[Message]:
        messages = [self._message(turn) for turn in found]
        kept = self._transcript.append(messages) if messages else []
        for message in kept:
            self._events.emit("added", message)
        return kept

    def _message(self, turn: Turn) -> Message:
        content = storable(turn.content, "content")
        _check_tools(turn)
        if not content.strip() and not turn.tool_calls and turn.tool_result is None:
            message = "content is empty; give the message some text or a tool call"
            raise InvalidInput(message)
        said = known(turn.timestamp, "timestamp") or self._now()
        return Message(
            id=self._parts.ids.new("msg"),
            role=turn.role,
            content=content,
            timestamp=said,
            tokens=measure(self._parts.counter, content, turn.tool_calls),
            tool_calls=turn.tool_calls,
            tool_result=turn.tool_result,
        )

    def recent(self, n: int) -> tuple[Message, ...]:
        """Return the last ``n`` messages in order."""
        return tuple(self._transcript.messages(last=limited(n, "n")))

    def by_role(self, role: str) -> tuple[Message, ...]:
        """Return the messages of one role in order."""
        wanted = parse_role(role)
        return tuple(message for message in self.messages if message.role == wanted)

    def window(self, turns: int = 5) -> tuple[Message, ...]:
        """Return the last ``turns`` turns: from a user's message to the next (seed 001)."""
        limited(turns, "turns")
        found = self.messages
        starts = [index for index, message in enumerate(found) if message.role == "user"]
        return found[starts[-turns] :] if len(starts) >= turns else found

    def view(self, budget: int | None = None) -> View:
        """Return the messages that fit ``budget`` tokens beside the system prompt.

        A pure function of the transcript and the budget.
        """
        return self._view(self._transcript.messages(), self._budget(budget))

    def _view(self, messages: Sequence[Message], budget: int) -> View:
        return self._builder.view(messages, system=self.system, budget=budget)

    def context(self, prompt: str | None = None, *, budget: int | None = None) -> Context:
        """Return what to send to the model: system prompt, memory, conversation, prompt.

        Args:
            prompt: what the user says now. It is not added to the transcript, and not sent
                twice if it is there as the last message.
            budget: most tokens it may take; ``max_tokens``, if not given.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt alone do not fit.
            InvalidInput: an argument cannot be used.
        """
        asked = None if prompt is None else clean(prompt, "prompt")
        messages = self._transcript.messages()
        said: frozenset[str] = frozenset()
        if messages and (messages[-1].role, messages[-1].content) == ("user", asked):
            # It was added before it was asked for: once is enough.
            said = frozenset({messages.pop().record_id or ""})
        question = asked or next(
            (item.content for item in reversed(messages) if item.role == "user"), None
        )
        recall = self._recall
        return self._builder.build(
            messages,
            system=self.system,
            prompt=asked,
            budget=self._budget(budget),
            recall=None
            if recall is None or not question
            else lambda share, seen: recall(question, share, seen | said),
        )

    def stats(self) -> ConversationStats:
        """Return counts and tokens, as a context without a prompt would have them."""
        info = self._transcript.info()
        limit = info.context_limit or self._parts.settings.conversation.context_limit
        messages = self._transcript.messages()
        budget = self._budget(None) - REPLY_OVERHEAD
        shown = self._view(messages, budget)
        by_role: dict[str, int] = {}
        if info.system:
            by_role["system"] = measure(self._parts.counter, info.system)
        for message in shown.messages:
            by_role[message.role] = by_role.get(message.role, 0) + message.tokens
        total = sum(by_role.values())
        return ConversationStats(
            total_messages=info.messages,
            messages_in_context=len(shown.messages),
            pruned_messages=len(shown.pruned) + len(shown.orphans),
            total_tokens=total,
            token_limit=limit,
            percent_used=round(total / limit * PERCENT, 1),
            tokens_by_role=by_role,
            oldest_message=shown.messages[0].timestamp if shown.messages else None,
            last_prune=self._last_prune(messages, len(shown.pruned), budget),
            exact=self._parts.counter.exact,
        )

    def _last_prune(self, messages: Sequence[Message], pruned: int, budget: int) -> datetime | None:
        # As messages come, those left out become more: the first prefix of the transcript
        # that leaves out as many as the whole ends with the message that pushed them out.
        if not pruned:
            return None
        place = bisect_left(
            range(1, len(messages) + 1),
            pruned,
            key=lambda count: len(self._view(messages[:count], budget).pruned),
        )
        return messages[place].timestamp

    def pin(self, id: str, *, pinned: bool = True) -> None:
        """Keep a message in every context, or stop keeping it.

        Raises:
            NotFound: it is not in this conversation.
        """
        self._transcript.pin(id, pinned=pinned)

    def clear(self) -> None:
        """Start afresh: what was said so far stays out of every later context.

        The system prompt stays. Nothing is lost: the transcript keeps the messages, and
        with a memory their episodes can still be found.
        """
        self._transcript.clear()
        self._events.emit("cleared", self.id)

    def end(self) -> None:
        """Mark the conversation as finished. It can still be read, and gone on with."""
        self._transcript.end(self._now())
        self._events.emit("ended", self.id)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: added, cleared or ended."""
        self._events.on(event, callback)

    def _budget(self, budget: int | None) -> int:
        if budget is not None:
            return limited(budget, "budget")
        if self._max_tokens is not None:
            return self._max_tokens
        defaults = self._parts.settings.conversation
        limit = self._transcript.info().context_limit or defaults.context_limit
        return int(limit * defaults.budget_share)

    def _now(self) -> datetime:
        return require_aware(self._parts.clock.now(), "clock")


def _turn(message: Message) -> Turn:
    return Turn(
        role=message.role,
        content=message.content,
        tool_calls=message.tool_calls,
        tool_result=message.tool_result,
        timestamp=message.timestamp,
    )


def _check_tools(turn: Turn) -> None:
    if turn.tool_calls and turn.role != "assistant":
        message = f"role={turn.role!r} cannot make tool calls; only the assistant does"
        raise InvalidInput(message)
    for call in turn.tool_calls:
        for name in ("id", "name", "arguments"):
            storable(getattr(call, name), f"{name} of a tool call")
    result: object = turn.tool_result
    if result is None:
        return
    if not isinstance(result, ToolResult):
        message = f"tool_result must be a ToolResult or the id of the call, got {result!r:.80}"
        raise InvalidInput(message)
    if turn.role != "tool":
        message = f"role={turn.role!r} cannot answer a tool call; use role='tool'"
        raise InvalidInput(message)
    storable(result.call_id, "tool_result")


def _parsed_call(call: Mapping[str, Any]) -> ToolCall:
    shape = {"role": "assistant", "content": None, "tool_calls": [call]}
    return turns(shape)[0].tool_calls[0]
