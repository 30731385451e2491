"""The shared statements keep the contract of a store on a real PostgreSQL server, too."""

import re
import secrets
import string
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from analyzers import PlainNames, WordAnalyzer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import StoreContract
from laws.isolation import IsolationContract
from laws.records import RecordContract
from partition_plans import one_partition_each
from postgres_server import NUMBERS, as_role, connected, empty, new_database, new_role, programs
from samples import ALL, ANA, DIMENSIONS, LATER, MODEL, UNREAD, User, record

from memoranda.errors import StoreError, UserDeleted
from memoranda.model import actions as do
from memoranda.model.models import Scope
from memoranda.store.postgres import DIALECT, STEPS, PostgresConnection, PostgresStore
from memoranda.store.postgres_partitions import main, spread_schema
from memoranda.store.sql.dialect import columns, tables

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


def open_store(address, **how):
    """Open a store with the parts that the contract expects."""
    return PostgresStore(address, analyzer=WordAnalyzer(), names=PlainNames(), **how)


@contextmanager
def failing_at(step):
    """Fail at the statement with this number of a transaction."""
    left = iter(range(step))
    run = PostgresConnection._execute

    def execute(self, sql, values):
        if next(left, None) is None:
            message = "the statement was aborted"
            raise StoreError(message)
        return run(self, sql, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_execute", execute)
        yield


class TestPostgres(StoreContract):
    """A database on a server."""

    @pytest.fixture
    def store(self, server):
        """Give an empty database."""
        empty(server)
        store = open_store(server)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, server):
        """Close a store and connect again."""
        opened = []

        def again(store):
            store.close()
            opened.append(open_store(server))
            return opened[-1]

        yield again
        for store in opened:
            store.close()

    def failing_at(self, store, step):
        """Fail at every seventh statement: the server undoes all of them alike, and slowly."""
        del store
        return failing_at(7 * step)

    @pytest.fixture(autouse=True)
    def _programs(self, postgres, monkeypatch):
        monkeypatch.setenv("PATH", programs(postgres))

    def test_size_grows(self, store):
        """The size is in bytes and holds what was stored, if that cannot be compressed."""
        before = store.size()
        User(store).remember(secrets.token_hex(500_000))
        assert store.size() >= before + 300_000

    def test_writers_at_once_give_each_place_once(self, store):
        """Writers of one session wait for each other: no place in it is given twice."""

        def write(number):
            for turn in range(5):
                User(store).remember(f"{number} says {turn}", session_id="trip")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        positions = [item.position for item in store.records(ANA, ALL)]
        assert sorted(positions) == list(range(20)), User(store).page()

    @settings(max_examples=15, deadline=None)
    @given(counts=st.dictionaries(WORDS, st.integers(1, 300), min_size=1, max_size=8))
    @example(counts={f"word{number}": 1 + number % 2 for number in range(80_000)})
    @example(counts={"long" * 600: 2, "short": 255})
    def test_the_index_tells_how_often_a_term_stands(self, server, counts):
        """However often up to 255 times, and however long the text or the term is."""
        with closing(open_store(server)) as store:
            ben = Scope(f"ben {next(NUMBERS)}")
            User(store, ben).remember(
                " ".join(word for word, count in counts.items() for _ in range(count))
            )
            asked = list(counts)[-20:]
            found = store.match_terms(ben, asked, limit=10)
            assert found.counts.tolist() == [[min(counts[word], 255) for word in asked]]


class TestLimited(IsolationContract):
    """A database in which a role limits transactions to the rows of their user."""

    # Many are copied where no role limits who copies.
    test_any_number_is_stored_at_once = RecordContract.test_any_number_is_stored_at_once

    @pytest.fixture
    def store(self, postgres):
        """Give a new database."""
        store = open_store(new_database(postgres), role=new_role(postgres, "NOLOGIN"))
        yield store
        store.close()


