"""A whole memory in one SQL database: reads and writes by statements that every dialect takes."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput, StoreError, StoreReadOnly, UserDeleted
from memoranda.model.changes import RecordAccess, RecordChange, StoredRecord
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Record, Scope
from memoranda.model.ports import VECTORS, Analyzer, NameMatcher
from memoranda.model.query import EmbeddedText, Postings
from memoranda.model.sessions import FUTURE, JobRun, StageLease
from memoranda.store.sql import database, health, record_writes, rows
from memoranda.store.sql.access import AccessReads, AccessWrites
from memoranda.store.sql.erasing import ErasingWrites
from memoranda.store.sql.index_reads import DIMENSIONS, MODEL, IndexReads, vector_model
from memoranda.store.sql.reads import BEYOND
from memoranda.store.sql.rows import dump
from memoranda.store.sql.session_writes import SessionWrites, TransferReads

PURGED = "DELETE FROM meta WHERE name = 'purge_pending' AND value = :asked"
USERS = """
SELECT name FROM users u
WHERE u.deleted = 0 AND (EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key AND deleted_at IS NULL))
ORDER BY name
"""
KNOWN_USER = f"SELECT {database.STATE_OF_USER} FROM users WHERE name = :name"
# By the digest of the name, once they were erased.
ERASED_USER = f"SELECT {database.STATE_OF_USER} FROM users WHERE digest = :digest"
UNQUEUE_ALL = "DELETE FROM derivations WHERE work = 'vectors'"
QUEUE_ALL = """
INSERT INTO derivations (work, record_key, user_key)
SELECT 'vectors', key, user_key FROM records WHERE indexed = 1
"""
# The start of the name of a lease on the run of a stage; stage and user follow.
RUN = "job:"
CLAIM = """
INSERT INTO leases (name, holder, expires_at, claimed_due) VALUES (:name, :holder, :until, :due)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
    claimed_due = excluded.claimed_due
WHERE (excluded.claimed_due IS NULL OR leases.done_due IS NULL
        OR leases.done_due < excluded.claimed_due OR leases.done_due > :future)
    AND (leases.holder IS NULL OR leases.holder = excluded.holder
        OR leases.expires_at <= :now OR leases.expires_at > :future)
"""
COMPLETE = """
UPDATE leases SET done_due = claimed_due, done_at = :at, done_counts = :counts, holder = NULL,
    claimed_due = NULL, expires_at = NULL
WHERE name = :name AND holder = :holder AND claimed_due = :due
"""
LEASES = """
SELECT substr(name, length(:start) + 1), done_due, done_at, done_counts, expires_at FROM leases
WHERE substr(name, 1, length(:start)) = :start ORDER BY name
"""
HAVE_NEW = "SELECT name FROM users WHERE terms_waiting > 0 AND name IS NOT NULL"
# In an order, so that an index finds the first, and not a walk past all that was done before.
IS_WAITED = """
SELECT 1 FROM derivations WHERE work = :work AND (claimed_until <= :now OR claimed_until > :future)
ORDER BY record_key LIMIT 1
"""
CLAIM_RECORDS = """
WITH next AS (
    SELECT user_key, record_key FROM derivations
    WHERE work = :work AND (claimed_until <= :now OR claimed_until > :future)
    ORDER BY record_key LIMIT :limit @skip_locked()
)
UPDATE derivations SET claimed_until = :until
WHERE work = :work AND (user_key, record_key) IN (SELECT user_key, record_key FROM next)
RETURNING user_key, record_key
"""
CLAIMED_RECORDS = f"""
SELECT (SELECT name FROM users WHERE key = r.user_key), {rows.RECORD} FROM records r
WHERE r.user_key IN (@ints(:users)) AND r.key IN (@ints(:keys)) ORDER BY r.key
"""
# Those that still wait: two processes may have made the same vector.
TO_EMBED = """
SELECT r.id, r.key, r.content_hash FROM records r CROSS JOIN derivations w
WHERE r.user_key = :user AND r.id IN (@texts(:ids))
    AND w.user_key = :user AND w.record_key = r.key AND w.work = 'vectors'
