"""The shared statements keep the contract of a store on a real PostgreSQL server, too."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from postgres_server import empty, running_server

from memoranda.errors import InvalidInput, StoreError
from memoranda.store.postgres import PostgresConnection, PostgresStore
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts import StoreContract
from memoranda.testing.samples import ALL, ANA, User


@pytest.fixture(scope="session")
def server():
    """Run one server for all tests."""
    with running_server() as address:
        yield address


def open_store(address):
    """Open a store with the parts that the contract expects."""
    return PostgresStore(address, analyzer=WordAnalyzer(), names=PlainNames())


@contextmanager
def failing_at(step):
    """Fail at the statement with this number of a transaction."""
    left = iter(range(step))
    run = PostgresConnection._execute

    def execute(self, sql, values):
        if next(left, None) is None:
            message = "the statement was aborted"
            raise StoreError(message)
        return run(self, sql, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_execute", execute)
        yield


class TestPostgres(StoreContract):
    """A database on a server."""

    @pytest.fixture
    def store(self, server):
        """Give an empty database."""
        empty(server)
        store = open_store(server)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, server):
        """Close a store and connect again."""
        opened = []

        def again(store):
            store.close()
            opened.append(open_store(server))
            return opened[-1]

        yield again
        for store in opened:
            store.close()

    def failing_at(self, store, step):
        """Fail at every seventh statement: the server undoes all of them alike, and slowly."""
        del store
        return failing_at(7 * step)

    def test_a_backup_holds_everything(self, store, tmp_path):
        """The server has its own tool for copies, and the message names it."""
        with pytest.raises(InvalidInput, match="pg_dump"):
            store.backup(str(tmp_path / "copy"))

    def test_size_grows(self, store):
        """The size is in bytes and holds what was stored, if that cannot be compressed."""
        before = store.size()
        User(store).remember(secrets.token_hex(500_000))
        assert store.size() >= before + 300_000

    def test_writers_at_once_give_each_place_once(self, store):
        """Writers of one session wait for each other: no place in it is given twice."""

        def write(number):
            for turn in range(5):
                User(store).remember(f"{number} says {turn}", session_id="trip")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        positions = [item.position for item in store.records(ANA, ALL)]
        assert sorted(positions) == list(range(20)), User(store).page()
