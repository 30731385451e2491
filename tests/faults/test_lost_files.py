"""Files that are deleted, replaced or locked behind the back of an open store."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import User

from memoranda.errors import StoreError, StoreReadOnly
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


def test_a_folder_that_cannot_be_written_is_told():
    """A log could not be written there: the error says so, and nothing is made."""
    parts = {"analyzer": WordAnalyzer(), "names": PlainNames()}
    with TemporaryDirectory() as folder:
        path, root = Path(folder, "memory.db"), os.geteuid() == 0
        SqliteStore(path, **parts).close()
        path.chmod(0o444)
        path.parent.chmod(0o555)
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(StoreReadOnly, match="permissions of the file and its folder"):
                SqliteStore(path, **parts)
        finally:
            if root:
                os.seteuid(0)
            path.parent.chmod(0o700)
        assert list(path.parent.iterdir()) == [path]
