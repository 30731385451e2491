"""A backup of a memory on PostgreSQL is one of the server's own tool, and can be restored."""

import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from both_stores import remembering
from postgres_server import connected, new_database, new_role, programs

from memoranda.errors import InvalidInput, StoreError


@pytest.fixture
def location(postgres, monkeypatch):
    """Return the address of a new database, with the server's programs on the PATH."""
    monkeypatch.setenv("PATH", programs(postgres))
    return new_database(postgres)


def restore(address, file):
    """Restore a backup into an empty database, as the documents say."""
    program = Path(programs(address), "pg_restore")
    subprocess.run([program, "--exit-on-error", f"--dbname={address}", file], check=True)  # noqa: S603


def test_a_restored_backup_is_the_memory(postgres, location, tmp_path):
    """Records, conversations and what is derived are there, and so is what limits a role."""
    role = new_role(postgres, "NOLOGIN")
    large = {"storage": {"role": role}, "retrieval": {"exact_up_to": 0}}
    with closing(remembering(location, **large)) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.consolidate()
        memory.as_user("ben").remember("Ben likes tea.")
        memory.embed_pending()
        memory.backup(tmp_path / "copy.dump")
        kept = memory.records(), memory.conversation("trip").messages
        with pytest.raises(InvalidInput, match="exists already"):
            memory.backup(tmp_path / "copy.dump")
    assert (tmp_path / "copy.dump").stat().st_mode & 0o077 == 0
    other = new_database(postgres)
    restore(other, tmp_path / "copy.dump")
    with closing(remembering(other, **large)) as memory:
        assert (memory.records(), memory.conversation("trip").messages) == kept
        assert memory.search("Where does the user live?")[0].record.content.endswith("Porto.")
        assert memory.remember("Ana likes tea.").id
        assert memory.verify() == []
        with memory._services.store.read(memory._scope) as connection:
            assert connection.all("SELECT DISTINCT user_key FROM records") == [(1,)]


def test_a_schema_is_copied_alone(postgres, location, tmp_path):
    """Where others have tables in the database, too, only those of the memory are copied."""
    with connected(location) as connection:
        connection.execute("CREATE TABLE other (word text); CREATE SCHEMA mine")
    with closing(remembering(f"{location}&options=-csearch_path%3Dmine")) as memory:
        memory.remember("Ana likes tea.")
        memory.backup(tmp_path / "copy.dump")
    other = new_database(postgres)
    restore(other, tmp_path / "copy.dump")
    with closing(remembering(f"{other}&options=-csearch_path%3Dmine")) as memory:
        assert [each.content for each in memory.records()] == ["Ana likes tea."]
    with connected(other) as connection:
        assert connection.execute("SELECT to_regclass('public.other')").fetchone() == (None,)


def test_what_keeps_a_backup_from_being_made_is_told(postgres, location, tmp_path, monkeypatch):
    """No tool, or one that is older than the server: nothing is left behind."""
    with closing(remembering(location)) as memory:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(InvalidInput, match=r"pg_dump .* the PATH has none"):
            memory.backup(tmp_path / "copy.dump")
        older = Path(programs(postgres)).parents[1] / "pginstall" / "bin"
        monkeypatch.setenv("PATH", str(older))
        with pytest.raises(StoreError, match="server version mismatch"):
            memory.backup(tmp_path / "copy.dump")
    assert list(tmp_path.iterdir()) == []
