"""Files that are deleted, replaced or locked behind the back of an open store."""

import os
from pathlib import Path

import pytest
from samples import User

from memoranda.errors import StoreError, StoreReadOnly


def take_away(path, how):
    """Delete, move or replace a file."""
    if how == "deleted":
        path.unlink()
    elif how == "moved":
        path.rename(path.with_name("moved"))
    else:
        path.with_name("other").write_bytes(path.read_bytes())
        path.with_name("other").replace(path)


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_write_into_a_lost_file_is_refused(open_store, path, how):
    """What nobody would ever open again is not acknowledged, and the error says what to do."""
    store = open_store()
    User(store).remember("tea")
    take_away(path, how)
    with pytest.raises(StoreError, match=r"deleted, moved or replaced .* open the memory again"):
        User(store).remember("cake")


def test_a_file_that_goes_while_it_is_written(open_store, path):
    """A transaction whose file is deleted before its end is not acknowledged."""
    store = open_store()

    def write():
        with store.transact() as connection:
            connection.run("UPDATE users SET deleted = 0")
            path.unlink()

    with pytest.raises(StoreError, match="deleted"):
        write()


def test_a_reader_finds_no_other_file(open_store, path):
    """A connection that is opened later refuses a file that took the place of the first."""
    store = open_store()
    User(store).remember("tea")
    take_away(path, "replaced")
    store._idle.clear()
    with pytest.raises(StoreError, match="replaced"):
        User(store).page()


@pytest.fixture
def read_only(path, monkeypatch):
    """Make the folder and the file such that nobody can write them; root is only told so."""

    def protect():
        path.chmod(0o400)
        path.parent.chmod(0o500)
        if os.geteuid() == 0:
            monkeypatch.setattr(os, "access", lambda *_: False)

    yield protect
    path.parent.chmod(0o700)
    path.chmod(0o600)


def test_a_memory_in_a_folder_that_cannot_be_written_is_read(open_store, path, read_only):
    """It lists, searches and counts, and says of a write that there is no permission."""
    store = open_store()
    User(store).remember("tea")
    store.close()
    read_only()
    store = open_store()
    assert User(store).page() == ["tea"]
    assert store.verify() == []
    with pytest.raises(StoreReadOnly, match="permissions"):
        User(store).remember("cake")
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_left_is_not_passed_over(open_store, path, read_only):
    """A log that cannot be read there is told of: without it, what was stored last would lack."""
    store = open_store()
    User(store).remember("tea")
    copied = [(suffix, Path(f"{path}{suffix}").read_bytes()) for suffix in ("", "-wal")]
    store.close()
    for suffix, content in copied:
        Path(f"{path}{suffix}").write_bytes(content)
    read_only()
    with pytest.raises(StoreReadOnly, match=r"memory\.db-wal.*copy both"):
        open_store()
