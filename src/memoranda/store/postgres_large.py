"""The search of users with too many records on PostgreSQL to rank them all in memory.

Each has a table of vectors with an index of pgvector (HNSW). The candidates for a question are the
nearest by that index and those that hold most of the question's words; with what stands around
them, they are ranked as the records of any other user are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

import numpy as np

from memoranda.model import query
from memoranda.store.postgres_terms import TermCounts
from memoranda.store.sql.database import Row, SqlConnection
from memoranda.store.sql.index_reads import MEMORIES, SOME, THEIR_VECTORS, IndexReader
from memoranda.store.sql.reads import BEYOND, SqlConditions
from memoranda.store.sql.rows import STORED_FLOAT, dump
from memoranda.store.sql.store import Store

# Vectors that are copied at once into a table.
AT_ONCE = 10_000
# Records looked at that hold a term: the newest. A term of more says little of any.
MOST_HELD = 30_000
# Records that are looked at by the words of a question, the rarest first, and by their vectors.
MOST_MATCHES, MOST_WORDED, MOST_LIKE = 20_000, 100, 80
# Records that a narrow filter leaves, and facts with the attributes that a question asks for.
MOST_FILTERED, MOST_FACTS = 2_000, 100
# Places in a session up to which turns stand around a candidate.
AROUND = 6

LARGE = """
SELECT greatest(l.records, u.vector_seq), l.terms, l.dimensions,
    (SELECT min(key) FROM records r WHERE r.user_key = :user)
FROM large_users l JOIN users u ON u.key = l.user_key
WHERE l.user_key = :user
"""
TO_INDEX = """
SELECT u.key FROM users u LEFT JOIN large_users l ON l.user_key = u.key
WHERE u.vector_seq > :most AND u.name IS NOT NULL AND l.user_key IS NULL
    AND (SELECT count(*) FROM vectors v WHERE v.user_key = u.key) > :most
ORDER BY u.key
"""
LOCK_USER = "SELECT 1 FROM users WHERE key = :user FOR NO KEY UPDATE"
MAKE = (
    "DROP TABLE IF EXISTS {table}",
    "CREATE EXTENSION IF NOT EXISTS vector",
    """
    CREATE TABLE {table} (
        user_key bigint NOT NULL DEFAULT {user},
        record_key bigint PRIMARY KEY,
        embedding halfvec({dimensions}) NOT NULL,
        FOREIGN KEY (user_key, record_key) REFERENCES vectors (user_key, record_key)
            ON DELETE CASCADE
    )
    """,
)
NEEDED = (
    "users with too many memories for that are ranked in memory all the same; let an administrator "
    "run CREATE EXTENSION vector (pgvector 0.7 or newer), and the owner of the tables a worker"
)
# An index that does not fit into it is made at a tenth of the speed.
MEMORY = "SET LOCAL maintenance_work_mem = '2GB'"
INDEX = "CREATE INDEX ON {table} USING hnsw (embedding halfvec_ip_ops)"
NEWEST_VECTOR = "SELECT vector_seq FROM users WHERE key = :user"
NEXT_VECTORS = """
SELECT record_key, embedding FROM vectors
WHERE user_key = :user AND seq > :seq AND seq <= :through
"""
PUT = """
INSERT INTO {table} (record_key, embedding)
SELECT r.key, CAST(:vector AS halfvec) FROM records r
JOIN vectors v ON v.user_key = :user AND v.record_key = r.key
WHERE r.user_key = :user AND r.key = :key AND r.kind <> 'item'
ON CONFLICT (record_key) DO UPDATE SET embedding = excluded.embedding
"""
# Its vectors leave the table of a user by themselves.
DROP = "DELETE FROM large_users WHERE user_key = coalesce(CAST(:user AS bigint), user_key)"
COUNT = """
INSERT INTO large_users (user_key, dimensions, counted_at, records, terms)
SELECT :user, :dimensions, 0, count(*), coalesce(avg(term_count), 1)
FROM records WHERE user_key = :user AND kind <> 'item' AND closed_at IS NULL HAVING count(*) > 0
ON CONFLICT (user_key) DO UPDATE SET dimensions = excluded.dimensions,
    records = excluded.records, terms = excluded.terms
"""
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
PASSING = "SELECT r.key FROM records r WHERE r.kind <> 'item' AND {where}"
CHOSEN = f"{PASSING} AND r.key IN (@ints(:keys))"
NEWEST = f"{PASSING} ORDER BY r.key DESC LIMIT :most"
FACTS = f"""
{PASSING} AND r.user_key = :user AND r.attribute IN (@texts(:attributes))
    AND r.kind = 'fact' AND r.superseded_by IS NULL ORDER BY r.key DESC LIMIT :most
"""
TURNS_AROUND = """
SELECT n.key FROM records c JOIN records n ON n.user_key = :user AND n.session_id = c.session_id
    AND n.position BETWEEN c.position - :around AND c.position + :around
