"""Sees to it that a statement about one user looks at one partition."""

import json
import re
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

import pytest
from psycopg.sql import SQL

from memoranda.store.postgres import PARAMETER, PostgresConnection, PostgresStore, in_postgres

PARTITION = re.compile(r'"Relation Name": "\w+_p(\d+)"')
PLANNED = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b")
# What concerns all users at once, and so all partitions: docs/scaling.md lists it.
STORE_WIDE = ("users", "verify", "rebuild", "_name_model", "_begin_with")
OF_NOBODY = ("records", "count")
WIDE = ContextVar("WIDE", default=False)


def partitions(raw, sql, values):
    """Return the numbers of the partitions that a statement looks at."""
    asked = raw.execute(SQL("EXPLAIN (FORMAT JSON) {}").format(SQL(in_postgres(sql))), values)
    return set(PARTITION.findall(json.dumps(asked.fetchall()[0][0])))


def _wide(method):
    @wraps(method)
    def call(store, *given, **named):
        of_all = method.__name__ in STORE_WIDE or given[0] is None
        token = WIDE.set(WIDE.get() or of_all)
        try:
            return method(store, *given, **named)
        finally:
            WIDE.reset(token)

    return call


@contextmanager
def one_partition_each():
    """Plan each statement once before it runs: it fails, where it looks at several partitions."""
    seen = set()
    run, many = PostgresConnection._execute, PostgresConnection.run_many
    alone = PostgresStore._execute_alone

    def require_one(raw, sql, values):
        if sql not in seen and not WIDE.get() and PLANNED.match(sql):
            found = partitions(raw, sql, values)
            assert len(found) <= 1, f"looks at the partitions {found}: {sql}"
            seen.add(sql)

    def execute(self, sql, values):
        require_one(self.raw, sql, values)
        return run(self, sql, values)

    def run_many(self, sql, rows):
        rows = list(rows)
        for row in rows[:1]:
            names = dict.fromkeys(PARAMETER.findall(sql))
            named = row if isinstance(row, Mapping) else dict(zip(names, row, strict=True))
            require_one(self.raw, sql, named)
        many(self, sql, rows)

    def execute_alone(self, sql, values, entry):
        with self._lend() as connection:
            require_one(connection.raw, sql, values)
        return alone(self, sql, values, entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_execute", execute)
        patch.setattr(PostgresConnection, "run_many", run_many)
        patch.setattr(PostgresStore, "_execute_alone", execute_alone)
        for name in (*STORE_WIDE, *OF_NOBODY):
            patch.setattr(PostgresStore, name, _wide(getattr(PostgresStore, name)))
        yield
