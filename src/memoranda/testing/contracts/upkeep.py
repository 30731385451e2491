"""The contract of what a store does for itself: leases, checks, copies, snapshots, closing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed
from memoranda.model import capabilities
from memoranda.model.actions import Close
from memoranda.model.models import Kind
from memoranda.model.ports import Store
from memoranda.model.query import IndexVersion
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.changes import everything, prepare
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    EXTRACTOR,
    insert,
    moment,
    new_id,
    open_conversation,
    page,
    record,
    remember,
)


def purges(store: Store) -> bool:
    """Return whether the storage of ``store`` lets itself be purged from here."""
    return any(each.native for each in store.capabilities() if each.name == capabilities.PURGE)


class UpkeepContract(Contract):
    """A store keeps itself in order."""

    def test_a_lease_has_one_holder(self, store: Store) -> None:
        """While a lease runs, nobody else gets it; when it has expired, anybody does."""
        assert store.lease("decay", "a", now=moment(0), until=moment(10))
        assert not store.lease("decay", "b", now=moment(9), until=moment(99))
        assert store.lease("other", "b", now=moment(9), until=moment(99))
        assert store.lease("decay", "b", now=moment(10), until=moment(20))
        assert not store.lease("decay", "a", now=moment(11), until=moment(30))

    def test_a_holder_renews_or_ends_its_lease(self, store: Store) -> None:
        """The holder may prolong its lease, or give it back by letting it end now."""
        assert store.lease("decay", "a", now=moment(0), until=moment(10))
        assert store.lease("decay", "a", now=moment(5), until=moment(50))
        assert not store.lease("decay", "b", now=moment(20), until=moment(30))
        assert store.lease("decay", "a", now=moment(20), until=moment(20))
        assert store.lease("decay", "b", now=moment(20), until=moment(30))

    def test_only_one_of_many_gets_a_lease(self, store: Store) -> None:
        """Of those that ask at once, exactly one gets the lease."""
        with ThreadPoolExecutor(8) as pool:
            got = list(
                pool.map(
                    lambda who: store.lease("decay", who, now=moment(0), until=moment(1)),
                    [f"holder {number}" for number in range(8)],
                )
            )
        assert sorted(got) == [False] * 7 + [True]

    def test_what_the_storage_does_not_do_is_said(self, store: Store) -> None:
        """A store speaks of each capability once, and says what stands in for what is missing."""
        found = store.capabilities()
        assert tuple(each.name for each in found) == capabilities.NAMES
        assert all(each.detail for each in found)

    def test_users_are_those_with_something_stored(self, store: Store) -> None:
        """Every user with a record or a conversation is listed, in order; no other."""
        assert store.users() == []
        remember(store, "tea", scope=BEN)
        open_conversation(store, "trip")
        assert store.users() == ["ana", "ben"]
        store.reset_vectors("m", 2)
        assert store.users() == ["ana", "ben"]

    def test_a_used_store_is_sound(self, store: Store, reopen: Reopen) -> None:
        """After any kind of change, once purged, there is no problem to report."""
        plan = prepare(store)
        store.apply(ANA, plan)
        assert store.purge() is purges(store)
        assert store.verify() == []
        assert reopen(store).verify() == []

    def test_an_erasure_is_on_record_until_it_is_purged(self, store: Store) -> None:
        """Until free space is overwritten, ``verify`` says that it may hold erased text."""
        store.apply(ANA, prepare(store))
        problems = store.verify()
        if problems:
            assert len(problems) == 1
        assert store.purge() is purges(store)
        assert store.verify() == []
        assert store.purge() is purges(store)

    def test_rebuilding_a_sound_store_changes_nothing(self, store: Store) -> None:
        """A sound store differs in nothing before, and reads the same after, a rebuild."""
        store.apply(ANA, prepare(store))
        store.purge()
        before = everything(store, ANA)
        assert store.rebuild(EXTRACTOR) == []
        assert everything(store, ANA) == before
        assert store.verify() == []

    def test_a_rebuild_links_what_the_extractor_finds(self, store: Store) -> None:
        """Entities that the extractor of today finds are linked, the others no longer."""
        (item,) = remember(store, "Zoe drinks tea")
        lost = record("Dan eats cake")
        store.apply(ANA, [type(insert(lost))(lost)])
        assert store.entity(ANA, "Dan", ACTIVE) is None
        assert store.rebuild(EXTRACTOR) != []
        assert store.rebuild(EXTRACTOR) == []
        names = [entity.name for entity in store.entities(ANA, ACTIVE, type=None, limit=9)]
        assert names == ["Dan", "Zoe"]
        assert store.get(ANA, item.id) == item

    def test_a_backup_holds_everything(self, store: Store, tmp_path: Path) -> None:
        """A backup is written whole, and never over a file that is there."""
        store.apply(ANA, prepare(store))
        target = tmp_path / "copy"
        store.backup(str(target))
        assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy"]
        with pytest.raises(InvalidInput):
            store.backup(str(target))

    def test_a_backup_to_nowhere_is_an_error_of_ours(self, store: Store, tmp_path: Path) -> None:
        """A place that cannot be written is named in an error of memoranda, and left as it was."""
        with pytest.raises(MemorandaError):
            store.backup(str(tmp_path / "no" / "such" / "folder" / "copy"))
        assert not (tmp_path / "no").exists()

    def test_size_grows(self, store: Store) -> None:
        """The size is in bytes and holds what was stored."""
        before = store.size()
        remember(store, "tea " * 100_000)
        assert store.size() >= before + 300_000

    def test_a_snapshot_sees_one_moment(self, store: Store) -> None:
        """Inside a snapshot all reads agree, whatever others write meanwhile."""
        remember(store, "one")
        begun, written = threading.Event(), threading.Event()

        def write() -> None:
            begun.wait(10)
            remember(store, "two")
            written.set()

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(write)
            with store.snapshot():
                assert page(store, ANA) == ["one"]
                begun.set()
                written.wait(0.2)
                assert page(store, ANA) == ["one"]
                assert store.count(ANA, ALL) == {Kind.FACT: 1}
                with store.snapshot():
                    assert len(store.index_changes(ANA, IndexVersion()).rows) == 1
            other.result(10)
        assert page(store, ANA) == ["one", "two"]

    def test_a_failing_snapshot_ends(self, store: Store) -> None:
        """An exception inside a snapshot ends it; later reads see what is new."""

        def fail() -> None:
            with store.snapshot():
                page(store, ANA)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        remember(store, "one")
        assert page(store, ANA) == ["one"]

    def test_threads_write_and_read_at_once(self, store: Store) -> None:
        """Threads on one store lose nothing and see no error; each index read is whole."""
        store.reset_vectors("m", 2)

        def work(number: int) -> None:
            for turn in range(15):
                (item,) = remember(store, f"text {number} {turn}", session_id="s")
                if turn % 5 == 0:
                    store.apply(ANA, [Close(item.id, moment(1), "forgotten")])
                changes = store.index_changes(ANA, IndexVersion())
                assert set(changes.ordinals) <= {row.ordinal for row in changes.rows}
                assert store.match_terms(ANA, ["text"], limit=1_000).frequencies[0] > 0

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        records = store.page(ANA, ALL, limit=1_000, after=None)
        assert sorted(item.position or 0 for item in records) == list(range(60))
        assert store.verify() == []

    def test_closing_twice_is_harmless(self, store: Store) -> None:
        """Closing a closed store does nothing."""
        remember(store, "tea")
        store.close()
        store.close()

    def test_a_closed_store_says_so(self, store: Store) -> None:
        """Every use after closing raises the error that says it was closed."""
        remember(store, "tea")
        store.close()
        for use in (
            lambda: store.get(ANA, "fact_1"),
            lambda: store.apply(ANA, [insert(record("tea", id=new_id("fact")))]),
            lambda: store.index_changes(ANA, IndexVersion()),
            lambda: store.lease("a", "b", now=moment(0), until=moment(1)),
            store.users,
            store.verify,
            store.purge,
            store.size,
            lambda: store.rebuild(EXTRACTOR),
            lambda: store.snapshot().__enter__(),
        ):
            with pytest.raises(StoreClosed):
                use()
