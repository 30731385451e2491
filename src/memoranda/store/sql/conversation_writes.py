"""Changes conversations: messages, pins, clearing, receipts of prunings.

A message that is removed belongs to a tombstone from then on, at a position below zero, where no
read of the transcript finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from functools import partial
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import models
from memoranda.model.checks import to_ms
from memoranda.model.replacements import Replacement, split_by_holes
from memoranda.store.sql import rows
from memoranda.store.sql.record_writes import MINE, THIS, RecordWrites

OPENED = ("user_key", "agent", "id", "system", "model", "context_limit", "created_at")
OPEN = f"""
{rows.insertion("conversations", OPENED)}
ON CONFLICT (user_key, id) DO UPDATE SET system = excluded.system, model = excluded.model,
    context_limit = excluded.context_limit, deleted_at = NULL,
    created_at = CASE WHEN conversations.deleted_at IS NULL THEN conversations.created_at
        ELSE excluded.created_at END,
    ended_at = CASE WHEN conversations.deleted_at IS NULL THEN conversations.ended_at END
WHERE excluded.agent IS NULL OR conversations.agent IS NULL
    OR conversations.agent = excluded.agent
"""
FIND = f"""
SELECT r.key FROM conversations r
WHERE r.id = :id AND {MINE} AND (:deleted = 1 OR r.deleted_at IS NULL)
"""
UPDATE = f"""
UPDATE conversations SET revision = revision + :clear,
    cleared_through = CASE WHEN :clear = 1 THEN next_position - 1 ELSE cleared_through END,
    token_scale = coalesce(:scale, token_scale),
    token_overhead = coalesce(:overhead, token_overhead), ended_at = coalesce(:ended_at, ended_at)
WHERE {THIS}
"""
NEXT = f"""
UPDATE conversations AS r SET message_count = message_count + :count,
    next_position = next_position + :count
WHERE r.id = :id AND r.deleted_at IS NULL AND {MINE} RETURNING key, next_position
"""
THIS_MESSAGE = "user_key = :user AND id = :id AND conversation_key = :conversation"
PIN = f"UPDATE messages SET pinned = :pinned WHERE {THIS_MESSAGE} AND position >= 0"
SET_TOKENS = f"UPDATE messages SET tokens = :tokens WHERE {THIS_MESSAGE} AND tokens <> :tokens"
IN_CONVERSATION = "user_key = :user AND conversation_key = :conversation"
FOLLOWING = """
SELECT (SELECT min(m.position) FROM messages m
        WHERE m.user_key = :user AND m.conversation_key = c.key AND m.position > :first),
    c.next_position, c.cleared_through
FROM conversations c WHERE c.user_key = :user AND c.key = :conversation
"""
MOVE = f"""
UPDATE messages SET position = position + :shift WHERE {IN_CONVERSATION} AND position >= :following
"""
RECOUNT = f"""
UPDATE conversations SET message_count = message_count + :more, revision = revision + 1,
    next_position = greatest(next_position, 1 + coalesce(
        (SELECT max(position) FROM messages WHERE {IN_CONVERSATION}), -1))
WHERE user_key = :user AND key = :conversation
"""
IN_SPAN = f"FROM messages m WHERE {IN_CONVERSATION} AND position BETWEEN :first AND :last"
COUNT_BETWEEN = f"SELECT count(*) {IN_SPAN}"
BETWEEN = f"SELECT {rows.MESSAGE} {IN_SPAN} ORDER BY m.position"
# By their ids alone, which are unique: so no index of the conversation is walked through.
NAMED = f"""
SELECT {rows.MESSAGE} FROM messages m WHERE m.user_key = :user AND m.id IN (@texts(:ids))
    AND +m.conversation_key = :conversation AND m.position >= 0 ORDER BY m.position
