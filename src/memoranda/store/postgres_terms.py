"""The full-text index on PostgreSQL: how often each term of ours stands in each record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from memoranda.model.checks import content_hash
from memoranda.store.sql.database import MOST_COUNTED, Postings, SqlConnection
from memoranda.store.sql.rows import dump

# Characters of a term that is indexed as it is: an entry of an index has room for 2,700 bytes.
LONGEST = 500
# Terms hold no spaces.
ADD = f"""
INSERT INTO record_terms (user_key, term, record_key, n)
SELECT :user, term, :key, least(count(*), {MOST_COUNTED})
FROM unnest(string_to_array(CAST(:terms AS text), ' ')) term GROUP BY term
"""
REMOVE = "DELETE FROM record_terms WHERE user_key = :user AND record_key IN (@ints(:keys))"
# Of each term its records and counts as bytes: numpy reads these a hundred times as fast as rows.
POSTINGS = """
SELECT string_agg(int8send(held.record_key), '' ORDER BY held.record_key),
    string_agg(int8send(held.n), '' ORDER BY held.record_key)
FROM unnest(CAST(:terms AS text[])) WITH ORDINALITY asked (term, place) LEFT JOIN LATERAL (
    SELECT t.record_key, t.n FROM record_terms t
    WHERE t.user_key = :user AND t.term = asked.term ORDER BY t.record_key DESC LIMIT :most) held
ON TRUE GROUP BY asked.place ORDER BY asked.place
"""


class TermCounts:
    """Finds records by their terms in a table of counts, where each user's stand together."""

    waits: ClassVar[bool] = False

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        added = [(user, key, " ".join(map(_kept, terms.split()))) for key, user, terms in rows]
        connection.run_many(ADD, added)

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        connection.run(REMOVE, {"user": user, "keys": dump(list(keys))})

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        connection.run("DELETE FROM record_terms")

    def postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str], *, most: int | None = None
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often.

        The ``most`` newest of them, if that is given.
        """
        asked = {"user": user, "terms": [*map(_kept, terms)], "most": most}
        return [
            Postings(*(np.frombuffer(sent or b"", ">i8").astype(np.int64) for sent in row))
            for row in connection.all(POSTINGS, asked)
        ]

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""
        return {row[0] for row in connection.all("SELECT DISTINCT record_key FROM record_terms")}


def _kept(term: str) -> str:
    """Return a term as it is indexed: a hash of one that is too long."""
    return term if len(term) <= LONGEST else content_hash(term)
