"""Cuts erased text out of what stays: records, messages, system prompts, names, summaries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from memoranda.model.actions import Redact, Redaction
from memoranda.model.checks import content_hash
from memoranda.model.erasure import TextCut
from memoranda.model.models import ChangeAction, Kind, PlaceKind, PrunedSpan
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.store.sql import rows
from memoranda.store.sql.conversation_actions import change_cuts
from memoranda.store.sql.database import indexed
from memoranda.store.sql.record_actions import QUEUE
from memoranda.store.sql.transaction import Transaction
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


def redact(tx: Transaction, action: Redact) -> Redaction:
    """Put a mark in the place of erased text, and make anew what was derived from it."""
    torn: defaultdict[int, set[int]] = defaultdict(set)
    # Names last: the other places are found by them.
    cuts = sorted(action.cuts, key=lambda cut: cut.place.kind is PlaceKind.NAME)
    changed = tuple(cut.place for cut in cuts if CARRY_OUT[cut.place.kind](tx, cut, action, torn))
    for conversation, places in torn.items():
        change_cuts(tx, {"conversation": conversation}, "TRUE", _tear(places))
        tx.revise(conversation)
    if changed:
        tx.ask_for_purge()
    return Redaction(changed)


def _tear(places: set[int]) -> Callable[[Iterable[PrunedSpan]], tuple[PrunedSpan, ...]]:
    return lambda cuts: tuple(
        cut.tear() if any(cut.first <= place <= cut.last for place in places) else cut
        for cut in cuts
    )


Torn = defaultdict[int, set[int]]


def _record(tx: Transaction, cut: TextCut, action: Redact, _: Torn) -> bool:
    found = tx.connection.one(FIND_RECORD, {"user": tx.user, "id": cut.place.id})
    if found is None:
        return False
    names = ("key", "content", "tags", "metadata", "kind")
    values: dict[str, Any] = dict(zip(names, found, strict=True))
    content = cut_out(values["content"], cut.pieces)
    told = {
        name: rows.dump(map_texts(json.loads(values[name]), partial(cut_out, pieces=cut.pieces)))
        for name in ("tags", "metadata")
    }
    if content == values["content"] and all(values[name] == told[name] for name in told):
        return False
    key = {"user": tx.user, "key": values["key"]}
    terms = indexed(tx.analyzer.terms(content), items=values["kind"] == Kind.ITEM)
    text = {"content": content, "hash": content_hash(content), "terms": len(terms)}
    tx.connection.run(CHANGE_RECORD, key | text | told)
    tx.full_text.remove(tx.connection, tx.user, [values["key"]])
    tx.full_text.add(tx.connection, [(values["key"], tx.user, " ".join(terms))])
    touched = tx.entity_writer.of_records([values["key"]])
    for table in (*rows.VECTOR_TABLES, "record_entities"):
        tx.drop(table, [values["key"]])
    tx.entity_writer.forget_unmentioned(touched)
    tx.entity_writer.rename(touched)
    for work in (VECTORS, ENTITIES):
        tx.connection.run(QUEUE, {"work": work, "record_key": values["key"], "user_key": tx.user})
    tx.raise_epoch()
    whole = replace(tx, scope=tx.scope.whole_user)
    target = whole.target(cut.place.id)
    if target.can_be_noteworthy:
        tx.raise_noteworthy([target.agent])
    tx.log([target], action.at, ChangeAction.ERASE, action.reason)
    return True


def _message(tx: Transaction, cut: TextCut, _: Redact, torn: Torn) -> bool:
    row = tx.connection.one(FIND_MESSAGE, {"user": tx.user, "id": cut.place.id})
    if row is None:
        return False
    before = rows.message(row)
    after = cut_message(before, cut.pieces)
    if after == before:
        return False
    after = replace(after, tokens=after.tokens if cut.tokens is None else cut.tokens)
    stored = rows.MESSAGES.values(after)
    values = {name: stored[name] for name in CHANGED} | {"user": tx.user, "id": after.id}
    tx.connection.run(f"{CHANGE_MESSAGE} WHERE user_key = :user AND id = :id", values)
    torn[row[-1]].add(after.position or 0)
    return True


def _removed(tx: Transaction, cut: TextCut, *_: object) -> bool:
    conversation = _conversation(tx, cut)
    done = False
    found = tx.connection.all(FIND_REMOVED, {"user": tx.user, "conversation": conversation})
    for tombstone, place, text in found:
        before = rows.removed_message(text)
        after = cut_message(before, cut.pieces) if before.id == cut.place.id else before
        if after != before:
            tx.connection.run(
                "UPDATE removed_messages SET message = :message WHERE "
                "user_key = :user AND tombstone_key = :tombstone AND place = :place",
                {"user": tx.user, "message": rows.stored_message(after)}
                | {"tombstone": tombstone, "place": place},
            )
            done = True
    return done


def _conversation(tx: Transaction, cut: TextCut) -> int | None:
    values = {"user": tx.user, "id": cut.place.conversation}
    key: int | None = tx.connection.value(OF_CONVERSATION, values)
    return key


def _system(tx: Transaction, cut: TextCut, *_: object) -> bool:
    key = _conversation(tx, cut)
    before = tx.connection.value(FIND_SYSTEM, {"user": tx.user, "key": key})
    after = before and cut_out(before, cut.pieces)
    if after == before:
        return False
    tx.connection.run(SET_SYSTEM, {"user": tx.user, "text": after, "key": key})
    return True


def _name(tx: Transaction, cut: TextCut, *_: object) -> bool:
    values = {"user": tx.user, "old": cut.place.id, "new": cut.name}
    done = 0
    for table in NAMED_SESSION:
        done += tx.connection.change(
            f"UPDATE {table} SET session_id = :new WHERE user_key = :user AND session_id = :old",
            values,
        )
    done += tx.connection.change(
        "UPDATE conversations SET id = :new, revision = revision + 1 "
        "WHERE user_key = :user AND id = :old",
        values,
    )
    if done:
        tx.raise_epoch()
    return done > 0


def _summary(tx: Transaction, cut: TextCut, *_: object) -> bool:
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

    values = {"conversation": _conversation(tx, cut), "id": cut.place.id}
    change_cuts(tx, values, "id = :id", tear)
    return done


CARRY_OUT: dict[PlaceKind, Callable[[Transaction, TextCut, Redact, Torn], bool]] = {
    PlaceKind.RECORD: _record,
    PlaceKind.MESSAGE: _message,
    PlaceKind.REMOVED: _removed,
    PlaceKind.SYSTEM: _system,
    PlaceKind.NAME: _name,
    PlaceKind.SUMMARY: _summary,
}
