"""Numbered migrations: each runs once, in a transaction, and is never edited afterwards."""

from __future__ import annotations

from importlib.resources import files

import apsw

from recollect.core.errors import NotADatabase, SchemaTooNew
from recollect.stores.sqlite.connections import Connections

APPLICATION_ID = 0x7265636F  # "reco": marks the file as one of recollect's


def migrations() -> list[str]:
    """Return the SQL of every migration, in order; number 1 is the first."""
    folder = files("recollect.stores.sqlite") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def migrate(connections: Connections) -> None:
    """Bring the database to the newest schema; several processes may do so at once.

    Raises:
        NotADatabase: the file is an SQLite database of something else.
        SchemaTooNew: a newer recollect wrote it.
    """
    steps = migrations()
    with connections.read() as connection:
        if _version(connection, connections.path, len(steps)) == len(steps):
            return
    with connections.write() as connection:
        version = _version(connection, connections.path, len(steps))
        for number, sql in enumerate(steps[version:], version + 1):
            connection.execute(sql)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _version(connection: apsw.Connection, path: str, newest: int) -> int:
    version = int(connection.pragma("user_version"))
    application = int(connection.pragma("application_id"))
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and application != APPLICATION_ID:
        message = (
            f"{path} is an SQLite database, but not one of recollect's; "
            f"choose another path, it was left as it is"
        )
        raise NotADatabase(message)
    if version > newest:
        message = (
            f"{path} has schema {version}, this recollect knows up to {newest}; "
            f"upgrade with pip install -U recollect, the file was left as it is"
        )
        raise SchemaTooNew(message)
    return version
