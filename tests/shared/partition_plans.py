"""Sees to it that a statement about one user looks at one partition."""

import json
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps

import pytest

from memoranda.store.postgres import PostgresConnection, PostgresStore

PARTITION = re.compile(r'"Relation Name": "\w+_p(\d+)"')
PLANNED = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b")
# What concerns all users at once, and so all partitions: docs/scaling.md lists it.
STORE_WIDE = (
    *("users", "verify", "rebuild", "_name_model", "_begin_with", "vector_model"),
    *("claim_records", "stage_leases", "complete"),
)
OF_NOBODY = ("records", "count")
WIDE = ContextVar("WIDE", default=False)


def partitions(execute, sql, values):
    """Return the numbers of the partitions that a statement looks at."""
    plan = execute(f"EXPLAIN (FORMAT JSON) {sql}", values).fetchall()
    return set(PARTITION.findall(json.dumps(plan[0][0])))


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
    seen, run = set(), PostgresConnection._execute

    def require_one(execute, sql, values):
        if sql not in seen and not WIDE.get() and PLANNED.match(sql):
            found = partitions(execute, sql, values)
            assert len(found) <= 1, f"looks at the partitions {found}: {sql}"
            seen.add(sql)

    def execute(self, sql, values):
        require_one(partial(run, self), sql, values)
        return run(self, sql, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_execute", execute)
        for name in (*STORE_WIDE, *OF_NOBODY):
            patch.setattr(PostgresStore, name, _wide(getattr(PostgresStore, name)))
        yield