"""
LOWEST = f"SELECT least(coalesce(min(position), 0), 0) FROM messages WHERE {IN_CONVERSATION}"
TAKE_OUT = f"""
UPDATE messages SET tombstone_key = :tombstone, removed_from = position, position = :position
WHERE {THIS_MESSAGE}
"""
ADD_MESSAGE = rows.insertion("messages", ("user_key", "conversation_key", *rows.MESSAGES.names))
LEFT = ("user_key", "conversation_key", "id", "at", "count")
ADD_TOMBSTONE = f"{rows.insertion('tombstones', LEFT)} RETURNING key"
SET_SPANS = f"UPDATE prunings SET spans = :spans, through = :through WHERE {THIS}"


def _through(cuts: Iterable[models.PrunedSpan]) -> int:
    return max((cut.last for cut in cuts), default=-1)


class ConversationWrites(RecordWrites):
    """Changes the conversations of a user in an open transaction."""

    def open_conversation(self, info: models.ConversationInfo, *, agent: str | None = None) -> None:
        """Create a conversation, or update its settings."""
        self.register()
        whose = {"user_key": self.user, "agent": self.scope.agent or agent}
        if not self.change(OPEN, **rows.CONVERSATIONS.values(info), **whose):
            message = f"the conversation {info.id!r} is another agent's; choose another id"
            raise InvalidInput(message)

    def conversation(self, id: str, *, deleted: bool = False) -> int:
        """Return the key of a conversation that the scope may see, or raise ``NotFound``.

        Also of one that was taken off the lists, if ``deleted``.
        """
        key = self.value(FIND, id=id, deleted=int(deleted))
        if key is None:
            raise self.missing("conversation", id)
        return int(key)

    def revise(self, conversation: int) -> None:
        """Tell readers that what is in a transcript has changed."""
        self.run(f"UPDATE conversations SET revision = revision + 1 WHERE {THIS}", key=conversation)

    def append_messages(self, id: str, messages: Sequence[models.Message]) -> list[models.Message]:
        """Add messages at the end of a transcript; return them with their positions."""
        found = self.all(NEXT, id=id, count=len(messages))
        if not found:
            raise self.missing("conversation", id)
        # Never a place that was cleared or cut, also after the messages there were erased.
        conversation, end = found[0]
        return self._add_messages(conversation, messages, range(end - len(messages), end))

    def _add_messages(
        self, conversation: int, messages: Iterable[models.Message], places: Iterable[int]
    ) -> list[models.Message]:
        """Add messages at these places of a transcript; return them with their positions."""
        placed = [replace(each, position=at) for each, at in zip(messages, places, strict=True)]
        whose = self.user, conversation
        self.connection.run_many(ADD_MESSAGE, [(*whose, *rows.MESSAGES.row(x)) for x in placed])
        return placed

    def pin_message(self, id: str, message_id: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        conversation = self.conversation(id)
        if not self.change(PIN, conversation=conversation, id=message_id, pinned=int(pinned)):
            raise NotFound(f"there is no message {message_id!r} in {id!r}")
        self.revise(conversation)

    def update_conversation(
        self,
        id: str,
        *,
        clear: bool = False,
        calibration: models.Calibration | None = None,
        ended_at: datetime | None = None,
    ) -> None:
        """Clear the view of a conversation, calibrate it, or mark it as finished."""
        scale, overhead = (None, None) if calibration is None else astuple(calibration)
        values = {"clear": int(clear), "ended_at": rows.optional_ms(ended_at)}
        self.run(UPDATE, key=self.conversation(id), scale=scale, overhead=overhead, **values)

    def set_token_counts(self, id: str, counts: Mapping[str, int]) -> None:
        """Set the token counts of messages; what was erased meanwhile is passed over."""
        conversation = self.conversation(id)
        for message, tokens in counts.items():
            self.run(SET_TOKENS, id=message, tokens=tokens, conversation=conversation)
        self.revise(conversation)

    # Prunings

    def add_pruning(self, id: str, item: models.Pruning) -> None:
        """Keep the receipt of a pruning."""
        conversation = self.conversation(id)
        cuts: list[models.PrunedSpan] = []
        for span in item.cuts:
            bounds = {"conversation": conversation, "first": span.first, "last": span.last}
            if self.value(COUNT_BETWEEN, **bounds) >= span.messages:
                cuts.append(span)
            else:  # Some were removed since the pruning was decided.
                parts = split_by_holes(span, partial(self._held, conversation))
                cuts += [part.tear() for part in parts]
        place = {"conversation_key": conversation, "through": _through(cuts)}
        self.add("prunings", [rows.PRUNINGS.values(replace(item, cuts=tuple(cuts))) | place])
        self.revise(conversation)

    def _held(self, conversation: int, first: int, last: int) -> list[models.Message]:
        """Return the messages from one position to another."""
        found = self.all(BETWEEN, conversation=conversation, first=first, last=last)
        return [rows.MESSAGES.make(row) for row in found]

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
        change: Callable[[Iterable[models.PrunedSpan]], tuple[models.PrunedSpan, ...]],
    ) -> bool:
        """Change the spans of those prunings of a conversation that a condition chooses.

        Returns whether any became another.
        """
        receipts = self.all(
            f"SELECT key, spans FROM prunings WHERE {IN_CONVERSATION} AND {chosen}", **values
        )
        changed = False
        for key, text in receipts:
            cuts = change(rows.SPAN_LIST.read(text))
            spans = rows.SPAN_LIST.write(cuts)
            if spans != text:
                self.run(SET_SPANS, spans=spans, through=_through(cuts), key=key)
                changed = True
        if changed:
            self.revise(values["conversation"])
        return changed

    # Removal

    def replace_messages(
        self,
        id: str,
        tombstone: str,
        *,
        at: datetime,
        ids: Sequence[str] = (),
        newest: int = 0,
        messages: Sequence[models.Message] = (),
    ) -> models.Tombstone | None:
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
        if ids:
            found = self.all(NAMED, conversation=conversation, ids=rows.dump(ids))
            gone = [rows.MESSAGES.make(row) for row in found]
        else:
            gone = self.messages(self.scope, id, last=newest)
        if missing := set(ids).difference(message.id for message in gone):
            raise NotFound(f"there is no message {min(missing)!r} in {id!r}")
        if not gone:
            return None
        left = models.Tombstone(id=tombstone, at=at, count=len(gone), messages=tuple(gone))
        whose = {"user_key": self.user, "conversation_key": conversation}
        key = self.value(ADD_TOMBSTONE, **whose, id=tombstone, at=to_ms(at), count=len(gone))
        values = {"conversation": conversation, "tombstone": key}
        lowest = self.value(LOWEST, conversation=conversation) - len(gone)
        for place, message in enumerate(gone, lowest):
            self.run(TAKE_OUT, position=place, id=message.id, **values)
        episodes = [message.record_id for message in gone if message.record_id is not None]
        if episodes:
            self.end(episodes, at, "its message was removed")
        done = self._make_room(conversation, len(messages), gone)
        self._add_messages(conversation, messages, done.places)
        self.recount_messages(conversation, len(messages) - len(gone))
        self.change_spans(conversation, done)
        return left

    def _make_room(self, conversation: int, new: int, gone: list[models.Message]) -> Replacement:
        """Make room for new messages where others were removed; return their positions."""
        places = [message.position or 0 for message in gone]
        if not new:
            return Replacement(places)
        found = self.all(FOLLOWING, conversation=conversation, first=places[0])
        following, end, cleared = found[0]
        if places[0] <= cleared:
            why = "was left behind by clear(); only what came later can be replaced"
            raise InvalidInput(f"message {gone[0].id!r} {why}")
        done = Replacement.plan(places, new, following=following, end=end)
        if done.shift:
            moved = {"shift": done.shift, "following": done.following}
            self.run(MOVE, conversation=conversation, **moved)
        return done

    def recount_messages(self, conversation: int, more: int) -> None:
        """Count messages that came to a transcript, or went if ``more`` is negative."""
        self.run(RECOUNT, conversation=conversation, more=more)
