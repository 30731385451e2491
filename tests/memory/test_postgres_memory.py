"""A memory on a PostgreSQL server: how it is opened, what it waits for and what it tells."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from noting import by_hand as remembering
from postgres_server import connected, new_database
from tables import each_row

from memoranda import Memory, Settings
from memoranda.errors import (
    ConfigError,
    InvalidInput,
    MissingExtra,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnreachable,
)
from memoranda.memory import services_of


@pytest.fixture
def location(postgres):
    """Return the address of a new database."""
    return new_database(postgres)


def test_a_backup_is_left_to_the_server(location, tmp_path):
    """The error names the command that makes one."""
    told = r"run: pg_dump --format=custom '--file=\S+my copy' 'postgresql:"
    with remembering(location) as memory, pytest.raises(InvalidInput, match=told):
        memory.backup(tmp_path / "my copy")
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_all_is_read(location):
    """On a standby: search, recall, contexts, entities, tools; what waits for a vector, too."""
    with remembering(location) as memory:
        memory.remember("Ana likes tea in Porto.")
        memory.conversation("trip").add("user", "I like tea.")
        memory.entities()
        memory.remember("Ana likes coffee in Faro.")
    standby = f"{location}&options=-c%20default_transaction_read_only%3Don"
    with remembering(standby) as memory:
        tools = memory.tools()
        for found in (
            [each.record.content for each in memory.search("Who likes coffee?")],
            memory.recall("Who likes coffee?").text,
            memory.conversation("trip").context("Who likes coffee?").messages,
            tools.find("search_memories")(query="coffee"),
            [each.record.content for each in memory.facts()],
        ):
            assert "coffee" in str(found)
        assert "tea" in tools.find("get_entity_info")(name="Porto")
        assert [each.name for each in memory.entities()] == ["Ana", "Porto"]
        assert memory.notes.read_memory() == ""
        with pytest.raises(StoreReadOnly, match="connect to a server that takes writes"):
            memory.remember("Ana likes cake.")


def test_what_the_server_ends_can_be_tried_again(location):
    """An administrator's limit is told with what to do."""
    asked = "SELECT set_config('statement_timeout', '1', false)", "SELECT pg_sleep(1)"
    with remembering(location) as memory:
        store = services_of(memory).store
        with (
            pytest.raises(StoreBusy, match="raise its statement_timeout"),
            store.read() as connection,
        ):
            assert [connection.value(sql) for sql in asked] == []


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


def test_without_the_extra_the_remedy_is_told(monkeypatch):
    """Where psycopg is not installed, a location on PostgreSQL says how to install it."""
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[postgres\]'"):
        Memory("postgresql://host/db", settings=Settings())


def test_keys_grow_beyond_small_numbers(location):
    """Lists of keys and of users, of one statement, are numbers of one size."""
    with remembering(location) as memory:
        for key in (32_766, 2**31 - 2):
            with connected(location) as connection:
                connection.execute("SELECT setval('record_keys', %s)", [key])
            memory.remember_many([f"Ana likes number {key + place}" for place in range(4)])
        assert memory.count() == 8
        assert memory.search("number 32768")


def test_notes_arrive_on_postgresql_where_there_is_a_folder(postgres, tmp_path):
    """Without one they are left out, and named; also once it is named they are copied."""
    where, notes = new_database(postgres), {"folder": str(tmp_path / "notes" / "{user}")}
    with remembering(str(tmp_path / "a.db")) as memory:
        memory.remember("Ana likes tea")
        memory.notes.sync()
        memory.notes.append_history("Talked of tea.")
        own = memory.notes.folder
        (told,) = memory.copy_to(where)
        assert "no folder for them; set notes.folder" in told.left_out[0]
    with remembering(str(tmp_path / "a.db"), notes=notes) as memory:
        assert [told.left_out for told in memory.copy_to(where)] == [()]
    for path in own.glob("*.md"):
        assert (tmp_path / "notes" / "ana" / path.name).read_text() == path.read_text()
    with remembering(where, notes=notes) as copy:
        assert copy.notes.search("tea")[0].text == "Talked of tea."
        assert copy.notes.sync().changes == 0


# What is erased is in no row, and in no file once the tables were written anew


NAME = "Zanzibarquokka"
MEETING = f"Ana met {NAME} Vaxholm in Reykjanes."
DATA = """
SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()
"""


def holding(location, *texts):
    """Return the files of the database that hold one of these texts, in capitals or not."""
    with connected(location) as connection:
        connection.execute("CHECKPOINT")
        data, database = connection.execute(DATA).fetchone()
        names = dict(
            connection.execute(
                "SELECT pg_relation_filenode(oid)::text, relname FROM pg_class WHERE relkind <> 'v'"
            ).fetchall()
        )
    wanted = [text.lower().encode() for text in texts]
    found = set()
    for file in Path(data, "base", str(database)).iterdir():
        with suppress(FileNotFoundError):  # The server drops some whenever it likes.
            if any(text in file.read_bytes().lower() for text in wanted):
                found.add(names.get(file.name.partition(".")[0], file.name))
    return found


def speak(memory):
    """Say and remember a name in every way; return the record to be erased."""
    chat = memory.conversation("trip", system="Plan trips.")
    chat.add("user", f"I will go to Reykjanes with {NAME}.")
    chat.add("user", MEETING)
    chat.pop()
    record = memory.remember(MEETING, tags=[NAME], metadata={"who": NAME})
    memory.remember("Ben likes tea.")
    memory.embed_pending()
    memory.entity(NAME)
    return record.id


def test_what_is_erased_is_in_no_file(location):
    """Neither rows nor what is derived, nor samples of the planner; nor a deleted user's name."""
    with remembering(location) as memory:
        record = speak(memory)
        speak(memory.as_user(f"user {NAME}"))
        with connected(location) as connection:
            connection.execute("ANALYZE")
        told = {"records", "record_terms", "messages", "entity_names", "users"}
        assert told <= holding(location, NAME)
        receipt = memory.forget(record, erase=True)
        assert not receipt.purged  # Nobody can look into the files of a server from here.
        assert memory.delete_conversation("trip", erase=True).erased
        memory.admin.delete_user(f"user {NAME}")
        assert memory.verify() == []
        with connected(location) as connection:
            connection.execute("VACUUM (FULL)")  # As the documents say, by the owner of the tables.
        assert holding(location, NAME, "Reykjanes", "Vaxholm") == set()
        assert [each.content for each in memory.records()] == ["Ben likes tea."]


# A user with more records than memory has room for is asked like any other
