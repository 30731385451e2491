"""The state of a conversation in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoranda.conversation.view import View
from memoranda.model.models import Calibration, ConversationInfo, Pruning
from memoranda.model.ports import MessageMeter

PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (seed 000, ``MemoryStats``).

    Attributes:
        total_messages: messages in the transcript, also those cleared from view.
        messages_in_context: messages that a context would hold now.
        pruned_messages: messages that stay out, though not cleared.
        total_tokens: tokens of the view.
        token_limit: the model's context window.
        percent_used: of that limit.
        tokens_by_role: tokens of the view by role.
        oldest_message: when the oldest message in view was said.
        last_prune: when messages last left the view; ``None`` if they never did.
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


def stats(
    info: ConversationInfo,
    shown: View,
    prunings: Sequence[Pruning],
    *,
    limit: int,
    meter: MessageMeter,
) -> ConversationStats:
    """Return the figures of a conversation that a context shows as ``shown``."""
    by_role: dict[str, int] = {}
    if info.system:
        by_role["system"] = meter.message(info.system)
    if shown.markers:
        # A marker is sent as a system message, and so it counts as one.
        markers = shown.tokens - sum(message.tokens for message in shown.messages)
        by_role["system"] = by_role.get("system", 0) + markers
    for message in shown.messages:
        by_role[message.role] = by_role.get(message.role, 0) + message.tokens
    by_role = _billed(by_role, info.calibration)
    total = sum(by_role.values())
    pruned = [item.at for item in prunings if item.cuts and item.cuts[-1].last >= info.start]
    if shown.pruned and shown.messages:
        # Out by the limits of this moment alone, without a receipt.
        pruned.append(max(message.timestamp for message in shown.messages))
    return ConversationStats(
        total_messages=info.messages,
        messages_in_context=len(shown.messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=total,
        token_limit=limit,
        percent_used=round(total / limit * PERCENT, 1),
        tokens_by_role=by_role,
        oldest_message=shown.messages[0].timestamp if shown.messages else None,
        last_prune=max(pruned, default=None),
        exact=meter.counter.exact,
    )


def _billed(by_role: Mapping[str, int], taught: Calibration) -> dict[str, int]:
    """Return the counts as the provider is taken to make them; what comes on top is system."""
    counts = {role: round(tokens * taught.scale) for role, tokens in by_role.items()}
    if taught.overhead:
        counts["system"] = counts.get("system", 0) + taught.overhead
    return counts
