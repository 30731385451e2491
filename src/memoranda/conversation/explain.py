"""Why each message of a conversation is in its view or not, and the view in figures.

The reasons are those that the view was chosen by.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memoranda.conversation.live import ConversationState, start_of
from memoranda.conversation.pruning import Limits
from memoranda.conversation.scoring import Score
from memoranda.conversation.selection import SelectionInput
from memoranda.conversation.transcript import place_of, prunings_since
from memoranda.conversation.view import NO_ROOM, ORPHAN, ConversationView, Policy
from memoranda.model.models import ConversationInfo, Marker, Message, Pruning

PERCENT = 100
LONGEST_TITLE = 80  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (R10, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that stay out, though not cleared.
        total_tokens: tokens of that context, with all that it carries beside messages.
        token_limit: the model's context window, or the cap where one is set (R8.2).
        percent_used: of that limit.
        tokens_by_role: these by role; what is no message of the conversation is ``system``.
        oldest_message: when the oldest message in view was said.
        last_prune: when messages last left the view; ``None`` if they never did.
        exact: whether tokens are the model's own count rather than an estimate.
        limit_known: whether the limit is the model's; otherwise it is one that is assumed.
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
    limit_known: bool = True


def conversation_stats(
    state: ConversationState,
    shown: ConversationView,
    limits: Limits,
    *,
    tokens: int,
    prunings: Sequence[Pruning],
) -> ConversationStats:
    """Return the figures of a conversation that a context of ``tokens`` shows as ``shown``."""
    messages, limit = shown.messages, limits.cap(state.window)
    start = state.info.start
    pruned = [item.at for item in prunings if item.cuts and item.cuts[-1].last >= start]
    if shown.pruned and messages:
        # Out by the limits of this moment alone, without a receipt.
        pruned.append(max(message.timestamp for message in messages))
    return ConversationStats(
        total_messages=state.info.messages,
        messages_in_context=len(messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=tokens,
        token_limit=limit,
        percent_used=round(tokens / limit * PERCENT, 1),
        tokens_by_role=_tokens_by_role(state, shown, tokens),
        oldest_message=messages[0].timestamp if messages else None,
        last_prune=max(pruned, default=None),
        exact=state.meter.counter.exact,
        limit_known=state.window_known,
    )


def _tokens_by_role(
    state: ConversationState, shown: ConversationView, tokens: int
) -> dict[str, int]:
    """Return the tokens by role, as the provider is taken to count; the rest is system."""
    by_role: dict[str, int] = {}
    for entry in shown.entries:
        if isinstance(entry, Marker):  # It counts for the role that it is sent in.
            role, cost = "user" if entry.quotes else "system", entry.cost
        else:
            role, cost = entry.role, entry.tokens
        by_role[role] = by_role.get(role, 0) + cost
    by_role.pop("system", None)
    scale = state.info.calibration.scale
    counts = {role: int(cost * scale) for role, cost in by_role.items()}
    return {"system": tokens - sum(counts.values())} | counts


class MessageState(StrEnum):
    """Where a message is: in the view, or why not."""

    IN = "in"
    PINNED = "pinned"
    SHORTENED = "shortened"
    WAITING = "waiting"
    OUT = "out"
    ORPHAN = "orphan"
    PRUNED = "pruned"
    CLEARED = "cleared"


SHOWN = frozenset({MessageState.IN, MessageState.PINNED, MessageState.SHORTENED})
# Where a marker stands for a message.
OUTSIDE = frozenset({MessageState.OUT, MessageState.ORPHAN, MessageState.PRUNED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedMessage:
    """One message of the transcript, and what the view does with it.

    Attributes:
        message: as it was said, whole.
        state: ``in``, ``pinned`` or ``shortened`` are in the view; ``waiting`` is a call whose
            results are to come; ``out`` does not fit; ``orphan`` is half of a call; ``pruned``
            and ``cleared`` were taken out before.
        why: why, in words.
        tokens: that it takes in the view, or would take.
        score: its importance, 0 to 1; of a pruned or cleared message that of its content alone.
        score_why: what the score is made of, where the message is in the view or might be.
        task: the number of the task it belongs to, from 1; ``None`` where it is cleared.
        marker: id of the marker that stands for it in the view.
        pruning: id of the receipt of what took it out.
    """

    message: Message
    state: MessageState
    why: str
    tokens: int
    score: float | None = None
    score_why: str | None = None
    task: int | None = None
    marker: str | None = None
    pruning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTask:
    """A task among the messages since the last ``clear``.

    Attributes:
        number: from 1.
        title: as it was given, else how its first request begins.
        first: position of its first message.
        last: position of its last message.
    """

    number: int
    title: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewExplanation:
    """A conversation as a model sees it within a budget, and why.

    Attributes:
        info: the conversation.
        now: when this was found.
        budget: most tokens of a context.
        tokens: that it takes, as the provider is taken to count them.
        system: of these the system prompt's.
        window: the model's context window, in tokens.
        counter: what counts the tokens.
        figures: messages and tokens by role.
        strategy: how messages are chosen.
        told: two sentences on that (R7.5).
        cleared: how many messages were cleared from view.
        expired: how many messages since then have expired, and are shown nowhere.
        lines: the messages, in order; those that were cleared only if asked for.
        tasks: the tasks since the last ``clear``, in order.
        markers: what stands in the view for what is left out.
        prunings: the receipts since the last ``clear``, oldest first.
    """

    info: ConversationInfo
    now: datetime
    budget: int
    tokens: int
    system: int
    window: int
    counter: str
    figures: ConversationStats
    strategy: str
    told: tuple[str, str]
    cleared: int
    expired: int
    lines: tuple[ExplainedMessage, ...]
    tasks: tuple[ExplainedTask, ...]
    markers: tuple[Marker, ...]
    prunings: tuple[Pruning, ...]


def explain_view(
    state: ConversationState,
    shown: ConversationView,
    limits: Limits,
    *,
    tokens: int,
    budget: int,
    now: datetime,
    prunings: Sequence[Pruning],
    messages: Sequence[Message],
    expired: int,
) -> ViewExplanation:
    """Return why each message of a conversation is in its view or not.

    Args:
        state: the conversation.
        shown: its view in a context within ``budget`` tokens.
        limits: by which that was chosen.
        tokens: of that context.
        budget: most tokens of it.
        now: the present moment.
        prunings: the receipts, oldest first.
        messages: the messages to explain, in order.
        expired: how many messages since the last ``clear`` have expired.
    """
    start, since = state.info.start, prunings_since(prunings, state.info.start)
    said = [message for message in messages if place_of(message) >= start]
    tasks = _tasks(said)
    explainer = _Explainer(state, shown, since, [task.first for task in tasks])
    return ViewExplanation(
        info=state.info,
        now=now,
        budget=budget,
        tokens=tokens,
        system=state.head - state.carried - state.meter.format.reply,
        window=state.window,
        counter=state.meter.counter.name,
        figures=conversation_stats(state, shown, limits, tokens=tokens, prunings=prunings),
        strategy=limits.policy.strategy.name,
        told=_describe(limits.policy, budget),
        cleared=max(0, state.info.messages - len(said) - expired),
        expired=expired,
        lines=tuple(map(explainer.explain, messages)),
        tasks=tuple(tasks),
        markers=shown.markers,
        prunings=tuple(since),
    )


class _Explainer:
    """Says of one message after the other why it is in the view or not."""

    def __init__(
        self,
        state: ConversationState,
        shown: ConversationView,
        prunings: Sequence[Pruning],
        tasks: Sequence[int],
    ) -> None:
        """Explain by the view, the receipts since the last ``clear``, and where tasks begin."""
        self._start, self._shown, self._tasks = state.info.start, shown, tasks
        self._views = {message.id: message for message in shown.messages}
        self._orphans = {message.id for message in shown.orphans}
        self._waiting = {message.id for message in shown.waiting}
        self._out = {message.id for message in shown.pruned}
        self._scores = SelectionInput(state.live.group().units, state.live).scores
        # What took out the message at a position: the first that did.
        self._receipts: dict[int, Pruning] = {}
        for item in reversed(prunings):
            for cut in item.cuts:
                self._receipts.update(dict.fromkeys(range(cut.first, cut.last + 1), item))

    def explain(self, message: Message) -> ExplainedMessage:
        """Return what the view does with a message, and why."""
        place = place_of(message)
        where, why = self._place(message)
        score: Score | None = self._scores.get(message.id)
        at = bisect_right(self._shown.markers, place, key=start_of) - 1
        receipt = self._receipts.get(place) if where is MessageState.PRUNED else None
        return ExplainedMessage(
            message=message,
            state=where,
            why=why,
            tokens=self._views.get(message.id, message).tokens,
            score=score.value if score else message.importance,
            score_why=str(score) if score else None,
            task=bisect_right(self._tasks, place) or None,
            marker=self._shown.markers[at].id if at >= 0 and where in OUTSIDE else None,
            pruning=receipt.id if receipt else None,
        )

    def _place(self, message: Message) -> tuple[MessageState, str]:
        """Return where a message is, and why."""
        shown = self._views.get(message.id)
        if shown is not None:
            state = MessageState.PINNED if message.pinned else MessageState.IN
            if shown.tokens != message.tokens:
                state = MessageState.SHORTENED
            why = "system message, always in" if message.role == "system" else None
            return state, why or self._shown.reasons[message.id]
        if place_of(message) < self._start:
            return MessageState.CLEARED, "said before the conversation was cleared"
        if message.id in self._orphans:
            return MessageState.ORPHAN, ORPHAN
        if message.id in self._waiting:
            return MessageState.WAITING, "its results are still to come"
        if message.id in self._out:
            return MessageState.OUT, NO_ROOM
        receipt = self._receipts.get(place_of(message))
        why = f"{receipt.trigger} pruning: {receipt.why}" if receipt else "pruned"
        return MessageState.PRUNED, why


def _describe(policy: Policy, budget: int) -> tuple[str, str]:
    """Return two sentences: what the strategy keeps, and what stays whatever it says (R7.5)."""
    newest = f"{policy.keep_recent} newest messages"
    always = ["system messages", "pins"]
    always.append("the newest message" if policy.keep_recent == 1 else f"the {newest}")
    if policy.pairs:
        always.append("the last request")
    most = f"{budget:,} tokens"
    if policy.pairs:
        most += f", and once something has left, {policy.max_messages} messages"
    rest = (
        f"Always in: {', '.join(always[:-1])} and {always[-1]}; at most {most}. "
        "What is left out stays in the transcript: it can be searched and expanded."
    )
    return f"{policy.strategy.name} keeps {policy.strategy.description}.", rest


def _tasks(said: Sequence[Message]) -> list[ExplainedTask]:
    """Return the tasks of messages; one begins with each message that has a task's title."""
    starts = sorted({0, *(place for place, item in enumerate(said) if item.task is not None)})
    ends = [*starts[1:], len(said)]
    return [
        ExplainedTask(
            number=number,
            title=said[start].task or title_of(said[start:end]),
            first=place_of(said[start]),
            last=place_of(said[end - 1]),
        )
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
        if said
    ]


def title_of(said: Sequence[Message]) -> str:
    """Return how the first request among messages begins."""
    spoken = [item for item in said if item.content.strip()]
    asked = [item for item in spoken if item.role == "user"]
    line = (asked or spoken or said)[0].content.strip().partition("\n")[0]
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"
