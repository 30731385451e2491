"""On PostgreSQL nothing that was acknowledged is lost, and nothing is stored twice."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from both_stores import remembering
from postgres_server import connected, control, crash, new_database, restart, running_server
from psycopg import OperationalError

from memoranda.errors import StoreBusy, StoreError, StoreUnreachable
from memoranda.model.models import Scope
from memoranda.records.drafts import Draft
from memoranda.store.postgres import LOST

TEXT = "Ana likes tea"
HOLD = "SELECT key FROM users WHERE name = 'ana' FOR NO KEY UPDATE"


@pytest.fixture(scope="module")
def server():
    """Run one server for all tests."""
    with running_server() as address:
        yield address


@pytest.fixture
def location(server):
    """Return the address of a new database."""
    return new_database(server)


def contents(memory):
    """Return the texts of all records."""
    return [record.content for record in memory.records()]


def test_writers_of_one_user_wait_and_others_do_not(location):
    """While one user's rows are locked, another's are written; the first says who is in the way."""
    with closing(remembering(location)) as memory, connected(location) as other:
        store = memory._services.store
        memory.remember("Ana likes cake")
        with other.transaction():
            other.execute(HOLD)
            memory.as_user("ben").remember(TEXT)
            writing = store.write(Scope("ana"), patience=0.05)
            with pytest.raises(StoreBusy, match="others write"), writing:
                pass
        memory.remember(TEXT)
        assert contents(memory) == ["Ana likes cake", TEXT]


def test_searches_and_failed_writes_leave_a_connection_that_stores(location):
    """What the driver prepared for reading is dropped after a rollback; writing goes on."""
    with closing(remembering(location)) as memory:
        memory.remember("Ben likes coffee")
        for _ in range(12):  # The driver prepares what it runs often.
            memory.records()
            memory.search(TEXT)
        memory.remember(TEXT)
        with pytest.raises(IndexError), memory._services.store.transact() as connection:
            connection.rows("SELECT")[1]
        memory.remember("Cleo likes water")
        assert len(contents(memory)) == 3


KILL = "SELECT pg_terminate_backend(pg_backend_pid())"


def test_a_write_that_lost_its_connection_is_there_whole_or_not_at_all(location):
    """Lost in its midst nothing is stored; lost at its end, it is told that this is not known."""
    with closing(remembering(location)) as memory:
        store, scope = memory._services.store, memory._scope

        def lose():
            with store.write(scope) as tx:
                tx.carry_out([memory._records.plan(Draft(content=TEXT))])
                tx.connection.rows(KILL)

        with pytest.raises(StoreUnreachable):
            lose()
        assert contents(memory) == []
        with (
            pytest.raises(StoreUnreachable, match="look whether what was being stored is there"),
            store.write(scope) as tx,
        ):
            tx.connection.run(KILL)
        memory.remember(TEXT)
        assert contents(memory) == [TEXT]


@pytest.mark.parametrize(
    "told",
    [
        "consuming input failed: server closed the connection unexpectedly",
        "consuming input failed: SSL connection has been closed unexpectedly",
        "sending query failed: SSL SYSCALL error: EOF detected",
    ],
)
def test_what_was_lost_over_tls_is_lost(location, told):
    """What libpq says of a connection that it had is no advice on how to connect."""
    with closing(remembering(location)) as memory, pytest.raises(StoreUnreachable) as raised:  # noqa: SIM117
        with memory._services.store._translated():
            raise OperationalError(told)
    assert raised.value.lost
    assert str(raised.value).endswith(LOST[1])


def test_a_server_that_is_away_is_unreachable(server, location):
    """It is told so, and why, once the wait is over; who waited does not wait again."""
    with closing(remembering(location, storage={"busy_timeout": 0.3})) as memory:
        memory.remember(TEXT)
        control(server, "-m", "fast", "stop")
        try:
            for call in (memory.records, lambda: memory.search(TEXT), lambda: memory.remember("x")):
                with pytest.raises(StoreUnreachable, match="start the server and try again"):
                    call()
        finally:
            restart(server)
        found = None
        while found is None:  # The pool looks for the server again in its own time.
            with suppress(StoreBusy, StoreUnreachable):
                found = contents(memory)
        assert found == [TEXT]


def test_a_crash_of_the_server_loses_nothing(location):
    """Writers go on when it is back: each acknowledged record is there, and once."""
    stored, unknown, told = [], [], set()
    started = threading.Barrier(5)

    def write(memory, number):
        for turn in range(40):
            text = f"{number} says {turn}"
            try:
                memory.as_user(f"user {number}").remember(text)
            except StoreError as error:
                unknown.append(text)
                told.add(str(error))
            else:
                stored.append(text)
            if turn == 2:
                started.wait()

    with closing(remembering(location)) as memory:
        with ThreadPoolExecutor(4) as threads:
            writing = [threads.submit(write, memory, number) for number in range(4)]
            started.wait()
            crash(location)
            for each in writing:
                each.result()
        found = [text for number in range(4) for text in contents(memory.as_user(f"user {number}"))]
        assert sorted(set(found) - set(unknown)) == sorted(stored)
        assert len(found) == len(set(found))
        assert {each for each in told if not re.search("try again", each)} == set()
