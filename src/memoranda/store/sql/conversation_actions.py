"""Carries out the actions on conversations: messages, pins, clearing, receipts of prunings.

A message that is removed moves to another table, and leaves a tombstone there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as act
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Message, PrunedSpan, Tombstone
from memoranda.model.replacements import Replacement, Run, refuse_cleared, split_by_holes
from memoranda.store.sql import record_actions, rows
from memoranda.store.sql.transaction import Transaction

UPDATE = """
UPDATE conversations SET revision = revision + :clear,
    cleared_through = CASE WHEN :clear = 1 THEN next_position - 1 ELSE cleared_through END,
    token_scale = coalesce(:scale, token_scale),
    token_overhead = coalesce(:overhead, token_overhead), ended_at = coalesce(:ended_at, ended_at)
WHERE key = :key
"""
FOLLOWING = """
SELECT (SELECT min(m.position) FROM messages m
        WHERE m.conversation_key = c.key AND m.position > :first), c.next_position,
    c.cleared_through
FROM conversations c WHERE c.key = :conversation
"""
MOVE = """
UPDATE messages SET position = position + :shift
WHERE conversation_key = :conversation AND position >= :following
"""
RENUMBER = """
UPDATE conversations SET message_count = message_count + :more, revision = revision + 1,
    next_position = greatest(next_position, :least, 1 + coalesce(
        (SELECT max(position) FROM messages WHERE conversation_key = :conversation), -1))
WHERE key = :conversation
"""
RUNS = """
SELECT min(position), max(position), CAST(sum(tokens) AS bigint), min(timestamp), max(timestamp)
FROM (SELECT position, tokens, timestamp, position - row_number() OVER (ORDER BY position) AS run
    FROM messages WHERE conversation_key = :conversation AND position BETWEEN :first AND :last) held
GROUP BY run ORDER BY min(position)
"""
NAMED = f"""
SELECT {rows.MESSAGE} FROM messages m
WHERE m.conversation_key = :conversation AND m.id IN (@texts(:ids)) ORDER BY m.position DESC
"""
NEWEST = f"""
SELECT {rows.MESSAGE} FROM messages m WHERE m.conversation_key = :conversation AND m.position >
    (SELECT cleared_through FROM conversations WHERE key = :conversation)
