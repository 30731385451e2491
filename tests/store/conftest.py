"""SQLite stores with small parts, and a look at their files from outside."""

import subprocess

import pytest
from sqlite_fixtures import open_store, path

__all__ = ["open_store", "path"]


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
