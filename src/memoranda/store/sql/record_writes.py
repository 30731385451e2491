"""Changes records in the write transaction of a scope: stores, ends, weighs and links them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import changes as planned
from memoranda.model import models
from memoranda.model.changes import AuditTrail, Insert, RecordChange, StoredRecord
from memoranda.model.checks import content_hash, from_ms, to_ms
from memoranda.model.erasure import ERASED
from memoranda.model.ports import ENTITIES, VECTORS, Analyzer
from memoranda.store.sql import rows
from memoranda.store.sql.database import STATE_OF_USER, FullText, UserConnection, UserState, indexed
from memoranda.store.sql.entities import EntityWrites
from memoranda.store.sql.reads import BEYOND, SqlReads
from memoranda.store.sql.rows import RECORD, RECORDS, Row, dump, insertion

PURGE = "purge_pending"
# Another may have registered the user just before, where writers of different users do not wait.
REGISTER_USER = f"""
INSERT INTO users (name) VALUES (:name)
ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING {STATE_OF_USER}
"""
LIST_AGAIN = "UPDATE users SET name = :name, deleted = 0 WHERE key = :user"
# Records of a user whose terms wait to be indexed, at most.
MOST_WAITING = 16
# Characters of terms for which a record counts as one more.
LONG = 8_000
WAITING = """
SELECT r.key, r.content, r.kind = 'item' FROM users u
JOIN records r ON r.user_key = u.key AND r.key > greatest(u.terms_through, :through)
WHERE u.key = :user AND r.key < :before ORDER BY r.key
"""
# All that readers in memory know of any user is out of date.
CHANGE_ALL = "UPDATE users SET revision = revision + 1, removal_revision = revision + 1"
RAISE_REVISION = """
UPDATE users SET revision = revision + 1,
    removal_revision = CASE WHEN :removed = 1 THEN revision + 1 ELSE removal_revision END,
    fact_revision = CASE WHEN :facts = 1 THEN revision + 1 ELSE fact_revision END,
    terms_through = :through, terms_waiting = :waiting
WHERE key = :user
"""
# What was answered over HTTP may quote what goes.
FORGET_ANSWERS = "DELETE FROM idempotency_keys WHERE user_key = :user"
# A number that grows: a purge answers only the erasures that it has seen.
ASK_FOR_PURGE = """
INSERT INTO meta (name, value) VALUES ('purge_pending', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS integer) + 1 AS text)
"""
# What the scope of a transaction may see.
MINE = """
r.user_key = :user AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
"""
# Of one record.
THIS = "user_key = :user AND key = :key"
TARGETS = (
    f"SELECT r.key, r.id, r.agent, r.kind FROM records r WHERE r.id IN (@texts(:ids)) AND {MINE}"
)
# Records of the user that are gone for good, and those that were replaced by a mark.
GONE = """
SELECT j.value FROM (@texts(:ids)) j
WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = j.value AND user_key = :user) AND EXISTS (
    SELECT 1 FROM history WHERE record_id = j.value AND user_key = :user AND action = 'erase')
"""
REPLACED = """
SELECT id FROM records WHERE user_key = :user AND id IN (@texts(:ids)) AND content = :erased
"""
# The origin of what was learned of what was said.
LEARNED = "consolidation"
STORED = (*RECORDS.names, "term_count", "key", "user_key", "reason", "closed_at", "indexed")
# What says nothing of its strength fades from its confidence, since it was recorded.
FADING = {
    "strength": "coalesce(:strength, :confidence)",
    "strength_at": "coalesce(:strength_at, :created_at)",
}
INSERT = insertion("records", STORED, **FADING)
# What else is derived from records after the last one that is indexed.
QUEUE = """
INSERT INTO derivations (work, record_key, user_key)
SELECT w.work, r.key, u.key FROM users u
JOIN records r ON r.user_key = u.key AND r.key > greatest(u.terms_through, :through)
CROSS JOIN (SELECT 'vectors' AS work UNION ALL SELECT 'entities') w
WHERE u.key = :user AND r.indexed = 1 AND CASE WHEN w.work = 'entities' THEN r.kind <> 'item'
    ELSE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record_key = r.key) END
