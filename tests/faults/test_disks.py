"""Disks that are full, files that cannot be written or are gone: a clear error, nothing lost."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import ANA, User, insert, moment, record
from steps import carry_out, do

from memoranda import Memory, Settings
from memoranda.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from memoranda.store.sqlite import SqliteStore, missing_right
from memoranda.testing.embedders import HashEmbedder

LONG = "tea " * 50_000


def test_a_full_disk(open_store, disk):
    """Wherever the space ends, the write fails whole; with space again, all goes on."""
    store = open_store()
    plan = User(store).prepare()
    before = User(store).everything()
    for space in (0, 1_000, 5_000, 20_000, 60_000, 150_000):
        disk.space = space
        with pytest.raises(StoreFull, match="no space left"):
            carry_out(store, ANA, [*plan, insert(record(LONG))])
        disk.space = None
        assert User(store).everything() == before
        assert store.verify() == []
    carry_out(store, ANA, plan)
    store.close()
    again = open_store()
    assert again.purge() is None
    assert again.verify() == []
    assert User(again).everything() != before


def test_no_space_for_a_new_file(path, open_store, disk):
    """A database that cannot be begun leaves nothing that hinders the next attempt."""
    for space in (0, 100, 5_000, 30_000):
        disk.space = space
        with pytest.raises(StoreError):
            open_store()
    disk.space = None
    store = open_store()
    User(store).remember("tea")
    assert store.verify() == []
    assert path.exists()


def test_no_space_to_purge(open_store, disk):
    """A purge that does not fit changes nothing, stays asked for, and can be done later."""
    store = open_store()
    kept, gone = User(store).remember(LONG, "secret")
    carry_out(store, ANA, [do.erase((gone.id,), at=moment(1), reason="asked")])
    disk.space = 10_000
    with pytest.raises(StoreFull):
        store.purge()
    disk.space = None
    assert any("erased text may remain" in line for line in store.verify())
    assert store.get(ANA, [kept.id]) == {kept.id: kept}
    assert store.purge() is None
    assert store.verify() == []


def test_who_may_only_read_recalls(path):
    """What recall and the notes would write beside what they read is left."""
    with Memory(path, user="ana", settings=Settings(embedding={"model": "none"})) as memory:
        memory.remember("Ana keeps bees")
        notes = memory.notes.read_memory()
        memory._services.store._writer.raw.execute("PRAGMA query_only = ON")
        assert [each.record.content for each in memory.recall("bees").hits] == ["Ana keeps bees"]
        assert memory.notes.read_memory() == notes
        with pytest.raises(StoreReadOnly, match=r"memory\.db cannot be written"):
            memory.remember("Ana sails")


def test_a_connection_that_may_not_write(open_store):
    """A write that the file does not allow is an error that says so, and reading goes on."""
    store = open_store()
    User(store).remember("tea")
    store._writer.raw.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnly, match="permissions"):
        User(store).remember("cake")
    assert User(store).page() == ["tea"]


def test_a_write_waits_for_others_as_long_as_it_is_told(open_store):
    """By the setting or by the call, for a process or a thread; meanwhile reading goes on."""
    store, other = open_store(busy_timeout=0.05), open_store()
    User(store).remember("tea")
    with other.transact():
        with pytest.raises(StoreBusy, match="busy_timeout"):
            User(store).remember("cake")
        assert User(store).page() == ["tea"]
    for holder in (store, other):
        with ThreadPoolExecutor(1) as threads, holder.transact():
            plan = [insert(record(f"milk {holder is store}"))]
            with pytest.raises(StoreBusy):
                threads.submit(carry_out, other, ANA, plan, patience=0.01).result()
    User(store).remember("cake")
    assert User(store).page() == ["tea", "cake"]


def test_a_search_does_not_wait_for_other_writers(path, open_store):
    """While they hold the file, words find what has no vector yet; it gets one later."""
    settings = Settings(timezone="UTC", embedding={"background": False})
    with Memory(path, user="ana", settings=settings, embedder=HashEmbedder()) as memory:
        memory.remember("I drink tea.")
        with open_store().transact():
            (hit,) = memory.search("tea")
        assert "lexical" in hit.why.arms
        assert "vector" not in hit.why.arms
        assert memory.stats().pending_vectors == 1
        memory.derive()
        (hit,) = memory.search("tea")
        assert "vector" in hit.why.arms


# Files that are deleted, replaced or locked behind the back of an open store


def replace(path):
    """Put a copy in the place of a file."""
    path.with_name("other").write_bytes(path.read_bytes())
    path.with_name("other").replace(path)


@pytest.mark.parametrize("take_away", [Path.unlink, replace])
def test_a_write_into_a_lost_file_is_refused(open_store, path, take_away):
    """What nobody would ever open again is not acknowledged, and the error says what to do."""
    store = open_store()
    User(store).remember("tea")
    take_away(path)
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
    replace(path)
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


def test_a_missing_right_is_named(tmp_path):
    """Which file, and which right: of the file before its folder; none where all is allowed."""
    path = tmp_path / "memory.db"
    path.touch()
    assert missing_right(str(path)) is None
    denied = {path: os.R_OK}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda place, mode: denied.get(place) != mode)
        assert missing_right(str(path)).startswith(f"this process may not read {path};")
        denied = {path: os.W_OK, tmp_path: os.W_OK}
        assert missing_right(str(path)).startswith(f"this process may not write {path};")
        denied = {tmp_path: os.W_OK}
        assert missing_right(str(path)).startswith(f"this process may not write {tmp_path};")
