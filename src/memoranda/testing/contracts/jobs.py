"""The contract of :class:`memoranda.model.ports.JobStore`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from memoranda.model.ports import Store
from memoranda.model.sessions import JobRun
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import moment

DUE, NEXT = moment(0), moment(60)


class JobContract(Contract):
    """Of all processes, one runs each run of a job, and once."""

    def test_a_run_has_one_holder(self, store: Store) -> None:
        """While a claim lasts nobody else gets the run, or a later one; other jobs are apart."""
        assert store.claim("decay", "a", due=DUE, now=moment(1), until=moment(10))
        assert not store.claim("decay", "b", due=DUE, now=moment(9), until=moment(20))
        assert not store.claim("decay", "b", due=NEXT, now=moment(9), until=moment(20))
        assert store.claim("reflect", "b", due=DUE, now=moment(9), until=moment(20))
        assert store.job_runs() == []

    def test_a_holder_renews_its_claim(self, store: Store) -> None:
        """Who has a claim may prolong it, or give it back by letting it end."""
        assert store.claim("decay", "a", due=DUE, now=moment(1), until=moment(10))
        assert store.claim("decay", "a", due=DUE, now=moment(9), until=moment(30))
        assert not store.claim("decay", "b", due=DUE, now=moment(20), until=moment(40))
        assert store.claim("decay", "a", due=DUE, now=moment(20), until=moment(20))
        assert store.claim("decay", "b", due=DUE, now=moment(20), until=moment(40))

    def test_an_expired_claim_is_taken_over(self, store: Store) -> None:
        """A run whose holder died is another's; the old holder cannot finish it any more."""
        assert store.claim("decay", "a", due=DUE, now=moment(1), until=moment(10))
        assert store.claim("decay", "b", due=DUE, now=moment(10), until=moment(20))
        store.complete("decay", "a", due=DUE, at=moment(11))
        assert store.job_runs() == []
        assert not store.claim("decay", "a", due=DUE, now=moment(12), until=moment(30))
        store.complete("decay", "b", due=DUE, at=moment(13))
        assert store.job_runs() == [JobRun("decay", DUE, moment(13))]

    def test_a_late_holder_may_finish(self, store: Store) -> None:
        """A claim that has expired is still the holder's, until somebody takes it."""
        assert store.claim("decay", "a", due=DUE, now=moment(1), until=moment(10))
        store.complete("decay", "a", due=DUE, at=moment(50))
        assert store.job_runs() == [JobRun("decay", DUE, moment(50))]

    def test_a_finished_run_is_not_run_again(self, store: Store, reopen: Reopen) -> None:
        """Neither it nor an earlier one is given out, also by another process; a later one is."""
        assert store.claim("decay", "a", due=NEXT, now=moment(61), until=moment(70))
        store.complete("decay", "a", due=NEXT, at=moment(62))
        store = reopen(store)
        for due in (DUE, NEXT):
            for holder in ("a", "b"):
                assert not store.claim("decay", holder, due=due, now=moment(99), until=moment(199))
        assert store.job_runs() == [JobRun("decay", NEXT, moment(62))]
        assert store.claim("decay", "b", due=moment(120), now=moment(121), until=moment(199))
        assert store.job_runs() == [JobRun("decay", NEXT, moment(62))]

    def test_completing_what_was_not_claimed_does_nothing(self, store: Store) -> None:
        """Only the run that one has claimed can be said to be done."""
        store.complete("decay", "a", due=DUE, at=moment(1))
        assert store.claim("decay", "a", due=DUE, now=moment(1), until=moment(10))
        store.complete("decay", "a", due=NEXT, at=moment(2))
        store.complete("decay", "b", due=DUE, at=moment(2))
        assert store.job_runs() == []
        store.complete("decay", "a", due=DUE, at=moment(3))
        store.complete("decay", "a", due=DUE, at=moment(4))
        assert store.job_runs() == [JobRun("decay", DUE, moment(3))]

    def test_runs_come_by_name(self, store: Store) -> None:
        """The last finished run of each job comes, by the name of the job."""
        for job in ("reflect", "decay", "enrich"):
            for due in (DUE, NEXT):
                assert store.claim(job, "a", due=due, now=due, until=moment(99))
                store.complete(job, "a", due=due, at=due)
        runs = [(run.job, run.due) for run in store.job_runs()]
        assert runs == [("decay", NEXT), ("enrich", NEXT), ("reflect", NEXT)]

    def test_only_one_of_many_gets_a_run(self, store: Store) -> None:
        """Of those that ask at once, exactly one gets the run."""
        with ThreadPoolExecutor(8) as pool:
            got = list(
                pool.map(
                    lambda who: store.claim("decay", who, due=DUE, now=DUE, until=moment(1)),
                    [f"holder {number}" for number in range(8)],
                )
            )
        assert sorted(got) == [False] * 7 + [True]
