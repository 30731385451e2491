"""Changes conversations: messages, pins, clearing, receipts of prunings.

A message that is removed belongs to a tombstone from then on, at a position below zero, where no
read of the transcript finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import to_ms
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    Message,
    PrunedSpan,
    Pruning,
    Tombstone,
)
from memoranda.model.replacements import Replacement, add_summaries, refuse_cleared, split_by_holes
from memoranda.store.sql import rows
from memoranda.store.sql.reads import owned
from memoranda.store.sql.record_writes import RecordWrites

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
IN_SPAN = """
FROM messages m WHERE m.user_key = :user AND m.conversation_key = :conversation
    AND m.position BETWEEN :first AND :last
"""
COUNT_BETWEEN = f"SELECT count(*) {IN_SPAN}"
BETWEEN = f"SELECT {rows.MESSAGE} {IN_SPAN} ORDER BY m.position"
# By their ids alone, which are unique: so no index of the conversation is walked through.
NAMED = "id IN (@texts(:ids)) AND +conversation_key = :conversation AND position >= 0"
NEWEST = """
key IN (SELECT key FROM messages m WHERE m.user_key = :user AND conversation_key = :conversation
    AND position >
        (SELECT cleared_through FROM conversations c
            WHERE c.user_key = :user AND key = :conversation)
    ORDER BY position DESC LIMIT :newest)
