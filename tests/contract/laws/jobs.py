"""The contract of what a store does for itself: leases and jobs, checks, copies, snapshots."""

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from samples import ALL, MODEL, UNREAD, moment, record, rows_of, vectors_of
from steps import do

from laws.base import Contract
from memoranda.errors import InvalidInput, MemorandaError, StoreClosed
from memoranda.model.models import Kind
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.model.query import Filter
from memoranda.model.sessions import JobRun, StageLease

DUE, NEXT = moment(0), moment(60)


class JobContract(Contract):
    """Of all processes, one holds a lease, and one runs each run of a job, once."""

    @pytest.mark.parametrize("due", [None, DUE])
    def test_there_is_one_holder(self, store, due):
        """Of a lease or a run: while it lasts nobody else gets it; who has it may prolong it."""
        for name, holder, now, until, granted in (
            ("decay", "a", 1, 10, True),
            ("decay", "b", 9, 20, False),
            ("reflect", "b", 9, 20, True),
            ("decay", "a", 9, 30, True),
            ("decay", "b", 20, 40, False),
            ("decay", "a", 20, 20, True),
            ("decay", "b", 20, 40, True),
            ("decay", "a", 39, 50, False),
            ("decay", "a", 40, 50, True),
        ):
            times = {"now": moment(now), "until": moment(until)}
            assert store.claim(name, holder, **times, due=due) is granted

    @pytest.mark.parametrize("due", [None, DUE])
    def test_only_one_of_many_gets_it(self, store, due):
        """Of those that ask at once, exactly one gets it."""

        def ask(number):
            return store.claim("decay", str(number), now=moment(0), until=moment(1), due=due)

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(ask, range(8))) == [False] * 7 + [True]

    def test_who_finishes_a_run(self, store):
        """Only who claimed that very run, also when late, unless another has taken it."""
        run = "decay:ana"
        store.complete(run, "a", due=DUE, at=moment(1), counts={})
        assert store.claim(run, "a", due=DUE, now=moment(1), until=moment(10))
        assert not store.claim(run, "b", due=NEXT, now=moment(9), until=moment(20))
        store.complete(run, "a", due=NEXT, at=moment(2), counts={})
        store.complete(run, "b", due=DUE, at=moment(2), counts={})
        assert store.claim(run, "b", due=DUE, now=moment(10), until=moment(20))
        store.complete(run, "a", due=DUE, at=moment(11), counts={})
        assert store.job_runs() == []
        assert store.stage_leases("decay") == {"ana": StageLease(None, moment(20))}
        for at in (50, 51):
            store.complete(run, "b", due=DUE, at=moment(at), counts={"retired": at})
        assert store.job_runs() == [JobRun("decay", DUE, moment(50), {"retired": 50})]

    def test_a_finished_run_is_not_run_again(self, store, reopen):
        """Neither it nor an earlier one is given out; of each stage the last run is summed up."""

        def finish(run, due, counts):
            assert store.claim(run, "a", due=due, now=moment(61), until=moment(70))
            store.complete(run, "a", due=due, at=moment(62), counts=counts)

        finish("reflect:ana", NEXT, {})
        finish("decay:ana", NEXT, {"é": 1, "none": 0})
        finish("decay:b:en", NEXT, {"é": 2})
        finish("decay:cy", DUE, {"é": 9})
        store = reopen(store)
        for due in (DUE, NEXT):
            for holder in ("a", "b"):
                assert not store.claim(
                    "decay:b:en", holder, due=due, now=moment(99), until=moment(199)
                )
        done = {user: StageLease(NEXT, None) for user in ("ana", "b:en")}
        assert store.stage_leases("decay") == done | {"cy": StageLease(DUE, None)}
        assert store.job_runs() == [
            JobRun("decay", NEXT, moment(62), {"é": 3, "none": 0}),
            JobRun("reflect", NEXT, moment(62), {}),
        ]
        assert store.claim("decay:ana", "b", due=moment(120), now=moment(121), until=moment(199))


class DerivationQueueContract(Contract):
    """Of all who work off what waits, each gets records that nobody else has."""

    def test_each_record_is_taken_once(self, store, ana, ben):
        """Of those who take at once nobody gets the record of another, whoever's it is."""
        texts = [text for pair in zip("abcd", "efgh", strict=True) for text in pair]
        for number, text in enumerate(texts):
            who = ben if number % 2 else ana
            who.apply(do.Insert(record(text, scope=who.scope)))

        def take(limit):
            return store.claim_records(ENTITIES, now=DUE, until=NEXT, limit=limit)

        oldest = take(1)
        assert [(each.user, each.content) for each in oldest] == [("ana", "a")]
        with ThreadPoolExecutor(4) as pool:
            taken = [*oldest, *(each for found in pool.map(take, [1, 2, 2, 1]) for each in found)]
        assert sorted(each.content for each in taken) == sorted(texts[:7])
        assert [each.content for each in take(9)] == texts[7:]
        assert take(9) == []
        vectors = store.claim_records(VECTORS, now=DUE, until=NEXT, limit=9)
        assert [each.content for each in vectors] == texts

    def test_a_claim_on_records_ends(self, store, ana):
        """With its time, when all are to be made anew; and with the work."""
        store.reset_vectors(MODEL, 4)
        one, two, three = ana.remember("one", "two", "three")

        def take(now):
            times = {"now": moment(now), "until": moment(now + 10)}
            return [each.content for each in store.claim_records(VECTORS, **times, limit=9)]

        assert take(0) == ["one", "two", "three"]
        assert ana.page(Filter.at_any_time(waiting=VECTORS)) == ["one", "two", "three"]
        assert take(5) == []
        ana.embed([one])
        assert take(10) == ["two", "three"]
        ana.embed([two, three])
        assert take(99) == []
        store.reset_vectors(MODEL, 4)
        assert take(100) == ["one", "two", "three"]
        store.reset_vectors(MODEL, 4)
        assert take(101) == ["one", "two", "three"]


