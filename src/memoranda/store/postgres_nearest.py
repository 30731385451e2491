"""Candidates of a search on PostgreSQL, of users with too many records to rank them all.

Such a user has a table of vectors with an index of pgvector (HNSW), and counts of the terms that
stand in many of their records. From these, and the index of terms, comes what a question may be
about; with what stands around it, that is ranked as the records of any other user are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from memoranda.store.postgres_terms import TermVectors
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.reads import (
    CANDIDATE_ROWS,
    CANDIDATE_VECTORS,
    Where,
    read_index_rows,
    read_vectors,
)
from memoranda.store.sql.rows import STORED_FLOAT, dump
from memoranda.store.sql.store import match_postings

T = TypeVar("T")
# Records that are most like a question, and that hold most of its words, at most; those of them
# that are candidates; and what a filter leaves, if that is little.
MOST_LIKE = 200
MOST_WORDED = 800
MOST_LOOKED_AT = MOST_LIKE + MOST_WORDED
MOST_CANDIDATES = 120
# Of the first of them, those with the next keys may answer, too: mostly the next turns.
MOST_BESIDE = 40
BESIDE_STEPS = (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5)
MOST_FILTERED = 2_000
# Facts with the attributes that a question asks for, the newest first.
MOST_FACTS = 100
# Places in a session, or keys, up to which records stand around a candidate.
AROUND = 5
AROUND_KEYS = 6
# A term that more records hold is common: what it says of a record is looked up, but it finds none.
COMMON = 5_000
# Records that are compared by the rarer words that they hold.
MOST_HELD = 20_000
# Of the common ones, the rarest that find records two by two, and how many these are at most.
RAREST = 4
MOST_PAIRS = 1_000
# As in the ranking, about: what a term counts that stands once, what the turns around a turn share
# with it, and what evidence of words, of who says it and of how much weighs beside likeness.
K1 = 1.2
SHARED = (0.7, 0.5, 0.35, 0.25, 0.17)
WORDS, SAID, LENGTH, FULL_LENGTH = 0.9, 0.1, 0.2, 200
# Vectors that are copied at once into a table, and bytes that the making of its index may take.
AT_ONCE = 10_000
MOST_MEMORY = 2 * 2**30
# What a vector takes in the index beside its numbers.
BESIDE = 600

LARGE = "SELECT records, terms, dimensions FROM large_users WHERE user_key = :user"
PLAN = """
SELECT set_config('hnsw.ef_search', :most, TRUE),
    set_config('hnsw.iterative_scan', 'relaxed_order', TRUE),
    set_config('enable_seqscan', :other, TRUE), set_config('enable_sort', :other, TRUE),
    set_config('enable_hashjoin', :other, TRUE), set_config('enable_mergejoin', :other, TRUE)
"""
NEAREST = """
SELECT n.record_key FROM {table} n JOIN records r ON r.key = n.record_key
WHERE r.kind <> 'item' AND {where}
ORDER BY n.embedding <#> CAST(:vector AS halfvec) LIMIT :most
"""
LIKENESS = "coalesce(-(n.embedding <#> CAST(:vector AS halfvec)), 0)"
INDEXED = "LEFT JOIN {table} n ON n.record_key = r.key"
FEATURES = f"""
SELECT r.key, {LIKENESS}, CASE WHEN r.source_role = 'user' THEN 1 ELSE 0 END, length(r.content)
FROM records r {INDEXED} WHERE r.kind <> 'item' AND r.key IN (@ints(:keys)) AND {{where}}
"""
# Where there is no vector to compare with.
PLAIN_FEATURES = FEATURES.replace(LIKENESS, "CAST(0 AS float8)").replace(INDEXED, "")
TERMS = "SELECT term, records FROM common_terms WHERE user_key = :user AND term IN (@texts(:terms))"
FACTS = """
SELECT r.key FROM records r WHERE r.user_key = :user AND r.attribute IN (@texts(:attributes))
    AND r.kind = 'fact' AND r.superseded_by IS NULL AND {where} ORDER BY r.key DESC LIMIT :most
"""
FILTERED = "SELECT r.key FROM records r WHERE r.kind <> 'item' AND {where}"
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
    AND n.kind = 'episode' AND n.key BETWEEN c.key - :around_keys AND c.key + :around_keys
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
    AND c.session_id IS NULL
"""

