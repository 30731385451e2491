"""Carries out the actions on conversations: messages, pins, clearing, receipts of prunings.

A message that is removed moves to another table, and leaves a tombstone there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as act
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Message, PrunedSpan, Tombstone
from memoranda.model.replacements import Replacement, Run, refuse_cleared, split_by_holes
from memoranda.store.sql import record_actions, rows
from memoranda.store.sql.reads import owned
from memoranda.store.sql.transaction import Transaction

UPDATE = """
UPDATE conversations SET revision = revision + :clear,
    cleared_through = CASE WHEN :clear = 1 THEN next_position - 1 ELSE cleared_through END,
    token_scale = coalesce(:scale, token_scale),
    token_overhead = coalesce(:overhead, token_overhead), ended_at = coalesce(:ended_at, ended_at)
WHERE user_key = :user AND key = :key
"""
NEXT = """
UPDATE conversations AS r SET message_count = message_count + :count,
    next_position = next_position + :count
WHERE r.id = :id AND r.deleted_at IS NULL AND {mine} RETURNING key, next_position
"""
FOLLOWING = """
SELECT (SELECT min(m.position) FROM messages m
        WHERE m.user_key = :user AND m.conversation_key = c.key AND m.position > :first),
    c.next_position, c.cleared_through
FROM conversations c WHERE c.user_key = :user AND c.key = :conversation
"""
MOVE = """
UPDATE messages SET position = position + :shift
WHERE user_key = :user AND conversation_key = :conversation AND position >= :following
"""
RENUMBER = """
UPDATE conversations SET message_count = message_count + :more, revision = revision + 1,
    next_position = greatest(next_position, :least, 1 + coalesce(
        (SELECT max(position) FROM messages m
            WHERE m.user_key = :user AND conversation_key = :conversation), -1))
WHERE user_key = :user AND key = :conversation
"""
RUNS = """
SELECT min(position), max(position), CAST(sum(tokens) AS bigint), min(timestamp), max(timestamp)
FROM (SELECT position, tokens, timestamp, position - row_number() OVER (ORDER BY position) AS run
    FROM messages m WHERE m.user_key = :user AND conversation_key = :conversation
        AND position BETWEEN :first AND :last) held
GROUP BY run ORDER BY min(position)
"""
# By their ids alone, which are unique: so no index of the conversation is walked through.
NAMED = "id IN (@texts(:ids)) AND +conversation_key = :conversation"
NEWEST = """
key IN (SELECT key FROM messages m WHERE m.user_key = :user AND conversation_key = :conversation
    AND position >
        (SELECT cleared_through FROM conversations c
            WHERE c.user_key = :user AND key = :conversation)
    ORDER BY position DESC LIMIT :newest)
