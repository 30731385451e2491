"""Files that are deleted, replaced or locked behind the back of an open store."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import User

from memoranda.errors import StoreError
from memoranda.store.sqlite import SqliteStore


def take_away(path, how):
    """Delete, move or replace a file."""
    if how == "deleted":
        path.unlink()
    elif how == "moved":
        path.rename(path.with_name("moved"))
    else:
        path.with_name("other").write_bytes(path.read_bytes())
        path.with_name("other").replace(path)


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_write_into_a_lost_file_is_refused(open_store, path, how, suffix):
    """What nobody would ever open again is not acknowledged, and the error says what to do."""
    store = open_store()
    User(store).remember("tea")
    take_away(Path(f"{path}{suffix}"), how)
    with pytest.raises(StoreError, match=r"deleted, moved or replaced .* open the memory again"):
        User(store).remember("cake")
    assert User(store).page() == ["tea"]


def test_a_file_that_goes_while_it_is_written(open_store, path):
    """A transaction whose file is deleted before its end is not acknowledged."""
    store = open_store()

    def write():
        with store.write() as connection:
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
def copied(path, tmp_path):
    """Copy files of the database as a killed process leaves them; by another process.

    If this one closed a handle of a file, it would lose its locks on it.
    """

    def copy(*suffixes):
        folder = tmp_path / "killed"
        folder.mkdir(exist_ok=True)
        files = [f"{path}{suffix}" for suffix in suffixes]
        subprocess.run(["/bin/cp", *files, folder], check=True)  # noqa: S603 - no shell
        return folder / path.name

    return copy


def open_at(path):
    """Open the database at ``path``."""
    return SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames())


def test_what_a_reader_left_locked_is_unlocked(open_store, copied):
    """An index that was left read-only can be written again where the database can."""
    User(open_store()).remember("tea")
    path = copied("", "-shm", "-wal")
    for suffix in ("-shm", "-wal"):
        os.chmod(f"{path}{suffix}", 0o444)  # noqa: PTH101 - not a path of its own
    store = open_at(path)
    User(store).remember("cake")
    modes = [stat.S_IMODE(Path(f"{path}{suffix}").stat().st_mode) for suffix in ("-shm", "-wal")]
    assert modes == [0o600, 0o600]
    store.close()
