"""The SQLite store keeps the contract of a store.

What can differ between a file and a database in memory is what needs several connections, each
with its own functions, and what is there after closing: these laws run on a file, too.
"""

from contextlib import closing, contextmanager

import pytest
from analyzers import PlainNames, WordAnalyzer
from laws import StoreContract, jobs, records, reopening

from memoranda.store.sqlite import SqliteStore


def open_store(path):
    """Open a store with the parts that the contract expects."""
    return SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames(), busy_timeout=10)


@reopening
class TestSqliteFile(records.FilterContract, jobs.JobContract, jobs.MaintenanceContract):
    """A database in a file."""

    @pytest.fixture
    def store(self, tmp_path):
        """Give a new file."""
        with closing(open_store(tmp_path / "memory.db")) as store:
            yield store

    def open_again(self, store):
        """Close a store and open its file again."""
        store.close()
        return open_store(store.location)


class TestSqliteInMemory(StoreContract):
    """A database in memory."""

    @pytest.fixture
    def store(self):
        """Give a new database in memory."""
        with closing(open_store(":memory:")) as store:
            yield store

    @contextmanager
    def failing_at(self, store, step):
        """Abort every third statement; of a file, tests/store stops within statements, too."""
        left = iter(range(3 * step))
        writer = store._writer.raw
        writer.exec_trace = lambda _cursor, sql, _values: (
            sql.startswith("ROLLBACK") or next(left, None) is not None
        )
        try:
            yield
        finally:
            writer.exec_trace = None
