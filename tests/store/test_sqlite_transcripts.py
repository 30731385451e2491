"""What is asked on every turn takes as long at the end of a long memory as at its beginning."""

from itertools import count

import pytest
from samples import ANA, User, cut, moment
from steps import carry_out, do

SIZES = (20, 2_000)
FEW = 12


@pytest.fixture
def store(open_store):
    """A database in memory: one connection both reads and writes."""
    return open_store(":memory:")


@pytest.fixture
def steps(store):
    """Count the steps that SQLite takes to carry out a call, parsing apart."""

    def of(call, *arguments):
        done = count()
        connection = store._writer.raw
        connection.set_progress_handler(lambda: next(done) < 0, 1)
        try:
            call(*arguments)
        finally:
            connection.set_progress_handler(None)
        return next(done)

    return of


def test_what_every_turn_asks_costs_the_same(store, steps):
    """However long the transcript is, which was cleared in the middle, and however many others."""
    ana = User(store)
    talks = [(str(size), size) for size in SIZES]
    for name, size in talks:
        half = [f"line {number}" for number in range(size // 2)]
        ana.open_conversation(name)
        ana.say(name, *half)
        ana.apply(do.update_conversation(name, clear=True))
        ana.say(name, *half)
    calls = {
        "its state": lambda name, _: ana.conversations(name),
        "what is new": lambda name, size: ana.messages(name, after=size - 3),
        "what is new or cleared": lambda name, size: ana.messages(
            name, after=size - 3, cleared=True
        ),
        "one more message": lambda name, _: ana.say(name, "more"),
        "a receipt": lambda name, _: ana.prune(name, cut(3, 5)),
    }
    whole = steps(lambda: ana.messages(*talks[-1][:1], cleared=True))
    for what, call in calls.items():
        call(*talks[-1])  # Parses what is asked.
        short, long = (steps(call, *talk) for talk in talks)
        assert abs(short - long) <= FEW < min(short, long), what
        assert 20 * long < whole, what


def test_a_session_is_found_without_the_others(store, steps):
    """One session of many is looked up by its name."""
    ana = User(store)
    costs = []
    for number in (10, 400):
        for place in range(number):
            ana.turns(f"s{number}-{place}", "hello")
        ana.sessions(id="s10-1")
        costs.append(steps(lambda: ana.sessions(id="s10-1")))
    assert costs[1] <= costs[0] + 5


def test_what_is_of_all_costs_as_much_as_there_is(store, steps):
    """To count ten times as many again, or read as many removals, takes no hundred times."""
    ana = User(store)
    costs = []
    for name, size in (("few", 40), ("many", 400)):
        ana.open_conversation(name)
        ids = [message.id for message in ana.say(name, *["line"] * size)]
        again = do.set_token_counts(name, dict.fromkeys(ids, 50))
        counting = steps(carry_out, store, ANA, [again])
        for number, name_of in enumerate(ids):
            ana.apply(do.replace_messages(name, f"{number}", at=moment(5), ids=(name_of,)))
        costs.append((counting, steps(ana.tombstones, name)))
    for few, many in zip(*costs, strict=True):
        assert many < 15 * few
