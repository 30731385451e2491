"""The schema of an SQLite file: its number, and the way to the newest.

Each change of the schema has a number of its own. But files were written while the first numbers
were still being edited: before such a file is migrated, columns, tables and indexes that its number
promises and it lacks are added, and a file that lacks more is refused as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cache

import apsw

from memoranda.errors import NotADatabase
from memoranda.store.sql.database import require_known

APPLICATION_ID = 0x6D656D6F  # "memo": marks the file as one of memoranda's
# One statement, so that all three are of one moment while another process migrates.
STATE = """
SELECT (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)
"""
# Tables, columns as `table.column` and indexes, each with the statement that adds it.
PARTS = """
SELECT name, sql FROM (
    SELECT 1 AS turn, name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0
    UNION ALL SELECT 2, t.name || '.' || c.name, format('ALTER TABLE %s ADD COLUMN %s %s%s%s',
        t.name, c.name, c.type, iif(c."notnull", ' NOT NULL', ''), ' DEFAULT ' || c.dflt_value)
    FROM sqlite_schema t JOIN pragma_table_info(t.name) c
    WHERE t.type = 'table' AND t.rootpage > 0
    UNION ALL SELECT 3, name, sql FROM sqlite_schema WHERE type = 'index'
) WHERE name NOT GLOB 'sqlite_*' AND name NOT GLOB 'records_fts*' ORDER BY turn
"""
# Without these there is nothing to add to: what they held is lost, and not merely not there yet.
INDISPENSABLE = frozenset({"meta", "users", "records", "conversations", "messages"})
QUERY_INDEX = "SELECT 1 FROM records_fts WHERE records_fts MATCH '0q'"
# What SQLite's `.recover` makes of the full-text index is not whole, and cannot be dropped.
FORGET_INDEX = """
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE name IN ('records_fts', 'records_terms');
PRAGMA writable_schema = RESET;
"""
# Of indexes that a later step dropped.
FORGET_STATISTICS = "DELETE FROM sqlite_stat1 WHERE idx NOT IN (SELECT name FROM sqlite_schema)"
INDEX_TABLES = "SELECT name FROM sqlite_schema WHERE name GLOB 'records_fts*'"
VIRTUAL = "SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"
INDEX_ANEW = "DELETE FROM meta WHERE name = 'analyzer'"


def read_version(raw: apsw.Connection, location: str) -> int:
    """Return how many steps of the schema a database has seen; reads only.

    Raises:
        NotADatabase: the file is an SQLite database of something else.
        SchemaTooNew: a newer memoranda wrote it.
    """
    version, application, tables = raw.execute(STATE).get
    if application != APPLICATION_ID and (tables or application or version):
        message = f"{location} is an SQLite database of another program; choose another path"
        raise NotADatabase(message)
    require_known(version, location)
    return int(version)


def opens_index(raw: apsw.Connection) -> bool:
    """Return whether the full-text index is there; where its content is damaged, it is, too."""
    try:
        raw.execute(QUERY_INDEX).fetchall()
    except apsw.CorruptError:
        return True
    except apsw.SQLError:
        return False
    return True


def bring_up_to_date(raw: apsw.Connection, steps: Sequence[str], location: str) -> None:
    """Bring a database to the newest schema inside an open transaction.

    Raises:
        NotADatabase: the database lacks what cannot be added.
    """
    done = read_version(raw, location)
    if done:
        _add_missing(raw, steps[:done], location)
    for sql in steps[done:] if done else _whole_schema(steps):
        raw.execute(sql).fetchall()
    raw.execute(f"PRAGMA user_version = {len(steps)}")
    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@cache
def _replay(*steps: str) -> tuple[dict[str, str], list[str]]:
    """Return what these steps make: the parts by name, and what makes the full-text index."""
    with closing(apsw.Connection(":memory:")) as whole:
        for sql in steps:
            whole.execute(sql).fetchall()
        return dict(whole.execute(PARTS)), [sql for (sql,) in whole.execute(VIRTUAL)]


def _whole_schema(steps: Sequence[str]) -> tuple[str, ...]:
    """Return what makes of an empty database in a tenth of the time what these steps make of it."""
    tables = (sql for name, sql in _replay(*steps)[0].items() if "." not in name)
    return (*tables, steps[0][steps[0].index("CREATE VIRTUAL TABLE") :], FORGET_STATISTICS)


def _add_missing(raw: apsw.Connection, steps: Sequence[str], location: str) -> None:
    """Add the tables, columns and indexes that a database of these steps lacks.

    Raises:
        NotADatabase: a table that held what was stored, or a column of unknown content, is gone.
    """
    wanted, virtual = _replay(*steps)
    found = dict(raw.execute(PARTS))
    lacking = {name: sql for name, sql in wanted.items() if name not in found}
    message = (
        f"{location} has schema {len(steps)}, but lacks what belongs to it: {', '.join(lacking)}. "
        f"Restore a backup; or, if a version that was never released wrote it, export it with that "
        f"version (memoranda export) and import that here. It was left as it is"
    )
    if INDISPENSABLE & lacking.keys():
        raise NotADatabase(message)
    try:
        for name, sql in lacking.items():
            if "." not in name or name.partition(".")[0] in found:
                raw.execute(sql)
    except apsw.SQLError as error:
        raise NotADatabase(message) from error
    if not opens_index(raw):
        raw.execute(FORGET_INDEX).fetchall()
        for (table,) in raw.execute(INDEX_TABLES).fetchall():
            raw.execute(f"DROP TABLE {table}")
        for sql in virtual:
            raw.execute(sql)
        raw.execute(INDEX_ANEW)