WHERE c.user_key = :user AND c.key IN (@ints(:keys)) AND c.kind = 'episode'
"""


def large_user(connection: SqlConnection, user: int) -> Row | None:
    """Return what is known of a user, the columns of ``LARGE``, if candidates answer them."""
    return connection.one(LARGE, {"user": user})


def put_vectors(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    """Add vectors to the table of a user: float16 bytes by the key of a record."""
    rows = [
        {"user": user, "key": key, "vector": literal_of(np.frombuffer(blob, STORED_FLOAT))}
        for key, blob in vectors.items()
    ]
    connection.run_many(PUT.format(table=f"nearest_{user:d}"), rows)


def index_user(store: Store, user: int) -> None:
    """Prepare the search of a large user.

    Writers of the user wait no longer than one part of it takes. What is erased meanwhile leaves
    the new table, too; what is added meanwhile comes at the end.
    """
    _, dimensions = store.vector_model() or ("", 0)
    made = {"table": f"nearest_{user:d}", "user": user, "dimensions": dimensions}

    def copy_vectors(connection: SqlConnection, seq: int, through: int) -> None:
        values = {"user": user, "seq": seq, "through": through}
        put_vectors(connection, user, dict(connection.all(NEXT_VECTORS, values)))

    with store.transact() as connection:
        for sql in MAKE:
            connection.change(sql.format(**made))
        newest = connection.value(NEWEST_VECTOR, made)
    for seq in range(0, newest, AT_ONCE):
        with store.transact() as connection:
            copy_vectors(connection, seq, min(seq + AT_ONCE, newest))
    with store.transact() as connection:
        connection.run(MEMORY)
        connection.run(INDEX.format(**made))
    with store.transact() as connection:
        connection.run(LOCK_USER, {"user": user})
        copy_vectors(connection, newest, BEYOND)
        connection.run(COUNT, {"user": user, "dimensions": dimensions})


def literal_of(vector: query.Vector) -> str:
    """Return a vector as pgvector reads it."""
    return json.dumps(vector.tolist(), separators=(",", ":"))


def _frequencies(postings: Sequence[query.Postings], records: int, first: int) -> list[int]:
    """Return how many of a user's records hold each term, about, where only the newest are read.

    Args:
        postings: of each term.
        records: how many the user has, about.
        first: the key of the oldest.
    """
    newest = max((int(keys[-1]) for keys, _ in postings if len(keys)), default=0)
    return [
        min(records, round(len(keys) * (newest - first) / (newest - int(keys[0]) + 1)))
        if len(keys) == MOST_HELD
        else len(keys)
        for keys, _ in postings
    ]


def find_candidates(
    connection: SqlConnection, user: int, where: SqlConditions, question: query.CandidateQuery
) -> query.Candidates:
    """Return what a question may be about among a large user's records, and what is around it.

    Args:
        connection: a snapshot.
        user: the key of the user.
        where: which records count.
        question: what is asked.
    """
    values = where.values | {"user": user}

    def keys_of(sql: str, **others: Any) -> list[int]:
        sql = sql.format(where=where.sql, table=f"nearest_{user:d}")
        return [key for (key,) in connection.all(sql, values | others)]

    def nearest(vector: query.Vector) -> list[int]:
        plan = {"most": str(MOST_LIKE), "other": "off"}
        connection.run(PLAN, plan)
        found = keys_of(NEAREST, vector=literal_of(vector), most=MOST_LIKE)
        connection.run(PLAN, plan | {"other": "on"})
        return found

    # A user who has just become none of them is searched by words.
    records, terms, dimensions, first = large_user(connection, user) or (0, 1.0, 0, 0)
    held = TermCounts().postings(connection, user, question.terms, most=MOST_HELD)
    frequencies = _frequencies(held, records, first or 0)
    joined = query.TermMatches.join(question.terms, held, MOST_MATCHES)
    covered = np.minimum(joined.counts, 1) @ np.log1p(records / (np.array(frequencies) + 1))
    worded = joined.ordinals[np.argsort(-covered, kind="stable")[:MOST_WORDED]].tolist()
    passing = {*keys_of(CHOSEN, keys=dump(sorted(worded)))}
    vector = question.vector
    like = [] if vector is None or len(vector) != dimensions else nearest(vector)
    ranked = chain(*zip_longest(like, (each for each in worded if each in passing)))
    keys = {*islice(dict.fromkeys(each for each in ranked if each), 2 * question.most)}
    keys.update(keys_of(FACTS, attributes=dump(sorted(question.attributes)), most=MOST_FACTS))
    if len(like) < MOST_LIKE // 2:
        keys.update(keys_of(NEWEST, most=MOST_FILTERED))
    reader = IndexReader(connection, values)
    lineage = reader.lineage(SOME, keys=dump(sorted(keys)))
    keys.update(chain(*lineage.sources, *lineage.replaced))
    keys.update(keys_of(TURNS_AROUND, keys=dump(sorted(keys)), around=AROUND))
    chosen = dump(sorted(keys))
    rows = reader.rows(f"{SOME} AND {MEMORIES}", 0, max(keys, default=0), keys=chosen)
    vectors, names = reader.vectors(THEIR_VECTORS, keys=chosen), [*reader.numbers]
    version = query.IndexVersion()
    changes = query.IndexChanges(
        version, rows, rows[:0], names, vectors, lineage, reader.model, reset=True
    )
    there = np.isin(joined.ordinals, rows["ordinal"])
    matches = query.TermMatches(joined.ordinals[there], joined.counts[there], frequencies)
    return query.Candidates(changes, matches, records, terms, sorted(keys))
