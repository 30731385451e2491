"""SQLite stores with small parts, and a look at their files from outside."""

import subprocess

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


@pytest.fixture
def store(open_store):
    """A new database in a file."""
    return open_store()


@pytest.fixture
def on_disk(path):
    """The bytes of the database's files, read by another process.

    If this one closed a handle of the file, it would lose its locks on it.
    """

    def read():
        files = sorted(map(str, path.parent.glob(f"{path.name}*")))
        command = ["/bin/cat", *files]
        return subprocess.run(command, capture_output=True, check=True).stdout

    return read
