"""Changes records: stores, ends, weighs and links them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.changes import (
    Close,
    Enrich,
    Fade,
    Insert,
    RecordAccess,
    RecordChange,
    Reinforce,
    Retire,
    Reweigh,
    StoredRecord,
    Supersede,
)
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.erasure import ERASED
from memoranda.model.models import (
    UNSET,
    ChangeAction,
    Kind,
    Mention,
    Record,
    Trust,
    Unset,
    ended,
    says_all,
)
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.model.traces import AuditTrail
from memoranda.store.sql.database import indexed
from memoranda.store.sql.entities import EntityWrites
from memoranda.store.sql.reads import owned
from memoranda.store.sql.rows import (
    RECORD,
    RECORDS,
    VECTOR_TABLES,
    dump,
    insertion,
    optional_ms,
    record,
    record_values,
)
from memoranda.store.sql.transaction import LOG, TargetRecord

INSERT = insertion(
    "records", (*RECORDS.names, "term_count", "key", "user_key", "reason", "closed_at", "indexed")
)
HELD_ITEM = """
SELECT key, id, created_at, content_hash, indexed FROM records
WHERE kind = 'item' AND user_key = :user_key AND namespace = :namespace AND item_key = :item_key
    AND closed_at IS NULL AND coalesce(agent, '') = coalesce(CAST(:agent AS text), '')
"""
STAYING = {"id", "kind", "agent", "namespace", "item_key", "created_at", "access_count"}
REPLACED = sorted({*RECORDS.names} - STAYING - {"last_accessed", "enriched_at"})
REPLACE_ITEM = f"""
UPDATE records SET indexed = 1, term_count = :term_count, reason = :reason,
    {", ".join(f"{name} = :{name}" for name in REPLACED)}
WHERE user_key = :user_key AND key = :key
"""
SAME_FACT = f"""
SELECT {RECORD} FROM records r WHERE r.user_key = :user AND r.content_hash = :hash
    AND r.kind = 'fact' AND (r.valid_until IS NULL OR r.valid_until > :now)
    AND (r.agent IS NULL OR r.agent = :agent) ORDER BY r.key
"""
NEXT_POSITION = """
SELECT coalesce(max(position) + 1, 0) FROM records
WHERE user_key = :user AND session_id = :session
"""
ADD_SOURCE = """
INSERT INTO record_sources (user_key, source_id, record_key) VALUES (:user, :source, :record)
ON CONFLICT (user_key, source_id, record_key) DO NOTHING
"""
QUEUE_NEW = insertion("derivations", ("work", "record_key", "user_key"))
QUEUE = f"{QUEUE_NEW} ON CONFLICT DO NOTHING"
# The key of a record of the user, unless it was retired.
INDEXED = "SELECT key FROM records WHERE id = :id AND user_key = :user AND indexed = 1"
UNQUEUE = """
DELETE FROM derivations WHERE user_key = :user AND work = :work AND record_key = :record
"""
# The origin of what was learned of what was said.
LEARNED = "consolidation"
# Of one record.
THIS = "user_key = :user AND key = :key"
# What came to a session before an agent did was not said to it. One that was done waits again.
REGISTER = """
INSERT INTO sessions (user_key, session_id, agent, first_seen_at, noted)
SELECT :user, :session, :agent, :at, coalesce(max(noted), -1)
FROM sessions WHERE user_key = :user AND session_id = :session
ON CONFLICT (user_key, session_id, agent) DO UPDATE SET consolidated_at = NULL,
    first_seen_at = least(sessions.first_seen_at, excluded.first_seen_at)
"""
REMEMBER_RECALL = """
INSERT INTO recalls (user_key, session_id, record_key, at) VALUES (:user, :session, :record, :at)
ON CONFLICT (user_key, session_id, record_key) DO UPDATE SET at = greatest(recalls.at, excluded.at)
"""
# Who holds a view of a conversation in memory reads it again.
SEE_AGAIN = """
UPDATE conversations SET revision = revision + 1
WHERE user_key = :user AND key IN (
    SELECT conversation_key FROM messages WHERE user_key = :user AND record_id = :id)
"""
END = """
UPDATE records SET valid_until = least(coalesce(valid_until, :at), :at), closed_at = :at,
    superseded_by = coalesce(:by, superseded_by)
