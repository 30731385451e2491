"""Disks that are full or cannot be written: a clear error, and nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from samples import ANA, User, insert, moment, record
from steps import carry_out, do

from memoranda import Memory, Settings
from memoranda.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
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


def test_a_disk_that_fills_up_for_good(open_store, disk):
    """What was acknowledged before the disk was full is there when the file is opened again."""
    store = open_store()
    disk.space = 1_000_000
    acknowledged = []

    def write_on():
        for number in range(1_000):
            User(store).remember(f"text {number}")
            acknowledged.append(f"text {number}")

    with pytest.raises(StoreFull):
        write_on()
    assert User(store).page() == acknowledged
    assert len(acknowledged) > 5
    disk.space = 0
    with suppress(StoreFull):  # the log stays where it is
        store.close()
    disk.space = None
    again = open_store()
    assert User(again).page() == acknowledged
    assert again.verify() == []


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


def test_a_quota_of_pages(open_store):
    """A quota that is reached says that the store is full, and undoes the write."""
    store = open_store()
    User(store).remember("tea")
    writer = store._writer.raw
    writer.execute(f"PRAGMA max_page_count = {writer.pragma('page_count') + 5}")
    with pytest.raises(StoreFull):
        User(store).remember(LONG)
    assert User(store).page() == ["tea"]
    writer.execute("PRAGMA max_page_count = 1000000")
    User(store).remember(LONG)
    assert store.verify() == []


def test_a_file_system_that_cannot_be_written(path, open_store, disk):
    """Opening there is an error that says so, and the file is left as it was."""
    store = open_store()
    User(store).remember("tea")
    store.close()
    before = path.read_bytes()
    disk.read_only = True
    with pytest.raises(StoreReadOnly, match=r"memory\.db"):
        open_store()
    assert path.read_bytes() == before
    disk.read_only = False
    assert User(open_store()).page() == ["tea"]


def test_a_connection_that_may_not_write(open_store):
    """A write that the file does not allow is an error that says so, and reading goes on."""
    store = open_store()
    User(store).remember("tea")
    store._writer.raw.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnly, match="permissions"):
        User(store).remember("cake")
    assert User(store).page() == ["tea"]


def test_a_writer_that_does_not_let_go(open_store):
    """When another writer holds the file too long, the error says so; reading goes on."""
    store, other = open_store(busy_timeout=0.05), open_store()
    User(store).remember("tea")
    with other.transact():
        with pytest.raises(StoreBusy, match="busy_timeout"):
            User(store).remember("cake")
        assert User(store).page() == ["tea"]
    User(store).remember("cake")
    assert User(store).page() == ["tea", "cake"]


def test_a_write_waits_for_others_as_long_as_it_is_told(open_store):
    """With patience it gives up soon, whether a process or a thread holds the file."""
    store, other = open_store(), open_store()
    for holder in (store, other):
        with ThreadPoolExecutor(1) as threads, holder.transact():
            plan = [insert(record(f"tea {holder is store}"))]
            with pytest.raises(StoreBusy):
                threads.submit(store.apply, ANA, plan, patience=0.01).result()
    assert User(store).page() == []
    User(store).remember("cake")
    assert User(store).page() == ["cake"]


def test_a_search_does_not_wait_for_other_writers(path, open_store):
    """While they hold the file, words find what has no vector yet; it gets one later."""
    settings = Settings(timezone="UTC", embedding={"background": False})
    with Memory(path, user="ana", settings=settings, embedder=HashEmbedder()) as memory:
        memory.remember("I drink tea.")
        with open_store().transact():
            (hit,) = memory.search("tea")
        assert (set(hit.why.arms), memory.stats().pending_vectors) == ({"lexical", "length"}, 1)
        memory.derive()
        (hit,) = memory.search("tea")
        assert "vector" in hit.why.arms
