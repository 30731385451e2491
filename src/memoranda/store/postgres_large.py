"""The search of users with too many records on PostgreSQL to rank them all in memory.

Each has a table of vectors with an index of pgvector (HNSW). What a question may be about comes
from that index and from the index of terms; with what stands around it, it is ranked as the records
of any other user are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoranda.model.models import Scope
from memoranda.model.query import (
    Candidates,
    IndexChanges,
    IndexVersion,
    Lineage,
    TermMatches,
    Vector,
)
from memoranda.store.postgres_terms import TermCounts
from memoranda.store.sql.database import Postings, SqlConnection
from memoranda.store.sql.reads import (
    CANDIDATE_ROWS,
    CANDIDATE_VECTORS,
    Where,
    read_index_rows,
    read_vectors,
)
from memoranda.store.sql.rows import STORED_FLOAT, dump
from memoranda.store.sql.store import join_postings

T = TypeVar("T")
Keys = NDArray[np.int64]
Shares = NDArray[np.float64]
# Vectors that are copied at once into a table, and bytes that the making of its index may take.
AT_ONCE = 10_000
MOST_MEMORY = 2 * 2**30
# What a vector takes beside its numbers while the index is made; measured: 650. Where that is more
# than there is, the rest takes ten times as long.
BESIDE = 900
# A large user is counted again when so much of what there is was there before.
GROWN = 0.8
# Records looked at that hold a term: the newest. A term of more says little of any.
MOST_HELD = 20_000
# Records that hold words of a question, the rarest first; where all are ranked, it is as many.
MOST_MATCHES = 20_000
# Of these, those in or around which most of it stands, and those that are most like it.
MOST_WORDED = 600
MOST_LIKE = 200
# Of the first of both, those with the keys around may answer, too: mostly the turns around.
MOST_BESIDE = 400
BESIDE_LIKE = 20
BESIDE_STEPS = (-1, 1, -2, 2)
# Records that are looked at once more beside the question, of which the best are ranked.
MOST_LOOKED_AT = 1_000
# What a filter leaves, if that is little.
MOST_FILTERED = 2_000
# Facts with the attributes that a question asks for, the newest first.
MOST_FACTS = 100
# Places in a session, or keys, up to which records stand around a candidate.
AROUND = 8
# As in the ranking, about: what a term counts that stands once, what the turns around a turn share
# with it, and what evidence of words, of who says it and of how much weighs beside likeness.
K1, B = 1.2, 0.75
SHARED = (0.7, 0.5, 0.35, 0.25, 0.17)
ALL_SHARED = 1 + 2 * sum(SHARED)
WORDS, SAID, LENGTH, FULL_LENGTH = 0.9, 0.1, 0.2, 200

# Whether the table of a user's vectors is as it was made. It is not after a backup was restored
# where pgvector is missing, or after pgvector was dropped.
READY = """
EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attname = 'embedding' AND NOT a.attisdropped
    AND a.attrelid = to_regclass('nearest_' || CAST(u.key AS text)))
"""
LARGE = f"""
SELECT l.records, l.terms, l.dimensions,
    (SELECT min(key) FROM records r WHERE r.user_key = :user)
FROM large_users l JOIN users u ON u.key = l.user_key
WHERE l.user_key = :user AND {READY}
"""
TO_INDEX = f"""
SELECT u.key, u.name FROM users u LEFT JOIN large_users l ON l.user_key = u.key
WHERE u.vector_seq > :most AND u.name IS NOT NULL
    AND (l.counted_at IS NULL OR l.counted_at < :grown * u.vector_seq OR NOT {READY})
    AND (SELECT count(*) FROM vectors v WHERE v.user_key = u.key) > :most
