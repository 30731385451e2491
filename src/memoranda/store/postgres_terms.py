"""The full-text index on PostgreSQL: our own terms in ``tsvector`` columns, found by GIN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from memoranda.model.checks import content_hash
from memoranda.store.sql.database import MOST_COUNTED, Postings, SqlConnection
from memoranda.store.sql.rows import dump

# Characters of a term that is indexed as it is; a lexeme has room for 2,046 bytes.
LONGEST = 500
# Bytes of one vector, of at most 1,048,575.
FULL = 900_000
ADD = "INSERT INTO record_terms (user_key, record_key, terms) VALUES (:user, :key, :terms)"
# By the offset the planner sees that each query is one of few, and uses the index for it.
MATCHING = """(
    SELECT record_key, terms FROM record_terms
    WHERE terms @@ query AND user_key = :user OFFSET 0)"""
# Where transactions are limited to the rows of a user, see postgres_roles.py.
LIMITED = "terms_matching(:user, query, NULL)"
# With one number for all weights, `ts_rank` tells how often a record holds a query's only term.
POSTINGS = """
SELECT place, string_agg(int8send(record_key), ''), string_agg(
    float4send(ts_rank('{1, 1, 1, 1}', terms, query)), '')
FROM unnest(CAST(:queries AS tsquery[])) WITH ORDINALITY AS asked (query, place)
JOIN LATERAL {matching} held ON TRUE
GROUP BY place
"""
POSTINGS_AMONG = f"""
WITH record_terms AS MATERIALIZED (
    SELECT user_key, record_key, terms FROM record_terms
    WHERE user_key = :user AND record_key IN (@ints(:keys)))
{POSTINGS}""".replace("{matching}", MATCHING)
PAIRS = """
SELECT record_key FROM record_terms WHERE user_key = :user AND terms @@ CAST(:pairs AS tsquery)
LIMIT :most
"""
LIMITED_PAIRS = "SELECT record_key FROM terms_matching(:user, CAST(:pairs AS tsquery), :most)"
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
        self._postings = POSTINGS.replace("{matching}", LIMITED if limited else MATCHING)
        self.matching_pairs = LIMITED_PAIRS if limited else PAIRS

    def add(self, connection: SqlConnection, rows: Sequence[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        connection.run_many(
            ADD,
            [
                {"user": user, "key": key, "terms": vector}
                for key, user, terms in rows
                for vector in _vectors(user, terms.split())
            ],
        )

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        sql = "DELETE FROM record_terms WHERE user_key = :user AND record_key IN (@ints(:keys))"
        connection.run(sql, {"user": user, "keys": dump(list(keys))})

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        connection.run("DELETE FROM record_terms")

    def postings(
        self,
        connection: SqlConnection,
        user: int,
        terms: Sequence[str],
        among: Sequence[int] | None = None,
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often.

        Of the records with the keys ``among``, if these are given.
        """
        values = {"user": user, "queries": _lexemes(user, terms), "keys": dump(list(among or ()))}
        sql = self._postings if among is None else POSTINGS_AMONG
        found = {row[0]: row[1:] for row in connection.all(sql, values)}
        return [_postings(*found.get(place, (b"", b""))) for place in range(1, len(terms) + 1)]

    def pairs(self, user: int, terms: Sequence[str]) -> str:
        """Return a ``tsquery`` for what holds two of these terms."""
        return " | ".join(" & ".join(pair) for pair in combinations(_lexemes(user, terms), 2))

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""
        return {row[0] for row in connection.all("SELECT record_key FROM record_terms")}

    def holds(self, connection: SqlConnection, key: int, user: int, terms: Sequence[str]) -> bool:
        """Return whether a record is indexed under each of these terms."""
        values = {"user": user, "key": key, "queries": _lexemes(user, terms)}
        return bool(connection.value(HOLDS, values) == len(terms))


def _vectors(user: int, terms: Sequence[str]) -> Iterator[str]:
    """Return the terms of a text as PostgreSQL reads a ``tsvector``; several, if it is long."""
    vector: list[str] = []
    size = 0
    counts = Counter(terms)
    for lexeme, count in zip(_lexemes(user, list(counts)), counts.values(), strict=True):
        positions = ",".join(map(str, range(1, min(count, MOST_COUNTED) + 1)))
        more = len(lexeme.encode()) + len(positions) + 4
        if size + more > FULL:
            yield " ".join(vector)
            vector, size = [], 0
        vector.append(f"{lexeme}:{positions}")
        size += more
    if vector:
        yield " ".join(vector)


def _lexemes(user: int, terms: Sequence[str]) -> list[str]:
    """Return terms of a user as PostgreSQL reads them: with a hash for each that is too long."""
    short = (term if len(term) <= LONGEST else content_hash(term) for term in terms)
    return ["'{}:{}'".format(user, term.replace("\\", "\\\\").replace("'", "''")) for term in short]


def _postings(keys: bytes, ranks: bytes) -> Postings:
    """Return the keys of records in order, each once, and how often a term stands in them."""
    held, places = np.unique(np.frombuffer(keys, ">i8").astype(np.int64), return_inverse=True)
    times = np.searchsorted(LIMITS, np.frombuffer(ranks, ">f4")) + 1
    return Postings(held, np.bincount(places, times, len(held)).astype(np.int64))
