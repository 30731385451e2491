"""Numbered migrations: each runs once, in a transaction, and is never edited afterwards."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import apsw

from memoranda.errors import NotADatabase, SchemaTooNew
from memoranda.store.sqlite.connections import MEMORY, Connections

# One statement, so that all three are of one moment while another process migrates.
STATE = """
SELECT (SELECT user_version FROM pragma_user_version),
    (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)
"""
APPLICATION_ID = 0x6D656D6F  # "memo": marks the file as one of memoranda's


def migrations() -> list[str]:
    """Return the SQL of every migration, in order; number 1 is the first."""
    folder = files("memoranda.store.sqlite") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def migrate(connections: Connections) -> None:
    """Bring the database to the newest schema; several processes may do so at once."""
    steps = migrations()
    with connections.read() as connection:
        if version_of(connection) == len(steps):
            return
    with connections.write() as connection:
        version = version_of(connection)
        for number, sql in enumerate(steps[version:], version + 1):
            connection.execute(sql)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def version_of(connection: apsw.Connection) -> int:
    """Return how many migrations the database has seen; reads only.

    Raises:
        NotADatabase: the file is an SQLite database of something else.
        SchemaTooNew: a newer memoranda wrote it.
    """
    path = connection.filename or MEMORY
    newest = len(migrations())
    state: list[Any] = connection.execute(STATE).fetchall()
    version, application, tables = map(int, state[0])
    if application != APPLICATION_ID and (tables or application or version):
        message = (
            f"{path} is an SQLite database, but not one of memoranda's; "
            f"choose another path, it was left as it is"
        )
        raise NotADatabase(message)
    if version > newest:
        message = (
            f"{path} has schema {version}, this memoranda knows up to {newest}; "
            f"upgrade with pip install -U memoranda, the file was left as it is"
        )
        raise SchemaTooNew(message)
    return version