ON CONFLICT DO NOTHING
"""
HELD_ITEM = """
SELECT key, id, created_at, content_hash, indexed FROM records
WHERE kind = 'item' AND user_key = :user_key AND namespace = :namespace AND item_key = :item_key
    AND closed_at IS NULL AND coalesce(agent, '') = coalesce(CAST(:agent AS text), '')
"""
STAYING = {"id", "created_at", "access_count", "last_accessed", "strength", "strength_at"}
REPLACE_ITEM = f"""
UPDATE records SET indexed = 1, term_count = :term_count, reason = :reason, revised = :revision,
    {", ".join(f"{name} = :{name}" for name in RECORDS.names if name not in STAYING)}
WHERE user_key = :user_key AND key = :key
"""
SAME_TEXTS = """
SELECT content_hash FROM records
WHERE user_key = :user AND content_hash IN (@texts(:hashes)) AND kind = 'fact'
"""
SAME_FACT = f"""
SELECT {RECORD} FROM records r WHERE r.user_key = :user AND r.content_hash = :hash
    AND r.kind = 'fact' AND (r.valid_until IS NULL OR r.valid_until > :now)
    AND (r.agent IS NULL OR r.agent = :agent) ORDER BY r.key
"""
SAME_PROPOSAL = f"""
SELECT {RECORD} FROM records r WHERE r.user_key = :user AND r.content_hash = :hash
    AND r.kind = 'fact' AND r.reason = :reason AND r.closed_at IS NULL
    AND r.agent IS NOT DISTINCT FROM CAST(:owner AS text)
    AND r.supersedes IS NOT DISTINCT FROM CAST(:supersedes AS text)
"""
NEXT_POSITION = """
SELECT coalesce(max(position) + 1, 0) FROM records
WHERE user_key = :user AND session_id = :session
"""
# The key of a record of the user, unless it was retired.
INDEXED = "SELECT key FROM records WHERE id = :id AND user_key = :user AND indexed = 1"
UNQUEUE = """
DELETE FROM derivations WHERE user_key = :user AND work = :work AND record_key IN (@ints(:keys))
"""
# What came to a session before an agent did was not said to it. One that was done waits again; and
# what takes the place of an erased end was neither read nor told.
WAIT_FOR_SESSIONS = """
INSERT INTO sessions (user_key, session_id, agent, first_seen_at, through, noted)
SELECT r.user_key, r.session_id, coalesce(r.agent, ''), min(r.created_at), min(r.position) - 1,
    min(r.position) - 1
FROM records r WHERE r.user_key = :user AND r.key IN (@ints(:keys)) AND r.kind = 'episode'
    AND r.session_id IS NOT NULL AND r.closed_at IS NULL
GROUP BY r.user_key, r.session_id, coalesce(r.agent, '')
ON CONFLICT (user_key, session_id, agent) DO UPDATE SET consolidated_at = NULL,
    first_seen_at = least(sessions.first_seen_at, excluded.first_seen_at),
    through = least(sessions.through, excluded.through),
    noted = least(sessions.noted, excluded.noted)
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
    superseded_by = coalesce(:by, superseded_by), revised = :revision
WHERE user_key = :user AND closed_at IS NULL AND id IN (@texts(:ids))
RETURNING key, id, agent, kind
"""
# Readers are told only of what changed.
RECALL = f"""
UPDATE records AS r SET access_count = access_count + 1, last_accessed = :at, strength_at = :at,
    confidence = strength, revised = CASE WHEN confidence = strength THEN revised ELSE :revision END
WHERE r.id IN (@texts(:ids)) AND {MINE} RETURNING key
"""
WEIGH = "confidence = :confidence, strength = :confidence, strength_at = :at"
# An item may have been replaced by one that has not ended.
CAN_RETIRE = """
(indexed = 1 OR valid_until IS NULL OR valid_until > :at)
    AND (last_accessed IS NULL OR last_accessed <= :at) AND (kind <> 'item' OR valid_until <= :at)
