"""The shared statements keep the contract of a store on a real PostgreSQL server, too."""

import string
from contextlib import closing, contextmanager

import pytest
from analyzers import PlainNames, WordAnalyzer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import StoreContract
from postgres_server import NUMBERS, as_role, connected, empty, new_database, new_role
from samples import DIMENSIONS, LATER, MODEL, UNREAD, User, record
from steps import do

from memoranda.errors import StoreError, UserDeleted
from memoranda.model.models import Scope
from memoranda.store.postgres import PostgresConnection, PostgresStore

# Rows and entries of indexes that a connection has looked at.
LOOKED_AT = """
SELECT CAST(sum(pg_stat_get_xact_tuples_returned(oid)) AS bigint) FROM pg_class
WHERE relname ~ '^(messages|records|vectors)'
"""
FOR_ANY_VALUES = "options=-c%20plan_cache_mode%3Dforce_generic_plan"
WORDS = st.text(string.ascii_lowercase, min_size=3, max_size=9)


@pytest.fixture(scope="session")
def server(postgres):
    """Give the address of a database for a role with nothing but a schema of its own."""
    owner = new_role(postgres, schema=True)
    return as_role(postgres, owner, owner)


def open_store(address):
    """Open a store with the parts that the contract expects."""
    return PostgresStore(address, analyzer=WordAnalyzer(), names=PlainNames())


class TestPostgres(StoreContract):
    """A database on a server."""

    # The server's own tool makes backups.
    test_a_backup_holds_everything = None

    @pytest.fixture
    def store(self, server):
        """Give an empty database."""
        empty(server)
        self.address = server
        with closing(open_store(server)) as store:
            yield store

    def open_again(self, store):
        """Close a store and connect again."""
        store.close()
        return open_store(self.address)

    @contextmanager
    def failing_at(self, _store, step):
        """Fail at a few statements: the server undoes all of them alike, and slowly."""
        left = iter(range(23 * step))
        run = PostgresConnection._execute

        def execute(self, sql, values):
            if next(left, None) is None:
                message = "the statement was aborted"
                raise StoreError(message)
            return run(self, sql, values)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PostgresConnection, "_execute", execute)
            yield

    @settings(max_examples=15, deadline=None)
    @given(counts=st.dictionaries(WORDS, st.integers(1, 300), min_size=1, max_size=8))
    @example(counts={f"word{number}": 1 + number % 2 for number in range(80_000)})
    @example(counts={"long" * 600: 2, "short": 255})
    def test_the_index_tells_how_often_a_term_stands(self, server, counts):
        """However often up to 255 times, and however long the text or the term is."""
        with closing(open_store(server)) as store:
            ben = Scope(f"ben {next(NUMBERS)}")
            user = User(store, ben)
            user.remember(" ".join(word for word, count in counts.items() for _ in range(count)))
            asked = list(counts)[-20:]
            found = [[*each.values()] for each in user.holders(*asked)]
            assert found == [[min(counts[word], 255)] for word in asked]


def test_what_another_process_did_to_a_user_is_heeded(postgres):
    """Who has stored for a user stores no less rightly after others deleted, and began anew."""
    address = new_database(postgres)
    with closing(open_store(address)) as mine, closing(open_store(address)) as other:

        def store(content, user):
            (stored,) = user.apply(do.Insert(record(content), unless_known=True))
            return stored.is_new

        ana, same = User(mine), User(other)
        for content in ("tea", "cake"):
            assert store(content, ana)
        opened = ana.opened()
        same.remember("jam")
        assert not store("jam", ana)
        same.delete()
        with pytest.raises(UserDeleted):
            store("cocoa", opened)
        assert store("milk", ana)
        assert store("milk toast", ana)
        same.delete(erase=False)
        assert store("coffee", ana)
        assert ana.page() == same.page() == ["milk", "milk toast", "coffee"]
        assert [line for line in mine.verify() if "--purge" not in line] == []


def test_what_came_last_is_found_by_its_place(postgres):
    """Also by a plan that the server makes for any place: it looks at nothing before that."""
    address = new_database(postgres)
    with closing(open_store(f"{address}&{FOR_ANY_VALUES}")) as store:
        ana = User(store)
        store.reset_vectors(MODEL, DIMENSIONS)
        ana.open_conversation("trip")
        ana.say("trip", *(f"turn {number}" for number in range(300)))
        ana.embed(ana.remember(*(f"fact {number}" for number in range(300))))
        known = ana.index_changes(UNREAD).version
        with connected(address) as connection:
            connection.execute("ANALYZE")
        ana.embed(ana.turns("trip", "tea"))
        with store.snapshot(), store.read() as connection:
            before = connection.value(LOOKED_AT)
            (last,) = ana.messages("trip", now=LATER, after=298)
            changes = ana.index_changes(known)
            looked_at = connection.value(LOOKED_AT) - before
    assert last.content == "turn 299"
    assert len(changes.rows) == len(changes.vectors) == 1
    assert looked_at < 50
