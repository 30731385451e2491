"""On PostgreSQL nothing that was acknowledged is lost or stored twice, and no password shown."""

import logging
import re
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from noting import by_hand as remembering
from postgres_server import (
    connected,
    control,
    crash,
    new_database,
    new_role,
    restart,
    running_server,
)
from psycopg import OperationalError
from psycopg.sql import SQL, Identifier, Literal

from memoranda.errors import StoreBusy, StoreError, StoreUnreachable
from memoranda.records.drafts import Draft
from memoranda.store.postgres import LOST
from memoranda.store.postgres_terms import ADD, values_of

TEXT = "Ana likes tea"
PASSWORD = "tiger@lily/7"  # noqa: S105 - of a server of this test
ENCODED = "tiger%40lily%2F7"
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
    memory = remembering(location, storage={"busy_timeout": 0.05})
    with closing(memory), connected(location) as other:
        memory.remember("Ana likes cake")
        with other.transaction():
            other.execute(HOLD)
            memory.as_user("ben").remember(TEXT)
            with pytest.raises(StoreBusy, match="others write"):
                memory.remember(TEXT)
            assert contents(memory) == ["Ana likes cake"]
        memory.remember(TEXT)
        assert contents(memory) == ["Ana likes cake", TEXT]


WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def test_who_waited_for_another_writer_knows_what_that_one_stored(location):
    """A fact is stored once, and what comes later has the higher key."""
    with remembering(location) as memory, connected(location) as other:
        memory.remember("Ana likes cake")
        for meanwhile, text in ((TEXT, TEXT), ("Ana likes milk", "Ana likes water")):
            with ThreadPoolExecutor(1) as thread:
                with memory._services.store.write(memory._scope) as tx:
                    waiting = thread.submit(memory.remember, text)
                    while not other.execute(WAITING).fetchone()[0]:
                        pass
                    tx.carry_out([memory._records.plan(Draft(content=meanwhile))])
                assert waiting.result().content == text
        assert contents(memory) == ["Ana likes cake", TEXT, "Ana likes milk", "Ana likes water"]
        assert memory.verify() == []


def test_a_new_record_is_stored_by_one_statement(location):
    """Unless the user, or a record with the same text, has a part in it."""
    with remembering(location) as memory:
        store, plan = memory._services.store, memory._records.plan

        def added(scope, text):
            new = plan(Draft(content=text))
            with store._lend() as connection:
                values = values_of(scope, new, store.analyzer)
                return connection.change(ADD, values), new.record.id

        scope = store.scope("ana")
        assert added(scope, TEXT)[0] == 0, "the user has no key yet"
        known = memory.remember("Ana likes cake")
        assert added(scope, known.content)[0] == 0
        assert added(replace(scope, deletions=1), TEXT)[0] == 0
        done, stored = added(scope, TEXT)
        assert done == 1
        assert contents(memory) == [known.content, TEXT]
        assert memory.search("tea")[0].record == memory.get(stored)
        assert [each.action for each in memory.history(stored)] == ["insert"]
        memory.admin.delete_user("ana", erase=False)
        assert added(scope, "Ana likes milk")[0] == 0
        assert memory.verify() == []


def test_searches_and_failed_writes_leave_a_connection_that_stores(location):
    """What the driver prepared for reading is dropped after a rollback; writing goes on."""
    with remembering(location) as memory:
        memory.remember("Ben likes coffee")
        for _ in range(12):  # The driver prepares what it runs often.
            memory.records()
            memory.search(TEXT)
        memory.remember(TEXT)
        with pytest.raises(IndexError), memory._services.store.transact() as connection:
            connection.all("SELECT")[1]
        memory.remember("Cleo likes water")
        assert len(contents(memory)) == 3


KILL = "SELECT pg_terminate_backend(pg_backend_pid())"


