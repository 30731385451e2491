"""Opening: new files, wrong files, private files; and what closing leaves behind."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import ACTIVE, ANA, User, insert, record
from steps import carry_out

from memoranda.errors import InvalidInput, NotADatabase, SchemaTooNew, StoreError, StoreReadOnly
from memoranda.model.query import IndexVersion
from memoranda.store.sql.database import schema_steps
from memoranda.store.sqlite import SqliteStore

ZERO = IndexVersion()


def mode(path):
    """Return who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_an_empty_file_is_a_new_database(path, open_store):
    """A file of zero bytes becomes a database, as one that is not there does."""
    path.touch()
    store = open_store()
    User(store).remember("tea")
    assert User(store).page() == ["tea"]


def test_files_are_private(path, store):
    """Nobody but the owner can read the database, its log, the index of the log or a backup."""
    User(store).remember("tea")
    files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
    assert [mode(file) for file in files] == [0o600] * 3
    target = path.with_name("copy.db")
    store.backup(str(target))
    assert mode(target) == 0o600
    store.close()
    assert mode(path) == 0o600
    assert sorted(path.parent.iterdir()) == [target, path]  # Closing leaves one file.


@pytest.mark.parametrize("point", [0, 19, 57])
def test_an_interrupted_migration_leaves_nothing(path, open_store, point):
    """A migration that fails at any of its statements leaves no table, and runs the next time."""

    class Failing(SqliteStore):
        def _migrate(self):
            left = iter(range(point))
            self._writer.raw.exec_trace = lambda _cursor, sql, _values: (
                sql.startswith("ROLLBACK") or next(left, None) is not None
            )
            super()._migrate()

    with pytest.raises(StoreError):
        Failing(path, analyzer=WordAnalyzer(), names=PlainNames())
    connection = apsw.Connection(os.fspath(path))
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    version = connection.pragma("user_version")
    connection.close()
    # The analyzer's name is written after the migration, in a transaction of its own.
    assert (tables == 0) == (version == 0)
    assert version in {0, len(schema_steps())}
    store = open_store()
    User(store).remember("tea")
    assert store.verify() == []


def test_databases_and_files_of_others_are_left_alone(path, open_store):
    """A file of another application or a newer memoranda is refused; not a byte of it changes."""
    newer = f"PRAGMA application_id = {0x6D656D6F}; PRAGMA user_version = {len(schema_steps()) + 1}"
    for script in (
        newer,
        "CREATE TABLE notes (text)",
        "PRAGMA application_id = 77",
        "PRAGMA user_version = 1",
        "CREATE TABLE notes (text); PRAGMA journal_mode = WAL",
        b"Dear diary, today\n" * 500,
        b"\x00" * 5_000,
        b"xy",
    ):
        if isinstance(script, str):
            connection = apsw.Connection(os.fspath(path))
            connection.execute(script)
            connection.close()
        else:
            path.write_bytes(script)
        before = path.read_bytes()
        error, told = (SchemaTooNew, "upgrade") if script == newer else (NotADatabase, "memory.db")
        with pytest.raises(error, match=told):
            open_store()
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]
        path.unlink()


def test_places_where_no_file_can_be_are_refused(path, open_store):
    """A folder, a path in a folder that is not there, and an empty path."""
    path.mkdir()
    places = ((path, r"agent\.db"), (path / "deeper" / "m.db", "mkdir -p"), ("", r"agent\.db"))
    for place, told in places:
        with pytest.raises(StoreError, match=told):
            open_store(place)
    assert list(path.iterdir()) == []


def test_a_relative_path_stays_where_it_was(path, open_store, monkeypatch):
    """Changing the working folder later leads to no other file."""
    monkeypatch.chdir(path.parent)
    store = open_store(path.name)
    User(store).remember("tea")
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    store._idle.clear()
    assert User(store).page() == ["tea"]
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_was_moved_away_is_not_replaced(path, store):
    """A store whose file is gone says so instead of starting an empty one."""
    User(store).remember("tea")
    path.rename(path.with_name("moved.db"))
    store._idle.clear()
    with pytest.raises(StoreError):
        User(store).page()
    assert not path.exists()


def test_a_second_store_takes_no_lock_from_the_first(path, open_store):
    """A second store on a file, in the same process, leaves the locks of the first in place.

    Closing any handle of a file frees all locks of the process on it; another process
    would then take the file for unused and delete its log.
    """
    first = open_store()
    User(first).remember("one")
    open_store().close()
    lock_all = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
    )
    command = [sys.executable, "-c", lock_all, path]
    tried = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own code, no shell
    assert "BlockingIOError" in tried.stderr
    first.close()
    assert subprocess.run(command, check=False).returncode == 0  # noqa: S603 - as above


def test_a_reader_may_outlive_the_store(store):
    """A snapshot that is still open when the store closes ends without an error."""
    User(store).remember("tea")
    with store.snapshot():
        assert User(store).page() == ["tea"]
        store.close()
        assert User(store).page() == ["tea"]


def test_text_that_utf8_cannot_hold_is_our_error(store):
    """A lone surrogate anywhere is refused by an error of memoranda, not of a codec."""
    for use in (
        lambda: store.get(ANA, ["\ud800"]),
        lambda: store.entities(ANA, ACTIVE, name="\ud800", limit=1),
        lambda: store.postings(ANA, ["\ud800"]),
        lambda: carry_out(store, ANA, [insert(record("tea", session_id="\ud800"))]),
    ):
        User(store).remember("tea")
        with pytest.raises(InvalidInput, match="surrogate"):
            use()


def test_another_analyzer_indexes_anew(open_store):
    """Under another analyzer's name every text is analysed again, and readers are told."""
    store = open_store()
    (item,) = User(store).remember("Green tea")
    version = store.index_changes(ANA, ZERO).version
    writer = store._writer.raw
    writer.execute("UPDATE records SET term_count = 50")
    store.close()
    same = open_store()
    assert same.index_changes(ANA, ZERO).rows["terms"] == 50
    same.close()
    other = open_store(analyzer="words-2")
    assert other.index_changes(ANA, ZERO).rows["terms"] == 2
    assert other.index_changes(ANA, version).reset
    assert other.verify() == []
    assert other.get(ANA, [item.id]) == {item.id: item}


def test_a_file_in_a_folder_that_cannot_be_written_is_read(path, open_store, monkeypatch):
    """What is stored there can be listed; a log that was left beside it wants a copy of both."""
    store = open_store()
    User(store).remember("tea")
    store.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    store = open_store()
    assert User(store).page() == ["tea"]
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        User(store).remember("cocoa")
    store.close()
    Path(f"{path}-wal").write_bytes(b"log")
    with pytest.raises(StoreReadOnly, match="copy both to another folder"):
        open_store()