WHERE user_key = :user AND closed_at IS NULL AND id IN (@texts(:ids))
RETURNING key, id, agent, kind, trust
"""


class RecordWrites(EntityWrites):
    """Changes the records of a user in an open transaction."""

    def carry_out(self, changes: Sequence[RecordChange]) -> list[StoredRecord]:
        """Carry out changes of records that were planned before, in order.

        Returns what the changes that store a record have stored, each of them one.
        """
        stored: list[StoredRecord] = []
        for kind, group in groupby(changes, type):
            if kind is Insert:
                stored += self.insert([*group])  # type: ignore[list-item]
                continue
            for change in group:
                CARRY_OUT[kind](self, change)
        return stored

    def insert(self, changes: Sequence[Insert]) -> list[StoredRecord]:
        """Store records, each statement once for all of them but items.

        Returns of each, in order, what is stored now: the record, or the known fact that says the
        same.
        """
        known = self._known_facts(changes)
        stored = {
            each.record.id: self._put_item(each)
            for each in changes
            if each.record.kind is Kind.ITEM and each.trail is None
        }
        passed = stored.keys() | known
        new = [each for each in changes if each.record.id not in passed] if passed else changes
        if new:
            stored |= self._insert_new(new)
        for again, held in known.values():
            stored[held.id] = self._restate(stored.get(held.id, held), again)
        return [
            StoredRecord(stored[known[id_][1].id], is_new=False)
            if id_ in known
            else StoredRecord(stored[id_], is_new=True)
            for id_ in (each.record.id for each in changes)
        ]

    def _known_facts(self, changes: Sequence[Insert]) -> dict[str, tuple[Record, Record]]:
        """Return facts that others say already, or those before them, each with the known one."""
        known: dict[str, tuple[Record, Record]] = {}
        alike: dict[str, list[Record]] = {}
        for new in (each.record for each in changes if each.unless_known):
            if new.kind is not Kind.FACT:
                continue
            same = alike.get(new.content_hash)
            if same is None:
                said = self.own | {"now": to_ms(new.created_at), "hash": new.content_hash}
                found = self.connection.all(SAME_FACT, said)
                same = alike[new.content_hash] = [record(new.user, row) for row in found]
            held = next((each for each in same if says_all(each, new)), None)
            if held is None:
                same.append(new)
            else:
                known[new.id] = new, held
        return known

    def _restate(self, known: Record, new: Record) -> Record:
        """Give a known fact the tags of the new one; if a person says it, as sure and lasting, too.

        What an agent says may come from the fact itself, which nothing confirms so. Returns the
        fact as it is then.
        """
        at, reason = new.created_at, "said again"
        tags = tuple(dict.fromkeys((*known.tags, *new.tags)))
        changed: dict[str, Any] = {} if tags == known.tags else {"tags": tags}
        after = replace(known, tags=tags)
        if new.trust is Trust.PERSON:
            surer = max(known.confidence, new.confidence), min(known.decay_rate, new.decay_rate)
            if surer != (known.confidence, known.decay_rate):
                self.reweigh(Reweigh(known.id, at, *surer, reason))
                after = replace(
                    after,
                    confidence=surer[0],
                    strength=surer[0],
                    strength_at=at,
                    decay_rate=surer[1],
                )
            if known.valid_until and new.valid_until and new.valid_until > known.valid_until:
                changed["valid_until"] = new.valid_until
        if changed:
            self.update_record(known.id, at=at, reason=reason, **changed)
        return replace(after, **changed)

    def _insert_new(self, changes: Sequence[Insert]) -> dict[str, Record]:
        """Store records that are not known; return them by id, with their positions."""
        self.register()
        self._require_own(changes)
        user, last = self.user, dict[str, int]()
        stored: dict[str, Record] = {}
        texts, rows, sources, queued = [], [], [], []
        keys = self.connection.record_keys(len(changes))
        for key, change in zip(keys, changes, strict=True):
            item, trail = change.record, change.trail
            if item.session_id is not None:
                place = self._next_position(item, last, keep=trail is not None)
                item = replace(item, position=place)
            stored[item.id] = item
            terms = indexed(self.analyzer.terms(item.content), items=item.kind is Kind.ITEM)
            texts.append((key, user, " ".join(terms)))
            state: tuple[str, int | None, int] = change.reason, None, 1
            if trail is not None:
                state = trail.reason, optional_ms(trail.closed_at), int(not trail.retired)
            rows.append((*record_values(item).values(), len(terms), key, user, *state))
            sources += [(user, source, key) for source in item.source_ids]
            if trail is None or not trail.retired:
                queued.append((VECTORS, key, user))
                if change.mentions is None and item.kind is not Kind.ITEM:
                    queued.append((ENTITIES, key, user))
        self.full_text.add(self.connection, texts)
        self.connection.run_many(INSERT, rows)
        self.connection.run_many(QUEUE_NEW, queued)
        if sources:
            self.connection.run_many(ADD_SOURCE, sources)
        for key, change in zip(keys, changes, strict=True):
            if change.mentions:
                self.entity_writer.link(key, change.mentions)
            if change.trail is not None:
                self._keep_trail(key, change.record, change.trail)
        self._register_sessions(stored.values())
        self.changes_facts |= any(item.kind is Kind.FACT for item in stored.values())
        return stored

    def _register_sessions(self, items: Iterable[Record]) -> None:
        """Let the sessions of new episodes wait for consolidation, by agent."""
        sessions: dict[tuple[str, str], int] = {}
        for item in items:
            if item.session_id is not None and item.kind is Kind.EPISODE:
                sessions.setdefault((item.session_id, item.agent or ""), to_ms(item.created_at))
        for (session, agent), at in sessions.items():
            place = {"user": self.user, "session": session, "agent": agent, "at": at}
            self.connection.run(REGISTER, place)

    def _put_item(self, change: Insert) -> Record:
        """Store an item, or let it take the place of the one under its namespace and key.

        The one that is there keeps its id and the moment it was created at; of its former content
        nothing stays, nor a line of history.
        """
        item = change.record
        self.register()
        values = record_values(item) | {"user_key": self.user, "reason": change.reason}
        held = self.connection.one(HELD_ITEM, values)
        if held is None:
            return self._insert_new([change])[item.id]
        self._require_own([change])
        key, id_, created_at, content, is_indexed = held
        terms = indexed(self.analyzer.terms(item.content), items=True)
        self.connection.run(REPLACE_ITEM, values | {"key": key, "term_count": len(terms)})
        self.tell_revised([key])
        if (content, is_indexed) != (item.content_hash, 1):
            # What is derived from it is of another content.
            self.full_text.remove(self.connection, self.user, [key])
            self.full_text.add(self.connection, [(key, self.user, " ".join(terms))])
            for table in VECTOR_TABLES:
                self.drop(table, [key])
            self.connection.run(QUEUE, {"work": VECTORS, "record_key": key, "user_key": self.user})
        return replace(item, id=id_, created_at=from_ms(created_at))

    def _keep_trail(self, key: int, item: Record, trail: AuditTrail) -> None:
        """Write the history and the recalls that a record has in another store."""
        whose = {"user": self.user, "record": item.id, "agent": item.agent}
        for past in trail.changes:
            told = {"action": past.action, "reason": past.reason, "at": to_ms(past.at)}
            self.connection.run(LOG, whose | told | {"detail": dump(dict(past.detail))})
        for recall in trail.recalls:
            place = {"user": self.user, "session": recall.session, "record": key}
            self.connection.run(REMEMBER_RECALL, place | {"at": to_ms(recall.at)})

    def _require_own(self, changes: Sequence[Insert]) -> None:
        """Refuse records of another scope, and those that rest on erased ones.

        Also what was learned of nothing but texts that were replaced by ``[erased]``.
        """
        sources = {source for each in changes for source in each.record.source_ids}
        gone = self.erased(sources) if sources else ()
        learned = [
            each.record for each in changes if each.trail is None and each.record.origin == LEARNED
        ]
        read = [source for each in learned for source in each.source_ids]
        held = self.get(self.scope.whole_user, read) if read else {}
        blank = {id_ for id_, source in held.items() if source.content == ERASED}
        emptied = {each.id for each in learned if blank and blank.issuperset(each.source_ids)}
        user, agent = self.scope.user, self.scope.agent
        for item in (each.record for each in changes):
            if item.user != user or (agent and item.agent not in {None, agent}):
                message = (
                    f"record {item.id!r} is of {item.user!r} ({item.agent}), not of {self.scope}"
                )
                raise InvalidInput(message)
            lost = [source for source in item.source_ids if source in gone or item.id in emptied]
            if lost:  # Read before the erasure, written after it: its text would come back.
                message = (
                    f"record {item.id!r} rests on {lost[0]!r}, which was erased; derive it anew"
                )
                raise NotFound(message)

    def _next_position(self, item: Record, known: dict[str, int], *, keep: bool) -> int | None:
        """Return the position of a record in its session; its own, if kept and free."""
        # What was drawn from a session was not said in it; what was, may have got sources since.
        said = item.kind is Kind.EPISODE or item.position is not None
        said = said or not (item.source_ids or keep)
        session = item.session_id
        if session is None or not said:
            return None
        if session not in known:
            values = {"user": self.user, "session": session}
            known[session] = int(self.connection.value(NEXT_POSITION, values))
        place = max(known[session], item.position or 0) if keep else known[session]
        known[session] = place + 1
        return place

    def close(self, change: Close) -> None:
        """End the validity of a record; what had ended before stays ended as it was."""
        self.target(change.id)
        ended_now = self.end([change.id], change.at, change.reason, change.superseded_by)
        if not ended_now and change.only_open:
            raise InvalidInput(ended(self.get(self.scope, [change.id])[change.id]))

    def end(
        self, ids: Sequence[str], at: datetime, reason: str, by: str | None = None
    ) -> list[str]:
        """End the validity of these records for good; return those that had not been ended so."""
        values = {"user": self.user, "ids": dump(list(ids)), "at": to_ms(at), "by": by}
        targets = [TargetRecord(*row) for row in sorted(self.connection.all(END, values))]
        self.tell_end(
            targets, at, ChangeAction.CLOSE, reason, **({"superseded_by": by} if by else {})
        )
        return [target.id for target in targets]

    def reweigh(self, change: Reweigh) -> None:
        """Set confidence and decay rate."""
        target = self.target(change.id)
        detail = {"confidence": change.confidence, "decay_rate": change.decay_rate}
        self.connection.run(
            "UPDATE records SET confidence = :confidence, strength = :confidence, "
            f"strength_at = :at, decay_rate = :decay_rate WHERE {THIS}",
            detail | self.this(target) | {"at": to_ms(change.at)},
        )
        self.tell_revised([target.key])
        self.log([target], change.at, "reweigh", change.reason, **detail)

    def fade(self, change: Fade) -> None:
        """Set the confidence that is left, if the record was not used since."""
        target = self.target(change.id)
        changed = self.connection.change(
            "UPDATE records SET confidence = :confidence "
            f"WHERE {THIS} AND confidence <> :confidence AND strength_at <= :at",
            self.this(target) | {"confidence": change.confidence, "at": to_ms(change.at)},
        )
        if changed:
            self.tell_revised([target.key])

    def retire(self, change: Retire) -> None:
        """End the validity of a record by itself, and drop all that is derived but its terms."""
        target = self.target(change.id)
        changed = self.connection.change(
            "UPDATE records SET valid_until = least(coalesce(valid_until, :at), :at), indexed = 0 "
            f"WHERE {THIS} AND (indexed = 1 OR valid_until IS NULL OR valid_until > :at) "
            "AND (last_accessed IS NULL OR last_accessed <= :at) "
            # An item may have been replaced by one that has not ended.
            "AND (kind <> 'item' OR valid_until <= :at)",
            self.this(target) | {"at": to_ms(change.at)},
        )
        if not changed:
            return  # Another process has just done it, or it was recalled since.
        self.drop_derived([target.key])
        self.tell_end([target], change.at, "retire", change.reason)

    def drop_derived(self, records: Sequence[int]) -> None:
        """Drop all that is derived from records but their terms, and what waits to be."""
        mentioned = self.entity_writer.of_records(records)
        for table in (*VECTOR_TABLES, "derivations", "record_entities"):
            self.drop(table, records)
        self.entity_writer.forget_unmentioned(mentioned)

    def reinforce(self, change: Reinforce) -> None:
        """Add sources to a record that was stated again."""
        target = self.target(change.id)
        held: list[str] = json.loads(
            self.connection.value(f"SELECT source_ids FROM records WHERE {THIS}", self.this(target))
        )
        passed = {*held, target.id, *self.erased(change.sources)}
        new = [source for source in dict.fromkeys(change.sources) if source not in passed]
        if not new:
            return
        self.connection.run(
            f"UPDATE records SET source_ids = :sources, strength_at = :at WHERE {THIS}",
            self.this(target) | {"sources": dump([*held, *new]), "at": to_ms(change.at)},
        )
        filed = {"user": self.user, "record": target.key}
        self.connection.run_many(ADD_SOURCE, [filed | {"source": source} for source in new])
        self.restore_confidence([target.key])
        self.tell_revised([target.key])
        self.log([target], change.at, "credit", change.reason, sources=len(new))

    def supersede(self, change: Supersede) -> None:
        """Let one record take the place of another, which stays findable behind it."""
        target, by = self.target(change.id), self.target(change.by)
        if target == by:
            message = f"{change.id!r} cannot take its own place; name the record that replaces it"
            raise InvalidInput(message)
        detail = {"by": by.id, "confidence": change.confidence}
        # What a person closed meanwhile keeps the word of the person on what replaced it.
        self.connection.run(
            "UPDATE records SET confidence = :confidence, strength = :confidence, "
            "strength_at = :at, superseded_by = "
            "CASE WHEN closed_at IS NULL THEN :by ELSE superseded_by END "
            f"WHERE {THIS}",
            detail | self.this(target) | {"at": to_ms(change.at)},
        )
        self.connection.run(
            f"UPDATE records SET supersedes = coalesce(supersedes, :target) WHERE {THIS}",
            self.this(by) | {"target": target.id},
        )
        self.tell_end([target], change.at, "supersede", change.reason, **detail)

    def enrich(self, change: Enrich) -> None:
        """Link a record to more entities, and stamp when."""
        target = self.target(change.id)
        indexed = self.connection.value(INDEXED, {"id": change.id, "user": self.user})
        added = self.entity_writer.link(target.key, change.mentions) if indexed else 0
        stamp = self.this(target) | {"at": to_ms(change.at)}
        self.connection.run(f"UPDATE records SET enriched_at = :at WHERE {THIS}", stamp)
        self.log([target], change.at, "enrich", "enriched", links=added)

    def record_access(self, change: RecordAccess) -> None:
        """Count one recall of each record, whose confidence goes back to its full strength."""
        where = owned(self.scope, self.user)
        rows = self.connection.all(
            "UPDATE records AS r SET access_count = access_count + 1, last_accessed = :at, "
            f"strength_at = :at WHERE r.id IN (@texts(:ids)) AND {where.sql} RETURNING key",
            where.values | {"at": to_ms(change.at), "ids": dump(list(change.ids))},
        )
        keys = [row[0] for row in rows]
        self.restore_confidence(keys)
        if change.session is not None:
            base = {"user": self.user, "session": change.session, "at": to_ms(change.at)}
            self.connection.run_many(REMEMBER_RECALL, [base | {"record": key} for key in keys])

    def update_record(
        self,
        id: str,
        *,
        at: datetime,
        metadata: Mapping[str, Any] | Unset = UNSET,
        tags: tuple[str, ...] | Unset = UNSET,
        valid_until: datetime | Unset | None = UNSET,
        reason: str = "updated",
    ) -> None:
        """Change what a caller attached to a record, in place; what is not given stays."""
        target = self.target(id)
        given = {"metadata": metadata, "tags": tags, "valid_until": valid_until}
        given = {name: value for name, value in given.items() if value is not UNSET}
        if not given:
            return
        changes = ", ".join(f"{name} = :{name}" for name in given)
        values = RECORDS.encode(given) | self.this(target)
        self.connection.run(f"UPDATE records SET {changes} WHERE {THIS}", values)
        if "valid_until" in given:
            self.connection.run(SEE_AGAIN, {"user": self.user, "id": id})
            self.tell_end([target], at, "update", reason, changed=sorted(given))
        else:
            self.log([target], at, "update", reason, changed=sorted(given))

    def link_entities(self, mentions: Mapping[str, Sequence[Mention]]) -> None:
        """Link records to the entities that they mention, and take them off the queue.

        Passed over are records that wait no longer.
        """
        for id_, mentioned in mentions.items():
            key = self.connection.value(INDEXED, {"id": id_, "user": self.user})
            done = {"user": self.user, "work": ENTITIES, "record": key}
            if key is not None and self.connection.change(UNQUEUE, done):
                self.entity_writer.link(key, mentioned)


CARRY_OUT: Mapping[type, Callable[[RecordWrites, Any], None]] = {
    Close: RecordWrites.close,
    Reweigh: RecordWrites.reweigh,
    Fade: RecordWrites.fade,
    Retire: RecordWrites.retire,
    Reinforce: RecordWrites.reinforce,
    Supersede: RecordWrites.supersede,
    Enrich: RecordWrites.enrich,
    RecordAccess: RecordWrites.record_access,
}
