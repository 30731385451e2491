"""Backups of a memory on PostgreSQL: by the server's own tool, which anybody can restore."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from shutil import which
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memoranda.errors import InvalidInput, StoreError
from memoranda.store.sqlite_files import new_file

# What is `public` in every database is not to be created where a dump is restored.
PUBLIC = "public"
REMEDY = (
    "run it as the owner of the tables, by a pg_dump that is no older than the server "
    "(https://www.postgresql.org/download/)"
)


def dump(
    address: str, options: Mapping[str, Any], path: str, schema: str, *, vectors: bool
) -> None:
    """Write one moment of a database to a file for ``pg_restore``, while others use it.

    Args:
        address: of the database.
        options: how to connect, beside what it says.
        path: the file, which appears there whole or not at all.
        schema: where the tables are; alone there, but for ``public``.
        vectors: whether the database has pgvector.

    Raises:
        InvalidInput: there is a file already, or no ``pg_dump``.
        StoreError: it failed.
    """
    program = which("pg_dump")
    if program is None:
        message = f"{path}: pg_dump makes a backup of PostgreSQL, and the PATH has none; install it"
        raise InvalidInput(message)
    told = {**options, **conninfo_to_dict(address)}
    # Others see the arguments of a process, but not what it was started with.
    password = told.pop("password", None)
    environment = os.environ | ({} if password is None else {"PGPASSWORD": password})
    some = [] if schema == PUBLIC else [f"--schema={schema}"]
    some += ["--extension=vector"] if some and vectors else []
    with new_file(path) as partial:
        done = subprocess.run(  # noqa: S603 - its arguments are made here
            [
                *(program, "--format=custom", "--no-password", "--no-unlogged-table-data"),
                "--no-comments",  # That of the extension could be restored by its owner alone.
                *(*some, f"--file={partial}", f"--dbname={make_conninfo(**told)}"),
            ],
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode:
            message = f"{path} was not written: {' '.join(done.stderr.split())}; {REMEDY}"
            raise StoreError(message)