"""
CHOSEN = f"SELECT {rows.MESSAGE} FROM messages m WHERE m.user_key = :user AND {{chosen}}"
LOWEST = """
SELECT least(coalesce(min(position), 0), 0) FROM messages
WHERE user_key = :user AND conversation_key = :conversation
"""
TAKE_OUT = """
UPDATE messages SET tombstone_key = :tombstone, removed_from = position, position = :position
WHERE user_key = :user AND id = :id
"""
APPEND = rows.insertion("messages", ("user_key", "conversation_key", *rows.MESSAGES.names))
APPEND_REMOVED = f"""
{
    rows.insertion(
        "messages",
        ("user_key", "conversation_key", "tombstone_key", "removed_from", *rows.MESSAGES.names),
    )
} ON CONFLICT DO NOTHING
"""


def _through(cuts: Iterable[PrunedSpan]) -> int:
    return max((cut.last for cut in cuts), default=-1)


class ConversationWrites(RecordWrites):
    """Changes the conversations of a user in an open transaction."""

    def open_conversation(self, info: ConversationInfo, *, agent: str | None = None) -> None:
        """Create a conversation, or update its settings."""
        self.register()
        changed = self.connection.change(
            "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, "
            "created_at) VALUES (:user, :agent, :id, :system, :model, :context_limit, :created_at) "
            "ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, "
            "model = excluded.model, context_limit = excluded.context_limit, deleted_at = NULL, "
            "created_at = CASE WHEN conversations.deleted_at IS NULL THEN conversations.created_at "
            "ELSE excluded.created_at END, ended_at = CASE WHEN conversations.deleted_at IS NULL "
            "THEN conversations.ended_at END "
            "WHERE excluded.agent IS NULL OR conversations.agent IS NULL "
            "OR conversations.agent = excluded.agent",
            self.own | {"agent": self.scope.agent or agent} | rows.CONVERSATIONS.values(info),
        )
        if not changed:
            message = f"the conversation {info.id!r} is another agent's; choose another id"
            raise InvalidInput(message)

    def append_messages(self, id: str, messages: Sequence[Message]) -> None:
        """Add messages at the end of a transcript."""
        mine = owned(self.scope, self.user)
        counted = mine.values | {"id": id, "count": len(messages)}
        found = self.connection.one(NEXT.format(mine=mine.sql), counted)
        if found is None:
            raise self.missing("conversation", id)
        # Never a place that was cleared or cut, also after the messages there were erased.
        conversation, end = found
        whole = {"user_key": self.user, "conversation_key": conversation}
        self.connection.run_many(
            APPEND,
            [
                rows.MESSAGES.values(message) | whole | {"position": place}
                for place, message in enumerate(messages, end - len(messages))
            ],
        )

    def pin_message(self, id: str, message_id: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        conversation = self.conversation(id)
        changed = self.connection.change(
            "UPDATE messages SET pinned = :pinned "
            "WHERE user_key = :user AND conversation_key = :conversation AND id = :id "
            "AND position >= 0",
            {"user": self.user, "conversation": conversation}
            | {"pinned": int(pinned), "id": message_id},
        )
        if not changed:
            message = f"there is no message {message_id!r} in {id!r}"
            raise NotFound(message)
        self.revise(conversation)

    def update_conversation(
        self,
        id: str,
        *,
        clear: bool = False,
        calibration: Calibration | None = None,
        ended_at: datetime | None = None,
    ) -> None:
        """Clear the view of a conversation, calibrate it, or mark it as finished."""
        self.connection.run(
            UPDATE,
            {
                "user": self.user,
                "key": self.conversation(id),
                "clear": int(clear),
                "scale": None if calibration is None else calibration.scale,
                "overhead": None if calibration is None else calibration.overhead,
                "ended_at": rows.optional_ms(ended_at),
            },
        )

    def set_token_counts(self, id: str, counts: Mapping[str, int]) -> None:
        """Set the token counts of messages; what was erased meanwhile is passed over."""
        conversation = self.conversation(id)
        changed = 0
        for message, tokens in counts.items():
            changed += self.connection.change(
                "UPDATE messages SET tokens = :tokens WHERE user_key = :user "
                "AND id = :id AND conversation_key = :conversation AND tokens <> :tokens",
                {"user": self.user, "tokens": tokens, "id": message, "conversation": conversation},
            )
        if changed:
            self.revise(conversation)

    def add_pruning(self, id: str, item: Pruning) -> None:
        """Keep the receipt of a pruning."""
        conversation = self.conversation(id)
        cuts: list[PrunedSpan] = []
        for span in item.cuts:
            bounds = {"conversation": conversation, "first": span.first, "last": span.last}
            if self.connection.value(COUNT_BETWEEN, {"user": self.user} | bounds) >= span.messages:
                cuts.append(span)
            else:  # Some were removed since the pruning was decided.
                parts = split_by_holes(span, partial(self._held, conversation))
                cuts += [part.tear() for part in parts]
        stored = rows.PRUNINGS.values(replace(item, cuts=tuple(cuts)))
        self.connection.run(
            "INSERT INTO prunings (user_key, conversation_key, id, at, triggered_by, why, "
            "strategy, tokens_before, tokens_after, through, spans) "
            "VALUES (:user, :conversation, :id, :at, "
            ":trigger, :why, :strategy, :before, :after, :through, :cuts)",
            {"user": self.user, "conversation": conversation, "through": _through(cuts)} | stored,
        )
        self.revise(conversation)

    def _held(self, conversation: int, first: int, last: int) -> list[Message]:
        """Return the messages from one position to another."""
        values = {"user": self.user, "conversation": conversation, "first": first, "last": last}
        return [rows.message(row) for row in self.connection.all(BETWEEN, values)]

    def add_summaries(self, id: str, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give spans, by their first positions, their summaries; pass over what is torn or gone."""
        values = {"conversation": self.conversation(id), "id": pruning}
        self.change_cuts(values, "id = :id", lambda cuts: add_summaries(cuts, summaries))

    def change_spans(self, conversation: int, done: Replacement) -> None:
        """Tear and move the spans of all prunings as messages were removed and replaced."""
        held = partial(self._held, conversation)
        values = {"conversation": conversation, "first": min(done.removed)}
        # Others end before the first that was removed, and so before all that moved.
        self.change_cuts(values, "through >= :first", lambda cuts: done.change(cuts, held))

    def change_cuts(
        self,
        values: dict[str, Any],
        chosen: str,
        change: Callable[[Iterable[PrunedSpan]], tuple[PrunedSpan, ...]],
    ) -> bool:
        """Change the spans of those prunings of a conversation that a condition chooses.

        Returns whether any became another.
        """
        receipts = self.connection.all(
            "SELECT key, spans FROM prunings p "
            f"WHERE p.user_key = :user AND conversation_key = :conversation AND {chosen}",
            {"user": self.user} | values,
        )
        changed = False
        for key, text in receipts:
            cuts = change(rows.SPAN_LIST.read(text))
            spans = rows.SPAN_LIST.write(cuts)
            if spans != text:
                self.connection.run(
                    "UPDATE prunings SET spans = :spans, through = :through "
                    "WHERE user_key = :user AND key = :key",
                    {"user": self.user, "spans": spans, "through": _through(cuts), "key": key},
                )
                changed = True
        if changed:
            self.revise(values["conversation"])
        return changed

    def replace_messages(
        self,
        id: str,
        tombstone: str,
        *,
        at: datetime,
        ids: Sequence[str] = (),
        newest: int = 0,
        messages: Sequence[Message] = (),
    ) -> Tombstone | None:
        """Move messages of a transcript to a tombstone, and put others where the first was.

        Their episodes are closed. Where nothing is there to be removed, nothing happens.

        Args:
            id: the conversation.
            tombstone: id of the tombstone.
            at: when.
            ids: the messages; one that is not there raises ``NotFound``.
            newest: without ``ids``, so many of the newest since the last ``clear``.
            messages: what stands from then on where the first of them stood.
        """
        conversation = self.conversation(id)
        gone = self._named_messages(id, conversation, ids, newest)
        if not gone:
            return None
        left = Tombstone(id=tombstone, at=at, count=len(gone), messages=tuple(gone))
        taken = {"user": self.user, "tombstone": self._leave_tombstone(conversation, left)}
        places = self._removed_places(conversation, len(gone))
        self.connection.run_many(
            TAKE_OUT,
            [
                taken | {"position": place, "id": message.id}
                for place, message in zip(places, gone, strict=True)
            ],
        )
        episodes = [message.record_id for message in gone if message.record_id is not None]
        if episodes:
            self.end(episodes, at, "its message was removed")
        done = self._renumber(conversation, len(messages), gone)
        for message, place in zip(messages, done.places, strict=True):
            placed = {"user_key": self.user, "conversation_key": conversation, "position": place}
            self.connection.run(APPEND, rows.MESSAGES.values(message) | placed)
        last = max(done.places, default=-1)
        self.recount_messages(conversation, len(messages) - len(gone), last)
        self.change_spans(conversation, done)
        return left

    def _named_messages(
        self, id: str, conversation: int, ids: Sequence[str], newest: int
    ) -> list[Message]:
        """Return the messages that are to be removed, in order."""
        values: dict[str, Any] = {"user": self.user, "conversation": conversation}
        values |= {"ids": rows.dump(list(ids)), "newest": newest}
        chosen = CHOSEN.format(chosen=NAMED if ids else NEWEST)
        found = map(rows.message, self.connection.all(chosen, values))
        gone = sorted(found, key=lambda message: message.position or 0)
        if missing := set(ids).difference(message.id for message in gone):
            message = f"there is no message {min(missing)!r} in {id!r}"
            raise NotFound(message)
        return gone

    def _removed_places(self, conversation: int, count: int) -> range:
        """Return the positions of the next messages that are removed."""
        values = {"user": self.user, "conversation": conversation}
        lowest: int = self.connection.value(LOWEST, values)
        return range(lowest - count, lowest)

    def _renumber(self, conversation: int, new: int, gone: Sequence[Message]) -> Replacement:
        """Make room for new messages where others were removed; return their positions."""
        places = [message.position or 0 for message in gone]
        if not new:
            return Replacement(places)
        base = {"user": self.user, "conversation": conversation}
        values = base | {"first": places[0]}
        following, end, cleared = self.connection.all(FOLLOWING, values)[0]
        if places[0] <= cleared:
            raise InvalidInput(refuse_cleared(gone[0].id))
        done = Replacement.plan(places, new, following=following, end=end)
        if done.shift:
            moved = base | {"shift": done.shift, "following": done.following}
            self.connection.run(MOVE, moved)
        return done

    def recount_messages(self, conversation: int, more: int, last: int = -1) -> None:
        """Count messages that came, or went if ``more`` is negative, to the position ``last``."""
        counted = {"conversation": conversation, "more": more, "least": last + 1}
        self.connection.run(RENUMBER, {"user": self.user} | counted)

    def keep_tombstone(self, id: str, tombstone: Tombstone) -> None:
        """Keep a tombstone of another transcript, unless it is there."""
        conversation = self.conversation(id)
        key = self._leave_tombstone(conversation, tombstone)
        if key is None:
            return
        whole = {"user_key": self.user, "conversation_key": conversation, "tombstone_key": key}
        places = self._removed_places(conversation, len(tombstone.messages))
        self.connection.run_many(
            APPEND_REMOVED,
            [
                rows.MESSAGES.values(message)
                | whole
                | {"removed_from": message.position, "position": place}
                for place, message in zip(places, tombstone.messages, strict=True)
            ],
        )

    def _leave_tombstone(self, conversation: int, left: Tombstone) -> int | None:
        """Store a tombstone; return its key, or ``None`` if it is there."""
        key: int | None = self.connection.value(
            "INSERT INTO tombstones (user_key, conversation_key, id, at, count) "
            "VALUES (:user, :conversation, :id, :at, :count) ON CONFLICT DO NOTHING RETURNING key",
            {"user": self.user, "conversation": conversation}
            | {"id": left.id, "at": to_ms(left.at), "count": left.count},
        )
        return key
