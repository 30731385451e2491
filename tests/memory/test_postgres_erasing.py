"""What is erased on PostgreSQL is in no file of a table or an index, once nobody uses these."""

from contextlib import closing, suppress
from pathlib import Path

import pytest
from both_stores import remembering
from postgres_server import connected, new_database, new_role

from memoranda.store import postgres_purge
from memoranda.store.postgres_partitions import spread_schema

SECRET = "Zanzibarquokka"  # noqa: S105 - a name
TEXT = f"Ana met {SECRET} Vaxholm in Reykjanes."
FILES = """
SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()
"""
PENDING = "free space may still hold what was erased"


@pytest.fixture
def location(postgres):
    """Return the address of a new database."""
    return new_database(postgres)


@pytest.fixture(params=[False, True], ids=["owner", "limited"])
def memory(request, location, postgres):
    """Give Ana's memory, also where a role limits it to her rows."""
    role = new_role(postgres, "NOLOGIN") if request.param else None
    with closing(remembering(location, storage={"role": role})) as memory:
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


def test_what_is_erased_is_in_no_file(memory, location):
    """Neither the row nor what is derived of it, nor what was left of it before, nor samples."""
    record = speak(memory)
    sample(location)
    assert {"records", "record_terms", "messages", "entity_names"} <= holding(location, SECRET)
    assert "messages" in holding(location, "I will go to Reykjanes")
    receipt = memory.forget(record, erase=True)
    assert PENDING not in receipt.unpurged
    assert not receipt.purged  # Nobody can look into the files of a server from here.
    assert memory.delete_conversation("trip", erase=True).erased
    sample(location)
    assert holding(location, SECRET, "Reykjanes", "Vaxholm") == set()
    assert memory.verify() == []
    assert [each.content for each in memory.records()] == ["Ben likes tea."]


def test_who_is_deleted_is_in_no_file(memory, location):
    """Nor is the name of a user who was deleted, nor anything of theirs."""
    other = memory.as_user(f"user {SECRET}")
    speak(other)
    sample(location)
    assert "users" in holding(location, f"user {SECRET}")
    memory.remember("Ben likes tea.")
    receipt = memory.admin.delete_user(f"user {SECRET}")
    assert PENDING not in receipt.unpurged
    assert holding(location, SECRET) == set()
    assert memory.verify() == []


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("LOCK TABLE records IN ACCESS SHARE MODE", "others keep using records;"),
        ("SELECT count(*) FROM meta", "transactions that began before still see it in"),
    ],
    ids=["held", "seen"],
)
def test_a_purge_waits_for_nobody_for_long(location, sql, why, monkeypatch):
    """Behind others it gives up and says so, verify does, too, and a later one does the rest."""
    monkeypatch.setattr(postgres_purge, "PATIENCE", 0.05)
    monkeypatch.setattr(postgres_purge, "LONGEST_WAIT", 50)
    with closing(remembering(location)) as memory, connected(location) as other:
        record = speak(memory)
        with other.transaction():
            other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            other.execute(sql)
            receipt = memory.forget(record, erase=True)
            assert why in receipt.unpurged
            assert PENDING in receipt.unpurged
            assert "records" in holding(location, TEXT)
            assert memory.remember("Ana likes tea.").id
            assert ["doctor --purge" in problem for problem in memory.verify()] == [True]
            assert not memory.purge()
        monkeypatch.undo()
        assert memory.purge()
        assert memory.verify() == []
        assert holding(location, TEXT) == set()


def test_a_large_table_is_written_anew_only_if_asked(location, monkeypatch):
    """Nobody can use it meanwhile: it is left for a moment that an operator chooses."""
    monkeypatch.setattr(postgres_purge, "MOST_UNASKED", 0)
    with closing(remembering(location)) as memory:
        receipt = memory.forget(speak(memory), erase=True)
        assert "records," in receipt.unpurged
        assert "records" in holding(location, TEXT)
        assert memory.purge()
        assert holding(location, TEXT) == set()


def test_only_the_partitions_of_the_user_are_written_anew(location):
    """Others go on with theirs."""
    with connected(location) as connection:
        connection.execute(spread_schema(5))
        files = "SELECT relname, pg_relation_filenode(oid) FROM pg_class WHERE relname ~ '_p[0-9]$'"
        with closing(remembering(location)) as memory:
            record = speak(memory)
            before = dict(connection.execute(files).fetchall())
            assert PENDING not in memory.forget(record, erase=True).unpurged
            after = dict(connection.execute(files).fetchall())
            assert holding(location, TEXT) == set()
    changed = {name for name in before if before[name] != after[name]}
    assert "records" in {name.rpartition("_")[0] for name in changed}
    assert len({name.rpartition("_")[2] for name in changed}) == 1
