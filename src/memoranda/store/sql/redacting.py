"""Cuts erased text out of what stays: records, messages, system prompts, names, summaries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from memoranda.model.checks import content_hash
from memoranda.model.erasure import TextCut
from memoranda.model.models import ChangeAction, Kind, PlaceKind, PrunedSpan, TextPlace
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.store.sql import rows
from memoranda.store.sql.conversation_writes import ConversationWrites
from memoranda.store.sql.database import indexed
from memoranda.store.sql.record_writes import QUEUE
from memoranda.text.erased import cut_message, cut_out, map_texts

OF_CONVERSATION = "SELECT key FROM conversations WHERE user_key = :user AND id = :id"
FIND_MESSAGE = f"""
SELECT {rows.MESSAGE}, m.conversation_key FROM messages m
JOIN conversations c ON c.key = m.conversation_key
WHERE c.user_key = :user AND m.user_key = :user AND m.id = :id
"""
CHANGED = ("content", "task", "tool_calls", "images", "raw", "tokens")
CHANGE_MESSAGE = f"UPDATE messages SET {', '.join(f'{each} = :{each}' for each in CHANGED)} "
FIND_REMOVED = """
SELECT r.tombstone_key, r.place, r.message FROM removed_messages r
JOIN tombstones t ON t.key = r.tombstone_key
WHERE r.user_key = :user AND t.user_key = :user AND t.conversation_key = :conversation
"""
FIND_SYSTEM = """
SELECT system FROM conversations c WHERE c.user_key = :user AND key = :key AND system IS NOT NULL
"""
SET_SYSTEM = """
UPDATE conversations SET system = :text, revision = revision + 1
WHERE user_key = :user AND key = :key
"""
FIND_RECORD = """
SELECT key, content, tags, metadata, kind FROM records
WHERE user_key = :user AND id = :id
"""
CHANGE_RECORD = """
UPDATE records SET content = :content, content_hash = :hash, term_count = :terms, tags = :tags,
    metadata = :metadata, subject = NULL, attribute = NULL, value = NULL
