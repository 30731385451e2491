"""What is erased on PostgreSQL is in no row, and in no file once the tables were written anew."""

from contextlib import closing, suppress
from pathlib import Path

import pytest
from both_stores import remembering
from postgres_server import connected, new_database

SECRET = "Zanzibarquokka"  # noqa: S105 - a name
TEXT = f"Ana met {SECRET} Vaxholm in Reykjanes."
FILES = """
SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()
"""


@pytest.fixture
def location(postgres):
    """Return the address of a new database."""
    return new_database(postgres)


@pytest.fixture
def memory(location):
    """Give Ana's memory."""
    with closing(remembering(location)) as memory:
        yield memory


def holding(location, *texts):
    """Return the files of the database that hold one of these texts, in capitals or not."""
    with connected(location) as connection:
        connection.execute("CHECKPOINT")
        data, database = connection.execute(FILES).fetchone()
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
    chat.add("user", f"I will go to Reykjanes with {SECRET}.")
    chat.add("user", TEXT)
    chat.pop()
    record = memory.remember(TEXT, tags=[SECRET], metadata={"who": SECRET})
    memory.remember("Ben likes tea.")
    memory.embed_pending()
    memory.entity(SECRET)
    return record.id


def sample(location):
    """Let the planner look at all rows, as the server does by itself."""
    with connected(location) as connection:
        connection.execute("ANALYZE")


def write_anew(location):
    """Run what the documents name, as the owner of the tables."""
    with connected(location) as connection:
        connection.execute("VACUUM (FULL)")


def test_what_is_erased_is_in_no_file(memory, location):
    """Neither the row nor what is derived of it, nor what was left of it before, nor samples."""
    record = speak(memory)
    sample(location)
    assert {"records", "record_terms", "messages", "entity_names"} <= holding(location, SECRET)
    receipt = memory.forget(record, erase=True)
    assert not receipt.purged  # Nobody can look into the files of a server from here.
    assert memory.delete_conversation("trip", erase=True).erased
    assert memory.verify() == []
    write_anew(location)
    assert holding(location, SECRET, "Reykjanes", "Vaxholm") == set()
    assert [each.content for each in memory.records()] == ["Ben likes tea."]


def test_who_is_deleted_is_in_no_file(memory, location):
    """Nor is the name of a user who was deleted, nor anything of theirs."""
    other = memory.as_user(f"user {SECRET}")
    speak(other)
    sample(location)
    assert "users" in holding(location, f"user {SECRET}")
    memory.remember("Ben likes tea.")
    memory.admin.delete_user(f"user {SECRET}")
    assert memory.verify() == []
    write_anew(location)
    assert holding(location, SECRET) == set()
