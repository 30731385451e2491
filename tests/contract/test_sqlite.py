"""The SQLite store keeps the contract of a store, in a file and in memory."""

from contextlib import contextmanager

import pytest
from analyzers import PlainNames, WordAnalyzer
from laws import StoreContract

from memoranda.store.sqlite import SqliteStore


def open_store(path):
    """Open a store with the parts that the contract expects."""
    return SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames(), busy_timeout=10)


@contextmanager
def failing_at(store, step):
    """Abort the statement with this number on the writing connection."""
    left = iter(range(step))
    writer = store._writer.raw
    writer.exec_trace = lambda _cursor, sql, _values: (
        sql.startswith("ROLLBACK") or next(left, None) is not None
    )
    try:
        yield
    finally:
        writer.exec_trace = None


class TestSqliteFile(StoreContract):
    """A database in a file."""

    @pytest.fixture
    def store(self, tmp_path):
        """Give a new file."""
        store = open_store(tmp_path / "memory.db")
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, tmp_path):
        """Close a store and open its file again."""
        opened = []

        def again(store):
            store.close()
            opened.append(open_store(tmp_path / "memory.db"))
            return opened[-1]

        yield again
        for store in opened:
            store.close()

    def failing_at(self, store, step):
        """Fail at every seventh statement: of a file, tests/store stops within statements, too."""
        return failing_at(store, 7 * step)


class TestSqliteInMemory(StoreContract):
    """A database in memory."""

    @pytest.fixture
    def store(self):
        """Give a new database in memory."""
        store = open_store(":memory:")
        yield store
        store.close()

    def failing_at(self, store, step):
        """Fail at a statement."""
        return failing_at(store, step)
