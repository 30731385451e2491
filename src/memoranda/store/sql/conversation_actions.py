"""Carries out the actions on conversations: messages, pins, clearing, receipts of prunings.

The spans of a receipt are JSON. One that lost a message to an erasure is marked as torn: a summary
of it may hold what was erased, also one that is only now being made of what was read before. So it
has none, and gets none any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as act
from memoranda.model.models import PrunedSpan
from memoranda.store.sql import rows
from memoranda.store.sql.transaction import Transaction

# A span as it is kept: its fields, times in milliseconds, and whether it is torn.
StoredSpan = dict[str, Any]
TEAR: StoredSpan = {"summary": None, rows.TORN: True}
UPDATE = """
UPDATE conversations SET revision = revision + :clear,
    cleared_through = CASE WHEN :clear = 1 THEN next_position - 1 ELSE cleared_through END,
    token_scale = coalesce(:scale, token_scale),
    token_overhead = coalesce(:overhead, token_overhead), ended_at = coalesce(:ended_at, ended_at)
WHERE key = :key
"""
APPEND = rows.insertion("messages", ("conversation_key", *rows.MESSAGES.names))


def open_conversation(tx: Transaction, action: act.OpenConversation) -> None:
    """Create a conversation, or update its settings."""
    info = action.info
    changed = tx.connection.run(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (:user, :agent, :id, :system, :model, :context_limit, :created_at) "
        "ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, "
        "model = excluded.model, context_limit = excluded.context_limit "
        "WHERE excluded.agent IS NULL OR conversations.agent IS NULL "
        "OR conversations.agent = excluded.agent",
        tx.own | rows.CONVERSATIONS.values(info),
    )
    if not changed:
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)


def append(tx: Transaction, action: act.Append) -> None:
    """Add a message at the end of a transcript."""
    conversation = tx.conversation(action.conversation)
    # Never a place that was cleared or cut, also after the messages there were erased.
    position: int = tx.connection.value(
        "UPDATE conversations SET message_count = message_count + 1, "
        "next_position = next_position + 1 WHERE key = :key RETURNING next_position - 1",
        {"key": conversation},
    )
    place = {"conversation_key": conversation, "position": position}
    tx.connection.run(APPEND, rows.MESSAGES.values(action.message) | place)


def pin(tx: Transaction, action: act.Pin) -> None:
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


def update_conversation(tx: Transaction, action: act.UpdateConversation) -> None:
    """Clear the view of a conversation, calibrate it, or mark it as finished."""
    calibration = action.calibration
    tx.connection.run(
        UPDATE,
        {
            "key": tx.conversation(action.conversation),
            "clear": int(action.clear),
            "scale": None if calibration is None else calibration.scale,
            "overhead": None if calibration is None else calibration.overhead,
            "ended_at": rows.optional_ms(action.ended_at),
        },
    )


def recount(tx: Transaction, action: act.Recount) -> None:
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


def prune(tx: Transaction, action: act.Prune) -> None:
    """Keep the receipt of a pruning."""
    conversation, item = tx.conversation(action.conversation), action.pruning
    spans = rows.dump([_stored(tx, conversation, span) for span in item.cuts])
    tx.connection.run(
        "INSERT INTO prunings (conversation_key, id, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, spans) VALUES (:conversation, :id, :at, :trigger, :why, "
        ":strategy, :before, :after, :spans)",
        rows.PRUNINGS.values(item) | {"conversation": conversation, "spans": spans},
    )
    tx.revise(conversation)


def _stored(tx: Transaction, conversation: int, span: PrunedSpan) -> StoredSpan:
    stored = rows.SPANS.values(span)
    held: int = tx.connection.value(
        "SELECT count(*) FROM messages WHERE conversation_key = :conversation "
        "AND position BETWEEN :first AND :last",
        stored | {"conversation": conversation},
    )
    # Fewer than were read when the pruning was decided: some were erased since.
    return stored | TEAR if held < span.messages else stored


def summarize(tx: Transaction, action: act.Summarize) -> None:
    """Give spans, by their first positions, their summaries; pass over what is torn or gone."""

    def summarized(stored: StoredSpan) -> StoredSpan:
        if rows.TORN in stored or stored["first"] not in action.summaries:
            return stored
        return stored | {"summary": action.summaries[stored["first"]]}

    _change_spans(tx, tx.conversation(action.conversation), summarized, action.pruning)


def tear_summaries(tx: Transaction, conversation: int, places: Collection[int]) -> None:
    """Take the summaries from the spans that cover any of these positions."""

    def without(stored: StoredSpan) -> StoredSpan:
        covers = any(stored["first"] <= place <= stored["last"] for place in places)
        return stored | TEAR if covers else stored

    _change_spans(tx, conversation, without)


def _change_spans(
    tx: Transaction,
    conversation: int,
    change: Callable[[StoredSpan], StoredSpan],
    pruning: str | None = None,
) -> None:
    """Change the spans of a pruning, or of all of a conversation."""
    receipts = tx.connection.all(
        "SELECT key, spans FROM prunings WHERE conversation_key = :conversation "
        "AND (CAST(:id AS text) IS NULL OR id = :id)",
        {"conversation": conversation, "id": pruning},
    )
    for key, text in receipts:
        spans = rows.dump([change(stored) for stored in json.loads(text)])
        if spans != text:
            replaced = "UPDATE prunings SET spans = :spans WHERE key = :key"
            tx.connection.run(replaced, {"spans": spans, "key": key})
            tx.revise(conversation)