TO_INDEX = """
SELECT key, name, vector_seq FROM users WHERE vector_seq > :most AND name IS NOT NULL ORDER BY key
"""
IS_DUE = """
SELECT NOT EXISTS (
        SELECT 1 FROM large_users WHERE user_key = :user AND counted_at >= :grown * :newest)
    AND (SELECT count(*) FROM vectors WHERE user_key = :user) > :most
"""
MAKE = """
CREATE TABLE {table} (
    user_key bigint NOT NULL DEFAULT {user},
    record_key bigint PRIMARY KEY,
    embedding halfvec({dimensions}) NOT NULL,
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
)
"""
NEEDED = (
    "users with too many memories for that are ranked in memory all the same; let an administrator "
    "run CREATE EXTENSION vector (pgvector 0.7 or newer), and the owner of the tables a worker"
)
UNSAMPLED = "ALTER TABLE {table} ALTER COLUMN embedding SET STATISTICS 0"
INDEX = "CREATE INDEX ON {table} USING hnsw (embedding halfvec_ip_ops)"
NEXT_VECTORS = """
SELECT v.seq, v.record_key, v.embedding FROM vectors v JOIN records r ON r.key = v.record_key
WHERE v.user_key = :user AND r.user_key = :user AND v.seq > :seq AND r.kind <> 'item'
ORDER BY v.seq LIMIT :most
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
COUNT_TERMS = """
INSERT INTO common_terms (user_key, term, records)
SELECT :user, substr(word, length(:prefix) + 1), ndoc FROM ts_stat(:texts) WHERE ndoc > :common
"""


COPY = "COPY {table} (record_key, embedding) FROM STDIN (FORMAT BINARY)"


class LargeUser(NamedTuple):
    """What is known of a user whose candidates come from the database.

    Attributes:
        records: how many they have.
        terms: how many terms one has, in the mean.
        dimensions: of the vectors that are indexed.
    """

    records: int
    terms: float
    dimensions: int


class WritingStore(Protocol):
    """What runs a part of the work in a transaction of its own."""

    def write_as(self, scope: Scope | None, work: Callable[[Any], T]) -> T:
        """Do ``work`` in a transaction that only writers of the scope's user wait for.

        It is of who logged in: nothing limits it to the rows of the user.
        """

    def protect(self, connection: SqlConnection, table: str) -> None:
        """Limit transactions to the rows of their user in a new table, if in others they are."""

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""


def table_of(user: int) -> str:
    """Return the table of a large user's vectors."""
    return f"nearest_{user:d}"


def large_user(connection: SqlConnection, user: int) -> LargeUser | None:
    """Return what is known of a user, if their candidates come from the database."""
    row = connection.one(LARGE, {"user": user})
    return None if row is None else LargeUser(*row)


def drop(connection: SqlConnection, users: Iterable[int]) -> None:
    """Remove what was prepared for these users. Only their owner could drop their tables."""
    for user in users:
        if large_user(connection, user) is not None:
            for table in (table_of(user), "large_users", "common_terms"):
                connection.run(f"DELETE FROM {table} WHERE user_key = :user", {"user": user})


def put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    """Add vectors to the index of a user, if there is one: float16 bytes by the key of a record."""
    if vectors and large_user(connection, user) is not None:
        _put(connection, user, vectors)