"""
NEXT_VECTORS = """
UPDATE users SET vector_seq = vector_seq + :count WHERE key = :user RETURNING vector_seq
"""


class Transaction(ErasingWrites, SessionWrites, AccessWrites):
    """An open write transaction of a user: all that can be changed, as one unit of work.

    It is committed when its block ends, and undone when anything in the block raises.
    """

    def put_vectors(self, model: str, embedded: Iterable[tuple[Record, EmbeddedText]]) -> None:
        """Store the vectors of records that wait for them, and take these off the queue.

        Passed over are records that wait no longer. One that has another content by now waits on.

        Args:
            model: name of the model that made them.
            embedded: records, with what the model says of the text of each.

        Raises:
            InvalidInput: the vectors are not of the store's model, or of another length.
        """
        self.index_waiting()
        said = {record.id: (record.content_hash, text) for record, text in embedded}
        known = vector_model(self.connection)
        sizes = {len(text.vector) for _, text in said.values()}
        if known is None or known[0] != model or sizes - {known[1]}:
            message = f"the vectors of this store are of {known}, not of {model!r} and {sizes}"
            raise InvalidInput(message)
        vectors: dict[int, bytes] = {}
        tokens = []
        for id_, key, content in self.all(TO_EMBED, ids=dump(list(said))):
            content_hash, text = said[id_]
            if content_hash != content:
                continue
            vectors[key] = text.vector.astype(rows.STORED_FLOAT).tobytes()
            if text.tokens is not None and len(text.tokens):
                blob = text.tokens.astype("int8").tobytes()
                size = text.tokens.shape[1]
                tokens.append({"record_key": key, "size": size, "tokens": blob})
        if not vectors:
            return
        last = self.value(NEXT_VECTORS, count=len(vectors))
        numbered = enumerate(vectors.items(), last - len(vectors) + 1)
        self.add(
            "vectors",
            ({"seq": seq, "record_key": key, "embedding": blob} for seq, (key, blob) in numbered),
        )
        self.add("token_vectors", tokens)
        self.run(record_writes.UNQUEUE, work=VECTORS, keys=dump(sorted(vectors)))


def known_user(
    read: Callable[[str, database.Values], database.Row | None], scope: Scope
) -> database.UserState:
    """Return the user of a scope.

    Args:
        read: returns a row, for which other writers wait from now on, or do not.
        scope: whose user.

    Raises:
        UserDeleted: they were deleted since the scope was opened.
    """
    row = read(KNOWN_USER, {"name": scope.user})
    if row is None:
        row = read(ERASED_USER, {"digest": record_writes.name_digest(scope.user)})
    known = database.UserState(*row or ())
    if scope.deletions not in {None, known.deletions}:
        message = f"the user {scope.user!r} was deleted; open the memory again to begin anew"
        raise UserDeleted(message)
    return known


# Id, text and metadata of a memory of another program.
ForeignMemory = tuple[str, str, dict[str, Any]]


class Store(database.Database, TransferReads, IndexReads, AccessReads):
    """A whole memory in one database: units of work, the reads of all rooms, and its own upkeep.

    Common to every method:

    - ``scope`` bounds what is read and changed. A record of another user, or of another agent of
      the same user when the scope names an agent, is as if it did not exist. A scope whose user
      was deleted raises ``UserDeleted``.
    - Errors are those of :mod:`memoranda.errors`; none of a driver gets out.
    - Methods may be called from any thread, and by several processes on one store.
    - A claim, on a lease or on records, is one short transaction and lasts until a time: when its
      holder is killed, the next one who asks gets it.
    """

    def foreign_memories(self) -> list[ForeignMemory]:
        """Return nothing: no other program writes memories into an SQL database."""
        return []

    def remove_foreign(self, ids: Sequence[str]) -> None:
        """Remove memories of another program, which are records now."""

    def scope(self, user: str, agent: str | None = None) -> Scope:
        """Return the scope of a user as it is now: it cannot be used once they are deleted."""
        scope = Scope(user, agent)
        with self._reading(scope) as (_, state):
            return replace(scope, deletions=state.deletions)

    @contextmanager
    def write(self, scope: Scope, *, patience: float | None = None) -> Iterator[Transaction]:
        """Open a unit of work: all that is done to it is stored together, or none of it.

        When its block ends, that survives a kill of the process, and every other reader sees it.

        Args:
            scope: whose rows are changed.
            patience: seconds to wait for other writers, at most; ``None`` is as long as the store
                waits for them.

        Raises:
            StoreBusy: others wrote for longer than that; nothing was changed.
            StoreError: the storage failed; nothing was changed.
        """
        with self.transact(patience) as connection:
            state = known_user(connection.lock_one, scope)
            parts = self.names, self.analyzer, self.full_text
            tx = Transaction(connection, state.key, scope, state, *parts)
            yield tx
            tx.raise_revision()

    def apply(self, scope: Scope, changes: Sequence[RecordChange]) -> list[StoredRecord]:
        """Carry out changes of records in a unit of work of their own."""
        try:
            with self.write(scope) as tx:
                return tx.carry_out(changes)
        except StoreReadOnly:
            if not all(isinstance(change, RecordAccess) for change in changes):
                raise
        return []  # Where nothing can be written, it is read without being counted.

    def reset_vectors(self, model: str, dimensions: int) -> None:
        """Drop all vectors, name the model and queue every record."""
        with self.transact_alone() as connection:
            for table in rows.VECTOR_TABLES:
                connection.run(f"DELETE FROM {table}")
            connection.run(f"{record_writes.CHANGE_ALL}, vector_seq = 0")
            for name, value in ((MODEL, model), (DIMENSIONS, str(dimensions))):
                connection.run(database.SET_META, {"name": name, "value": value})
            for sql in (UNQUEUE_ALL, QUEUE_ALL):
                connection.run(sql)

    def postings(
        self, scope: Scope, terms: Sequence[str], *, items: bool = False
    ) -> dict[str, Postings]:
        """Return by term which records hold it."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        with self.snapshot(), self._reading(scope) as (connection, state):
            wanted = database.indexed(terms, items=items)
            postings = self.full_text.postings(connection, state.key, wanted)
            if self.full_text.waits and state.terms_waiting:
                whose = {"user": state.key, "through": 0, "before": BEYOND}
                found = connection.all(record_writes.WAITING, whose)
                texts = [
                    (key, Counter(each.split()))
                    for key, each in record_writes.waiting_terms(self.analyzer, found)
                ]
                for place, term in enumerate(wanted if texts else ()):
                    held = [(key, count[term]) for key, count in texts if count[term]]
                    later = Postings(*np.array(held, np.int64).reshape(-1, 2).T)
                    postings[place] = Postings(*map(np.append, postings[place], later))
            return dict(zip(terms, postings, strict=True))

    @abstractmethod
    def _migrate(self) -> None:
        """Bring the database to the newest schema; several processes may do so at once."""

    def _begin_with(self, analyzer: Analyzer, names: NameMatcher) -> None:
        """Bring the schema up to date, and the index, where another analyzer made it; or close.

        Args:
            analyzer: makes the terms of the full-text index.
            names: decides which names are one entity.
        """
        self.analyzer, self.names = analyzer, names
        try:
            self._migrate()
            health.follow_analyzer(self)
        except BaseException:
            with suppress(StoreError):
                self.close()
            raise

    @contextmanager
    def _reading(self, scope: Scope | None) -> Iterator[database.UserConnection]:
        with self.read() as connection:
            known = self.known
            state = known.get(scope)
            if state is None and scope is not None:
                state = known[scope] = known_user(connection.one, scope)
            yield connection, state or database.UserState()

    def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime, due: datetime | None = None
    ) -> bool:
        """Take or renew a lease, or the run of a stage that was due then."""
        values = {
            "name": name if due is None else RUN + name,
            "holder": holder,
            "due": rows.optional_ms(due),
            "now": to_ms(now),
            "future": to_ms(now + FUTURE),
            "until": to_ms(until),
        }
        with self.transact() as connection:
            return bool(connection.change(CLAIM, values))

    def complete(
        self, name: str, holder: str, *, due: datetime, at: datetime, counts: Mapping[str, int]
    ) -> None:
        """Mark a run as done, with what it did, where the claim on it is still the holder's."""
        values = {
            "name": RUN + name,
            "holder": holder,
            "due": to_ms(due),
            "at": to_ms(at),
            "counts": dump(dict(counts)),
        }
        with self.transact() as connection:
            connection.change(COMPLETE, values)

    def _leases(self, start: str) -> list[database.Row]:
        return self._made(None, LEASES, start=f"{RUN}{start}")

    def stage_leases(self, stage: str) -> dict[str, StageLease]:
        """Return the lease on the runs of a stage of each user who has one."""
        return {
            user: StageLease(rows.optional_time(done), rows.optional_time(until))
            for user, done, _, _, until in self._leases(f"{stage}:")
        }

    def job_runs(self) -> list[JobRun]:
        """Return the last run of each stage, with what it did for all users, by name."""
        done = [row for row in self._leases("") if row[1] is not None]
        runs: list[JobRun] = []
        for stage, group in groupby(done, key=lambda row: row[0].partition(":")[0]):
            users = list(group)
            due = max(row[1] for row in users)
            last = [row for row in users if row[1] == due]
            counts = Counter[str]()
            for row in last:
                counts.update(rows.OBJECT.read(row[3]))
            done_at = from_ms(max(row[2] for row in last))
            runs.append(JobRun(stage, from_ms(due), done_at, dict(counts)))
        return runs

    def queue_newest(self, scope: Scope | None = None, patience: float | None = None) -> None:
        """Index the records that wait for it, and queue what else is derived from them."""
        user = None if scope is None else scope.user
        sql = HAVE_NEW if user is None else f"{HAVE_NEW} AND name = :name"
        for (name,) in self._made(None, sql, name=user) if self.full_text.waits else ():
            with suppress(StoreReadOnly), self.write(Scope(name), patience=patience) as tx:
                tx.index_waiting()

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Claim the next records that wait for a kind of work; return them."""
        values: dict[str, Any] = {"work": work, "now": to_ms(now), "future": to_ms(now + FUTURE)}
        values |= {"until": to_ms(until), "limit": limit}
        self.queue_newest()
        if not self._made(None, IS_WAITED, **values):  # So who finds none waits for nobody.
            return []
        with self.transact() as connection:
            claimed = connection.all(CLAIM_RECORDS, values)
            users, keys = ({row[place] for row in claimed} for place in (0, 1))
            listed = {"users": dump(sorted(users)), "keys": dump(sorted(keys))}
            made: list[Record] = connection.made(rows.owned_record, CLAIMED_RECORDS, listed)
        return made

    def purge(self) -> str | None:
        """Overwrite the remains of erased text in free space; return why they could not all be."""
        with self.read() as connection:
            asked = health.meta(connection, record_writes.PURGE)
        record_writes.index_terms.cache_clear()
        why = self._purge()
        if why is None and asked:  # What is erased meanwhile asks again.
            with self.transact() as connection:
                connection.run(PURGED, {"asked": asked})
        return why

    @abstractmethod
    def _purge(self) -> str | None:
        """Overwrite the remains of erased text; return why they could not all be."""

    @abstractmethod
    def backup(self, path: str) -> None:
        """Write a consistent copy to ``path`` while others go on reading and writing.

        Raises:
            InvalidInput: ``path`` exists already, or a server has a tool of its own for that.
        """

    @abstractmethod
    def size(self) -> int:
        """Return the bytes that the store takes."""

    def users(self) -> list[str]:
        """Return every user."""
        return self._made(None, USERS, rows.first_value)

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return health.verify(self)

    def rebuild(self) -> list[str]:
        """Make index, sources and counts anew, queue the rest; return what was different."""
        return health.rebuild(self)
