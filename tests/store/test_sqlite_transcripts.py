"""Long transcripts: what is asked on every turn takes as long at the end as at the beginning."""

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

    def of(call, *arguments, **more):
        done = count()
        connection = store._writer.raw
        connection.set_progress_handler(lambda: next(done) < 0, 1)
        try:
            call(*arguments, **more)
        finally:
            connection.set_progress_handler(None)
        return next(done)

    return of


@pytest.fixture
def talks(store):
    """Two conversations, a short and a long one, each cleared in the middle."""
    for size in SIZES:
        User(store).open_conversation(str(size))
        half = [f"line {number}" for number in range(size // 2)]
        User(store).say(str(size), *half)
        carry_out(store, ANA, [do.update_conversation(str(size), clear=True)])
        User(store).say(str(size), *half)
    return [(str(size), size) for size in SIZES]


def near(one, other):
    """Whether two numbers of steps differ by a few at most: a statement may have been parsed."""
    return abs(one - other) <= FEW < min(one, other)


def test_the_state_of_a_conversation_costs_the_same(store, steps, talks):
    """Settings, count, revision and what was cleared do not depend on the transcript's length."""
    assert near(*(steps(store.conversations, ANA, name) for name, _ in talks))


@pytest.mark.parametrize("cleared", [False, True])
def test_what_is_new_costs_the_same(store, steps, talks, cleared):
    """Reading what came after a position depends on how much that is, cleared or not."""

    def read(name, after):
        return steps(store.messages, ANA, name, after=after, cleared=cleared)

    name, size = talks[-1]
    read(name, size)  # Parses what is asked.
    assert near(*(read(name, size - 3) for name, size in talks))
    assert 100 * read(name, size - 3) < read(name, 0)


def test_adding_costs_the_same(store, steps, talks):
    """A message, and a receipt, is added to a long transcript as fast as to a short one."""
    assert near(*(steps(User(store).say, name, "more") for name, _ in talks))
    assert near(*(steps(User(store).prune, name, cut(3, 5)) for name, _ in talks))


def test_counting_again_costs_as_much_as_there_is(store, steps, talks):
    """Ten times as many messages take ten times as long to count again, not a hundred times."""
    name, size = talks[-1]
    ids = [message.id for message in store.messages(ANA, name, cleared=True)]
    few, many = (
        steps(carry_out, store, ANA, [do.set_token_counts(name, dict.fromkeys(part, 50))])
        for part in (ids[: size // 10], ids)
    )
    assert many < 12 * few


def test_tombstones_cost_as_much_as_there_is(store, steps):
    """Ten times as many removals take ten times as long to read, not a hundred times."""
    costs = []
    for name, size in (("few", 40), ("many", 400)):
        User(store).open_conversation(name)
        for number, message in enumerate(User(store).say(name, *["line"] * size)):
            removal = do.replace_messages(name, f"{number}", at=moment(5), ids=(message.id,))
            carry_out(store, ANA, [removal])
        costs.append(steps(store.tombstones, ANA, name))
    assert costs[1] < 15 * costs[0]


def test_a_receipt_goes_with_its_conversation(store, talks):
    """Where a conversation is deleted, so are its messages and receipts."""
    name, size = talks[0]
    User(store).prune(name, cut(0, 5))
    writer = store._writer.raw
    writer.execute("DELETE FROM conversations WHERE id = ?", (name,))
    assert writer.execute("SELECT count(*) FROM prunings").get == 0
    assert writer.execute("SELECT count(*) FROM messages").get == SIZES[1]
    assert store.verify() == []
    assert size == SIZES[0]
