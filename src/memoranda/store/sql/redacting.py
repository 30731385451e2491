"""Replaces what repeats an erased text: records, messages, system prompts, names, summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count

from memoranda.model.checks import content_hash
from memoranda.model.erasure import ERASED, erase_message
from memoranda.model.models import ChangeAction, Kind, PlaceKind, PrunedSpan, TextPlace
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.store.sql import rows
from memoranda.store.sql.conversation_writes import ConversationWrites
from memoranda.store.sql.database import indexed
from memoranda.store.sql.record_writes import QUEUE

OF_CONVERSATION = "SELECT key FROM conversations WHERE user_key = :user AND id = :id"
FIND_MESSAGE = f"""
SELECT {rows.MESSAGE}, m.conversation_key FROM messages m
JOIN conversations c ON c.key = m.conversation_key
WHERE c.user_key = :user AND m.user_key = :user AND m.id = :id
"""
CHANGED = ("content", "task", "tool_calls", "images", "raw", "tokens")
CHANGE_MESSAGE = f"""
UPDATE messages SET {", ".join(f"{each} = :{each}" for each in CHANGED)}
WHERE user_key = :user AND id = :id
"""
CHANGE_REMOVED = """
UPDATE removed_messages SET message = :message
WHERE user_key = :user AND tombstone_key = :tombstone AND place = :place
"""
FIND_REMOVED = """
SELECT r.tombstone_key, r.place, r.message FROM removed_messages r
JOIN tombstones t ON t.key = r.tombstone_key
WHERE r.user_key = :user AND t.user_key = :user AND t.conversation_key = :conversation
"""
SET_SYSTEM = """
UPDATE conversations SET system = :text, revision = revision + 1
WHERE user_key = :user AND key = :key AND system IS NOT NULL AND system <> :text
"""
FIND_RECORD = """
SELECT key, kind FROM records WHERE user_key = :user AND id = :id AND content_hash <> :hash
"""
CHANGE_RECORD = """
UPDATE records SET content = :content, content_hash = :hash, term_count = :terms, tags = '[]',
    metadata = '{}', subject = NULL, attribute = NULL, value = NULL
