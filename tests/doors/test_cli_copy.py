"""``memoranda copy``: users from one place to another, with what is told of it."""

import stat
from pathlib import Path

import pytest
from postgres_server import new_database

from memoranda import Memory


@pytest.fixture(autouse=True)
def _machine(own_machine, monkeypatch, tmp_path):
    """Begin in a folder of its own, with a memory of two users."""
    del own_machine  # Which comes first.
    monkeypatch.chdir(tmp_path)
    for user in ("ana", "ben"):
        with Memory("agent.db", user=user) as memory:
            memory.remember(f"{user} likes tea")
            memory.conversation("trip").add("user", "Hello.")


def test_all_users_are_copied(run, told):
    """It says how much it was; a second time it is nothing."""
    first = run("copy", "agent.db", "b.db").stdout
    assert "copied 4 records, 2 messages, for 2 users" in first
    assert "copied 0 records, 0 messages" in run("copy", "agent.db", "b.db").stdout
    assert stat.S_IMODE(Path("b.db").stat().st_mode) == 0o600
    report = told("copy", "b.db", "c.db", "--user", "ben")
    assert [(each["users"], each["messages"]) for each in report["users"]] == [(["ben"], 1)]
    assert run("list", "--db", "c.db", "--user", "ben").stdout.count("ben likes tea") == 1


def test_a_missing_place_is_no_new_file(run, tmp_path):
    """FROM has to be there, a folder too; what is near is named, and nothing is made."""
    assert (
        "there is no memory at agnet.db; beside it: agent.db"
        in run("copy", "agnet.db", "b.db", code=1).stderr
    )
    assert "there is no memory at" in run("copy", "chroma:///no/where", "b.db", code=1).stderr
    assert "no user 'bem'" in run("copy", "agent.db", "b.db", "--user", "bem", code=1).stderr
    assert "leave out --db" in run("copy", "agent.db", "b.db", "--db", "c.db", code=1).stderr
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["agent.db"]


def test_a_database_is_a_place_as_a_file_is(run, postgres):
    """A database is copied to, and read; copied to itself, it stays as it is."""
    address = new_database(postgres)
    assert "copied 4 records, 2 messages" in run("copy", "agent.db", address).stdout
    assert "ben likes tea" in run("list", "--db", address, "--user", "ben").stdout
    assert "copied 0 records" in run("copy", address, f"{address}&sslmode=prefer").stdout


def test_a_server_that_is_away_is_told_of(run):
    """In one line, with what to look at."""
    (told,) = run("list", "--db", "postgresql://ana@127.0.0.1:1/none", code=1).stderr.splitlines()
    assert "Connection refused" in told
    assert "start the server and try again, or look at the address" in told
