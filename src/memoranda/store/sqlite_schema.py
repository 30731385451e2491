"""The schema of an SQLite file: its number, what that promises, and the way to the newest.

Each change of the schema has a number of its own. But files were written while the first numbers
were still being edited: what a file has is compared with what its number says, columns, tables and
indexes that it lacks are added, and a file that lacks more is refused before anything is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any, NamedTuple

import apsw

from memoranda.errors import NotADatabase, SchemaTooNew, StoreError

APPLICATION_ID = 0x6D656D6F  # "memo": marks the file as one of memoranda's
# One statement, so that all three are of one moment while another process migrates.
STATE = """
SELECT (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)
"""
# What there is, with the columns of plain tables as they are declared.
STRUCTURE = """
SELECT m.name, m.type, m.sql, CASE WHEN m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' THEN
    (SELECT json_group_array(concat(c.name, ' ', c.type, iif(c."notnull", ' NOT NULL', ''),
        iif(c.dflt_value IS NULL, '', ' DEFAULT ' || c.dflt_value)))
    FROM pragma_table_xinfo(m.name) c) ELSE '[]' END
FROM sqlite_schema m WHERE m.name NOT LIKE 'sqlite_%' ORDER BY m.type DESC, m.rowid
"""
INDEX_TABLES = ("records_fts", "records_terms")
# Without these there is nothing to add to: what they held is lost, and not merely not there yet.
INDISPENSABLE = frozenset({"meta", "users", "records", "conversations", "messages"})
MARK = "schema"
DECLARED = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
GET_MARK = "SELECT value FROM meta WHERE name = ?"
SET_MARK = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"


class SchemaEntry(NamedTuple):
    """A table or an index.

    Attributes:
        kind: ``table`` or ``index``.
        sql: what creates it.
        columns: the declaration of each column of a plain table, by its name.
    """

    kind: str
    sql: str
    columns: Mapping[str, str]


Structure = dict[str, SchemaEntry]


def read_structure(raw: apsw.Connection) -> Structure:
    """Return the tables and indexes of a database, by name; tables first."""
    rows: list[Any] = raw.execute(STRUCTURE).fetchall()
    return {
        name: SchemaEntry(kind, sql, {each.split(" ", 1)[0]: each for each in json.loads(columns)})
        for name, kind, sql, columns in rows
    }


@cache
def structure_of(steps: tuple[str, ...]) -> Structure:
    """Return the tables and indexes that these steps of the schema make."""
    with closing(apsw.Connection(":memory:")) as raw:
        for sql in steps:
            raw.execute(sql).fetchall()
        return read_structure(raw)


def read_version(raw: apsw.Connection, newest: int, location: str) -> int:
    """Return how many steps of the schema a database has seen; reads only.

    Raises:
        NotADatabase: the file is an SQLite database of something else.
        SchemaTooNew: a newer memoranda wrote it.
    """
    state: list[Any] = raw.execute(STATE).fetchall()
    version, application, tables = map(int, state[0])
    if application != APPLICATION_ID and (tables or application or version):
        message = (
            f"{location} is an SQLite database, but not one of memoranda's; "
            f"choose another path, it was left as it is"
        )
        raise NotADatabase(message)
    if version > newest:
        message = (
            f"{location} has schema {version}, this memoranda knows up to {newest}; "
            f"upgrade with pip install -U memoranda, the file was left as it is"
        )
        raise SchemaTooNew(message)
    return version


def is_marked(raw: apsw.Connection, steps: Sequence[str], location: str) -> bool:
    """Return whether a database was found whole, with the newest schema, and is as it was then."""
    if read_version(raw, len(steps), location) < len(steps):
        return False
    if not raw.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get:
        return False
    return bool(_mark(raw, steps) == raw.execute(GET_MARK, (MARK,)).get)


def is_whole(raw: apsw.Connection, steps: Sequence[str], location: str) -> bool:
    """Return whether a database has the newest schema, and all that this says."""
    newest = read_version(raw, len(steps), location) == len(steps)
    return newest and not missing(read_structure(raw), structure_of(tuple(steps)))


def missing(found: Structure, wanted: Structure) -> list[str]:
    """Return what is wanted and not there: tables, columns as ``table.column``, and indexes."""
    lacking = [name for name in wanted if name not in found]
    columns = [
        f"{name}.{column}"
        for name, entry in wanted.items()
        if name in found
        for column in entry.columns
        if column not in found[name].columns
    ]
    indexes = [name for name in lacking if wanted[name].kind == "index"]
    return [*(name for name in lacking if name not in indexes), *columns, *indexes]


def bring_up_to_date(raw: apsw.Connection, steps: Sequence[str], location: str) -> None:
    """Bring a database to the newest schema inside an open transaction, and mark it as whole.

    Raises:
        StoreError: it lacks what cannot be added.
    """
    done = read_version(raw, len(steps), location)
    if done:
        add_missing(raw, structure_of(tuple(steps[:done])), done, location)
    for number, sql in enumerate(steps[done:], done + 1):
        raw.execute(sql).fetchall()
        raw.execute(f"PRAGMA user_version = {number}")
    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    raw.execute(SET_MARK, (MARK, _mark(raw, steps)))


def add_missing(raw: apsw.Connection, wanted: Structure, number: int, location: str) -> None:
    """Add the tables, columns and indexes that a database should have, and lacks.

    Raises:
        NotADatabase: a table is gone that held what was stored.
        StoreError: a column cannot be added, as nothing tells what it holds.
    """
    found = read_structure(raw)
    lacking = missing(found, wanted)
    gone = sorted(INDISPENSABLE.intersection(lacking))
    if gone:
        message = f"{location} lacks the tables {', '.join(gone)}; restore a backup"
        raise NotADatabase(message)
    if any(name.startswith(INDEX_TABLES) for name in lacking):
        _recreate_index(raw, found, wanted)
    try:
        for name in lacking:
            table, _, column = name.partition(".")
            if column:
                raw.execute(f"ALTER TABLE {table} ADD COLUMN {wanted[table].columns[column]}")
            elif not name.startswith(INDEX_TABLES):
                raw.execute(wanted[name].sql)
    except apsw.SQLError as error:
        message = (
            f"{location} has schema {number}, but lacks what belongs to it: {', '.join(lacking)}. "
            f"A version of memoranda wrote it that was never released; export it with that "
            f"version (memoranda export) and import that here. The file was left as it is"
        )
        raise StoreError(message) from error


def _recreate_index(raw: apsw.Connection, found: Structure, wanted: Structure) -> None:
    """Make the full-text index anew, empty: ``.recover`` leaves out the tables that it is in."""
    names = [name for name in found if name.startswith(INDEX_TABLES)]
    virtual = [name for name in names if found[name].sql.startswith("CREATE VIRTUAL")]
    raw.execute("PRAGMA writable_schema = ON")  # One that is not whole cannot be dropped.
    raw.executemany("DELETE FROM sqlite_schema WHERE name = ?", [(name,) for name in virtual])
    raw.execute("PRAGMA writable_schema = RESET")
    for name in set(names) - set(virtual):
        raw.execute(f"DROP TABLE {name}")
    for name, entry in wanted.items():
        if name.startswith(INDEX_TABLES) and entry.sql.startswith("CREATE VIRTUAL"):
            raw.execute(entry.sql)
    raw.execute("DELETE FROM meta WHERE name = 'analyzer'")  # So that all is indexed anew.


def _mark(raw: apsw.Connection, steps: Sequence[str]) -> str:
    """Return what stands in a file that was found whole: another schema has another."""
    return hashlib.sha256(repr((raw.execute(DECLARED).fetchall(), steps)).encode()).hexdigest()
