"""The Chroma store keeps the contract of a store.

An SQLite database in memory runs the shared statements: what they read is proved once, in
test_sqlite.py. What can differ here is how changes get into the journal and back, and into the
collection of the memories. So the laws of the parts below run on Chroma, and of the other parts
every law that opens a store again.
"""

from contextlib import closing, contextmanager
from itertools import count

import pytest
from analyzers import PlainNames, WordAnalyzer
from laws import changes, deleting, jobs, reopening, search

from memoranda.errors import StoreError
from memoranda.store.chroma.store import ChromaStore


def open_store(folder):
    """Open a store with the parts that the contract expects."""
    return ChromaStore(folder, analyzer=WordAnalyzer(), names=PlainNames())


@reopening
class TestChroma(
    search.VectorContract,
    jobs.MaintenanceContract,
    changes.ApplyContract,
    changes.EraseContract,
    deleting.UserDeletionContract,
):
    """A store in a new folder."""

    # A copy of the closed folder is a backup.
    test_a_backup_holds_everything = None
    # The users of a run are rows like others.
    test_a_run_outlives_whoever_began_it = None

    @pytest.fixture
    def store(self, tmp_path):
        """Give a new store."""
        with closing(open_store(tmp_path / "memory")) as store:
            yield store

    def open_again(self, store):
        """Close a store and open its folder again."""
        store.close()
        return open_store(store.folder.path)

    @contextmanager
    def failing_at(self, store, step):
        """Let the call of Chroma with this number fail, and all after it."""
        call, number = store.folder.call, count()

        def fail(*given, **arguments):
            if next(number) >= step:
                message = "no answer"
                raise StoreError(message)
            return call(*given, **arguments)

        store.folder.call = fail
        try:
            yield
        finally:
            del store.folder.call