"""
TAKE_OUT = f"""
DELETE FROM messages WHERE user_key = :user AND {{chosen}}
RETURNING {", ".join(rows.MESSAGES.names)}
"""
APPEND = rows.insertion("messages", ("user_key", "conversation_key", *rows.MESSAGES.names))


def open_conversation(tx: Transaction, action: act.OpenConversation) -> None:
    """Create a conversation, or update its settings."""
    info = action.info
    changed = tx.connection.change(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (:user, :agent, :id, :system, :model, :context_limit, :created_at) "
        "ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, "
        "model = excluded.model, context_limit = excluded.context_limit, deleted_at = NULL, "
        "created_at = CASE WHEN conversations.deleted_at IS NULL THEN conversations.created_at "
        "ELSE excluded.created_at END, ended_at = CASE WHEN conversations.deleted_at IS NULL "
        "THEN conversations.ended_at END "
        "WHERE excluded.agent IS NULL OR conversations.agent IS NULL "
        "OR conversations.agent = excluded.agent",
        tx.own | {"agent": tx.scope.agent or action.agent} | rows.CONVERSATIONS.values(info),
    )
    if not changed:
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)


def append(tx: Transaction, actions: Sequence[act.Append]) -> tuple[act.Outcome, ...]:
    """Add messages at the end of transcripts, those of one each statement once for all."""
    for name, group in groupby(actions, lambda each: each.conversation):
        messages, mine = [each.message for each in group], owned(tx.scope, tx.user)
        counted = mine.values | {"id": name, "count": len(messages)}
        found = tx.connection.one(NEXT.format(mine=mine.sql), counted)
        if found is None:
            raise tx.missing("conversation", name)
        # Never a place that was cleared or cut, also after the messages there were erased.
        conversation, end = found
        whole = {"user_key": tx.user, "conversation_key": conversation}
        placed = [
            rows.MESSAGES.values(message) | whole | {"position": place}
            for place, message in enumerate(messages, end - len(messages))
        ]
        tx.connection.run_many(APPEND, placed)
    return ()


def pin(tx: Transaction, action: act.Pin) -> None:
    """Keep a message in every view, or stop keeping it."""
    conversation = tx.conversation(action.conversation)
    changed = tx.connection.change(
        "UPDATE messages SET pinned = :pinned "
        "WHERE user_key = :user AND conversation_key = :conversation AND id = :id",
        {"user": tx.user, "conversation": conversation}
        | {"pinned": int(action.pinned), "id": action.message},
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
            "user": tx.user,
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
        changed += tx.connection.change(
            "UPDATE messages SET tokens = :tokens WHERE user_key = :user "
            "AND id = :id AND conversation_key = :conversation AND tokens <> :tokens",
            {"user": tx.user, "tokens": tokens, "id": message, "conversation": conversation},
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
        cuts += [part.tear() for part in parts] if torn else [span]
    stored = rows.PRUNINGS.values(replace(item, cuts=tuple(cuts)))
    tx.connection.run(
        "INSERT INTO prunings (user_key, conversation_key, id, at, triggered_by, why, strategy, "
        "tokens_before, tokens_after, through, spans) VALUES (:user, :conversation, :id, :at, "
        ":trigger, :why, :strategy, :before, :after, :through, :cuts)",
        {"user": tx.user, "conversation": conversation, "through": _through(cuts)} | stored,
    )
    tx.revise(conversation)


def _held(tx: Transaction, conversation: int, first: int, last: int) -> list[Run]:
    """Return the runs of messages from one position to another."""
    values = {"user": tx.user, "conversation": conversation, "first": first, "last": last}
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

    values = {"conversation": tx.conversation(action.conversation), "id": action.pruning}
    change_cuts(tx, values, "id = :id", summarized)


def change_spans(tx: Transaction, conversation: int, done: Replacement) -> None:
    """Tear and move the spans of all prunings as messages were removed and replaced."""
    held = partial(_held, tx, conversation)
    values = {"conversation": conversation, "first": min(done.removed)}
    # Others end before the first that was removed, and so before all that moved.
    change_cuts(tx, values, "through >= :first", lambda cuts: done.change(cuts, held))


def change_cuts(
    tx: Transaction,
    values: dict[str, Any],
    chosen: str,
    change: Callable[[Iterable[PrunedSpan]], tuple[PrunedSpan, ...]],
) -> None:
    """Change the spans of those prunings of a conversation that a condition chooses."""
    receipts = tx.connection.all(
        "SELECT key, spans FROM prunings p "
        f"WHERE p.user_key = :user AND conversation_key = :conversation AND {chosen}",
        {"user": tx.user} | values,
    )
    for key, text in receipts:
        cuts = change(rows.SPAN_LIST.read(text))
        spans = rows.SPAN_LIST.write(cuts)
        if spans != text:
            tx.connection.run(
                "UPDATE prunings SET spans = :spans, through = :through "
                "WHERE user_key = :user AND key = :key",
                {"user": tx.user, "spans": spans, "through": _through(cuts), "key": key},
            )
            tx.revise(values["conversation"])


def _through(cuts: Iterable[PrunedSpan]) -> int:
    return max((cut.last for cut in cuts), default=-1)


# Removing and replacing


def replace_messages(tx: Transaction, action: act.ReplaceMessages) -> Tombstone | None:
    """Move messages of a transcript to a tombstone, and put others where the first of them was."""
    conversation = tx.conversation(action.conversation)
    gone = _take_out(tx, conversation, action)
    if not gone:
        return None
    left = Tombstone(id=action.tombstone, at=action.at, count=len(gone), messages=tuple(gone))
    _leave_tombstone(tx, conversation, left)
    episodes = [message.record_id for message in gone if message.record_id is not None]
    if episodes:
        record_actions.end(tx, episodes, action.at, "its message was removed")
    done = _renumber(tx, conversation, action, gone)
    for message, place in zip(action.messages, done.places, strict=True):
        placed = {"user_key": tx.user, "conversation_key": conversation, "position": place}
        tx.connection.run(APPEND, rows.MESSAGES.values(message) | placed)
    last = max(done.places, default=-1)
    recount_messages(tx, conversation, len(action.messages) - len(gone), last)
    change_spans(tx, conversation, done)
    return left


def _take_out(tx: Transaction, conversation: int, action: act.ReplaceMessages) -> list[Message]:
    """Delete the messages that are to be removed; return them in order."""
    ids = rows.dump(action.ids)
    values: dict[str, Any] = {"user": tx.user, "conversation": conversation}
    values |= {"ids": ids, "newest": action.newest}
    chosen = TAKE_OUT.format(chosen=NAMED if action.ids else NEWEST)
    found = map(rows.message, tx.connection.all(chosen, values))
    gone = sorted(found, key=lambda message: message.position or 0)
    if missing := set(action.ids).difference(message.id for message in gone):
        message = f"there is no message {min(missing)!r} in {action.conversation!r}"
        raise NotFound(message)
    return gone


def _renumber(
    tx: Transaction, conversation: int, action: act.ReplaceMessages, gone: Sequence[Message]
) -> Replacement:
    """Make room for new messages where others were removed; return which positions they get."""
    places = [message.position or 0 for message in gone]
    if not action.messages:
        return Replacement(places)
    base = {"user": tx.user, "conversation": conversation}
    values = base | {"first": places[0]}
    following, end, cleared = tx.connection.all(FOLLOWING, values)[0]
    if places[0] <= cleared:
        raise InvalidInput(refuse_cleared(gone[0].id))
    done = Replacement.plan(places, len(action.messages), following=following, end=end)
    if done.shift:
        moved = base | {"shift": done.shift, "following": done.following}
        tx.connection.run(MOVE, moved)
    return done


def recount_messages(tx: Transaction, conversation: int, more: int, last: int = -1) -> None:
    """Count messages that came, or went if ``more`` is negative, to the position ``last``."""
    counted = {"conversation": conversation, "more": more, "least": last + 1}
    tx.connection.run(RENUMBER, {"user": tx.user} | counted)


def keep_tombstone(tx: Transaction, action: act.KeepTombstone) -> None:
    """Keep a tombstone of another transcript, unless it is there."""
    _leave_tombstone(tx, tx.conversation(action.conversation), action.tombstone)


def _leave_tombstone(tx: Transaction, conversation: int, kept: Tombstone) -> None:
    key = tx.connection.value(
        "INSERT INTO tombstones (user_key, conversation_key, id, at, count) "
        "VALUES (:user, :conversation, :id, :at, :count) ON CONFLICT DO NOTHING RETURNING key",
        {"user": tx.user, "conversation": conversation}
        | {"id": kept.id, "at": to_ms(kept.at), "count": kept.count},
    )
    if key is None:
        return
    tx.connection.run_many(
        "INSERT INTO removed_messages (user_key, tombstone_key, place, record_id, message) "
        "VALUES (:user, :tombstone, :place, :record, :message)",
        [
            (tx.user, key, place, message.record_id, rows.stored_message(message))
            for place, message in enumerate(kept.messages)
        ],
    )