WHERE user_key = :user AND key = :key
"""
RENAME = (
    *(
        f"UPDATE {table} SET session_id = :new WHERE user_key = :user AND session_id = :old"
        for table in ("records", "sessions", "recalls")
    ),
    """
    UPDATE conversations SET id = :new, revision = revision + 1
    WHERE user_key = :user AND id = :old
    """,
)
ERASED_NAMES = """
SELECT session_id FROM records WHERE user_key = :user AND session_id LIKE :like
UNION SELECT session_id FROM sessions WHERE user_key = :user AND session_id LIKE :like
UNION SELECT session_id FROM recalls WHERE user_key = :user AND session_id LIKE :like
UNION SELECT id FROM conversations WHERE user_key = :user AND id LIKE :like
"""


class RedactingWrites(ConversationWrites):
    """Replaces the texts of places that repeat what was erased."""

    def redact(
        self,
        places: Iterable[TextPlace],
        *,
        at: datetime,
        reason: str,
        tokens: Mapping[str, int] | None = None,
    ) -> tuple[TextPlace, ...]:
        """Put ``[erased]`` in these places, and make anew what was derived from their texts.

        Args:
            places: those of which everything goes; what is not there is passed over.
            at: when.
            reason: why, for the history of records.
            tokens: the lengths of messages after that, by their ids.

        Returns:
            The places that were changed.
        """
        redact: dict[PlaceKind, Callable[[TextPlace], bool]] = {
            PlaceKind.RECORD: partial(self._redact_record, at=at, reason=reason),
            PlaceKind.MESSAGE: partial(self._redact_message, tokens=tokens or {}),
            PlaceKind.REMOVED: self._redact_removed,
            PlaceKind.SYSTEM: self._redact_system,
            PlaceKind.SUMMARY: self._redact_summary,
            PlaceKind.NAME: self._redact_name,
        }
        # Names last: the other places are found by them.
        ordered = sorted(places, key=lambda place: place.kind is PlaceKind.NAME)
        changed = tuple(place for place in ordered if redact[place.kind](place))
        if changed:
            self.ask_for_purge()
        return changed

    def _redact_record(self, place: TextPlace, *, at: datetime, reason: str) -> bool:
        found = self.connection.one(
            FIND_RECORD, {"user": self.user, "id": place.id, "hash": content_hash(ERASED)}
        )
        if found is None:
            return False
        key, kind = found
        this = {"user": self.user, "key": key}
        terms = indexed(self.analyzer.terms(ERASED), items=kind == Kind.ITEM)
        text = {"content": ERASED, "hash": content_hash(ERASED), "terms": len(terms)}
        self.connection.run(CHANGE_RECORD, this | text)
        self.full_text.remove(self.connection, self.user, [key])
        self.full_text.add(self.connection, [(key, self.user, " ".join(terms))])
        touched = self.entity_writer.of_records([key])
        for table in (*rows.VECTOR_TABLES, "record_entities"):
            self.drop(table, [key])
        self.entity_writer.forget_unmentioned(touched)
        for work in (VECTORS, ENTITIES):
            self.connection.run(QUEUE, {"work": work, "record_key": key, "user_key": self.user})
        self.tell_revised([key])
        self.changes_facts |= kind == Kind.FACT
        target = replace(self, scope=self.scope.whole_user).target(place.id)
        self.log([target], at, ChangeAction.ERASE, reason)
        return True

    def _redact_message(self, place: TextPlace, *, tokens: Mapping[str, int]) -> bool:
        row = self.connection.one(FIND_MESSAGE, {"user": self.user, "id": place.id})
        if row is None or (before := rows.message(row)) == (after := erase_message(before)):
            return False
        after = replace(after, tokens=tokens.get(after.id, after.tokens))
        stored = rows.MESSAGES.values(after)
        values = {name: stored[name] for name in CHANGED} | {"user": self.user, "id": after.id}
        self.connection.run(CHANGE_MESSAGE, values)
        # Whatever summarises it may quote it.
        self.change_cuts({"conversation": row[-1]}, "TRUE", partial(_tear_at, after.position))
        self.revise(row[-1])
        return True

    def _redact_removed(self, place: TextPlace) -> bool:
        values = {"user": self.user, "conversation": self._conversation(place)}
        done = False
        for tombstone, at, text in self.connection.all(FIND_REMOVED, values):
            before = rows.removed_message(text)
            after = erase_message(before)
            if before.id == place.id and after != before:
                message = {"message": rows.stored_message(after)}
                this = {"user": self.user, "tombstone": tombstone, "place": at}
                self.connection.run(CHANGE_REMOVED, this | message)
                done = True
        return done

    def _conversation(self, place: TextPlace) -> int | None:
        values = {"user": self.user, "id": place.conversation}
        key: int | None = self.connection.value(OF_CONVERSATION, values)
        return key

    def _redact_system(self, place: TextPlace) -> bool:
        values = {"user": self.user, "key": self._conversation(place), "text": ERASED}
        return self.connection.change(SET_SYSTEM, values) > 0

    def _redact_summary(self, place: TextPlace) -> bool:
        """Tear all spans of a pruning, so that nobody makes their summaries again."""
        values = {"conversation": self._conversation(place), "id": place.id}
        done = False

        def tear(cuts: Iterable[PrunedSpan]) -> tuple[PrunedSpan, ...]:
            nonlocal done
            before = tuple(cuts)
            after = tuple(each.tear() for each in before)
            done = done or after != before
            return after

        self.change_cuts(values, "id = :id", tear)
        return done

    def _redact_name(self, place: TextPlace) -> bool:
        """Give a conversation a name that no other has; also where only its name is left."""
        values = {"user": self.user, "old": place.id, "new": self._free_name()}
        changed = [self.connection.change(each, values) for each in RENAME]
        self.removes_rows |= any(changed)
        return any(changed)

    def _free_name(self) -> str:
        used = self.connection.all(ERASED_NAMES, {"user": self.user, "like": f"{ERASED}%"})
        names = (f"{ERASED} {number}" if number > 1 else ERASED for number in count(1))
        return next(name for name in names if (name,) not in {tuple(row) for row in used})


def _tear_at(position: int | None, cuts: Iterable[PrunedSpan]) -> tuple[PrunedSpan, ...]:
    at = position or 0
    return tuple(each.tear() if each.first <= at <= each.last else each for each in cuts)
