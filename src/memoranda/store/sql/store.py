"""A whole memory in one SQL database: reads and writes by statements that every dialect takes."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import InvalidInput, StoreError, UserDeleted
from memoranda.model.changes import RecordChange, StoredRecord
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import VECTORS, Analyzer, NameMatcher
from memoranda.model.query import Filter, TermMatches, TokenVectors, Vector
from memoranda.model.sessions import JobRun, StageLease
from memoranda.store.sql import health
from memoranda.store.sql.database import (
    MOST_COUNTED,
    Database,
    FullText,
    Postings,
    SqlConnection,
    indexed,
)
from memoranda.store.sql.erasing import ErasingWrites
from memoranda.store.sql.reads import DIMENSIONS, MODEL, vector_model
from memoranda.store.sql.rows import (
    OBJECT,
    RECORD,
    STORED_FLOAT,
    VECTOR_TABLES,
    dump,
    optional_ms,
    optional_time,
    record,
)
from memoranda.store.sql.session_writes import SessionWrites
from memoranda.store.sql.traces import TraceWrites, TransferReads
from memoranda.store.sql.transaction import (
    CHANGE_ALL,
    NOBODY,
    PURGE,
    SET_META,
    ScopedTransaction,
    name_digest,
)

USERS = """
SELECT name FROM users u
WHERE u.deleted = 0 AND (EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key AND deleted_at IS NULL))
ORDER BY name
"""
KNOWN_USER = "SELECT key, deletions, deleted, name, revision FROM users WHERE name = :name"
DELETED_USER = "SELECT key, deletions, deleted, name, revision FROM users WHERE digest = :digest"
# Writers of one user take turns.
TAKE_TURN = " @lock_row()"
QUEUE_ALL = """
INSERT INTO derivations (work, record_key, user_key)
SELECT CAST(:work AS text), key, user_key FROM records WHERE indexed = 1
ON CONFLICT DO NOTHING
"""
RELEASE_ALL = "UPDATE derivations SET claimed_until = 0 WHERE work = :work"
# The start of the name of a lease on the run of a stage; stage and user follow.
RUN = "job:"
CLAIM = """
INSERT INTO leases (name, holder, expires_at, claimed_due) VALUES (:name, :holder, :until, :due)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
    claimed_due = excluded.claimed_due
WHERE (excluded.claimed_due IS NULL OR leases.done_due IS NULL
        OR leases.done_due < excluded.claimed_due)
    AND (leases.holder IS NULL OR leases.holder = excluded.holder OR leases.expires_at <= :now)
"""
COMPLETE = """
UPDATE leases SET done_due = claimed_due, done_at = :at, done_counts = :counts, holder = NULL,
    claimed_due = NULL, expires_at = NULL
