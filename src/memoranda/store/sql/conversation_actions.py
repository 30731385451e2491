"""Carries out the actions on conversations: messages, pins, clearing, receipts of prunings.

The spans of a receipt are JSON. One that lost a message to an erasure is marked as torn: a summary
of it may hold what was erased, also one that is only now being made of what was read before. So it
has none, and gets none any more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Append,
    Calibrate,
    ClearView,
    EndConversation,
    OpenConversation,
    Pin,
    Prune,
    Recount,
    Summarize,
)
from memoranda.model.checks import to_ms
from memoranda.model.models import PrunedSpan
from memoranda.store.sql.rows import TORN, dump, message_values
from memoranda.store.sql.transaction import Transaction

StoredSpan = dict[str, Any]
"""A span as it is kept: its fields, times in milliseconds, and whether it is torn."""
MESSAGE_COLUMNS = (
    "id, role, content, timestamp, tokens, importance, pinned, tool_calls, tool_result, images, "
    "task, record_id"
)
APPEND = (
    f"INSERT INTO messages (conversation_key, position, {MESSAGE_COLUMNS}) "
    "VALUES (:conversation, :position, "
    + ", ".join(f":{name}" for name in MESSAGE_COLUMNS.split(", "))
    + ")"
)


def open_conversation(tx: Transaction, action: OpenConversation) -> None:
    """Create a conversation, or update its settings."""
    info = action.info
    changed = tx.connection.run(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (:user, :agent, :id, :system, :model, :context_limit, :created_at) "
        "ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, "
        "model = excluded.model, context_limit = excluded.context_limit "
        "WHERE excluded.agent IS NULL OR conversations.agent IS NULL "
        "OR conversations.agent = excluded.agent",
        {
            "user": tx.user,
            "agent": tx.scope.agent,
            "id": info.id,
            "system": info.system,
            "model": info.model,
            "context_limit": info.context_limit,
            "created_at": to_ms(info.created_at),
        },
    )
    if not changed:
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)


def append(tx: Transaction, action: Append) -> None:
    """Add a message at the end of a transcript."""
    conversation = tx.conversation(action.conversation)
    # Never a place that was cleared or cut, also after the messages there were erased.
    position: int = tx.connection.value(
        "UPDATE conversations SET message_count = message_count + 1, "
        "next_position = next_position + 1 WHERE key = :key RETURNING next_position - 1",
        {"key": conversation},
    )
    place = {"conversation": conversation, "position": position}
    tx.connection.run(APPEND, message_values(action.message) | place)


def pin(tx: Transaction, action: Pin) -> None:
    """Keep a message in every view, or stop keeping it."""
    conversation = tx.conversation(action.conversation)
    changed = tx.connection.run(
        "UPDATE messages SET pinned = :pinned WHERE conversation_key = :conversation AND id = :id",
        {"pinned": int(action.pinned), "conversation": conversation, "id": action.message},
    )
    if not changed:
        message = f"there is no message {action.message!r} in {action.conversation!r}"
        raise NotFound(message)
    tx.revise(conversation)


def clear_view(tx: Transaction, action: ClearView) -> None:
    """Leave all messages so far out of every later view."""
    tx.connection.run(
        "UPDATE conversations SET cleared_through = next_position - 1, revision = revision + 1 "
        "WHERE key = :key",
        {"key": tx.conversation(action.conversation)},
    )


def calibrate(tx: Transaction, action: Calibrate) -> None:
    """Store the calibration learned from the provider's token counts."""
    tx.connection.run(
        "UPDATE conversations SET token_scale = :scale, token_overhead = :overhead "
        "WHERE key = :key",
        {
            "scale": action.calibration.scale,
            "overhead": action.calibration.overhead,
            "key": tx.conversation(action.conversation),
        },
    )


def recount(tx: Transaction, action: Recount) -> None:
    """Set the token counts of messages; what was erased meanwhile is passed over."""
    conversation = tx.conversation(action.conversation)
    changed = 0
    for message, tokens in action.tokens.items():
        changed += tx.connection.run(
            "UPDATE messages SET tokens = :tokens "
            "WHERE id = :id AND conversation_key = :conversation AND tokens <> :tokens",
            {"tokens": tokens, "id": message, "conversation": conversation},
        )
    if changed:
        tx.revise(conversation)


def end_conversation(tx: Transaction, action: EndConversation) -> None:
    """Mark a conversation as finished."""
    tx.connection.run(
        "UPDATE conversations SET ended_at = :at WHERE key = :key",
        {"at": to_ms(action.at), "key": tx.conversation(action.conversation)},
    )


def prune(tx: Transaction, action: Prune) -> None:
    """Keep the receipt of a pruning."""
    conversation, item = tx.conversation(action.conversation), action.pruning
    tx.connection.run(
        "INSERT INTO prunings (conversation_key, id, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, spans) VALUES (:conversation, :id, :at, :trigger, :why, "
        ":strategy, :before, :after, :spans)",
        {
            "conversation": conversation,
            "id": item.id,
            "at": to_ms(item.at),
            "trigger": item.trigger,
            "why": item.why,
            "strategy": item.strategy,
            "before": item.before,
            "after": item.after,
            "spans": dump([_stored(tx, conversation, span) for span in item.cuts]),
        },
    )
    tx.revise(conversation)


def _stored(tx: Transaction, conversation: int, span: PrunedSpan) -> StoredSpan:
    stored = asdict(span) | {"since": to_ms(span.since), "until": to_ms(span.until)}
    held: int = tx.connection.value(
        "SELECT count(*) FROM messages WHERE conversation_key = :conversation "
        "AND position BETWEEN :first AND :last",
        {"conversation": conversation, "first": span.first, "last": span.last},
    )
    # Fewer than were read when the pruning was decided: some were erased since.
    return _torn(stored) if held < span.messages else stored


def _torn(stored: StoredSpan) -> StoredSpan:
    return stored | {"summary": None, TORN: True}


def summarize(tx: Transaction, action: Summarize) -> None:
    """Give spans, by their first positions, their summaries; pass over what is torn or gone."""

    def summarized(stored: StoredSpan) -> StoredSpan:
        if TORN in stored or stored["first"] not in action.summaries:
            return stored
        return stored | {"summary": action.summaries[stored["first"]]}

    conversation = tx.conversation(action.conversation)
    row = tx.connection.one(
        "SELECT key, spans FROM prunings WHERE conversation_key = :conversation AND id = :id",
        {"conversation": conversation, "id": action.pruning},
    )
    if row is not None:
        spans = json.loads(row[1])
        _replace(tx, conversation, row[0], spans, list(map(summarized, spans)))


def tear_summaries(tx: Transaction, conversation: int, places: Collection[int]) -> None:
    """Take the summaries from the spans that cover any of these positions."""

    def without(stored: StoredSpan) -> StoredSpan:
        covers = any(stored["first"] <= place <= stored["last"] for place in places)
        return _torn(stored) if covers else stored

    rows = tx.connection.all(
        "SELECT key, spans FROM prunings WHERE conversation_key = :conversation",
        {"conversation": conversation},
    )
    for key, text in rows:
        spans = json.loads(text)
        _replace(tx, conversation, key, spans, list(map(without, spans)))


def _replace(
    tx: Transaction,
    conversation: int,
    key: int,
    before: Sequence[StoredSpan],
    after: Sequence[StoredSpan],
) -> None:
    if after != before:
        tx.connection.run(
            "UPDATE prunings SET spans = :spans WHERE key = :key",
            {"spans": dump(after), "key": key},
        )
        tx.revise(conversation)