def test_a_write_that_lost_its_connection_is_there_whole_or_not_at_all(location):
    """Lost in its midst nothing is stored; lost at its end, it is told that this is not known."""
    with remembering(location) as memory:
        store, scope = memory._services.store, memory._scope

        def lose():
            with store.write(scope) as tx:
                tx.carry_out([memory._records.plan(Draft(content=TEXT))])
                tx.connection.all(KILL)

        with pytest.raises(StoreUnreachable):
            lose()
        assert contents(memory) == []
        with pytest.raises(StoreUnreachable, match="try again"), store.write(scope) as tx:
            tx.connection.run(KILL)
        memory.remember(TEXT)
        assert contents(memory) == [TEXT]


def test_what_was_lost_over_tls_is_lost(location):
    """What libpq says of a connection that it had is no advice on how to connect."""
    with remembering(location) as memory:
        for told in (
            "consuming input failed: server closed the connection unexpectedly",
            "consuming input failed: SSL connection has been closed unexpectedly",
            "sending query failed: SSL SYSCALL error: EOF detected",
        ):
            with pytest.raises(StoreUnreachable) as raised, memory._services.store._translated():
                raise OperationalError(told)
            assert str(raised.value).endswith(LOST[1])


def test_a_server_that_is_away_is_unreachable(server, location):
    """It is told so, and why, once the wait is over; who waited does not wait again."""
    with remembering(location, storage={"busy_timeout": 0.3}) as memory:
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

    with remembering(location) as memory:
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


# Passwords: as libpq has them, and shown nowhere


@pytest.fixture(scope="module")
def owner(server):
    """Create a role that has to say a password; return its name."""
    name = new_role(server, schema=True)
    with connected(server) as connection:
        sql = SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(name), Literal(PASSWORD))
        connection.execute(sql)
        (rules,) = connection.execute("SHOW hba_file").fetchone()
        told = Path(rules).read_text("utf-8")
        Path(rules).write_text(f"local all {name} scram-sha-256\n{told}", "utf-8")
        connection.execute("SELECT pg_reload_conf()")
    return name


def address(server, owner, password=""):
    """Return the address of the server's own database for the role."""
    return server.replace("postgres:@", f"{owner}{password and ':'}{password}@")


def test_a_password_comes_from_where_libpq_looks(server, owner, tmp_path, monkeypatch):
    """From the environment, or a file that is named there or in the address."""
    file = tmp_path / "passwords"
    file.write_text(f"*:*:*:{owner}:{PASSWORD}\n", "utf-8")
    file.chmod(0o600)
    named = address(server, owner)
    with pytest.raises(StoreError, match=r"no password supplied; .* PGPASSWORD"):
        remembering(named)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        remembering(named).close()
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSFILE", str(file))
        remembering(named).close()
    remembering(f"{named}&passfile={file}").close()
    with pytest.raises(StoreError, match=r"password authentication failed .* PGPASSWORD"):
        remembering(address(server, owner, "wrong"))


def test_a_password_is_shown_nowhere(server, owner, caplog):
    """Neither right nor wrong: by no report, message, log or cause of an error."""
    caplog.set_level(logging.DEBUG)
    told = []
    with remembering(address(server, owner, ENCODED)) as memory:
        memory.remember("Ana likes tea")
        store = memory._services.store
        told += [memory, memory.stats(), memory.doctor(), store]
        with pytest.raises(StoreError) as raised, store._lend() as connection:
            connection.run("SELECT nothing")
        told += traceback.format_exception(raised.value)
    for wrong in (
        address(server, owner, "tiger-lily"),
        address(server, owner, ENCODED).replace("/postgres?", "/none?"),
        address(server, owner, ENCODED).replace("host=", "host=/none"),
    ):
        with pytest.raises(StoreError) as raised:
            remembering(wrong, storage={"busy_timeout": 0.5})
        told += traceback.format_exception(raised.value)
        told += [repr(raised.value), repr(raised.value.__cause__), repr(raised.value.__context__)]
        assert owner in str(raised.value) or "none" in str(raised.value)
    for text in (*map(str, told), *map(repr, told), caplog.text):
        assert "tiger" not in text
