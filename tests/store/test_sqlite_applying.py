"""Law 5 at the finest grain: interrupted at any step of SQLite's machine, nothing is written."""

from itertools import count

import pytest
from samples import ALL, ANA, MODEL, User, moment, record
from steps import carry_out, do

from memoranda.errors import StoreError
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.model.query import Filter

STEPS = 101  # of SQLite's machine between two interruptions: a prime, to hit ever other places


def test_an_interruption_anywhere_leaves_nothing(store):
    """Also inside triggers and the full-text index, a transaction that stops leaves nothing."""
    plan = User(store).prepare()
    before = User(store).everything()
    writer = store._writer.raw
    for point in count(1):
        steps = count(1)
        writer.set_progress_handler(lambda at=point, steps=steps: next(steps) == at, STEPS)
        try:
            carry_out(store, ANA, plan)
            break
        except StoreError:
            assert not writer.in_transaction
        finally:
            writer.set_progress_handler(None)
        assert User(store).everything() == before
    assert point > 50
    assert store.purge() is None
    assert store.verify() == []


@pytest.mark.parametrize("place", ["BEGIN IMMEDIATE", "COMMIT"])
def test_a_failure_at_the_borders(store, place):
    """A transaction that cannot begin or commit leaves nothing, and the next one works."""
    plan = User(store).prepare()
    before = User(store).everything()
    writer = store._writer.raw
    writer.exec_trace = lambda _cursor, sql, _values: sql != place
    with pytest.raises(StoreError):
        carry_out(store, ANA, plan)
    writer.exec_trace = None
    assert User(store).everything() == before
    carry_out(store, ANA, plan)
    assert User(store).everything() != before


def test_a_snapshot_that_fails_is_given_up(store):
    """Whatever statement of a reader fails, the next snapshot begins anew, and sees what is new."""
    with store.snapshot():
        reader = store._local.pinned.raw
    for point in count():
        left = iter(range(point))
        reader.exec_trace = lambda _cursor, sql, _values, left=left: (
            sql == "ROLLBACK" or next(left, None) is not None
        )
        try:
            with store.snapshot():
                store.records(ANA, ALL)
            whole = True
        except StoreError:
            whole = False
        reader.exec_trace = None
        User(store).remember(f"text {point}")
        with store.snapshot():
            assert store._local.pinned.raw is reader
            assert len(store.records(ANA, ALL)) == point + 1
        if whole:
            break
    assert point >= 2


def test_no_long_text_waits_to_be_indexed(store):
    """A search reads the texts that wait: a few short ones, and none of a hundred pages."""

    def indexed():
        with store.read() as connection:
            return len(store.full_text.keys(connection))

    User(store).remember("short")
    assert indexed() == 0
    User(store).remember("long text " * 20_000)
    assert indexed() == 2
    assert [*map(len, User(store).holders("short", "long"))] == [1, 1]


def test_what_waits_is_found_without_what_waits_beside_it(store):
    """However many records wait, the next few of those that lack a name or a vector are found."""
    names, vectors = (Filter.at_any_time(waiting=work) for work in (ENTITIES, VECTORS))
    ana, moments = User(store), {"now": moment(0), "until": moment(9)}
    store.reset_vectors(MODEL, 4)
    ana.apply(*(do.Insert(record(f"text {number}")) for number in range(1_000)))
    ana.pending()
    ana.embed(ana.records(vectors))
    for find, expected in (
        (lambda: store.records(ANA, names, limit=2), 2),
        (lambda: store.records(ANA, vectors, limit=2), 0),
        (lambda: store.claim_records(VECTORS, **moments, limit=2), 0),
    ):
        steps = count()
        with store.snapshot():
            machine = store._local.pinned.raw
            machine.set_progress_handler(lambda steps=steps: next(steps) > 10, STEPS)
            assert len(find()) == expected
            machine.set_progress_handler(None)