ORDER BY u.key
"""
MAKE = """
CREATE TABLE {table} (
    user_key bigint NOT NULL DEFAULT {user},
    record_key bigint PRIMARY KEY,
    embedding halfvec({dimensions}) NOT NULL,
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
)
"""
UNSAMPLED = "ALTER TABLE {table} ALTER COLUMN embedding SET STATISTICS 0"
NEEDED = (
    "users with too many memories for that are ranked in memory all the same; let an administrator "
    "run CREATE EXTENSION vector (pgvector 0.7 or newer), and the owner of the tables a worker"
)
# As much as the server gives for such work, or more.
MEMORY = """
SELECT set_config('maintenance_work_mem', CAST(greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')), :bytes) / 1024 AS text) || 'kB', TRUE)
"""
INDEX = "CREATE INDEX ON {table} USING hnsw (embedding halfvec_ip_ops)"
NEXT_VECTORS = """
SELECT v.seq, v.record_key, v.embedding FROM vectors v
JOIN records r ON r.user_key = :user AND r.key = v.record_key
WHERE v.user_key = :user AND v.seq > :seq AND r.kind <> 'item' ORDER BY v.seq LIMIT :most
"""
PUT = """
INSERT INTO {table} (record_key, embedding)
SELECT :key, CAST(:vector AS halfvec) FROM records
WHERE user_key = :user AND key = :key AND kind <> 'item'
ON CONFLICT (record_key) DO UPDATE SET embedding = excluded.embedding
"""
COUNT = """
INSERT INTO large_users (user_key, dimensions, counted_at, records, terms)
SELECT :user, :dimensions, (SELECT vector_seq FROM users WHERE key = :user), count(*),
    coalesce(avg(term_count), 1)
FROM records WHERE user_key = :user AND kind <> 'item' AND closed_at IS NULL
ON CONFLICT (user_key) DO UPDATE SET dimensions = excluded.dimensions,
    counted_at = excluded.counted_at, records = excluded.records, terms = excluded.terms
"""
HAS_RECORDS = "SELECT EXISTS (SELECT 1 FROM records WHERE user_key = :user)"
NEAREST = """
SELECT n.record_key FROM {table} n JOIN records r ON r.user_key = :user AND r.key = n.record_key
WHERE r.kind <> 'item' AND {where}
ORDER BY n.embedding <#> CAST(:vector AS halfvec) LIMIT :most
"""
# So that the index gives them in order: the planner would rather sort all that a filter leaves.
PLAN = """
SELECT set_config('hnsw.ef_search', :most, TRUE),
    set_config('hnsw.iterative_scan', 'relaxed_order', TRUE),
    set_config('enable_seqscan', :other, TRUE), set_config('enable_sort', :other, TRUE),
    set_config('enable_hashjoin', :other, TRUE), set_config('enable_mergejoin', :other, TRUE)
"""
FEATURES = """
SELECT r.key, {likeness}, CASE WHEN r.source_role = 'user' THEN 1 ELSE 0 END, length(r.content),
    r.term_count, CASE WHEN r.kind = 'episode' THEN 1 ELSE 0 END
FROM records r {indexed} WHERE r.kind <> 'item' AND r.key IN (@ints(:keys)) AND {where}
"""
LIKENESS = "coalesce(-(n.embedding <#> CAST(:vector AS halfvec)), 0)"
INDEXED = "LEFT JOIN {table} n ON n.record_key = r.key"
FACTS = """
SELECT r.key FROM records r WHERE r.user_key = :user AND r.attribute IN (@texts(:attributes))
    AND r.kind = 'fact' AND r.superseded_by IS NULL AND {where} ORDER BY r.key DESC LIMIT :most
"""
NEWEST = """
SELECT r.key FROM records r WHERE r.kind <> 'item' AND {where} ORDER BY r.key DESC LIMIT :most
"""
SOURCES = """
SELECT j.record_key, s.key FROM record_sources j JOIN records s
    ON s.user_key = :user AND s.id = j.source_id
WHERE j.user_key = :user AND j.record_key IN (@ints(:keys))
UNION
SELECT j.record_key, s.key FROM records s JOIN record_sources j
    ON j.user_key = :user AND j.source_id = s.id
WHERE s.user_key = :user AND s.key IN (@ints(:keys))
"""
REPLACED = """
SELECT r.key, s.key FROM records r JOIN records s
    ON s.user_key = :user AND s.id = r.superseded_by
WHERE r.user_key = :user AND r.key IN (@ints(:keys)) AND r.superseded_by IS NOT NULL
UNION
SELECT r.key, s.key FROM records s JOIN records r
    ON r.user_key = :user AND r.superseded_by = s.id
WHERE s.user_key = :user AND s.key IN (@ints(:keys))
"""
BESIDE_THEM = """
SELECT n.key FROM records c JOIN records n ON n.user_key = :user AND n.session_id = c.session_id
    AND n.position BETWEEN c.position - :around AND c.position + :around
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
UNION
SELECT n.key FROM records c JOIN records n ON n.user_key = :user AND n.session_id IS NULL
    AND n.kind = 'episode' AND n.key BETWEEN c.key - :around AND c.key + :around
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
    AND c.session_id IS NULL
"""


class LargeUser(NamedTuple):
    """What is known of a user whose candidates come from the database.

    Attributes:
        records: how many they have.
        terms: how many terms one has, in the mean.
        dimensions: of the vectors that are indexed.
        first: the key of their oldest record.
    """

    records: int
    terms: float
    dimensions: int
    first: int = 0


class WritingStore(Protocol):
    """What runs a part of the work in a transaction of its own."""

    def transact(
        self, scope: Scope | None = None, patience: float | None = None
    ) -> AbstractContextManager[Any]:
        """Lend a connection inside one transaction; writers of the scope's user wait."""

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""


def table_of(user: int) -> str:
    """Return the table of a large user's vectors."""
    return f"nearest_{user:d}"


def large_user(connection: SqlConnection, user: int) -> LargeUser | None:
    """Return what is known of a user, if their candidates come from the database."""
    row = connection.one(LARGE, {"user": user})
    return None if row is None else LargeUser(*row)


def users_to_index(connection: SqlConnection, most: int) -> list[tuple[int, str]]:
    """Return keys and names of users with more than ``most`` vectors, unless all is prepared."""
    rows: Any = connection.all(TO_INDEX, {"most": most, "grown": GROWN})
    return list(rows)


def drop(connection: SqlConnection, user: int) -> None:
    """Remove what was prepared for a user."""
    if large_user(connection, user) is not None:  # To drop the table, all readers would wait.
        connection.run(f"DELETE FROM {table_of(user)}")
    connection.run("DELETE FROM large_users WHERE user_key = :user", {"user": user})


def put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    """Add vectors to the index of a user, if there is one: float16 bytes by the key of a record."""
    if vectors and large_user(connection, user) is not None:
        _put(connection, user, vectors)


def _put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    rows = [
        {"user": user, "key": key, "vector": literal_of(np.frombuffer(blob, STORED_FLOAT))}
        for key, blob in vectors.items()
    ]
    connection.run_many(PUT.format(table=table_of(user)), rows)


def index(store: WritingStore, scope: Scope, user: int) -> None:
    """Prepare the search of a large user, or only count anew where that was done.

    Writers of the user wait no longer than one part of it takes. Others may be erased meanwhile,
    which takes them out of the new table, too; what is added meanwhile comes at the end.
    """
    table = table_of(user)
    model = store.vector_model()
    dimensions = 0 if model is None else model[1]

    def make(connection: Any) -> bool:
        known = large_user(connection, user)
        if known is not None and known.dimensions == dimensions:
            return False
        drop(connection, user)
        connection.run(f"DROP TABLE IF EXISTS {table}")
        connection.change("CREATE EXTENSION IF NOT EXISTS vector")
        connection.run(MAKE.format(table=table, user=user, dimensions=dimensions))
        connection.run(UNSAMPLED.format(table=table))
        return True

    def fill(connection: Any) -> int | None:
        rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": AT_ONCE})
        _put(connection, user, {key: blob for _, key, blob in rows})
        return rows[-1][0] if rows else None

    def build(connection: Any) -> None:
        size = connection.value(f"SELECT count(*) FROM {table}") * (2 * dimensions + BESIDE)
        connection.all(MEMORY, {"bytes": min(MOST_MEMORY, size)})
        connection.run(INDEX.format(table=table))

    def finish(connection: Any) -> None:
        if is_new:
            rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": None})
            _put(connection, user, {key: blob for _, key, blob in rows})
        connection.run(COUNT, {"user": user, "dimensions": dimensions})
        if not connection.value(HAS_RECORDS, {"user": user}):  # It was deleted meanwhile.
            drop(connection, user)

    last = 0
    with store.transact(scope) as connection:
        is_new = make(connection)
    filled: int | None = 0 if is_new else None
    while filled is not None:
        last = filled
        with store.transact(scope) as connection:
            filled = fill(connection)
    if is_new:
        with store.transact() as connection:
            build(connection)
    with store.transact(scope) as connection:
        finish(connection)


def literal_of(vector: NDArray[Any]) -> str:
    """Return a vector as pgvector reads it."""
    return json.dumps(vector.tolist(), separators=(",", ":"))


def _with_neighbours(keys: Keys, evidence: Shares) -> Shares:
    """Return evidence of records with what those with the next keys share: mostly the next turns.

    Args:
        keys: of the records, ascending.
        evidence: of each; or a row of it for each.
    """
    found = evidence.copy()
    for apart in range(1, min(len(SHARED), len(keys) - 1) + 1):
        steps = keys[apart:] - keys[:-apart]
        before = np.flatnonzero(steps <= len(SHARED))
        share = np.take(SHARED, steps[before] - 1).reshape(-1, *[1] * (evidence.ndim - 1))
        found[before + apart] += share * evidence[before]
        found[before] += share * evidence[before + apart]
    return found


class QuestionCoverage:
    """How much of a question stands in records and around them.

    Args:
        terms: of the question.
        postings: which of all records hold each, or the newest of them.
        large: what is known of the user.
    """

    def __init__(
        self, terms: Sequence[str], postings: Sequence[Postings], large: LargeUser
    ) -> None:
        """Weigh the terms by how rare they are."""
        self._keys, self._counts = join_postings(terms, postings, limit=MOST_MATCHES)
        self._frequencies = _frequencies(postings, large)
        self._mean_terms = max(large.terms, 1.0)
        held = np.array(self._frequencies, np.float64)
        rarity = np.log1p(np.maximum(large.records - held + 0.5, 0.5) / (held + 0.5))
        weights = np.where(held > 0, rarity, 0)
        self._weights = weights / max(weights.sum(), 1e-9)

    def cover(self, keys: Keys, lengths: Shares | None = None) -> Shares:
        """Return the share (0 to 1) of the question in each of these records and around it.

        Args:
            keys: of the records, ascending.
            lengths: how many terms each has, where that is known.
        """
        counts = np.zeros((len(keys), len(self._weights)), np.float32)
        if len(self._keys):
            places = np.searchsorted(self._keys, keys)
            known = np.flatnonzero(np.take(self._keys, places, mode="clip") == keys)
            counts[known] = self._counts[places[known]]
        return self._covered(keys, counts, lengths)

    def _covered(self, keys: Keys, counts: Any, lengths: Shares | None = None) -> Shares:
        longer = 1.0 if lengths is None else (lengths / self._mean_terms)[:, None]
        held = np.minimum(1, (K1 + 1) * counts / (counts + K1 * (1 - B + B * longer)))
        shares: Shares = np.minimum(1, _with_neighbours(keys, held)) @ self._weights
        return shares

    def best(self) -> list[int]:
        """Return records in or around which most stands, first those in and around the best.

        One may come twice.
        """
        if not len(self._keys):
            return []
        covered = self._covered(self._keys, self._counts.astype(np.float32))
        best = self._keys[np.argsort(-covered, kind="stable")]
        near = np.unique(best[:MOST_BESIDE, None] + np.array([0, *BESIDE_STEPS]))
        near = near[np.argsort(-self.cover(near), kind="stable")[:MOST_WORDED]]
        return [*near.tolist(), *best[:MOST_LOOKED_AT].tolist()]

    def matches(self, keys: Sequence[int]) -> TermMatches:
        """Return which of these records hold which terms."""
        places = np.flatnonzero(np.isin(self._keys, keys))
        return TermMatches(self._keys[places].tolist(), self._counts[places], self._frequencies)


def _frequencies(postings: Sequence[Postings], large: LargeUser) -> list[int]:
    """Return how many of a user's records hold each term, about, where only the newest are read."""
    newest = max((int(keys[-1]) for keys, _ in postings if len(keys)), default=0)
    return [
        min(large.records, round(len(keys) * (newest - large.first) / (newest - int(keys[0]) + 1)))
        if len(keys) == MOST_HELD
        else len(keys)
        for keys, _ in postings
    ]


class CandidateSearch:
    """Finds what a question may be about among the records of one large user.

    Args:
        connection: a snapshot.
        user: the key of the user.
        where: which records count.
        full_text: the index of terms.
    """

    def __init__(
        self, connection: SqlConnection, user: int, where: Where, full_text: TermCounts
    ) -> None:
        """Ask nothing yet."""
        self._connection, self._user = connection, user
        self._where, self._full_text = where, full_text

    def find(
        self, terms: Sequence[str], vector: Vector | None, attributes: Collection[str], most: int
    ) -> Candidates:
        """Return the candidates for a question, with what stands around them.

        Args:
            terms: of the question.
            vector: of it, float32, shape (dimensions,); ``None`` without a model.
            attributes: the attributes of facts that it may ask for.
            most: how many records may answer.
        """
        # A user who has just become none of them is searched by words.
        large = large_user(self._connection, self._user) or LargeUser(0, 1.0, 0)
        has_vector = vector is not None and len(vector) == large.dimensions
        asked = {"vector": literal_of(vector)} if vector is not None and has_vector else {}
        held = self._full_text.postings(self._connection, self._user, terms, most=MOST_HELD)
        words = QuestionCoverage(terms, held, large)
        like = self._nearest(asked) if asked else []
        keys = self._best(like, words, asked, most)
        keys.update(self._keys(FACTS, attributes=dump(sorted(attributes)), most=MOST_FACTS))
        if asked and len(like) < MOST_LIKE // 2:
            keys.update(self._keys(NEWEST, most=MOST_FILTERED))
        listed = dump(sorted(keys))
        lineage = Lineage(*(self._all(sql, keys=listed) for sql in (SOURCES, REPLACED)))
        keys.update(chain(*lineage.sources, *lineage.replaced))
        around = self._keys(BESIDE_THEM, keys=dump(sorted(keys)), around=AROUND)
        changes = self._read(sorted(keys.union(around)), large.dimensions, lineage)
        matches = words.matches([row.ordinal for row in changes.rows])
        return Candidates(changes, matches, large.records, large.terms, sorted(keys))

    def _all(self, sql: str, **values: Any) -> list[Any]:
        given = self._where.values | {"user": self._user} | values
        sql = sql.format(where=self._where.sql, table=table_of(self._user))
        return self._connection.all(sql, given)

    def _keys(self, sql: str, **values: Any) -> list[int]:
        return [key for (key,) in self._all(sql, **values)]

    def _nearest(self, asked: Mapping[str, str]) -> list[int]:
        """Return the records that are most like the question."""
        plan = {"most": str(MOST_LIKE), "other": "off"}
        self._connection.run(PLAN, plan)
        found = self._keys(NEAREST, **asked, most=MOST_LIKE)
        self._connection.run(PLAN, plan | {"other": "on"})
        return found

    def _best(
        self, like: Sequence[int], words: QuestionCoverage, asked: Mapping[str, str], most: int
    ) -> set[int]:
        """Return the records that pass the filter and may answer the question best.

        Args:
            like: those most like the question.
            words: how much stands in which.
            asked: the vector of the question.
            most: how many records at most.
        """
        beside = (key + step for key in like[:BESIDE_LIKE] for step in BESIDE_STEPS)
        looked_at = dict.fromkeys(chain(like, beside, words.best()))
        first = dump(sorted(islice(looked_at, MOST_LOOKED_AT)))
        compared = {"likeness": LIKENESS, "indexed": INDEXED} if asked else {}
        how = {"likeness": "CAST(0 AS float8)", "indexed": ""} | compared
        sql = FEATURES.replace("{likeness}", how["likeness"]).replace("{indexed}", how["indexed"])
        rows = self._all(sql, keys=first, **asked)
        if len(rows) <= most:
            return {row[0] for row in rows}
        columns = zip(*sorted(rows), strict=True)
        keys, likeness, said, length, terms, in_talk = map(np.array, columns)
        likeness = np.clip(likeness, 0, 1)
        # Of the turns around, those that are not looked at are hardly like it.
        around = np.where(in_talk, _with_neighbours(keys, likeness) / ALL_SHARED, likeness)
        score = likeness + around + WORDS * words.cover(keys, terms)
        score += SAID * said + LENGTH * np.minimum(1, length / FULL_LENGTH)
        return {*keys[np.argsort(-score, kind="stable")[:most]].tolist()}

    def _read(self, keys: Iterable[int], dimensions: int, lineage: Lineage) -> IndexChanges:
        """Return these records as ranking reads them."""
        listed = dump(list(keys))
        rows = read_index_rows(self._connection, self._all(CANDIDATE_ROWS, keys=listed))
        embedded = self._all(CANDIDATE_VECTORS, keys=listed)
        ordinals, vectors = read_vectors(self._connection, embedded, dimensions)
        return IndexChanges(
            IndexVersion(),
            reset=True,
            rows=rows,
            revised=[],
            ordinals=ordinals,
            vectors=vectors,
            lineage=lineage,
        )