WHERE name = :name AND holder = :holder AND claimed_due = :due
"""
STAGE_LEASES = """
SELECT substr(name, length(:start) + 1), done_due, expires_at FROM leases
WHERE substr(name, 1, length(:start)) = :start
"""
DONE = """
SELECT substr(name, length(:start) + 1), done_due, done_at, done_counts FROM leases
WHERE done_due IS NOT NULL AND substr(name, 1, length(:start)) = :start ORDER BY name
"""
# In an order, so that an index finds the first, and not a walk past all that was done before.
IS_WAITED = """
SELECT 1 FROM derivations WHERE work = :work AND claimed_until <= :now ORDER BY record_key LIMIT 1
"""
CLAIM_RECORDS = """
WITH next AS (
    SELECT user_key, record_key FROM derivations
    WHERE work = :work AND claimed_until <= :now
    ORDER BY record_key LIMIT :limit @skip_locked()
)
UPDATE derivations SET claimed_until = :until
WHERE work = :work AND (user_key, record_key) IN (SELECT user_key, record_key FROM next)
RETURNING user_key, record_key
"""
CLAIMED_RECORDS = f"""
SELECT (SELECT name FROM users WHERE key = r.user_key), {RECORD} FROM records r
WHERE r.user_key IN (@ints(:users)) AND r.key IN (@ints(:keys)) ORDER BY r.key
"""
TO_EMBED = """
SELECT r.id, r.key, r.content_hash, v.embedding FROM records r
LEFT JOIN vectors v ON v.record_key = r.key
WHERE r.user_key = :user AND r.indexed = 1 AND r.id IN (@texts(:ids))
"""
NEXT_VECTORS = """
UPDATE users SET vector_seq = vector_seq + :count WHERE key = :user RETURNING vector_seq
"""
ADD_VECTOR = """
INSERT INTO vectors (user_key, seq, record_key, embedding)
VALUES (:user, :seq, :record, :blob)
"""
ADD_TOKENS = """
INSERT INTO token_vectors (record_key, user_key, size, tokens)
VALUES (:record, :user, :size, :blob)
"""


class VectorWrites(ScopedTransaction):
    """Stores the vectors of records in an open transaction."""

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[str, Vector],
        *,
        hashes: Mapping[str, str] | None = None,
        tokens: Mapping[str, TokenVectors] | None = None,
    ) -> None:
        """Store the embeddings of records and take these off the queue.

        Args:
            model: name of the model that made them.
            vectors: record id → its vector. Records that are gone by now are passed over.
            hashes: record id → the hash of the content that the vector is of, where that can
                change. A record with another content by now waits on.
            tokens: record id → the vectors of its tokens, where the model gives some.

        Raises:
            InvalidInput: they are not of the store's model, or of another length.
        """
        self._require_vectors(model, vectors)
        asked = {"user": self.user, "ids": dump(list(vectors))}
        found = {row[0]: row[1:] for row in self.connection.all(TO_EMBED, asked)}
        made: dict[int, bytes] = {}
        new: dict[int, bytes] = {}
        token_rows: list[tuple[int, int, int, bytes]] = []
        for id_, vector in vectors.items():
            key, content, held = found.get(id_, (None, None, None))
            if key is None or (hashes or {}).get(id_, content) != content:
                continue
            made[key] = vector.astype(STORED_FLOAT).tobytes()
            # Two processes may have made the same one: readers need not read it twice.
            if held != made[key]:
                new[key] = made[key]
            rows = (tokens or {}).get(id_)
            if rows is not None and len(rows):
                token_rows.append((key, self.user, rows.shape[1], rows.astype(np.int8).tobytes()))
        self._add_vectors(new)
        self.drop("token_vectors", made)
        self.connection.run_many(ADD_TOKENS, token_rows)
        self.drop("derivations", made, VECTORS)
        self.connection.index_vectors(self.user, made)

    def _require_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        name, dimensions = vector_model(self.connection) or (None, 0)
        if name != model:
            message = f"the vectors of this store are of {name!r}, not of {model!r}"
            raise InvalidInput(message)
        for id_, vector in vectors.items():
            if vector.shape != (dimensions,):
                message = f"the vector of {id_!r} has shape {vector.shape}, not ({dimensions},)"
                raise InvalidInput(message)

    def _add_vectors(self, new: Mapping[int, bytes]) -> None:
        self.drop("vectors", new)
        if new:
            counted = {"user": self.user, "count": len(new)}
            first = self.connection.value(NEXT_VECTORS, counted) - len(new) + 1
            numbered = enumerate(new.items(), first)
            self.connection.run_many(
                ADD_VECTOR, [(self.user, seq, *each) for seq, each in numbered]
            )


class Transaction(ErasingWrites, SessionWrites, VectorWrites, TraceWrites):
    """An open write transaction of a user: all that can be changed, as one unit of work.

    It is committed when its block ends, and undone when anything in the block raises.
    """


class KnownUser(NamedTuple):
    """What a store knows of a user."""

    key: int
    deletions: int
    deleted: int
    name: str | None
    revision: int


def known_user(connection: SqlConnection, scope: Scope, lock: str = "") -> KnownUser:
    """Return the user of a scope.

    Raises:
        UserDeleted: they were deleted since the scope was opened.
    """
    row = connection.one(KNOWN_USER + lock, {"name": scope.user})
    if row is None:  # By the digest of the name, once they were erased.
        row = connection.one(DELETED_USER + lock, {"digest": name_digest(scope.user)})
    known = KnownUser(NOBODY, 0, 0, None, 0) if row is None else KnownUser(*row)
    if scope.deletions not in {None, known.deletions}:
        message = f"the user {scope.user!r} was deleted; open the memory again to begin anew"
        raise UserDeleted(message)
    return known


# Id, text and metadata of a memory of another program.
ForeignMemory = tuple[str, str, dict[str, Any]]


class Store(Database[Any], TransferReads):
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

    _analyzer: Analyzer
    full_text: FullText

    def foreign_memories(self) -> list[ForeignMemory]:
        """Return nothing: no other program writes memories into an SQL database."""
        return []

    def remove_foreign(self, ids: Sequence[str]) -> None:
        """Remove memories of another program, which are records now."""

    def scope(self, user: str, agent: str | None = None) -> Scope:
        """Return the scope of a user as it is now: it cannot be used once they are deleted."""
        scope = Scope(user, agent)
        with self._reading(scope) as (connection, _):
            return replace(scope, deletions=known_user(connection, scope).deletions)

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
        with self.transact(patience=patience) as connection:
            unit_of_work = self._unit_of_work(connection, scope)
            yield unit_of_work
            unit_of_work.raise_revision()

    def _unit_of_work(self, connection: SqlConnection, scope: Scope) -> Transaction:
        """Return what changes the rows of a scope, for which other writers of its user wait."""
        user = known_user(connection, scope, TAKE_TURN)
        return Transaction(
            connection=connection,
            scope=scope,
            user=user.key,
            is_listed=user.name is not None and not user.deleted,
            revision=user.revision + 1,
            analyzer=self._analyzer,
            names=self.names,
            full_text=self.full_text,
        )

    def apply(
        self, scope: Scope, changes: Sequence[RecordChange], *, patience: float | None = None
    ) -> list[StoredRecord]:
        """Carry out changes of records in a unit of work of their own."""
        with self.write(scope, patience=patience) as tx:
            return tx.carry_out(changes)

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors, name the model and queue every record; return how many."""
        with self.transact_alone() as connection:
            connection.drop_indexed_vectors()
            for table in VECTOR_TABLES:
                connection.run(f"DELETE FROM {table}")
            connection.run(f"{CHANGE_ALL}, vector_seq = 0")
            for name, value in ((MODEL, model), (DIMENSIONS, str(dimensions))):
                connection.run(SET_META, {"name": name, "value": value})
            for sql in (RELEASE_ALL, QUEUE_ALL):
                connection.run(sql, {"work": VECTORS})
        waiting = Filter.at_any_time(kinds=tuple(Kind), waiting=VECTORS)
        return sum(self.count(None, waiting).values())

    def index_large_users(self) -> int:
        """Return that no user is too large for memory."""
        return 0

    def match_terms(
        self, scope: Scope, terms: Sequence[str], *, limit: int, items: bool = False
    ) -> TermMatches:
        """Return which records hold which terms."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            postings = self.full_text.postings(connection, user, indexed(terms, items=items))
            keys, counts = join_postings(terms, postings, limit)
            return TermMatches(keys.tolist(), counts, [len(each.keys) for each in postings])

    def _begin_with(self, analyzer: Analyzer, names: NameMatcher) -> None:
        """Index everything anew, where another analyzer made the index.

        Args:
            analyzer: makes the terms of the full-text index.
            names: decides which names are one entity.
        """
        self._analyzer, self.names = analyzer, names
        try:
            health.follow_analyzer(self, analyzer)
        except BaseException:
            with suppress(StoreError):
                self.close()
            raise

    @contextmanager
    def _reading(self, scope: Scope | None) -> Iterator[tuple[SqlConnection, int]]:
        with self.read() as connection:
            known = self.known
            if scope is not None and scope not in known:
                known[scope] = known_user(connection, scope).key
            yield connection, NOBODY if scope is None else known[scope]

    def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime, due: datetime | None = None
    ) -> bool:
        """Take or renew a lease, or the run of a stage that was due then."""
        values = {
            "name": name if due is None else RUN + name,
            "holder": holder,
            "due": optional_ms(due),
            "now": to_ms(now),
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

    def stage_leases(self, stage: str) -> dict[str, StageLease]:
        """Return the lease on the runs of a stage of each user who has one."""
        with self._reading(None) as (connection, _):
            rows = connection.all(STAGE_LEASES, {"start": f"{RUN}{stage}:"})
        return {
            user: StageLease(optional_time(done), optional_time(until))
            for user, done, until in rows
        }

    def job_runs(self) -> list[JobRun]:
        """Return the last run of each stage, with what it did for all users, by name."""
        with self._reading(None) as (connection, _):
            rows = connection.all(DONE, {"start": RUN})
        last: dict[str, tuple[int, int, Counter[str]]] = {}
        for name, due, at, counts in rows:
            stage = name.partition(":")[0]
            known = last.get(stage, (due, at, Counter()))
            if due > known[0]:
                known = (due, at, Counter())
            if due == known[0]:
                known[2].update(OBJECT.read(counts))
            last[stage] = (known[0], max(known[1], at), known[2])
        return [
            JobRun(stage, from_ms(due), from_ms(at), dict(counts))
            for stage, (due, at, counts) in last.items()
        ]

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Claim the next records that wait for a kind of work; return them."""
        values = {"work": work, "now": to_ms(now), "until": to_ms(until), "limit": limit}
        with self._reading(None) as (connection, _):  # So that who finds none waits for nobody.
            if connection.value(IS_WAITED, values) is None:
                return []
        with self.transact() as connection:
            while rows := connection.all(CLAIM_RECORDS, values):
                users, keys = map(set, zip(*rows, strict=True))
                made = connection.made(
                    lambda row: record(row[0], row[1:]),
                    "records",
                    CLAIMED_RECORDS,
                    {"users": dump(sorted(users)), "keys": dump(sorted(keys))},
                )
                if found := [each for each in made if each is not None]:
                    return found
        return []

    def purge(self) -> str | None:
        """Overwrite the remains of erased text in free space; return why they could not all be."""
        with self.read() as connection:
            values = {"name": PURGE, "asked": health.meta(connection, PURGE)}
        why = self._purge()
        if why is None and values["asked"]:  # What is erased meanwhile asks again.
            with self.transact() as connection:
                connection.run("DELETE FROM meta WHERE name = :name AND value = :asked", values)
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
        with self.read() as connection:
            return [row[0] for row in connection.all(USERS)]

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return health.verify(self)

    def rebuild(self) -> list[str]:
        """Make index, sources and counts anew, queue the rest; return what was different."""
        return health.rebuild(self, self._analyzer)


def join_postings(
    terms: Sequence[str], postings: Sequence[Postings], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the keys of records that hold terms, ascending, and how often each holds which.

    Args:
        terms: what is asked for.
        postings: of each.
        limit: how many records at most, those of the rarer terms first.
    """
    rarest_first = sorted(
        zip(postings, terms, strict=True), key=lambda each: (len(each[0].keys), each[1])
    )
    found = np.array([], np.int64)
    for (keys, _), _ in rarest_first:
        if len(found) == limit:
            break
        more = np.setdiff1d(keys, found, assume_unique=True)
        found = np.concatenate([found, more[: limit - len(found)]])
    found.sort()
    counts = np.zeros((len(found), len(terms)), np.uint8)
    for column, (keys, times) in enumerate(postings):
        if len(keys):
            places = np.searchsorted(keys, found)
            held = np.take(keys, places, mode="clip") == found
            counts[held, column] = np.minimum(times[places[held]], MOST_COUNTED)
    return found, counts
