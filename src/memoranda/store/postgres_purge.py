"""Purging on PostgreSQL: writes the tables anew that may still hold what was erased.

A deleted row stays in its page, and its terms stay in their index, until something is written over
them; vacuuming frees the place, and overwrites nothing. So each write that erases notes the tables
of its user (of those in partitions, that of the user alone), and these are written anew with all
their indexes, one after another. Nobody else reads or writes a table meanwhile: it is not waited
for long, and one that is large is not begun unasked.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any

from memoranda.errors import StoreBusy, StoreError, StoreReadOnly
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import PURGE

# Before the names of tables in `meta`. The value grows with each erasure, as that of PURGE does: a
# purge answers only those that it has seen.
OF_TABLE = f"{PURGE} "
# Bytes of a table with its indexes up to which it is written anew unasked: some ten seconds.
MOST_UNASKED = 256 * 2**20
# Milliseconds to wait for a table that others use: whoever comes meanwhile waits, too.
LONGEST_WAIT = 1_000
# Seconds to wait in all, also for those who still see what was erased, and until the next look.
PATIENCE = 5.0
PAUSE = 0.2
# Tables without a word of what was said. That of users has names, of those who are erased.
WORDLESS = (
    *("meta", "leases", "history", "derivations", "noteworthy_epochs", "record_sources"),
    *("model_usage", "schema_steps", "server_starts", "large_users", "users"),
)
NOTE = """
INSERT INTO meta (name, value)
SELECT :before || c.relname, '1' FROM pg_class c
JOIN pg_class r ON r.oid = CAST('records' AS regclass)
    AND r.relnamespace = c.relnamespace AND r.relowner = c.relowner
LEFT JOIN pg_class p ON p.oid = (SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = c.oid)
LEFT JOIN LATERAL regexp_match(
    pg_get_expr(c.relpartbound, c.oid), 'modulus (\\d+), remainder (\\d+)') part ON TRUE
WHERE c.relkind = 'r' AND coalesce(p.relname, c.relname) IN (@texts(:tables))
    AND (p.oid IS NULL OR satisfies_hash_partition(
        p.oid, CAST(part[1] AS integer), CAST(part[2] AS integer), CAST(:user AS bigint)))
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS integer) + 1 AS text)
"""
NOTED = """
SELECT name, substr(name, length(:before) + 1), value FROM meta
WHERE substr(name, 1, length(:before)) = :before ORDER BY name
"""
# In the order of an index a table is written anew inside a transaction. Only there a wait can have
# an end that a pooler knows of.
INDEX = """
SELECT quote_ident(:table), CAST(CAST(i.indexrelid AS regclass) AS text),
    pg_total_relation_size(i.indrelid), :table LIKE 'nearest\\_%' AND NOT EXISTS (
        SELECT 1 FROM large_users WHERE :table = 'nearest_' || user_key)
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am a ON a.oid = x.relam
WHERE i.indrelid = to_regclass(quote_ident(:table)) AND a.amname = 'btree'
    AND i.indisvalid AND i.indpred IS NULL
ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1
"""
WAIT = "SELECT set_config('lock_timeout', :most, TRUE)"
FORGET = "DELETE FROM meta WHERE name = :name AND value = :value"
ASKED = "SELECT value FROM meta WHERE name = :name"
# How many deleted rows were kept for those who still see them: the first number of what the server
# tells of them, in any language.
KEPT = re.compile(r"\d+")
STILL_SEEN = "transactions that began before still see it in"
HELD = "others keep using"
TOO_LARGE = "so large that nobody could use it for long are"
NOT_OWNER = "who logged in is not the owner of"
REMEDY = "run memoranda doctor --purge"


def note_tables(
    connection: SqlConnection, tables: Collection[str], user: int, *, of_name: bool
) -> None:
    """Note which tables may hold what the transaction erases of a user.

    Args:
        connection: the transaction.
        tables: all of the memory's.
        user: the key of the user.
        of_name: whether the name of the user is erased, too.
    """
    worded = {*tables, f"nearest_{user:d}"}.difference(WORDLESS)
    worded |= {"users"} if of_name else set()
    connection.run(NOTE, {"before": OF_TABLE, "tables": dump(sorted(worded)), "user": user})


class TablePurge:
    """Writes the tables anew that are noted.

    Args:
        lend: lends a connection that nobody else has, which raises errors of memoranda's.
        large: also those so large that others would wait for long.
    """

    def __init__(
        self, lend: Callable[[], AbstractContextManager[SqlConnection]], *, large: bool
    ) -> None:
        """Begin nothing yet."""
        self._lend, self._large = lend, large
        self._end = time.monotonic() + PATIENCE

    def run(self) -> str | None:
        """Return why something is left, and what to do about it; ``None`` if nothing is."""
        with self._lend() as connection:
            asked = connection.value(ASKED, {"name": PURGE})
            noted = connection.all(NOTED, {"before": OF_TABLE})
        left: defaultdict[str, list[str]] = defaultdict(list)
        for name, table, value in noted:
            why = self._purge(table)
            if why is None:
                with self._lend() as connection:
                    connection.run(FORGET, {"name": name, "value": value})
            else:
                left[why].append(table)
        if left:
            remedy = REMEDY
            if NOT_OWNER in left:  # Of them all.
                left[NOT_OWNER], remedy = ["the tables"], f"{REMEDY} as the owner"
            whys = "; ".join(f"{why} {', '.join(tables)}" for why, tables in left.items())
            return f"free space may still hold what was erased: {whys}; {remedy}"
        with self._lend() as connection:
            connection.run(FORGET, {"name": PURGE, "value": asked})
            if connection.value(ASKED, {"name": PURGE}) is None:
                return None
        return f"something else was erased meanwhile; {REMEDY}"

    def _purge(self, table: str) -> str | None:
        """Write a table anew, as soon as nobody uses it; return why it is left, if it is."""
        while True:
            try:
                return self._write_anew(table)
            except StoreReadOnly:
                return NOT_OWNER
            except StoreBusy as error:
                if time.monotonic() > self._end:
                    return HELD if error.__cause__ else STILL_SEEN
            except StoreError as error:
                return f"{error}:"
            time.sleep(PAUSE)

    def _write_anew(self, table: str) -> str | None:
        kept: list[bool] = []

        def note(told: Any) -> None:
            found = KEPT.search(told.message_detail or "")
            kept.append(found is not None and int(found[0]) > 0)

        with self._lend() as connection:
            found = connection.one(INDEX, {"table": table})
            if found is None:
                return None  # It is gone, with all that it held.
            name, index, size, unused = found
            if size > MOST_UNASKED and not self._large:
                return TOO_LARGE
            connection.raw.add_notice_handler(note)
            try:
                with connection.raw.transaction():
                    connection.value(WAIT, {"most": str(LONGEST_WAIT)})
                    again = f"CLUSTER (VERBOSE) {name} USING {index}"
                    connection.run(f"DROP TABLE {name}" if unused else again)
            finally:
                connection.raw.remove_notice_handler(note)
        if any(kept):
            raise StoreBusy(STILL_SEEN)
        return None