ORDER BY m.position DESC LIMIT :newest
"""
APPEND = rows.insertion("messages", ("conversation_key", *rows.MESSAGES.names))


def open_conversation(tx: Transaction, action: act.OpenConversation) -> None:
    """Create a conversation, or update its settings."""
    info = action.info
    changed = tx.connection.run(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (:user, :agent, :id, :system, :model, :context_limit, :created_at) "
        "ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, "
        "model = excluded.model, context_limit = excluded.context_limit, deleted_at = NULL, "
        "created_at = CASE WHEN conversations.deleted_at IS NULL THEN conversations.created_at "
        "ELSE excluded.created_at END, ended_at = CASE WHEN conversations.deleted_at IS NULL "
        "THEN conversations.ended_at END "
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
    cuts: list[PrunedSpan] = []
    for span in item.cuts:
        parts = split_by_holes(span, partial(_held, tx, conversation))
        # Fewer than were read when the pruning was decided: some were removed since.
        torn = sum(part.messages for part in parts) < span.messages
        cuts += [replace(part, summary=None, torn=True) for part in parts] if torn else [span]
    stored = rows.PRUNINGS.values(replace(item, cuts=tuple(cuts)))
    tx.connection.run(
        "INSERT INTO prunings (conversation_key, id, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, spans) VALUES (:conversation, :id, :at, :trigger, :why, "
        ":strategy, :before, :after, :spans)",
        {"spans": stored.pop("cuts"), "conversation": conversation} | stored,
    )
    tx.revise(conversation)


def _held(tx: Transaction, conversation: int, first: int, last: int) -> list[Run]:
    """Return the runs of messages from one position to another."""
    values = {"conversation": conversation, "first": first, "last": last}
    return [
        (start, end, tokens, from_ms(since), from_ms(until))
        for start, end, tokens, since, until in tx.connection.all(RUNS, values)
    ]


def summarize(tx: Transaction, action: act.Summarize) -> None:
    """Give spans, by their first positions, their summaries; pass over what is torn or gone."""

    def summarized(cuts: Iterable[PrunedSpan]) -> tuple[PrunedSpan, ...]:
        return tuple(
            cut if cut.torn else replace(cut, summary=action.summaries.get(cut.first, cut.summary))
            for cut in cuts
        )

    _change_spans(tx, tx.conversation(action.conversation), summarized, action.pruning)


def change_spans(tx: Transaction, conversation: int, done: Replacement) -> None:
    """Tear and move the spans of all prunings as messages were removed and replaced."""
    held = partial(_held, tx, conversation)
    _change_spans(tx, conversation, lambda cuts: done.change(cuts, held))


def _change_spans(
    tx: Transaction,
    conversation: int,
    change: Callable[[Iterable[PrunedSpan]], tuple[PrunedSpan, ...]],
    pruning: str | None = None,
) -> None:
    """Change the spans of a pruning, or of all of a conversation."""
    receipts = tx.connection.all(
        "SELECT key, spans FROM prunings WHERE conversation_key = :conversation "
        "AND (CAST(:id AS text) IS NULL OR id = :id)",
        {"conversation": conversation, "id": pruning},
    )
    for key, text in receipts:
        spans = rows.SPAN_LIST.write(change(rows.SPAN_LIST.read(text)))
        if spans != text:
            replaced = "UPDATE prunings SET spans = :spans WHERE key = :key"
            tx.connection.run(replaced, {"spans": spans, "key": key})
            tx.revise(conversation)


# Removing and replacing


def replace_messages(tx: Transaction, action: act.ReplaceMessages) -> None:
    """Move messages of a transcript to a tombstone, and put others where the first of them was."""
    conversation = tx.conversation(action.conversation)
    gone = _chosen(tx, conversation, action)
    if not gone:
        return
    places = [message.position or 0 for message in gone]
    values = {"conversation": conversation, "ids": rows.dump([message.id for message in gone])}
    left = Tombstone(id=action.tombstone, at=action.at, count=len(gone), messages=tuple(gone))
    keep_tombstone(tx, act.KeepTombstone(action.conversation, left))
    tx.connection.run(
        # By their ids alone, which are unique: so no index of the conversation is walked through.
        "DELETE FROM messages WHERE id IN (@texts(:ids))",
        values,
    )
    episodes = [message.record_id for message in gone if message.record_id is not None]
    standing = tx.connection.all(
        "SELECT id FROM records WHERE user_key = :user AND id IN (@texts(:ids)) "
        "AND closed_at IS NULL",
        {"user": tx.user, "ids": rows.dump(episodes)},
    )
    for (episode,) in standing:
        record_actions.close(tx, act.Close(episode, action.at, "its message was removed"))
    following, end, cleared = tx.connection.all(FOLLOWING, values | {"first": places[0]})[0]
    done = Replacement.plan(places, len(action.messages), following=following, end=end)
    if action.messages and places[0] <= cleared:
        raise InvalidInput(refuse_cleared(gone[0].id))
    if done.shift:
        values |= {"shift": done.shift, "following": done.following}
        tx.connection.run(MOVE, values)
    for message, place in zip(action.messages, done.places, strict=True):
        placed = {"conversation_key": conversation, "position": place}
        tx.connection.run(APPEND, rows.MESSAGES.values(message) | placed)
    values |= {"more": len(action.messages) - len(gone), "least": (done.places or (-1,))[-1] + 1}
    tx.connection.run(RENUMBER, values)
    change_spans(tx, conversation, done)


def _chosen(tx: Transaction, conversation: int, action: act.ReplaceMessages) -> list[Message]:
    """Return the messages that are to be removed, in order."""
    values = {
        "conversation": conversation,
        "ids": rows.dump(list(action.ids)),
        "newest": action.newest,
    }
    found = tx.connection.all(NAMED if action.ids else NEWEST, values)
    gone = [rows.message(row) for row in found][::-1]
    if missing := set(action.ids).difference(message.id for message in gone):
        message = f"there is no message {min(missing)!r} in {action.conversation!r}"
        raise NotFound(message)
    return gone


def keep_tombstone(tx: Transaction, action: act.KeepTombstone) -> None:
    """Keep a tombstone of another transcript, unless it is there."""
    kept, conversation = action.tombstone, tx.conversation(action.conversation)
    key = tx.connection.value(
        "INSERT INTO tombstones (conversation_key, id, at, count) "
        "VALUES (:conversation, :id, :at, :count) ON CONFLICT (conversation_key, id) DO NOTHING "
        "RETURNING key",
        {"conversation": conversation, "id": kept.id, "at": to_ms(kept.at), "count": kept.count},
    )
    if key is None:
        return
    tx.connection.run_many(
        "INSERT INTO removed_messages (tombstone_key, place, record_id, message) "
        "VALUES (:tombstone, :place, :record, :message)",
        [
            {
                "tombstone": key,
                "place": place,
                "record": message.record_id,
                "message": rows.stored_message(message),
            }
            for place, message in enumerate(kept.messages)
        ],
    )
