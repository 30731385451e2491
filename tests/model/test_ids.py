"""Ids sort by the time they were made, and none is made twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.clock import ALPHABET, IdFactory, SystemClock
from memoranda.model.models import Kind
from memoranda.testing.clocks import START, FrozenClock

STEPS = st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=50)


@given(steps=STEPS)
def test_ids_increase_whatever_the_clock_does(steps):
    """Each id of a factory sorts after the one before, also when the clock steps back."""
    clock = FrozenClock()
    ids = IdFactory(clock)
    made = []
    for step in steps:
        clock.advance(timedelta(milliseconds=step))
        made += [ids.new("fact"), ids.new("fact")]
    assert made == sorted(set(made))


def test_ids_of_several_factories_sort_by_their_millisecond():
    """Ids of several processes sort by when they were made, and those of one moment differ."""
    clock = FrozenClock()
    made = []
    for _ in range(50):
        made.append(IdFactory(clock).new("fact"))
        clock.advance(timedelta(milliseconds=1))
    assert made == sorted(made)
    assert len({IdFactory(clock).new("fact") for _ in range(500)}) == 500


def test_ids_are_unique_over_threads():
    """Threads that share a factory never get the same id, and each sees its own increase."""
    ids, barrier = IdFactory(FrozenClock()), threading.Barrier(8)

    def work(_):
        barrier.wait()
        return [ids.new("fact") for _ in range(500)]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(work, range(8)))
    assert len(set().union(*made)) == 8 * 500
    assert all(own == sorted(own) for own in made)


def test_ids_have_one_form():
    """A prefix, an underscore and 26 characters that are not mistaken for each other."""
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    for kind in Kind:
        prefix, _, number = IdFactory(SystemClock()).new(kind.prefix).partition("_")
        assert (prefix, len(number)) == (kind.prefix, 26)
        assert set(number) <= set(ALPHABET)


def test_ids_work_at_the_ends_of_time():
    """Clocks before 1970 and in the year 9999 make ids that increase, too."""
    for year in (1, 1969, 9999):
        ids = IdFactory(FrozenClock(START.replace(year=year)))
        first, second = ids.new("fact"), ids.new("fact")
        assert first < second
        assert len(first) == len("fact_") + 26
