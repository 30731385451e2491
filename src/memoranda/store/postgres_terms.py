"""Records and their terms on PostgreSQL: a new one is stored by one statement, and found by counts.

The full-text index is a table that tells how often each term of ours stands in each record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from memoranda.model.changes import Insert
from memoranda.model.checks import content_hash
from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer
from memoranda.model.query import Postings
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.record_writes import FADING, STORED, index_terms
from memoranda.store.sql.rows import RECORDS, dump, insertion

# Characters of a term that is indexed as it is: an entry of an index has room for 2,700 bytes.
LONGEST = 500
# A term that a record holds more often counts no more.
MOST_COUNTED = 255
# Terms hold no spaces.
COUNTED = f"""
INSERT INTO record_terms (user_key, term, record_key, n)
SELECT {{0}}, term, {{1}}, least(count(*), {MOST_COUNTED})
FROM {{2}}unnest(string_to_array(CAST(:terms AS text), ' ')) term GROUP BY 1, 2, 3
"""
NEW = {"key": "new.key", "user_key": "new.user_key", "closed_at": "NULL", "indexed": "1"}
# The user's row is locked before the record gets its key. The rest of the statement sees what was
# there before the lock; where another has written since, as the revision tells, nothing is stored.
ADD = f"""
WITH held AS MATERIALIZED (
    SELECT u.key, u.revision FROM users u WHERE u.name = :name AND u.deleted = 0
        AND u.deletions = coalesce(CAST(:deletions AS bigint), u.deletions) AND NOT EXISTS (
            SELECT 1 FROM records r WHERE r.user_key = u.key AND r.content_hash = :content_hash)
    FOR NO KEY UPDATE
), new AS MATERIALIZED (
    SELECT held.key AS user_key, nextval('record_keys') AS key FROM held
    WHERE held.revision = (SELECT revision FROM users WHERE name = :name)
), stored AS (
    {insertion("records", STORED, "SELECT {} FROM new", **FADING, **NEW)}
), counted AS (
    {COUNTED.format("new.user_key", "new.key", "new, ")}
), queued AS (
    INSERT INTO derivations (work, record_key, user_key)
    SELECT work, key, user_key FROM new, unnest(ARRAY ['vectors', 'entities']) work
)
UPDATE users u SET revision = u.revision + 1, terms_through = new.key,
    fact_revision = CASE WHEN :kind = 'fact' THEN u.revision + 1 ELSE u.fact_revision END
FROM new WHERE u.key = new.user_key
"""
REMOVE = "DELETE FROM record_terms WHERE user_key = :user AND record_key IN (@ints(:keys))"
# Of each term its records with their counts as bytes: numpy reads these a hundred times as fast as
# rows.
POSTINGS = f"""
SELECT packed FROM unnest(CAST(:terms AS text[])) WITH ORDINALITY asked (term, place)
CROSS JOIN LATERAL (
    SELECT string_agg(int8send({MOST_COUNTED + 1} * t.record_key + t.n), '' ORDER BY t.record_key)
        AS packed
    FROM record_terms t WHERE t.user_key = :user AND t.term = asked.term) found
ORDER BY place
"""


class TermCounts:
    """Finds records by their terms in a table of counts, where each user's stand together."""

    waits: ClassVar[bool] = False

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        added = [(user, key, joined_terms(terms)) for key, user, terms in rows]
        connection.run_many(COUNTED.format(":user", ":key", ""), added)

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        connection.run(REMOVE, {"user": user, "keys": dump(keys)})

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        connection.run("DELETE FROM record_terms")

    def postings(
        self, connection: SqlConnection, user: int, terms: Sequence[str]
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often."""
        asked = {"user": user, "terms": [*map(_kept, terms)]}
        packed = (row[0] or b"" for row in connection.all(POSTINGS, asked))
        numbers = [np.frombuffer(sent, ">i8").astype(np.int64) for sent in packed]
        return [Postings(*np.divmod(each, MOST_COUNTED + 1)) for each in numbers]

    def keys(self, connection: SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""
        return {*connection.column("SELECT DISTINCT record_key FROM record_terms")}


def joined_terms(terms: str) -> str:
    """Return terms with a space between them as they are indexed."""
    return " ".join(map(_kept, terms.split()))


def _kept(term: str) -> str:
    """Return a term as it is indexed: a hash of one that is too long."""
    return term if len(term) <= LONGEST else content_hash(term)


def values_of(scope: Scope, new: Insert, analyzer: Analyzer) -> dict[str, Any]:
    """Return the parameters of ``ADD`` for a record that stands alone, if its user is known.

    The statement stores nothing where they are not, or have a record with the same text.
    """
    terms = index_terms(analyzer.terms, new.record.content, is_item=False)
    return RECORDS.values(new.record) | {
        "name": scope.user,
        "deletions": scope.deletions,
        "term_count": len(terms.split()),
        "terms": joined_terms(terms),
        "reason": new.reason,
    }
