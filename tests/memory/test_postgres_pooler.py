"""Through PgBouncer in transaction mode a memory does the same: no session has a state."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from analyzers import PlainNames, WordAnalyzer
from both_stores import differences, done, remembering
from laws.jobs import JobContract
from memory_flows import FLOWS
from pgbouncer import pooling
from postgres_server import connected, new_database, new_role, programs

from memoranda.store.postgres import PostgresStore
from memoranda.store.postgres_batches import keeps_prepared

TOLD = ("learning", "searching", "looking_after")


@pytest.fixture(scope="module")
def role(postgres):
    """Create a role that owns nothing."""
    return new_role(postgres, "NOLOGIN")


@pytest.fixture(scope="module")
def pooler(postgres):
    """Run one PgBouncer for all tests; give what stands for the server's own database."""
    with pooling(postgres) as address:
        yield address


@pytest.fixture
def location(postgres, pooler, monkeypatch):
    """Return the address of a new database behind the pooler, with `pg_dump` on the PATH."""
    monkeypatch.setenv("PATH", programs(postgres))
    name = new_database(postgres).partition("?")[0].rpartition("/")[2]
    return f"{pooler.rpartition('/')[0]}/{name}"


def sessions(postgres, location):
    """Return how many sessions of clients a database has."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    with connected(postgres) as connection:
        return connection.execute(sql, [location.rpartition("/")[2]]).fetchone()[0]


@pytest.mark.parametrize(
    "flow", [flow for flow in FLOWS if flow.__name__ in TOLD], ids=lambda flow: flow.__name__
)
def test_flows_give_the_same(flow, in_a_file, location, role, tmp_path):
    """What is learned, found and looked after, also where a role limits it to a user's rows."""
    told = done(flow, location, tmp_path / "files", storage={"role": role})
    assert differences(in_a_file(flow), told) == []


def test_writers_and_readers_share_few_sessions(postgres, location, role):
    """More threads than sessions lose nothing, and no statement is taken for one of another."""
    with (
        closing(remembering(location, storage={"role": role})) as memory,
        ThreadPoolExecutor(8) as threads,
    ):

        def write(number):
            mine = memory.as_user(f"user {number % 4}")
            for turn in range(12):
                mine.remember(f"{number} says {turn}", session="trip", kind="episode")
                assert mine.search(f"says {turn}")

        list(threads.map(write, range(8)))
        assert sessions(postgres, location) <= 3
        for number in range(4):
            records = memory.as_user(f"user {number}").records(limit=100)
            said = {f"{who} says {turn}" for who in (number, number + 4) for turn in range(12)}
            assert {each.content for each in records} == said
            assert sorted(each.position for each in records) == list(range(24))
        assert memory.verify() == []
        with memory._services.store._pool.connection() as raw:
            assert not keeps_prepared(raw)
            assert raw.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


class TestPooled(JobContract):
    """Leases and claims are rows: a session that has gone takes none with it."""

    @pytest.fixture
    def store(self, location, role):
        """Give a new database."""
        store = PostgresStore(location, analyzer=WordAnalyzer(), names=PlainNames(), role=role)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, location, role):
        """Close a store and connect again."""
        opened = []

        def again(store):
            store.close()
            names = {"analyzer": WordAnalyzer(), "names": PlainNames()}
            opened.append(PostgresStore(location, role=role, **names))
            return opened[-1]

        yield again
        for store in opened:
            store.close()