"""


def name_digest(name: str) -> str:
    """Return by what an erased user's name is known again, and can be read nowhere."""
    return content_hash(f"user {name}")


# A new record's are asked for again when it is indexed, and by searches until then.
@lru_cache(2 * MOST_WAITING)
def index_terms(analyze: Callable[[str], Sequence[str]], content: str, *, is_item: bool) -> str:
    """Return the terms of a record as the index has them, with a space between them."""
    return " ".join(indexed(analyze(content), items=is_item))


def waiting_terms(analyzer: Analyzer, texts: Iterable[Row]) -> list[tuple[int, str]]:
    """Return key and terms of each record of these: key, content and whether it is an item."""
    return [(key, index_terms(analyzer.terms, text, is_item=item)) for key, text, item in texts]


class TargetRecord(NamedTuple):
    """The record that a change is about."""

    key: int
    id: str
    agent: str | None
    kind: str


@dataclass
class RecordWrites(EntityWrites, SqlReads):
    """Changes the records of a user in an open transaction.

    Attributes:
        analyzer: makes the terms of a text.
        full_text: the index of terms.
        removes_rows: whether rows that readers know have gone, or changed altogether.
        changes_facts: whether other facts are active than before.
    """

    analyzer: Analyzer
    full_text: FullText
    removes_rows: bool = False
    changes_facts: bool = False

    # What all verbs share

    @contextmanager
    def _reading(self, scope: models.Scope | None) -> Iterator[UserConnection]:
        del scope
        yield self.connection, self.state

    def register(self, *, begins: bool = True) -> None:
        """Give the user a key, if they have none yet.

        Args:
            begins: whether what is stored next puts a user who was deleted on the list again.
        """
        if not self.user:
            for row in self.connection.all(REGISTER_USER, {"name": self.scope.user}):
                self.state = UserState(*row)
            self.user = self.state.key
        if begins and (self.state.deleted or self.state.name is None):
            self.run(LIST_AGAIN, name=self.scope.user)
            self.state.deleted, self.state.name = 0, self.scope.user

    def raise_revision(self) -> None:
        """Tell readers of the user's rows that this unit of work has changed them."""
        self.run(
            RAISE_REVISION,
            removed=int(self.removes_rows),
            facts=int(self.changes_facts),
            through=self.state.terms_through,
            waiting=self.state.terms_waiting,
        )

    def ask_for_purge(self) -> None:
        """Have the free space cleaned of what this removes; until then ``verify`` asks for it."""
        self.connection.run(ASK_FOR_PURGE)
        self.run(FORGET_ANSWERS)

    def missing(self, what: str, id: str) -> NotFound:
        """Return the error that says that the user has nothing of that kind and name."""
        return NotFound(f"there is no {what} {id!r} for user {self.scope.user!r}")

    def targets(self, ids: Sequence[str]) -> list[TargetRecord]:
        """Return records that the scope may see, in order; raise ``NotFound`` if one is missing."""
        found = {row[1]: TargetRecord(*row) for row in self.all(TARGETS, ids=dump(ids))}
        for each in ids:
            if each not in found:
                raise self.missing("record", each)
        return [found[each] for each in ids]

    def erased(self, ids: Sequence[str]) -> list[str]:
        """Return which records of the user are gone for good: nothing may rest on them."""
        return self.column(GONE, ids=dump(ids))

    def drop(self, table: str, records: Collection[int]) -> None:
        """Delete the rows of records in a table of what is derived from them."""
        # The sign has SQLite find vectors by their records, and not among all of the user's.
        owner = "+user_key" if table == "vectors" else "user_key"
        sql = f"DELETE FROM {table} WHERE {owner} = :user AND record_key IN (@ints(:keys))"
        self.run(sql, keys=dump(sorted(records)))

    def drop_derived(self, records: Sequence[int]) -> None:
        """Drop all that is derived from records but their terms, and what waits to be."""
        for table in (*rows.VECTOR_TABLES, "derivations"):
            self.drop(table, records)
        self.unlink(records)

    def index_text(self, key: int, content: str, *, items: bool) -> int:
        """Put the terms of a text in the place of those of a record; return how many they are."""
        terms = index_terms(self.analyzer.terms, content, is_item=items)
        if key <= self.state.terms_through:
            self.full_text.remove(self.connection, self.user, [key])
            self.full_text.add(self.connection, [(key, self.user, terms)])
        return len(terms.split())

    def index_waiting(self, new: Sequence[tuple[int, str]] = ()) -> None:
        """Index the records that wait for it, and new ones; queue what else is derived from them.

        Args:
            new: key and terms of each, of which none counts among those that wait.
        """
        state, texts = self.state, list(new)
        if state.terms_waiting:
            keys = {"through": state.terms_through, "before": new[0][0] if new else BEYOND}
            texts = waiting_terms(self.analyzer, self.all(WAITING, **keys)) + texts
        if texts:
            self.full_text.add(self.connection, ((key, self.user, terms) for key, terms in texts))
            self.run(QUEUE, through=state.terms_through)
            state.terms_through = texts[-1][0]
        state.terms_waiting = 0

    def log(
        self, on: Sequence[TargetRecord], at: datetime, action: str, reason: str, /, **detail: Any
    ) -> None:
        """Write a line into the history of each record, and tell the notes of facts.

        What is given as ``detail`` never holds a record's text.
        """
        self.changes_facts |= any(each.kind == models.Kind.FACT for each in on)
        line = {"at": to_ms(at), "action": action, "reason": reason, "detail": dump(detail)}
        self.add("history", [line | {"record_id": it.id, "agent": it.agent} for it in on])

    def _set(
        self, id: str, fields: str, only: str = "TRUE", /, **values: Any
    ) -> list[TargetRecord]:
        """Change a record in place, and tell readers; return it in a list, if it was changed.

        Args:
            id: the record; one that is not there raises ``NotFound``.
            fields: what is set, in SQL.
            only: a condition on the record.
            values: the parameters of both.
        """
        targets = self.targets([id])
        sql = f"UPDATE records SET {fields}, revised = :revision WHERE {THIS} AND {only}"
        return targets if self.change(sql, key=targets[0].key, **values) else []

    # New records

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
        self.register()  # Who registers the user at the same time is waited for before we look.
        stored: dict[str, models.Record] = {}
        order: list[tuple[str, bool]] = []
        new: list[Insert] = []
        texts = {each.record.content_hash for each in changes if each.unless_known}
        if len(texts) > 1:  # A single one is looked for at once.
            texts = {*self.column(SAME_TEXTS, hashes=dump([*texts]))}

        def store_new() -> None:
            if new:
                stored.update((item.id, item) for item in self._insert_new(new))
                new.clear()

        for each in changes:
            item, is_new = each.record, True
            if each.unless_known and item.kind is models.Kind.FACT:
                if item.content_hash in texts:
                    store_new()  # One of these may be the same, and is to be found.
                    known = self._known_fact(each)
                    if known is not None:
                        item, is_new = self._restate(known, item), False
                texts.add(item.content_hash)
            if item.kind is models.Kind.ITEM and each.trail is None:
                item = self._put_item(each)
            elif is_new:
                new.append(each)
            stored[item.id] = item
            order.append((item.id, is_new))
        store_new()
        return [StoredRecord(stored[id_], is_new) for id_, is_new in order]

    def _known_fact(self, insert: Insert) -> models.Record | None:
        """Return the fact that says what a new one says, if there is one.

        That of a proposal may wait for approval, too.
        """
        new = insert.record
        if insert.is_proposal:
            same = {"hash": new.content_hash, "owner": new.agent, "supersedes": new.supersedes}
            for row in self.all(SAME_PROPOSAL, reason=planned.PROPOSED, **same):
                return rows.record(new.user, row)
            new = replace(new, valid_until=None)
        found = self.all(SAME_FACT, now=to_ms(new.created_at), hash=new.content_hash)
        known = (rows.record(new.user, row) for row in found)
        return next((each for each in known if models.says_all(each, new)), None)

    def _restate(self, known: models.Record, new: models.Record) -> models.Record:
        """Give a known fact the tags of the new one; if a person says it, as sure and lasting, too.

        What an agent says may come from the fact itself, which nothing confirms so. Returns the
        fact as it is then.
        """
        at, reason = new.created_at, "said again"
        if not models.is_active(known, at):  # It waits for approval, as the new one does.
            self.reinforce(planned.Reinforce(known.id, at, new.source_ids, reason))
            return known
        tags = tuple(dict.fromkeys((*known.tags, *new.tags)))
        changed: dict[str, Any] = {} if tags == known.tags else {"tags": tags}
        surer = known.confidence, known.decay_rate
        if new.trust is models.Trust.PERSON:
            surer = max(known.confidence, new.confidence), min(known.decay_rate, new.decay_rate)
            if known.valid_until and new.valid_until and new.valid_until > known.valid_until:
                changed["valid_until"] = new.valid_until
        if surer != (known.confidence, known.decay_rate):
            self.reweigh(planned.Reweigh(known.id, at, *surer, reason))
        elif not changed:
            return known
        self.update_record(known.id, at=at, reason=reason, **changed)
        return self.get(self.scope, [known.id])[known.id]

    def _insert_new(self, changes: Sequence[Insert]) -> list[models.Record]:
        """Store records that are not known; return them with their positions."""
        self._require_own(changes)
        last: dict[str, int] = {}
        stored, texts, lines = [], [], []
        keys = self.connection.record_keys(len(changes))
        for key, change in zip(keys, changes, strict=True):
            item, trail = change.record, change.trail
            if item.session_id is not None:
                position = self._position(item, last, keep=trail is not None)
                item = replace(item, position=position)
            stored.append(item)
            is_item = item.kind is models.Kind.ITEM
            terms = index_terms(self.analyzer.terms, item.content, is_item=is_item)
            texts.append((key, terms))
            # Nothing but its terms is derived from what nobody believes yet.
            retired = change.is_proposal if trail is None else trail.retired
            closed_at = None if trail is None else rows.optional_ms(trail.closed_at)
            state = len(terms.split()), key, self.user, change.reason, closed_at, int(not retired)
            lines.append((*RECORDS.row(item), *state))
            self.changes_facts |= item.kind is models.Kind.FACT
        self.connection.run_many(INSERT, lines)
        waiting = self.state.terms_waiting + sum([1 + len(each) // LONG for _, each in texts])
        if self.full_text.waits and waiting < MOST_WAITING:
            self.state.terms_waiting = waiting
        else:
            self.index_waiting(texts)
        for key, change in zip(keys, changes, strict=True):
            if change.record.source_ids:
                self._add_sources(key, change.record.source_ids)
            if change.mentions:
                self.link(key, change.mentions)
            if change.trail is not None:
                self._keep_trail(key, change.record, change.trail)
        if last:
            self.run(WAIT_FOR_SESSIONS, keys=dump([*keys]))
        return stored

    def _add_sources(self, key: int, sources: Iterable[str]) -> None:
        self.add("record_sources", [{"source_id": each, "record_key": key} for each in sources])

    def _put_item(self, change: Insert) -> models.Record:
        """Store an item, or let it take the place of the one under its namespace and key.

        The one that is there keeps its id and the moment it was created at; of its former content
        nothing stays, nor a line of history.
        """
        item = change.record
        values = RECORDS.values(item) | {"user_key": self.user, "reason": change.reason}
        held = self.connection.one(HELD_ITEM, values)
        if held is None:
            return self._insert_new([change])[0]
        self._require_own([change])
        key, id_, created_at, content, is_indexed = held
        count = self.index_text(key, item.content, items=True)
        self.run(REPLACE_ITEM, **values | {"key": key, "term_count": count})
        if (content, is_indexed) != (item.content_hash, 1):
            # What is derived from it is of another content.
            for table in rows.VECTOR_TABLES:
                self.drop(table, [key])
            self.add("derivations", [{"work": VECTORS, "record_key": key}])
        return replace(item, id=id_, created_at=from_ms(created_at))

    def _keep_trail(self, key: int, item: models.Record, trail: AuditTrail) -> None:
        """Write the history and the recalls that a record has in another store."""
        target = TargetRecord(key, item.id, item.agent, item.kind)
        for past in trail.changes:
            self.log([target], past.at, past.action, past.reason, **past.detail)
        for recall in trail.recalls:
            self.run(REMEMBER_RECALL, session=recall.session, record=key, at=to_ms(recall.at))

    def _require_own(self, changes: Sequence[Insert]) -> None:
        """Refuse records of another scope, and those that rest on erased ones.

        Also what was learned of nothing but texts that were replaced by ``[erased]``.
        """
        for item in (each.record for each in changes):
            if not self.scope.owns(item):
                whose = f"of {item.user!r} ({item.agent}), not of {self.scope}"
                raise InvalidInput(f"record {item.id!r} is {whose}")
        cited = list({source for each in changes for source in each.record.source_ids})
        if not cited:
            return
        gone = {*self.erased(cited)}
        blank = gone.union(self.column(REPLACED, ids=dump(cited), erased=ERASED))
        for item, trail in ((each.record, each.trail) for each in changes):
            learned = trail is None and item.origin == LEARNED and blank.issuperset(item.source_ids)
            lost = [source for source in item.source_ids if source in gone or learned]
            if lost:  # Read before the erasure, written after it: its text would come back.
                raise NotFound(
                    f"{item.id!r} rests on {lost[0]!r}, which was erased; derive it anew"
                )

    def _position(self, item: models.Record, known: dict[str, int], *, keep: bool) -> int | None:
        """Return the position of a record in its session; its own, if kept and free."""
        # What was drawn from a session was not said in it; what was, may have got sources since.
        said = item.kind is models.Kind.EPISODE or item.position is not None
        session = item.session_id or ""
        if not said and (item.source_ids or keep):
            return None
        if session not in known:
            known[session] = int(self.value(NEXT_POSITION, session=session))
        place = max(known[session], item.position or 0) if keep else known[session]
        known[session] = place + 1
        return place

    # Records that are there

    def close(self, change: planned.Close) -> None:
        """End the validity of a record; what had ended before stays ended as it was."""
        self.targets([change.id])
        ended_now = self.end([change.id], change.at, change.reason, change.superseded_by)
        if not ended_now and change.only_open:
            raise InvalidInput(models.ended(self.get(self.scope, [change.id])[change.id]))

    def end(
        self, ids: Sequence[str], at: datetime, reason: str, by: str | None = None
    ) -> list[str]:
        """End the validity of these records for good; return those that had not been ended so."""
        found = self.all(END, ids=dump(ids), at=to_ms(at), by=by)
        targets = [TargetRecord(*row) for row in sorted(found)]
        detail = {"superseded_by": by} if by else {}
        self.log(targets, at, models.ChangeAction.CLOSE, reason, **detail)
        return [target.id for target in targets]

    def reweigh(self, change: planned.Reweigh) -> None:
        """Set confidence and decay rate."""
        fields = f"{WEIGH}, decay_rate = :decay_rate"
        detail = {"confidence": change.confidence, "decay_rate": change.decay_rate}
        targets = self._set(change.id, fields, at=to_ms(change.at), **detail)
        self.log(targets, change.at, "reweigh", change.reason, **detail)

    def fade(self, change: planned.Fade) -> None:
        """Set the confidence that is left, if the record was not used since."""
        values = {"left": change.confidence, "at": to_ms(change.at)}
        only = "confidence <> :left AND strength_at <= :at"
        self._set(change.id, "confidence = :left", only, **values)

    def retire(self, change: planned.Retire) -> None:
        """End the validity of a record by itself, and drop all that is derived but its terms.

        Passed over is one that another process has just retired, or that was recalled since.
        """
        fields = "valid_until = least(coalesce(valid_until, :at), :at), indexed = 0"
        for target in self._set(change.id, fields, CAN_RETIRE, at=to_ms(change.at)):
            self.drop_derived([target.key])
            self.log([target], change.at, "retire", change.reason)

    def reinforce(self, change: planned.Reinforce) -> None:
        """Add sources to a record that was stated again."""
        (target,) = self.targets([change.id])
        held = self.get(self.scope, [change.id])[change.id].source_ids
        passed = {*held, target.id, *self.erased(change.sources)}
        new = [source for source in dict.fromkeys(change.sources) if source not in passed]
        if not new:
            return
        fields = "source_ids = :sources, strength_at = :at, confidence = strength"
        self._set(change.id, fields, sources=dump([*held, *new]), at=to_ms(change.at))
        self._add_sources(target.key, new)
        self.log([target], change.at, "credit", change.reason, sources=len(new))

    def supersede(self, change: planned.Supersede) -> None:
        """Let one record take the place of another, which stays findable behind it."""
        target, by = self.targets([change.id, change.by])
        if target == by:
            raise InvalidInput(f"{target.id!r} cannot take its own place; name what replaces it")
        detail = {"by": by.id, "confidence": change.confidence}
        # What a person closed meanwhile keeps the word of the person on what replaced it.
        replaced = "superseded_by = CASE WHEN closed_at IS NULL THEN :by ELSE superseded_by END"
        self._set(change.id, f"{WEIGH}, {replaced}", at=to_ms(change.at), **detail)
        replaces = f"UPDATE records SET supersedes = coalesce(supersedes, :target) WHERE {THIS}"
        self.run(replaces, target=target.id, key=by.key)
        self.log([target], change.at, "supersede", change.reason, **detail)

    def enrich(self, change: planned.Enrich) -> None:
        """Link a record to more entities, and stamp when."""
        targets = self._set(change.id, "enriched_at = :at", at=to_ms(change.at))
        key = self.value(INDEXED, id=change.id)
        links = 0 if key is None else self.link(key, change.mentions)
        self.log(targets, change.at, "enrich", "enriched", links=links)

    def record_access(self, change: planned.RecordAccess) -> None:
        """Count one recall of each record, whose confidence goes back to its full strength."""
        at = to_ms(change.at)
        for key in self.column(RECALL, at=at, ids=dump(change.ids)):
            if change.session is not None:
                self.run(REMEMBER_RECALL, session=change.session, record=key, at=at)

    def update_record(
        self, id: str, *, at: datetime, reason: str = "updated", **fields: Any
    ) -> None:
        """Change fields of a record in place, such as its tags; what is not given stays."""
        if not fields:
            self.targets([id])
            return
        changed = ", ".join(f"{name} = :{name}" for name in fields)
        targets = self._set(id, changed, **RECORDS.encode(fields))
        if "valid_until" in fields:
            self.run(SEE_AGAIN, id=id)
        self.log(targets, at, "update", reason, changed=sorted(fields))

    # Entities

    def link_entities(self, mentions: Mapping[str, Sequence[models.Mention]]) -> None:
        """Link records to the entities that they mention, and take them off the queue.

        Passed over are records that wait no longer.
        """
        self.index_waiting()
        for id_, mentioned in mentions.items():
            key = self.value(INDEXED, id=id_)
            if key is not None and self.change(UNQUEUE, work=ENTITIES, keys=dump([key])):
                self.link(key, mentioned)


CARRY_OUT: Mapping[type, Callable[[RecordWrites, Any], None]] = {
    planned.Close: RecordWrites.close,
    planned.Reweigh: RecordWrites.reweigh,
    planned.Fade: RecordWrites.fade,
    planned.Retire: RecordWrites.retire,
    planned.Reinforce: RecordWrites.reinforce,
    planned.Supersede: RecordWrites.supersede,
    planned.Enrich: RecordWrites.enrich,
    planned.RecordAccess: RecordWrites.record_access,
}