@pytest.mark.parametrize("limited", [False, True])
def test_what_another_process_did_to_a_user_is_heeded(postgres, limited):
    """Who has stored for a user stores no less rightly after others deleted, and began anew."""
    how = {"role": new_role(postgres, "NOLOGIN")} if limited else {}
    address = new_database(postgres)
    with closing(open_store(address, **how)) as mine, closing(open_store(address, **how)) as other:

        def store(content, user):
            return user.apply(do.Insert(record(content), unless_known=True))

        ana, same = User(mine), User(other)
        for content in ("tea", "cake"):
            assert store(content, ana) == []
        opened = ana.opened()
        same.remember("jam")
        assert [type(each) for each in store("jam", ana)] == [do.KnownFact]
        same.delete()
        with pytest.raises(UserDeleted):
            store("cocoa", opened)
        assert store("milk", ana) == []
        assert store("milk toast", ana) == []
        same.delete(erase=False)
        assert store("coffee", ana) == []
        assert ana.page() == same.page() == ["milk", "milk toast", "coffee"]
        assert [line for line in mine.verify() if "--purge" not in line] == []


def test_what_came_last_is_found_by_its_place(postgres):
    """Also by a plan that the server makes for any place: it looks at nothing before that."""
    address = new_database(postgres)
    with closing(open_store(f"{address}&{FOR_ANY_VALUES}")) as store:
        ana = User(store)
        store.reset_vectors(MODEL, DIMENSIONS)
        ana.open_conversation("trip")
        ana.say("trip", *(f"turn {number}" for number in range(1_000)))
        ana.embed(ana.remember(*(f"fact {number}" for number in range(1_000))))
        known = ana.index_changes(UNREAD).version
        with connected(address) as connection:
            connection.execute("ANALYZE")
        ana.embed(ana.turns("trip", "tea"))
        with store.snapshot(), store.read() as connection:
            before = connection.value(LOOKED_AT)
            (last,) = ana.messages("trip", now=LATER, after=998)
            changes = ana.index_changes(known)
            looked_at = connection.value(LOOKED_AT) - before
    assert last.content == "turn 999"
    assert len(changes.rows) == len(changes.vectors) == 1
    assert looked_at < 50


@pytest.fixture(scope="module")
def spread(postgres):
    """Give the address of a database that spreads users over partitions, and watch the plans."""
    address = new_database(postgres)
    with connected(address) as connection:
        connection.execute(spread_schema(2))
    with one_partition_each():
        yield address


class TestPartitioned(TestPostgres):
    """A database whose users are spread over partitions: each statement looks at one alone."""

    # What the server undoes, it undoes alike, and slowly.
    test_a_failing_action_undoes_those_before_it = None
    test_a_failure_at_any_step_leaves_nothing = None
    test_the_index_tells_how_often_a_term_stands = None

    @pytest.fixture
    def server(self, spread):
        """Give the address of the database."""
        return spread

    def test_what_looks_at_all_partitions_is_found(self, store):
        """The plans tell it of a statement that names no user."""
        with pytest.raises(AssertionError, match="looks at the partitions"), store.write() as one:
            one.all("SELECT count(*) FROM messages")


OF_PARTITIONS = re.compile(
    r" PARTITION BY HASH \(user_key\)|^CREATE TABLE \w+ PARTITION OF \w+\s+FOR [^;]+;", re.MULTILINE
)


def test_only_partitions_make_the_difference():
    """Without them, the schema is that of whole tables, but for the steps that are done."""
    begun = len(f"{STEPS};".split())
    left = OF_PARTITIONS.sub("", spread_schema(2)).split()
    whole = DIALECT.whole_schema().split()
    assert left[begun : begun + len(whole)] == whole


def test_citus_distributes_what_users_have(capsys):
    """Every table with the key of a user, and no other, after the users."""
    main(["8", "--citus"])
    told = capsys.readouterr().out
    named = re.findall(r"create_distributed_table\('(\w+)', 'user_key'\)", told)
    owned = [table for table in tables() if "user_key" in columns(table)]
    assert sorted(named) == sorted([*owned, "record_terms", "large_users", "common_terms"])
    assert told.index("create_reference_table('users')") < told.index("create_distributed_table")
    with pytest.raises(SystemExit):
        main(["0"])
    assert "0 partitions are too few" in capsys.readouterr().err
