"""The Chroma store keeps the contract of a store, in a folder and on a server.

A user's rows stand in an in-memory SQLite database, on which the shared statements run: what they
read is proved once, in test_sqlite.py. What can differ here is how changes get into the journal
and back, and what a place is asked as a whole. So these laws run on Chroma: all of the parts
below, and of the other parts every law that opens a store again. What such a database decides
before anything is sent to the place runs on a folder alone.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from inspect import signature
from itertools import count

import pytest
from analyzers import PlainNames, WordAnalyzer
from laws import StoreContract, changes, deleting, isolation, items, jobs, records, search
from samples import User

from memoranda.errors import StoreError
from memoranda.store.chroma.place import Folder, parse
from memoranda.store.chroma.store import ChromaStore


def open_store(place):
    """Open a store with the parts that the contract expects."""
    return ChromaStore(place, analyzer=WordAnalyzer(), names=PlainNames())


@contextmanager
def failing_at(store, step, *, once=False):
    """Let the request with this number fail, and all after it, unless just ``once``."""
    collections = store._replicas.collections
    call, number = collections.call, count()

    def fail(*given, **arguments):
        now = next(number)
        if now == step or (now > step and not once):
            message = "no answer"
            raise StoreError(message)
        return call(*given, **arguments)

    collections.call = fail
    try:
        yield
    finally:
        del collections.call


class ChromaContract(
    records.RecordContract,
    search.VectorContract,
    items.ItemContract,
    jobs.JobContract,
    jobs.MaintenanceContract,
    changes.ApplyContract,
    changes.ForgetContract,
    changes.EraseContract,
    deleting.UserDeletionContract,
    deleting.ConversationDeletionContract,
    isolation.IsolationContract,
):
    """The contract over stores of one place, which a subclass gives."""

    @pytest.fixture
    def store(self, place):
        """Give a new store."""
        store = open_store(place)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, place):
        """Close a store and open its place again."""
        opened = []

        def again(store):
            store.close()
            opened.append(open_store(place))
            return opened[-1]

        yield again
        for store in opened:
            store.close()


for part in StoreContract.__mro__:
    for name, law in vars(part).items():
        if name.startswith("test_") and "reopen" in signature(law).parameters:
            setattr(ChromaContract, name, law)


# Known to the process that has the run alone: the next one begins anew.
ChromaContract.test_a_run_outlives_whoever_began_it = None


class TestChromaFolder(ChromaContract):
    """Chroma embedded, in a folder."""

    @pytest.fixture
    def place(self, tmp_path):
        """Give a new folder."""
        return Folder(tmp_path / "memory")

    def failing_at(self, store, step):
        """Fail at a request."""
        return failing_at(store, step)


NUMBERS = count(1)


class TestChromaServer(ChromaContract):
    """Chroma behind a server, a database for each test."""

    # Decided in memory, as for a folder, and hundreds of requests long.
    test_a_failing_action_undoes_those_before_it = None
    test_ids_of_others_do_not_exist = None
    test_ids_of_other_agents_do_not_exist = None
    test_no_action_of_one_changes_what_another_sees = None

    @pytest.fixture
    def place(self, chroma_server):
        """Give a new database of the server."""
        return parse(f"chroma+http://{chroma_server}/contract-{next(NUMBERS)}")

    def failing_at(self, store, step):
        """Fail at one request: a server that is gone for good cannot say what it has stored."""
        return failing_at(store, step, once=True)

    def test_stores_that_write_one_key_leave_one_item(self, place):
        """Each of them reads what the other committed before its own write counts."""
        stores = [open_store(place) for _ in range(2)]

        def write(store):
            return [User(store).put("k", f"{turn}", "a") for turn in range(8)]

        with ThreadPoolExecutor(2) as threads:
            told = [
                (item.id, item.created_at) for each in threads.map(write, stores) for item in each
            ]
        for store in stores:
            item = User(store).item("k", "a")
            assert set(told) == {(item.id, item.created_at)}
            assert item.content == "7"
            assert store.verify() == []
            store.close()