WHERE user_key = :user AND key = :key
"""
NAMED_SESSION = ("records", "sessions", "recalls")


def _tear(places: set[int]) -> Callable[[Iterable[PrunedSpan]], tuple[PrunedSpan, ...]]:
    return lambda cuts: tuple(
        cut.tear() if any(cut.first <= place <= cut.last for place in places) else cut
        for cut in cuts
    )


class RedactionNotes(NamedTuple):
    """What a redaction notes, and the places of conversations whose summaries it tears."""

    at: datetime
    reason: str
    torn: defaultdict[int, set[int]]


class RedactingWrites(ConversationWrites):
    """Cuts erased text out of what stays."""

    def redact(
        self, cuts: Sequence[TextCut], *, at: datetime, reason: str
    ) -> tuple[TextPlace, ...]:
        """Put a mark in the place of erased text, and make anew what was derived from it."""
        torn: defaultdict[int, set[int]] = defaultdict(set)
        # Names last: the other places are found by them.
        ordered = sorted(cuts, key=lambda cut: cut.place.kind is PlaceKind.NAME)
        done = RedactionNotes(at, reason, torn)
        changed = tuple(cut.place for cut in ordered if CARRY_OUT[cut.place.kind](self, cut, done))
        for conversation, places in torn.items():
            self.change_cuts({"conversation": conversation}, "TRUE", _tear(places))
            self.revise(conversation)
        if changed:
            self.ask_for_purge()
        return changed

    def redact_record(self, cut: TextCut, done: RedactionNotes) -> bool:
        """Redact a record; what was derived from its text is derived anew."""
        found = self.connection.one(FIND_RECORD, {"user": self.user, "id": cut.place.id})
        if found is None:
            return False
        names = ("key", "content", "tags", "metadata", "kind")
        values: dict[str, Any] = dict(zip(names, found, strict=True))
        content = cut_out(values["content"], cut.pieces)
        told = {
            name: rows.dump(
                map_texts(json.loads(values[name]), partial(cut_out, pieces=cut.pieces))
            )
            for name in ("tags", "metadata")
        }
        if content == values["content"] and all(values[name] == told[name] for name in told):
            return False
        key = {"user": self.user, "key": values["key"]}
        terms = indexed(self.analyzer.terms(content), items=values["kind"] == Kind.ITEM)
        text = {"content": content, "hash": content_hash(content), "terms": len(terms)}
        self.connection.run(CHANGE_RECORD, key | text | told)
        self.full_text.remove(self.connection, self.user, [values["key"]])
        self.full_text.add(self.connection, [(values["key"], self.user, " ".join(terms))])
        touched = self.entity_writer.of_records([values["key"]])
        for table in (*rows.VECTOR_TABLES, "record_entities"):
            self.drop(table, [values["key"]])
        self.entity_writer.forget_unmentioned(touched)
        self.entity_writer.rename(touched)
        for work in (VECTORS, ENTITIES):
            self.connection.run(
                QUEUE, {"work": work, "record_key": values["key"], "user_key": self.user}
            )
        self.raise_epoch()
        whole = replace(self, scope=self.scope.whole_user)
        target = whole.target(cut.place.id)
        if target.can_be_noteworthy:
            self.raise_noteworthy([target.agent])
        self.log([target], done.at, ChangeAction.ERASE, done.reason)
        return True

    def redact_message(self, cut: TextCut, done: RedactionNotes) -> bool:
        """Redact a message of a transcript."""
        row = self.connection.one(FIND_MESSAGE, {"user": self.user, "id": cut.place.id})
        if row is None:
            return False
        before = rows.message(row)
        after = cut_message(before, cut.pieces)
        if after == before:
            return False
        after = replace(after, tokens=after.tokens if cut.tokens is None else cut.tokens)
        stored = rows.MESSAGES.values(after)
        values = {name: stored[name] for name in CHANGED} | {"user": self.user, "id": after.id}
        self.connection.run(f"{CHANGE_MESSAGE} WHERE user_key = :user AND id = :id", values)
        done.torn[row[-1]].add(after.position or 0)
        return True

    def redact_removed(self, cut: TextCut, *_: object) -> bool:
        """Redact a message that was removed from a transcript."""
        conversation = self._conversation(cut)
        done = False
        found = self.connection.all(FIND_REMOVED, {"user": self.user, "conversation": conversation})
        for tombstone, place, text in found:
            before = rows.removed_message(text)
            after = cut_message(before, cut.pieces) if before.id == cut.place.id else before
            if after != before:
                self.connection.run(
                    "UPDATE removed_messages SET message = :message WHERE "
                    "user_key = :user AND tombstone_key = :tombstone AND place = :place",
                    {"user": self.user, "message": rows.stored_message(after)}
                    | {"tombstone": tombstone, "place": place},
                )
                done = True
        return done

    def _conversation(self, cut: TextCut) -> int | None:
        values = {"user": self.user, "id": cut.place.conversation}
        key: int | None = self.connection.value(OF_CONVERSATION, values)
        return key

    def redact_system(self, cut: TextCut, *_: object) -> bool:
        """Redact the system prompt of a conversation."""
        key = self._conversation(cut)
        before = self.connection.value(FIND_SYSTEM, {"user": self.user, "key": key})
        after = before and cut_out(before, cut.pieces)
        if after == before:
            return False
        self.connection.run(SET_SYSTEM, {"user": self.user, "text": after, "key": key})
        return True

    def redact_name(self, cut: TextCut, *_: object) -> bool:
        """Rename a conversation whose name holds what was erased."""
        values = {"user": self.user, "old": cut.place.id, "new": cut.name}
        done = 0
        for table in NAMED_SESSION:
            done += self.connection.change(
                f"UPDATE {table} SET session_id = :new "
                "WHERE user_key = :user AND session_id = :old",
                values,
            )
        done += self.connection.change(
            "UPDATE conversations SET id = :new, revision = revision + 1 "
            "WHERE user_key = :user AND id = :old",
            values,
        )
        if done:
            self.raise_epoch()
        return done > 0

    def redact_summary(self, cut: TextCut, *_: object) -> bool:
        """Tear the spans of a pruning whose summaries quote what was erased."""
        done = False

        def tear(cuts: Iterable[PrunedSpan]) -> tuple[PrunedSpan, ...]:
            nonlocal done
            found = []
            for each in cuts:
                told = "\n".join((each.summary or "", *each.named))
                hit = any(piece in told for piece in cut.pieces)
                found.append(each.tear() if hit else each)
                done = done or hit
            return tuple(found)

        values = {"conversation": self._conversation(cut), "id": cut.place.id}
        self.change_cuts(values, "id = :id", tear)
        return done


CARRY_OUT: dict[PlaceKind, Callable[[Any, TextCut, RedactionNotes], bool]] = {
    PlaceKind.RECORD: RedactingWrites.redact_record,
    PlaceKind.MESSAGE: RedactingWrites.redact_message,
    PlaceKind.REMOVED: RedactingWrites.redact_removed,
    PlaceKind.SYSTEM: RedactingWrites.redact_system,
    PlaceKind.NAME: RedactingWrites.redact_name,
    PlaceKind.SUMMARY: RedactingWrites.redact_summary,
}