class MaintenanceContract(Contract):
    """A store keeps itself in order."""

    def test_size_grows(self, store, ana):
        """The size is in bytes and holds what was stored."""
        before = store.size()
        ana.remember(secrets.token_hex(200_000))  # Which cannot be compressed.
        assert store.size() >= before + 300_000

    def test_a_used_store_is_sound(self, store, ana, reopen):
        """After any changes, once purged, there is nothing to report, nor for a rebuild to mend."""
        ana.apply(*ana.prepare())
        ana.remember("!?")  # A text without a word has no terms, and no index misses it.
        for text in ("", " ", "%_\\", "\u2028"):
            ana.put("k" + text, text, "a")
        assert len(store.verify()) <= 1  # The erasure, until it is purged.
        for _ in range(2):
            assert store.purge() is None
            assert store.verify() == []
        before = ana.underived()
        assert store.rebuild() == []
        assert ana.underived() == before
        assert reopen(store).verify() == []

    def test_a_rebuild_has_names_looked_for_again(self, store, ana):
        """Records wait for what the extractor of today finds, and stay the same."""
        (item,) = ana.remember("Zoe drinks tea")
        ana.apply(do.Insert(record("Dan eats cake")))
        assert ana.entity_names() == ["Zoe"]
        assert store.rebuild() == []
        assert ana.entity_names() == ["Zoe"]
        assert ana.pending(ENTITIES) == ["Zoe drinks tea", "Dan eats cake"]
        ana.link()
        assert ana.entity_names() == ["Dan", "Zoe"]
        assert ana.found(item) == item

    def test_a_backup_holds_everything(self, store, ana, tmp_path):
        """A backup is written whole, never over a file that is there, and to no missing folder."""
        ana.apply(*ana.prepare())
        target = tmp_path / "copy"
        store.backup(str(target))
        assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy"]
        with pytest.raises(InvalidInput):
            store.backup(str(target))
        with pytest.raises(MemorandaError):
            store.backup(str(tmp_path / "no" / "such" / "folder" / "copy"))
        assert not (tmp_path / "no").exists()

    def test_a_snapshot_sees_one_moment(self, store, ana):
        """Inside a snapshot all reads agree, whatever others write; an exception ends it."""
        ana.remember("one")
        begun, written = threading.Event(), threading.Event()

        def write():
            begun.wait(10)
            ana.remember("two")
            written.set()

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(write)
            with suppress(ZeroDivisionError), store.snapshot():
                assert ana.page() == ["one"]
                begun.set()
                written.wait(0.2)
                assert ana.page() == ["one"]
                assert ana.count(ALL) == {Kind.FACT: 1}
                with store.snapshot():
                    assert len(ana.index_changes(UNREAD).rows) == 1
                raise ZeroDivisionError
            other.result(10)
        assert ana.page() == ["one", "two"]

    def test_threads_write_and_read_at_once(self, store, ana):
        """Threads on one store lose nothing and see no error; each index read is whole."""
        store.reset_vectors("m", 2)

        def work(number):
            for turn in range(15):
                (item,) = ana.remember(f"text {number} {turn}", session_id="s")
                if turn % 5 == 0:
                    ana.close(item)
                changes = ana.index_changes(UNREAD)
                assert vectors_of(changes).keys() <= rows_of(changes).keys()
                assert ana.holders("text") != [{}]

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        records = ana.records(ALL, limit=1_000)
        assert sorted(item.position or 0 for item in records) == list(range(60))
        assert store.verify() == []

    def test_a_closed_store_says_so(self, store, ana):
        """Every use after closing raises the error that says it was closed; closing again none."""
        ana.remember("tea")
        store.close()
        store.close()
        for use in (
            lambda: ana.get(["fact_1"]),
            lambda: ana.apply(ana.insertion("tea")),
            lambda: ana.index_changes(UNREAD),
            lambda: store.claim("a", "b", now=DUE, until=NEXT),
            store.users,
            store.verify,
            store.purge,
            store.size,
            store.rebuild,
            lambda: store.snapshot().__enter__(),
        ):
            with pytest.raises(StoreClosed, match="open it again"):
                use()
