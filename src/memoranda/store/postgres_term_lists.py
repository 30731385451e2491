"""Lists of the records that hold the common terms of a large user, on PostgreSQL.

The index of terms finds where the rows of a term are, and then reads each, which takes longer than
a search may where they are thousands. A list has them all in one value or a few. It is continued
from time to time; what came since is looked for in the rows.

A term in a list stands in a record that is there: all lists of a user are removed before so many
records are erased or changed that this might be untrue. A record that is changed meanwhile, such as
by redaction, is found by its common terms of before until then, and ranked by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from memoranda.store.sql.database import Postings, SqlConnection
from memoranda.store.sql.rows import dump

# A term that more records hold has a list. A term of fewer costs a search some milliseconds.
COMMON = 1_000
# Records of one list, and how far apart their keys may be, which are listed in four bytes each.
AT_ONCE = 50_000
FARTHEST = 2**31
# Records that need not be listed yet.
UNLISTED = 1_000

# Those that have lists already, and those of which there shall be new ones.
LISTED_TERMS = "SELECT DISTINCT term FROM common_terms WHERE user_key = :user"
COMMON_TERMS = """
SELECT substr(word, length(:prefix) + 1) FROM ts_stat(:texts) WHERE ndoc > :common
"""
NEXT = """
SELECT min(key), max(key) FROM (
    SELECT key FROM records WHERE user_key = :user AND key > :after AND key < :farthest + (
        SELECT min(key) FROM records WHERE user_key = :user AND key > :after)
    ORDER BY key LIMIT :most) following
"""
ADD = """
INSERT INTO common_terms (user_key, term, first_key, keys, times)
SELECT :user, wanted.value, :first,
    string_agg(int4send(CAST(t.record_key - :first AS int)), '' ORDER BY t.record_key),
    string_agg(substr(int2send(CAST(least(cardinality(held.positions), 255) AS smallint)), 2, 1), ''
        ORDER BY t.record_key)
FROM record_terms t CROSS JOIN LATERAL unnest(t.terms) held
JOIN (@texts(:terms)) wanted ON held.lexeme COLLATE "C" = :prefix || wanted.value
WHERE t.user_key = :user AND t.record_key BETWEEN :first AND :last
GROUP BY wanted.value
"""
DROP = "DELETE FROM common_terms WHERE user_key = :user"
# As many were removed as hold a term at least that has a list: one may be in no record any more.
NOTE_REMOVED = """
WITH counted AS (
    UPDATE large_users SET removed = removed + :records WHERE user_key = :user RETURNING removed)
DELETE FROM common_terms WHERE user_key = :user AND (SELECT removed FROM counted) >= :common
"""
REMOVED = "SELECT removed FROM large_users WHERE user_key = :user"
# What was removed meanwhile may be in the new lists.
LISTED = """
UPDATE large_users SET listed = :listed, removed = removed - :before WHERE user_key = :user
"""
DROP_ALL = ("DELETE FROM common_terms", "UPDATE large_users SET counted_at = 0")
LISTS = """
SELECT term, first_key, keys, times FROM common_terms
WHERE user_key = :user AND term IN (@texts(:terms)) ORDER BY term, first_key
"""


def drop_lists(connection: SqlConnection, user: int) -> None:
    """Remove the lists of a user."""
    connection.run(DROP, {"user": user})


def note_removed(connection: SqlConnection, user: int, records: int) -> None:
    """Note that so many records of a user lost their terms, so that no list keeps an erased one."""
    connection.run(NOTE_REMOVED, {"user": user, "records": records, "common": COMMON})


def drop_all_lists(connection: SqlConnection) -> None:
    """Remove the lists of all users, until they are made anew."""
    for sql in DROP_ALL:
        connection.run(sql)


def list_terms(connection: SqlConnection, user: int, *, after: int | None = None) -> int:
    """List the records that hold the common terms of a user; return the key of the last one.

    Searches see all of it when the transaction is over, and nothing before.

    Args:
        connection: a transaction.
        user: the key of the user.
        after: the key of the last record that is listed, to go on with the terms that have lists;
            else all lists are made anew.
    """
    named: dict[str, Any] = {"user": user, "prefix": f"{user:d}:"}
    if after is None:
        before = connection.value(REMOVED, named) or 0
        drop_lists(connection, user)
        texts = f"SELECT terms FROM record_terms WHERE user_key = {user:d}"
        found = connection.all(COMMON_TERMS, named | {"texts": texts, "common": COMMON})
    else:
        before, found = 0, connection.all(LISTED_TERMS, named)
    terms, last = dump([term for (term,) in found]), after or 0
    place = {"user": user, "farthest": FARTHEST, "most": AT_ONCE}
    while (chunk := connection.all(NEXT, place | {"after": last})[0])[1] is not None:
        first, last = chunk
        connection.run(ADD, named | {"terms": terms, "first": first, "last": last})
    connection.run(LISTED, {"user": user, "listed": last, "before": before})
    return last


def ask_lists(
    connection: SqlConnection, user: int, terms: Sequence[str]
) -> Callable[[], dict[str, Postings]]:
    """Ask which records hold those of these terms that are common; return what waits for it."""
    asked = connection.ask(LISTS, {"user": user, "terms": dump(list(terms))})

    def read() -> dict[str, Postings]:
        rows: Any = asked()
        return {term: _joined(parts) for term, parts in groupby(rows, lambda row: row[0])}

    return read


def _joined(parts: Any) -> Postings:
    keys, times = [], []
    for _, first, offsets, counts in parts:
        keys.append(np.frombuffer(offsets, ">i4").astype(np.int64) + first)
        times.append(np.frombuffer(counts, np.uint8).astype(np.int64))
    return Postings(np.concatenate(keys), np.concatenate(times))
