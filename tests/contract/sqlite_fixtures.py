"""A database in a file, for the tests of SQLite and of what happens to its file."""

import pytest
from analyzers import PlainNames, WordAnalyzer

from memoranda.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path):
    """Where the test's database is."""
    return tmp_path / "memory.db"


@pytest.fixture
def open_store(path):
    """Open the test's database; closed after the test."""
    opened = []

    def open_one(place=path, *, analyzer="words-1", **options):
        store = SqliteStore(
            place,
            analyzer=WordAnalyzer(analyzer),
            names=PlainNames(),
            **({"busy_timeout": 5} | options),
        )
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()
