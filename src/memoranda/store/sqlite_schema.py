"""The schema of an SQLite file: its number, and the way to the newest.

Each change of the schema has a number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memoranda.errors import NotADatabase
from memoranda.store.sql.database import require_known

APPLICATION_ID = 0x6D656D6F  # "memo": marks the file as one of memoranda's
# One statement, so that all three are of one moment while another process migrates.
STATE = """
SELECT (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)
"""
QUERY_INDEX = "SELECT 1 FROM records_fts WHERE records_fts MATCH '0q'"
# What SQLite's `.recover` makes of the full-text index is not whole, and cannot be dropped.
FORGET_INDEX = """
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE name IN ('records_fts', 'records_terms');
PRAGMA writable_schema = RESET;
"""
INDEX_TABLES = "SELECT name FROM sqlite_schema WHERE name GLOB 'records_fts*'"
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
    """Bring a database to the newest schema inside an open transaction."""
    done = read_version(raw, location)
    if done and not opens_index(raw):
        _remake_index(raw, steps[0])
    for sql in steps[done:]:
        raw.execute(sql).fetchall()
    raw.execute(f"PRAGMA user_version = {len(steps)}")
    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _remake_index(raw: apsw.Connection, first: str) -> None:
    """Make the full-text index of a database that lacks it, empty; it is filled after that."""
    raw.execute(FORGET_INDEX).fetchall()
    for (table,) in raw.execute(INDEX_TABLES).fetchall():
        raw.execute(f"DROP TABLE {table}")
    raw.execute(first[first.index("CREATE VIRTUAL TABLE") :].partition("ANALYZE")[0]).fetchall()
    raw.execute(INDEX_ANEW)
