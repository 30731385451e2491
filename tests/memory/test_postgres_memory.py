"""A memory on a PostgreSQL server: how it is opened, what it waits for and what it tells."""

import logging
import sys
from contextlib import closing

import pytest
from both_stores import remembering
from postgres_server import NUMBERS, connected, new_database
from psycopg.sql import SQL, Identifier, Literal
from tables import each_row

from memoranda import Memory, Settings
from memoranda.errors import (
    ConfigError,
    InvalidInput,
    MissingExtra,
    StoreBusy,
    StoreError,
    StoreUnreachable,
)

PASSWORD = "tiger$lily"  # noqa: S105 - of a server of this test


@pytest.fixture
def location(postgres):
    """Return the address of a new database."""
    return new_database(postgres)


def test_a_backup_is_left_to_the_server(location, tmp_path):
    """The error names the command that makes one."""
    told = r"run: pg_dump --format=custom --file=\S+copy post"
    with closing(remembering(location)) as memory, pytest.raises(InvalidInput, match=told):
        memory.backup(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_memory_is_there_when_it_is_opened_again(location):
    """Records, conversations and what was derived of them outlast the process."""
    with closing(remembering(location)) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.consolidate()
        kept = memory.records(), memory.conversation("trip").messages
    with closing(remembering(location)) as memory:
        assert (memory.records(), memory.conversation("trip").messages) == kept
        assert memory.search("Where does the user live?")[0].record.content.endswith("Porto.")
        assert memory.verify() == []


def test_a_dropped_connection_is_made_anew(postgres, location):
    """Whatever the server drops between two calls, the next call goes on."""
    with closing(remembering(location)) as memory:
        memory.remember("Ana likes tea")
        with connected(postgres) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname LIKE 'memory_%' AND pid <> pg_backend_pid()"
            )
        assert [record.content for record in memory.records()] == ["Ana likes tea"]
        memory.remember("Ana likes coffee")
        assert len(memory.records()) == 2


def test_a_password_is_shown_nowhere(postgres, location, caplog):
    """Neither by the memory and its reports, nor in errors or the log."""
    caplog.set_level(logging.DEBUG)
    role = Identifier(f"ana_{next(NUMBERS)}")
    with connected(postgres) as connection:
        connection.execute(
            SQL("CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}").format(role, Literal(PASSWORD))
        )
    given = location.replace("://postgres:@", f"://{role.as_string()[1:-1]}:tiger%24lily@")
    with closing(remembering(given)) as memory:
        memory.remember("Ana likes tea")
        shown = memory.stats().location
        told = [repr(memory), shown, str(memory.stats()), str(memory.doctor())]
    for wrong in (given.replace("/memory_", "/none_"), given.replace("://", "://[")):
        with pytest.raises((StoreError, ConfigError)) as raised:
            Memory(wrong)
        told.append(str(raised.value))
    for text in (*told, caplog.text):
        assert "tiger" not in text
    assert shown.startswith(f"postgresql://{role.as_string()[1:-1]}@/memory_")


@each_row(
    ("address", "error", "complaint"),
    [
        (
            "postgresql://ana@127.0.0.1:1/none?connect_timeout=2",
            StoreUnreachable,
            "look at the address",
        ),
        ("postgresql://ana@none.invalid/none", StoreUnreachable, "look at the address"),
        ("postgres://[host/none", ConfigError, "postgresql://user@host:5432/database"),
        ("postgresql://host/db?nothing=1", ConfigError, "cannot be read"),
        ("postgresql://ana:tiger@lily@host/db", ConfigError, "postgresql://… cannot be read: use"),
        ("postgresql://ana:tiger/lily@host/db", ConfigError, "%2F for /"),
        ("postgresq://ana:tiger@host/db", ConfigError, "location 'postgresq:…' is unknown"),
    ],
)
def test_a_server_that_cannot_be_used_is_named(address, error, complaint):
    """What is wrong is told, with what to do, at once."""
    with pytest.raises(error, match=complaint):
        Memory(address, settings=Settings(storage={"busy_timeout": 0.2}))


def test_a_database_that_does_not_exist_is_named(postgres):
    """Its name is told, and that it can be created."""
    with pytest.raises(StoreError, match=r'"nowhere" does not exist; .*look at the address'):
        Memory(postgres.replace("/postgres?", "/nowhere?"))


def test_a_writer_does_not_wait_for_ever(location):
    """Behind another writer it waits as long as the setting says, and then tells why not."""
    with closing(remembering(location, storage={"busy_timeout": 0.05})) as memory:
        other = remembering(location)
        with closing(other), other._services.store.transact_alone() as writer:
            assert writer.value("SELECT 1") == 1  # By now it has the lock.
            with pytest.raises(StoreBusy, match="try again"):
                memory.remember("Ana likes tea")
            assert memory.records() == []
        memory.remember("Ana likes tea")


def test_without_the_extra_the_remedy_is_told(monkeypatch):
    """Where psycopg is not installed, a location on PostgreSQL says how to install it."""
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[postgres\]'"):
        Memory("postgresql://host/db", settings=Settings())


def test_keys_grow_beyond_small_numbers(location):
    """Lists of keys and of users, of one statement, are numbers of one size."""
    with closing(remembering(location)) as memory:
        for key in (32_766, 2**31 - 2):
            with connected(location) as connection:
                connection.execute("SELECT setval('record_keys', %s)", [key])
            memory.remember_many([f"Ana likes number {key + place}" for place in range(4)])
        assert memory.count() == 8
        assert memory.search("number 32768")
