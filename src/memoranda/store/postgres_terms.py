"""The full-text index on PostgreSQL: our own terms in ``tsvector`` columns, found by GIN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.model.checks import content_hash
from memoranda.store.postgres_term_lists import drop_all_lists, note_removed
from memoranda.store.sql.database import MOST_COUNTED, Postings, SqlConnection
from memoranda.store.sql.rows import dump

# Characters of a term that is indexed as it is; a lexeme has room for 2,046 bytes.
LONGEST = 500
# Bytes of one vector, of at most 1,048,575; of a character at most; of a term beside its text.
FULL = 900_000
WIDEST = 4
BESIDE = 4
# Positions in a text, by how often a term stands in it: which they are does not matter.
PLACES = [",".join(map(str, range(1, count + 1))) for count in range(MOST_COUNTED + 1)]
ADD = "INSERT INTO record_terms (user_key, record_key, terms) VALUES (:user, :key, :terms)"
# Of each record that holds any of the terms, its key, and how often it holds each. With one number
# for all weights, `ts_rank` tells how often a record holds a query's only term.
POSTINGS = "SELECT string_agg(int8send(record_key), ''){times} FROM {matching}"
TIMES = ", string_agg(float4send(ts_rank('{{1, 1, 1, 1}}', terms, CAST(:term{} AS tsquery))), '')"
MATCHING = "record_terms WHERE user_key = :user AND terms @@ CAST(:any AS tsquery)"
# Where transactions are limited to the rows of a user, see postgres_roles.py.
LIMITED = "terms_matching(:user, CAST(:any AS tsquery))"
LATER = """
WITH record_terms AS MATERIALIZED (
    SELECT t.user_key, t.record_key, t.terms FROM records r
    JOIN record_terms t ON t.user_key = :user AND t.record_key = r.key
    WHERE r.user_key = :user AND r.key > :after)
"""
HOLDS = """
SELECT count(DISTINCT place)
FROM unnest(CAST(:queries AS tsquery[])) WITH ORDINALITY AS asked (query, place)
JOIN record_terms ON terms @@ query AND user_key = :user AND record_key = :key
"""
# The rank of a term that stands n times in a text is the sum of 1/k² up to n, by that of all k:
# see `calc_rank_or` in PostgreSQL's tsrank.c. Between that of n and n + 1 lies the n-th limit.
RANKS = np.cumsum(1 / np.arange(1, MOST_COUNTED + 1) ** 2) / 1.64493406685
LIMITS = (RANKS[:-1] + RANKS[1:]) / 2


class TermVectors:
    """Finds records by their terms. Each stands in the index with the key of its user before it.

    So a query never walks through what others have.

    Args:
        limited: whether transactions are limited to the rows of a user.
    """

    def __init__(self, *, limited: bool = False) -> None:
        """Choose by what terms are found."""
        self._matching = LIMITED if limited else MATCHING

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        connection.run_many(
            ADD,
            (
                (user, key, vector)
                for key, user, terms in rows
                for vector in _vectors(user, terms.split())
            ),
        )

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        sql = "DELETE FROM record_terms WHERE user_key = :user AND record_key IN (@ints(:keys))"
        connection.run(sql, {"user": user, "keys": dump(list(keys))})
        note_removed(connection, user, len(keys))

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        connection.run("DELETE FROM record_terms")
        drop_all_lists(connection)

    def postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str]
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often."""
        return self.ask_postings(connection, user, terms)()

    def ask_postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str], after: int | None = None
    ) -> Callable[[], list[Postings]]:
        """Send what asks the same, and return what waits for it.

        Of the records with keys ``after`` one alone, if it is given.
        """
        if not terms:
            return list
        lexemes = [*_lexemes(user, terms)]
        values = {"user": user, "any": " | ".join(lexemes), "after": after}
        values |= {f"term{place}": lexeme for place, lexeme in enumerate(lexemes)}
        times = "".join(map(TIMES.format, range(len(terms))))
        sql = POSTINGS.format(times=times, matching=self._matching if after is None else MATCHING)
        asked = connection.ask(sql if after is None else LATER + sql, values)

        def read() -> list[Postings]:
            row: Any = asked()[0]
            keys, *ranks = row
            held = np.frombuffer(keys or b"", ">i8").astype(np.int64)
            return [_postings(held, each or b"") for each in ranks]

        return read

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""
        return {row[0] for row in connection.all("SELECT record_key FROM record_terms")}

    def holds(self, connection: SqlConnection, key: int, user: int, terms: Sequence[str]) -> bool:
        """Return whether a record is indexed under each of these terms."""
        values = {"user": user, "key": key, "queries": [*_lexemes(user, terms)]}
        return bool(connection.value(HOLDS, values) == len(terms))


def _vectors(user: int, terms: Sequence[str]) -> Iterator[str]:
    """Return the terms of a text as PostgreSQL reads a ``tsvector``; several, if it is long."""
    counts = Counter(terms)
    placed = [
        f"{lexeme}:{PLACES[min(count, MOST_COUNTED)]}"
        for count, lexeme in zip(counts.values(), _lexemes(user, counts), strict=True)
    ]
    whole = " ".join(placed)
    if WIDEST * len(whole) + BESIDE * len(placed) <= FULL:
        if whole:
            yield whole
        return
    vector: list[str] = []
    size = 0
    for each in placed:
        more = len(each.encode()) + BESIDE
        if size + more > FULL:
            yield " ".join(vector)
            vector, size = [], 0
        vector.append(each)
        size += more
    yield " ".join(vector)


def _lexemes(user: int, terms: Iterable[str]) -> Iterator[str]:
    """Return terms of a user as PostgreSQL reads them: a hash of one that is too long."""
    for term in terms:
        kept = term if len(term) <= LONGEST else content_hash(term)
        if not kept.isalnum():
            kept = kept.replace("\\", "\\\\").replace("'", "''")
        yield f"'{user}:{kept}'"


def _postings(keys: NDArray[np.int64], ranks: bytes) -> Postings:
    """Return which of these records hold a term, in order and each once, and how often."""
    rank = np.frombuffer(ranks, ">f4")
    held, places = np.unique(keys[rank > 0], return_inverse=True)
    times = np.searchsorted(LIMITS, rank[rank > 0]) + 1
    return Postings(held, np.bincount(places, times, len(held)).astype(np.int64))
