"""The state of a conversation in figures, and what a provider's own counts teach about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeGuard

from memoranda.conversation.ledger import ConversationState
from memoranda.conversation.view import ConversationView
from memoranda.errors import InvalidInput
from memoranda.model.models import Calibration, Pruning

PERCENT = 100
NAMES = ("prompt_tokens", "input_tokens")
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
LEAST, MOST = 0.5, 3.0  # beyond these it is not the same text that was counted
NEWEST = 0.5  # weight of the newest count against all before


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStats:
    """The state of a conversation (R10, ``MemoryStats``).

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


def conversation_stats(
    state: ConversationState, shown: ConversationView, prunings: Sequence[Pruning]
) -> ConversationStats:
    """Return the figures of a conversation that a context shows as ``shown``."""
    by_role = _tokens_by_role(state, shown)
    total = sum(by_role.values())
    start = state.info.start
    pruned = [item.at for item in prunings if item.cuts and item.cuts[-1].last >= start]
    if shown.pruned and shown.messages:
        # Out by the limits of this moment alone, without a receipt.
        pruned.append(max(message.timestamp for message in shown.messages))
    return ConversationStats(
        total_messages=state.info.messages,
        messages_in_context=len(shown.messages),
        pruned_messages=sum(marker.messages for marker in shown.markers) + len(shown.waiting),
        total_tokens=total,
        token_limit=state.window,
        percent_used=round(total / state.window * PERCENT, 1),
        tokens_by_role=by_role,
        oldest_message=shown.messages[0].timestamp if shown.messages else None,
        last_prune=max(pruned, default=None),
        exact=state.meter.counter.exact,
    )


def _tokens_by_role(state: ConversationState, shown: ConversationView) -> dict[str, int]:
    """Return the tokens by role, as the provider is taken to count; what comes on top is system."""
    by_role: dict[str, int] = {}
    if state.info.system:
        by_role["system"] = state.system
    if shown.markers:
        # A marker is sent as a system message, and so it counts as one.
        markers = shown.tokens - sum(message.tokens for message in shown.messages)
        by_role["system"] = by_role.get("system", 0) + markers
    for message in shown.messages:
        by_role[message.role] = by_role.get(message.role, 0) + message.tokens
    learned = state.info.calibration
    counts = {role: round(tokens * learned.scale) for role, tokens in by_role.items()}
    if learned.overhead:
        counts["system"] = counts.get("system", 0) + learned.overhead
    return counts


def read_usage(usage: object) -> int:
    """Return the tokens of a prompt: a number, or from the ``usage`` of a reply.

    Of Anthropic's usage the cached tokens count too, which it gives apart.

    Raises:
        InvalidInput: there is no such number in it.
    """
    given = [number for name in NAMES if (number := _number(usage, name)) is not None]
    cached = [_number(usage, name) or 0 for name in CACHED]
    parts = [usage] if _is_count(usage) else [*given[:1], *cached] if given else []
    if not parts or min(parts) < 0 or sum(parts) < 1:
        raise InvalidInput(
            f"actual={usage!r:.80} must be the tokens of the prompt, or the reply's usage"
        )
    return sum(parts)


def _number(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
    return value if _is_count(value) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def learn(before: Calibration, *, counted: int, actual: int, exact: bool) -> Calibration:
    """Return how to correct counts, after one of ``counted`` was billed as ``actual``.

    Exact counts miss only what is sent beside the messages, such as the definitions of
    tools; an estimate is off in proportion.
    """
    if exact:
        return Calibration(overhead=max(0, actual - counted))
    scale = min(max(actual / max(counted, 1), LEAST), MOST)
    first = before == Calibration()
    return Calibration(scale=scale if first else before.scale + NEWEST * (scale - before.scale))
