"""Claims and leases in the Chroma store, as functions of the rows that belong to nobody."""

from datetime import timedelta

from memoranda.model.life import JobRun
from memoranda.store.chroma import jobs
from memoranda.store.chroma.rows import NOBODY, Lease
from memoranda.store.chroma.state import State
from memoranda.testing.analyzers import PlainNames
from memoranda.testing.contracts.samples import moment

NAMES = PlainNames()


def test_only_one_holds_a_run():
    """A claim lasts for its holder until it ends; a finished run and those before it are over."""
    state = State(NOBODY, NAMES)

    def claim(holder, *, due, now):
        row = jobs.claim(state, "decay", holder, due=moment(due), now=moment(now), until=moment(50))
        if row is not None:
            state.put(row)
        return row is not None

    assert [claim(who, due=5, now=9) for who in "aab"] == [True, True, False]
    assert claim("b", due=5, now=50)
    assert jobs.complete(state, "decay", "a", due=moment(5), at=moment(51)) is None
    assert jobs.complete(state, "decay", "b", due=moment(6), at=moment(51)) is None
    tick = timedelta(microseconds=7)  # Stored are whole milliseconds.
    done = jobs.complete(state, "decay", "b", due=moment(5) + tick, at=moment(51))
    state.put(done)
    assert jobs.runs(state) == [JobRun("decay", moment(5), moment(51))]
    assert [claim("b", due=due, now=60) for due in (4, 5, 6)] == [False, False, True]


def test_a_lease_is_anothers_until_it_ends():
    """Only its holder renews a lease before it ends; then anybody takes it."""
    state = State(NOBODY, NAMES, [Lease(name="x", holder="a", until=moment(10))])
    times = {"now": moment(9), "until": moment(20)}
    assert jobs.lease(state, "x", "b", **times) is None
    assert jobs.lease(state, "x", "a", **times).until == moment(20)
    assert jobs.lease(state, "x", "b", now=moment(10), until=moment(20)).holder == "b"
