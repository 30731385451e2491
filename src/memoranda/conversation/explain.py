"""Why each message of a conversation is in its view or not, and the view in figures.

The reasons are those that the view was chosen by.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memoranda.conversation.context import ContextBuilder
from memoranda.conversation.live import start_of
from memoranda.conversation.pruning import PERCENT, Limits
from memoranda.conversation.selection import Policy
from memoranda.conversation.transcript import place_of
from memoranda.conversation.view import WAITING, ConversationView
from memoranda.model.models import ConversationInfo, Marker, Message, Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (R10, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that stay out, though not cleared.
        total_tokens: tokens of that context, with all that it carries beside messages.
        token_limit: the model's context window, or the cap where one is set (requirement R8.2).
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
    limit_known: bool


def conversation_stats(
    builder: ContextBuilder, limits: Limits, memory: Recall
) -> ConversationStats:
    """Return the figures of a conversation, of which a context is built with recalled memory."""
    state, shown, tokens = builder.state, builder.view, builder.count(memory)
    limit, scale = limits.cap(state), state.info.calibration.scale
    said = Counter[str]()
    for message in shown.messages:
        said[message.role] += message.tokens
    by_role = {role: int(cost * scale) for role, cost in said.items() if role != "system"}
    return ConversationStats(
        total_messages=state.info.messages,
        messages_in_context=len(shown.messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=tokens,
        token_limit=limit,
        percent_used=round(tokens / limit * PERCENT, 1),
        tokens_by_role={"system": tokens - sum(by_role.values())} | by_role,
        oldest_message=shown.messages[0].timestamp if shown.messages else None,
        last_prune=state.live.pruned_at,
        exact=state.meter.counter.exact,
        limit_known=state.window_known,
    )


class MessageState(StrEnum):
    """Where a message is: in the view, or why not."""

    IN = "in"
    PINNED = "pinned"
    SHORTENED = "shortened"
    WAITING = "waiting"
    OUT = "out"
    PRUNED = "pruned"
    CLEARED = "cleared"


SHOWN = frozenset({MessageState.IN, MessageState.PINNED, MessageState.SHORTENED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedMessage:
    """One message of the transcript, and what the view does with it.

    Attributes:
        message: as it was said, whole.
        state: ``in``, ``pinned`` or ``shortened`` are in the view; ``waiting`` is a call whose
            results are to come; ``out`` does not fit, or is half of a call; ``pruned`` and
            ``cleared`` were taken out before.
        why: why, in words.
        tokens: that it takes in the view, or would take.
        marker: id of the marker that stands for it in the view.
    """

    message: Message
    state: MessageState
    why: str
    tokens: int
    marker: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewExplanation:
    """A conversation as a model sees it within a budget, and why.

    Attributes:
        info: the conversation.
        budget: most tokens of a context.
        counter: what counts the tokens.
        figures: messages and tokens by role.
        strategy: how messages are chosen.
        told: what it keeps, and what stays whatever it says (requirement R7.5).
        lines: all messages, in order, also those that were cleared.
        markers: what stands in the view for what is left out.
    """

    info: ConversationInfo
    budget: int
    counter: str
    figures: ConversationStats
    strategy: str
    told: str
    lines: tuple[ExplainedMessage, ...]
    markers: tuple[Marker, ...]


def explain_view(
    shown: ConversationView, messages: Sequence[Message], start: int
) -> Iterator[ExplainedMessage]:
    """Yield what a view does with each of the messages of a conversation, and why.

    Those before the position ``start`` were cleared.
    """
    known = {message.id: (MessageState.OUT, why) for message, why in shown.left_out}
    known |= {message.id: (MessageState.WAITING, WAITING) for message in shown.waiting}
    for message in shown.messages:
        inside = MessageState.PINNED if message.pinned else MessageState.IN
        known[message.id] = inside, shown.reasons[message.id]
    tokens = {message.id: message.tokens for message in shown.messages}
    for message in messages:
        place = place_of(message)
        at = bisect_right(shown.markers, place, key=start_of) - 1
        marker = shown.markers[at] if at >= 0 and place <= shown.markers[at].last else None
        left = MessageState.PRUNED, f"pruned: {marker.why}" if marker else "pruned"
        if place < start:
            left = MessageState.CLEARED, "said before the conversation was cleared"
        where, why = known.get(message.id, left)
        yield ExplainedMessage(
            message=message,
            state=MessageState.SHORTENED if message.id in shown.shortened else where,
            why=why,
            tokens=tokens.get(message.id, message.tokens),
            marker=marker.id if marker else None,
        )


def describe_policy(policy: Policy, budget: int) -> str:
    """Return what the strategy keeps, and what stays whatever it says (requirement R7.5)."""
    newest = f"the {policy.keep_recent} newest messages; at most {budget:,} tokens"
    kept = f"{policy.strategy.name} keeps {policy.strategy.description}."
    return f"{kept}\nAlways in: system messages, pins and {newest}."
