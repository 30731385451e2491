"""Under a role of its own, nothing of one user is seen or touched for another."""

import json
import re
from contextlib import closing

import psycopg
import pytest
from analyzers import PlainNames, WordAnalyzer
from postgres_server import as_role, connected, grant, new_database, new_role
from psycopg.sql import SQL, Identifier
from samples import ALL, User, moment

from memoranda.errors import ConfigError, StoreError
from memoranda.model.models import Scope
from memoranda.store.postgres import PostgresStore

ANA, BEN = Scope("ana"), Scope("ben")
OF_USERS = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
    AND (a.attname = 'user_key' OR (c.relname = 'users' AND a.attname = 'key')) ORDER BY 1
"""
SEE = "SELECT CAST(to_jsonb(t) AS text) AS row FROM {} t ORDER BY 1"
TOUCH = ("UPDATE {table} SET {column} = {column}", "DELETE FROM {table}")
STORE = """
INSERT INTO {0} SELECT * FROM jsonb_populate_record(CAST(NULL AS {0}), CAST(:row AS jsonb))
"""
LOOK_AT = "EXPLAIN (FORMAT JSON) SELECT 1 FROM {} WHERE user_key = :user AND {} IN (@ints(:keys))"
INDEXED = re.compile(r'"Index Cond": "([^"]*)"')
LOOK_UP = "SELECT count(*) FROM terms_matching({0}, CAST($$'{0}:tea'$$ AS tsquery))"


def open_store(address, **how):
    """Open a store with the parts that the contract expects."""
    return PostgresStore(address, analyzer=WordAnalyzer(), names=PlainNames(), **how)


@pytest.fixture(scope="module")
def role(postgres):
    """Create a role that owns nothing."""
    return new_role(postgres, "NOLOGIN")


@pytest.fixture(scope="module")
def address(postgres, role):
    """Give the address of a database in which Ana and Ben have something of every kind."""
    address = new_database(postgres)
    with closing(open_store(address, role=role, exact_up_to=0)) as store:
        for scope in (ANA, BEN):
            user = User(store, scope)
            user.apply(*user.prepare())
        store.index_large_users()
    return address


@pytest.fixture
def store(address, role):
    """Open it."""
    store = open_store(address, role=role)
    yield store
    store.close()


def tables(address):
    """Return the tables with rows of users."""
    with connected(address) as connection:
        return [row[0] for row in connection.execute(OF_USERS).fetchall()]


def key_of(address, scope):
    """Return the key of a user."""
    with connected(address) as connection:
        return connection.execute("SELECT key FROM users WHERE name = %s", [scope.user]).fetchone()[
            0
        ]


def held(address, table, of):
    """Return what a table holds of a user, row by row as JSON."""
    column = "key" if table == "users" else "user_key"
    sql = SQL("SELECT to_jsonb(t)::text FROM {} t WHERE {} = %s ORDER BY 1")
    with connected(address) as connection:
        found = connection.execute(sql.format(Identifier(table), Identifier(column)), [of])
        return [row[0] for row in found.fetchall()]


def undone(store, scope, work):
    """Return what ``work`` gives in a transaction of a user, which is undone."""
    found = []

    def ask(connection):
        found.append(work(connection))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store._write(scope, ask)
    return found[0]


def test_each_table_with_rows_of_users_has_a_policy(address):
    """Whatever table is added, it is not forgotten."""
    named = tables(address)
    assert {"users", "records", "messages", "record_terms"} <= {*named}
    assert any(name.startswith("nearest_") for name in named)
    with connected(address) as connection:
        limited = connection.execute(
            "SELECT DISTINCT relname FROM pg_policy JOIN pg_class c ON c.oid = polrelid "
            "WHERE c.relrowsecurity AND polcmd = '*' AND polroles <> '{0}' ORDER BY 1"
        )
        assert [row[0] for row in limited.fetchall()] == named


def test_without_a_condition_nothing_of_others_is_seen(store, address):
    """A statement that asks for everything gets what is of the user, in every table."""
    ana, ben = key_of(address, ANA), key_of(address, BEN)
    empty = set()
    for table in tables(address):
        sql = SEE.format(table)
        own = [(row,) for row in held(address, table, ana)]
        if not held(address, table, ben):
            empty.add(table)
        assert undone(store, ANA, lambda connection, sql=sql: connection.all(sql)) == own, table
        with store.read(ANA) as connection:
            assert connection.all(sql) == own
        with store.snapshot(), store._reading(ANA) as (connection, _):
            assert connection.all(sql) == own
    others = {table for table in empty if not table.startswith("nearest_")}
    assert others <= {"common_terms", "job_users"}


def test_without_a_condition_nothing_of_others_is_touched(store, address):
    """Nor do changes and deletions reach it, whatever table they are of."""
    for table in tables(address):
        mine = len(held(address, table, key_of(address, ANA)))
        column = "key" if table == "users" else "user_key"
        # Other rows refer to those of users.
        for touch in TOUCH[: 1 if table == "users" else None]:
            sql = touch.format(table=table, column=column)
            done = undone(store, ANA, lambda connection, sql=sql: connection.change(sql))
            assert done == mine, sql


def test_nothing_is_stored_for_another(store, address):
    """A row of another user is refused, new or changed."""
    for table in tables(address):
        for row in held(address, table, key_of(address, BEN))[:1]:
            sql = STORE.format(table)
            with pytest.raises(StoreError, match="row-level security"):
                store._write(ANA, lambda one, sql=sql, row=row: one.change(sql, {"row": row}))
    stolen = {"ben": key_of(address, BEN)}
    with pytest.raises(StoreError, match="row-level security"):
        store._write(ANA, lambda one: one.change("UPDATE recalls SET user_key = :ben", stolen))


def test_words_of_others_are_not_found(store, address):
    """The function that looks for terms finds those of the user alone, and serves nobody else."""
    ben = key_of(address, BEN)
    found = LOOK_UP.format(ben)
    with store.read(BEN) as connection:
        assert connection.value(found) > 0
    with store.read(ANA) as connection:
        assert connection.value(found) == 0
    stranger = as_role(address, new_role(address))
    with connected(stranger) as other, pytest.raises(psycopg.errors.InsufficientPrivilege):
        other.execute(found)


@pytest.mark.parametrize(("table", "column"), [("records", "key"), ("record_terms", "record_key")])
def test_a_policy_keeps_no_index_from_being_used(store, table, column):
    """What could tell of the rows of others uses none below one: no list of keys does so."""

    def plan(connection):
        for other in ("seqscan", "hashjoin", "mergejoin"):
            connection.all(f"SELECT set_config('enable_{other}', 'off', TRUE)")
        sql = LOOK_AT.format(table, column)
        return json.dumps(connection.all(sql, {"user": 1, "keys": "[1,2]"}))

    found = INDEXED.findall(undone(store, ANA, plan))
    assert [f"{column} = " in condition for condition in found] == [True], found


def test_a_connection_keeps_nothing_of_a_user(store):
    """After a transaction its session is that of who logged in: a pooler may give it to anybody."""
    User(store, ANA).remember("more tea")
    assert User(store, ANA).page()
    session = "SELECT current_user, coalesce(current_setting('memoranda.user_key', TRUE), '')"
    for _ in range(3):
        with store._lend() as connection:
            assert connection.all(session) == [("postgres", "")]


def test_the_limited_role_logs_in_itself(address, role):
    """It does all that a memory does, once the owner has made the tables: also for all users."""
    with connected(address) as connection:
        connection.execute(SQL("ALTER ROLE {} LOGIN").format(Identifier(role)))
    with pytest.raises(ConfigError, match=f"hide the rows .*; set storage.role to {role}"):
        open_store(as_role(address, role))
    with closing(open_store(as_role(address, role), role=role)) as store:
        with pytest.raises(StoreError), store._lend() as connection:
            connection.run("SET ROLE postgres")
        cay = User(store, Scope("cay"))
        (item,) = cay.remember("Zoe drinks tea")
        assert cay.page() == ["Zoe drinks tea"]
        assert store.users() == ["ana", "ben", "cay"]
        assert store.claim("decay", "a", now=moment(0), until=moment(1))
        assert len(store.verify()) <= 1
        cay.erase(item)
        assert "is not the owner of" in store.purge()
        cay.delete()
        again = User(store, store.scope("cay"))
        assert again.scope.deletions == 1
        again.remember("anew")
        assert again.page(ALL) == ["anew"]
    with closing(open_store(address, role=role)) as store:
        assert store.purge() is None
        assert store.verify() == []


def test_the_owner_has_to_come_first(postgres):
    """As the limited role, or with no right to make policies, nothing is opened without them."""
    owner, limited = new_role(postgres, schema=True), new_role(postgres)
    grant(postgres, limited, owner)
    own, other = as_role(postgres, owner, owner), as_role(postgres, limited, owner)
    with pytest.raises(ConfigError, match="open it once, with this setting"):
        open_store(other, role=limited)
    open_store(own).close()
    with connected(own) as connection:
        names = {"schema": Identifier(owner), "role": Identifier(limited)}
        for sql in ("USAGE ON SCHEMA {schema}", "SELECT ON schema_steps"):
            connection.execute(SQL(f"GRANT {sql} TO {{role}}").format(**names))
    with pytest.raises(ConfigError, match="as the owner of its tables"):
        open_store(other, role=limited)
    open_store(own, role=limited).close()
    with closing(open_store(other, role=limited)) as store:
        assert User(store).remember("tea")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (None, "there is no such role; CREATE ROLE"),
        ("SUPERUSER", "it is a superuser"),
        ("BYPASSRLS", "it has BYPASSRLS"),
        ("NOLOGIN", "may not take it; GRANT"),
    ],
)
def test_a_role_that_limits_nothing_is_refused(postgres, options, complaint):
    """What is wrong with it is told, and what to do; also where it owns the tables."""
    owner = new_role(postgres, schema=True)
    name = "nobody" if options is None else new_role(postgres, options)
    with pytest.raises(ConfigError, match=complaint):
        open_store(as_role(postgres, owner, owner), role=name)
    with pytest.raises(ConfigError, match="it owns the tables"):
        open_store(as_role(postgres, owner, owner), role=owner)