def _put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    rows = [
        {"user": user, "key": key, "vector": _literal(np.frombuffer(blob, STORED_FLOAT))}
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
        drop(connection, [user])
        connection.run(f"DROP TABLE IF EXISTS {table}")
        connection.run("CREATE EXTENSION IF NOT EXISTS vector")
        connection.run(MAKE.format(table=table, user=user, dimensions=dimensions))
        connection.run(UNSAMPLED.format(table=table))
        store.protect(connection, table)
        return True

    def fill(connection: Any) -> int | None:
        rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": AT_ONCE})
        vectors = ((key, _binary(blob)) for _, key, blob in rows)
        connection.copy(COPY.format(table=table), vectors, ("int8", "bytea"))
        return rows[-1][0] if rows else None

    def build(connection: Any) -> None:
        size = connection.value(f"SELECT count(*) FROM {table}") * (2 * dimensions + BESIDE)
        memory = {"memory": f"{min(MOST_MEMORY, max(64 * 2**20, size)) >> 10}kB"}
        connection.all("SELECT set_config('maintenance_work_mem', :memory, TRUE)", memory)
        connection.run(INDEX.format(table=table))

    def finish(connection: Any) -> None:
        if is_new:
            rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": None})
            _put(connection, user, {key: blob for _, key, blob in rows})
        connection.run(COUNT, {"user": user, "dimensions": dimensions})

    def count_terms(connection: Any) -> None:
        values = {"user": user, "prefix": f"{user}:", "common": COMMON}
        values["texts"] = f"SELECT terms FROM record_terms WHERE user_key = {user:d}"
        connection.run("DELETE FROM common_terms WHERE user_key = :user", values)
        connection.run(COUNT_TERMS, values)

    last = 0
    is_new = store.write_as(scope, make)
    if is_new:
        while (filled := store.write_as(scope, fill)) is not None:
            last = filled
        store.write_as(None, build)
    store.write_as(None, count_terms)
    store.write_as(scope, finish)


def _binary(blob: bytes) -> bytes:
    """Return a vector as pgvector takes a ``halfvec``."""
    numbers = np.frombuffer(blob, STORED_FLOAT)
    return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.astype(">f2").tobytes()


def _literal(vector: NDArray[Any]) -> str:
    return json.dumps(vector.tolist(), separators=(",", ":"))


def _with_neighbours(keys: NDArray[np.int64], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return evidence of records with what those with the next keys share: mostly the next turns.

    Args:
        keys: of the records, ascending.
        evidence: of each.
    """
    found = evidence.copy()
    for step, share in enumerate(SHARED, 1):
        after = np.searchsorted(keys, keys + step)
        before = np.flatnonzero(np.take(keys, after, mode="clip") == keys + step)
        found[after[before]] += share * evidence[before]
        found[before] += share * evidence[after[before]]
    return found


class CandidateSearch:
    """Finds what a question may be about among the records of one large user.

    Args:
        connection: a snapshot.
        user: the key of the user.
        where: which records count.
        large: what is known of the user.
        full_text: the index of terms.
    """

    def __init__(
        self,
        connection: SqlConnection,
        user: int,
        where: Where,
        large: LargeUser,
        full_text: TermVectors,
    ) -> None:
        """Ask nothing yet."""
        self._connection, self._user, self._large = connection, user, large
        self._where, self._full_text = where, full_text

    def find(
        self, terms: Sequence[str], vector: Vector | None, attributes: Collection[str]
    ) -> Candidates:
        """Return the candidates for a question, with what stands around them.

        Args:
            terms: of the question.
            vector: of it, float32, shape (dimensions,); ``None`` without a model.
            attributes: the attributes of facts that it may ask for.
        """
        if vector is not None and len(vector) != self._large.dimensions:
            vector = None
        literal = None if vector is None else _literal(vector)
        common_terms = self._ask(TERMS, terms=dump(list(terms)))
        nearest = self._ask_nearest(literal)
        facts = self._ask(FACTS, attributes=dump(sorted(attributes)), most=MOST_FACTS)
        common: dict[str, int] = dict(common_terms())
        rare = [term for term in terms if term not in common]
        holding = self._full_text.ask_postings(self._connection, self._user, rare)
        like = [key for (key,) in nearest()]
        postings = holding()
        held = {term: len(each.keys) for term, each in zip(rare, postings, strict=True)} | common
        frequencies = [held[term] for term in terms]
        covered = self._covered(rare, postings, common)
        keys = self._best(like, covered, literal) | {key for (key,) in facts()}
        if literal is not None and len(like) < MOST_LIKE // 2:
            newest = f"{FILTERED} ORDER BY r.key DESC LIMIT :most"
            keys |= self._keys(newest, most=MOST_FILTERED)
        lineage = self._lineage(keys)
        keys |= {key for each in lineage for pair in each for key in pair}
        beside = self._beside(keys)
        return self._read(sorted(keys), sorted(keys | beside), terms, frequencies, lineage)

    def _ask(self, sql: str, **values: Any) -> Callable[[], Any]:
        given = self._where.values | {"user": self._user} | values
        sql = sql.format(where=self._where.sql, table=table_of(self._user))
        return self._connection.ask(sql, given)

    def _keys(self, sql: str, **values: Any) -> set[int]:
        return {key for (key,) in self._ask(sql, **values)()}

    def _lineage(self, keys: Collection[int]) -> list[list[tuple[int, int]]]:
        listed = dump(sorted(keys))
        return [read() for read in [self._ask(sql, keys=listed) for sql in (SOURCES, REPLACED)]]

    def _beside(self, keys: Collection[int]) -> set[int]:
        around = {"around": AROUND, "around_keys": AROUND_KEYS}
        return self._keys(BESIDE_THEM, keys=dump(sorted(keys)), **around)

    def _ask_nearest(self, literal: str | None) -> Callable[[], Any]:
        """Ask for the records that are most like the question."""
        if literal is None:
            return list
        plan = {"most": str(MOST_LIKE), "other": "off"}
        self._connection.run(PLAN, plan)  # The index gives them in order, if it is used.
        found = self._ask(NEAREST, vector=literal, most=MOST_LIKE)
        self._connection.run(PLAN, plan | {"other": "on"})
        return found

    def _covered(
        self, rare: Sequence[str], postings: Sequence[Any], common: Mapping[str, int]
    ) -> dict[int, float]:
        """Return the share (0 to 1) of the question in records that hold its words.

        Those first in or around which most of it stands.
        """
        matches = match_postings(rare, postings, limit=MOST_HELD)
        rarest = sorted(common, key=lambda term: (common[term], term))[:RAREST]
        if len(matches.ordinals) < MOST_WORDED and len(rarest) > 1:
            pairs = self._full_text.pairs(self._user, rarest)
            held = self._keys(self._full_text.matching_pairs, pairs=pairs, most=MOST_PAIRS) | {
                *matches.ordinals
            }
            terms = [*rare, *rarest]
            counts = [len(each.keys) for each in postings] + [common[term] for term in rarest]
            matches = self._ask_matches(sorted(held), terms, counts)()
        keys = np.array(matches.ordinals, np.int64)
        covered = self._coverage(matches)
        best = np.argsort(-np.minimum(1, _with_neighbours(keys, covered)), kind="stable")
        return dict(zip(keys[best].tolist(), covered[best].tolist(), strict=True))

    def _coverage(self, matches: TermMatches) -> NDArray[np.float64]:
        """Return the share (0 to 1) of the question in each record, by how rare its words are."""
        held = np.array(matches.frequencies, np.float64)
        rarity = np.log1p(np.maximum(self._large.records - held + 0.5, 0.5) / (held + 0.5))
        weights = np.where(held > 0, rarity, 0)
        share = (matches.counts / (matches.counts + K1)) @ weights
        covered: NDArray[np.float64] = share * (1 + K1) / max(weights.sum(), 1e-9)
        return covered

    def _best(
        self, like: Sequence[int], covered: Mapping[int, float], literal: str | None
    ) -> set[int]:
        """Return the records that pass the filter and may answer the question best."""
        sql, asked = PLAIN_FEATURES, {}
        if literal is not None:
            sql, asked = FEATURES, {"vector": literal}
        first = [*like[:MOST_BESIDE], *list(covered)[:MOST_BESIDE]]
        beside = (key + step for key in first for step in BESIDE_STEPS)
        ranked = list(dict.fromkeys([*like, *beside, *covered]))
        rows: list[Any] = []
        for start in range(0, len(ranked), MOST_LOOKED_AT):
            part = ranked[start : start + MOST_LOOKED_AT]
            rows += self._ask(sql, keys=dump(sorted(part)), **asked)()
            if len(rows) >= MOST_WORDED // 2:
                break
        if len(rows) <= MOST_CANDIDATES:
            return {row[0] for row in rows}
        keys, likeness, said, length = (np.array(each) for each in zip(*sorted(rows), strict=True))
        likeness = np.clip(likeness, 0, 1)
        around = _with_neighbours(keys, likeness) / _with_neighbours(keys, np.ones(len(keys)))
        held = np.array([covered.get(key, 0.0) for key in keys.tolist()])
        score = likeness + around + WORDS * np.minimum(1, _with_neighbours(keys, held))
        score += SAID * said + LENGTH * np.minimum(1, length / FULL_LENGTH)
        return {*keys[np.argsort(-score, kind="stable")[:MOST_CANDIDATES]].tolist()}

    def _ask_matches(
        self, keys: Sequence[int], terms: Sequence[str], frequencies: Sequence[int]
    ) -> Callable[[], TermMatches]:
        """Ask which of these records hold which terms."""
        asked = self._full_text.ask_postings(self._connection, self._user, terms, among=keys)

        def read() -> TermMatches:
            matches = match_postings(terms, asked(), limit=len(keys))
            return TermMatches(matches.ordinals, matches.counts, frequencies)

        return read

    def _read(
        self,
        answers: Sequence[int],
        keys: Sequence[int],
        terms: Sequence[str],
        frequencies: Sequence[int],
        lineage: Sequence[Sequence[tuple[int, int]]],
    ) -> Candidates:
        """Return these records as ranking reads them."""
        listed = dump(list(keys))
        records = self._ask(CANDIDATE_ROWS, keys=listed)
        embedded = self._ask(CANDIDATE_VECTORS, keys=listed)
        matches = self._ask_matches(keys, terms, frequencies)
        rows = read_index_rows(self._connection, records())
        dimensions = self._large.dimensions
        ordinals, vectors = read_vectors(self._connection, embedded(), dimensions)
        changes = IndexChanges(
            IndexVersion(),
            reset=True,
            rows=rows,
            revised=[],
            ordinals=ordinals,
            vectors=vectors,
            lineage=Lineage(*lineage),
        )
        return Candidates(changes, matches(), self._large.records, self._large.terms, answers)
