"""Several processes write one store: a file, a PostgreSQL database."""

from functools import partial

import pytest
from analyzers import PlainNames, WordAnalyzer
from postgres_server import empty
from samples import ANA, BEN, User, moment
from steps import carry_out, do

from memoranda.model.models import Kind
from memoranda.model.query import Filter, IndexVersion
from memoranda.store.postgres import PostgresStore
from memoranda.store.sqlite import SqliteStore

TURNS = 25


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request, tmp_path):
    """Open the empty store of the test, here or in another process."""
    if request.param == "sqlite":
        kind, location = SqliteStore, tmp_path / "memory.db"
    else:
        kind, location = PostgresStore, request.getfixturevalue("postgres")
        empty(location)
    return partial(kind, location, analyzer=WordAnalyzer(), names=PlainNames())


@pytest.fixture
def store(open_store):
    """Give the store of the test, in this process."""
    opened = open_store()
    yield opened
    opened.close()


def test_processes_write_one_key_and_pop_from_one_conversation(start, open_store, store):
    """One item is left, with the id and age of the first; each message is taken once, the newest.

    Those before stay, and the conversation of another user.
    """
    for user in (User(store), User(store, BEN)):
        user.open_conversation("trip")
        user.say("trip", *(f"message {number}" for number in range(2 * TURNS + 5)))

    def keep(name, tell, _):
        store = open_store()
        for turn in range(TURNS):
            item = User(store).put("key", f"{name}-{turn}", "app", "state")
            tell((item.id, item.created_at))
        store.close()

    def pop(name, tell, _):
        store = open_store()
        for turn in range(TURNS):
            tombstone = f"tmb_{name}_{turn:03d}"
            carry_out(
                store, ANA, [do.replace_messages("trip", tombstone, at=moment(turn), newest=1)]
            )
            tell(tombstone)
        store.close()

    running = [start(partial(work, name)) for work in (keep, pop) for name in ("a", "b")]
    ended = [each.finish() for each in running]
    assert [code for code, _ in ended] == [0] * 4
    kept, popped = ([*ended[n][1], *ended[n + 1][1]] for n in (0, 2))
    (item,) = store.records(ANA, Filter.at_any_time(kinds=(Kind.ITEM,)))
    assert kept == [(item.id, item.created_at)] * 2 * TURNS
    assert item.content in {f"{name}-{TURNS - 1}" for name in ("a", "b")}
    assert len(store.index_changes(ANA, IndexVersion(), items=True).rows) == 1
    left = [message.content for message in store.messages(ANA, "trip")]
    assert left == [f"message {number}" for number in range(5)]
    left = User(store).tombstones("trip")
    assert sorted(each.id for each in left) == sorted(popped)
    gone = [message.content for each in left for message in each.messages]
    assert sorted(gone) == sorted(f"message {number}" for number in range(5, 2 * TURNS + 5))
    assert len(store.messages(BEN, "trip")) == 2 * TURNS + 5
    assert store.verify() == []
