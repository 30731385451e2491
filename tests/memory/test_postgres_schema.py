"""The schema on PostgreSQL: its keys, its migrations, and the scripts of the documents."""

import re
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest
from noting import by_hand as remembering
from postgres_server import as_role, connected, new_database

from memoranda.errors import SchemaTooNew, StoreError
from memoranda.store import sqlite
from memoranda.store.postgres import DIALECT, STEPS
from memoranda.store.sql.database import tables
from memoranda.store.sql.health import ANALYZER
from memoranda.text.terms import TermAnalyzer

DOCS = Path(__file__).parents[2] / "docs"
# What a database is made of: columns, constraints and indexes.
MADE_OF = """
SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT CAST(CAST(attrelid AS regclass) AS text), attname, 'statistics',
    CAST(attstattarget AS text), '', ''
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid AND c.relkind = 'r'
WHERE c.relnamespace = CAST('public' AS regnamespace) AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT CAST(CAST(conrelid AS regclass) AS text), '', pg_get_constraintdef(oid), '', '', ''
FROM pg_constraint WHERE connamespace = CAST('public' AS regnamespace)
UNION ALL SELECT tablename, indexname, indexdef, '', '', ''
FROM pg_indexes WHERE schemaname = 'public'
"""
# A record of 0.2, two users, their terms as it kept them, and a vector that stayed too long.
FORMER = """
INSERT INTO users (name, vector_seq) VALUES ('ana', 0), ('ben', 0);
INSERT INTO records (key, id, user_key, kind, content, content_hash, term_count, event_time,
    created_at, confidence, strength, strength_at, decay_rate, source_ids, origin, trust, tags,
    metadata, reason, namespace)
SELECT nextval('record_keys'), 'fact_' || said, owner, 'fact', said, said, 3, 0, 0, 1, 1, 0, 0,
    '[]', 'api', 'person', '[]', '{}', 'remembered', ''
FROM (VALUES (1, 'Ana likes tea'), (2, 'Ben likes tea')) facts (owner, said);
INSERT INTO record_terms (user_key, record_key, terms)
SELECT user_key, key, CAST(format('''%s:%s'':1 ''%s:tea'':1,2,3', user_key,
    lower(split_part(content, ' ', 1)), user_key) AS tsvector) FROM records;
CREATE TABLE nearest_2 (user_key bigint, record_key bigint PRIMARY KEY);
INSERT INTO nearest_2 SELECT user_key, key FROM records;
INSERT INTO meta (name, value) VALUES ('purge_pending records', '1');
INSERT INTO server_starts (id, token) VALUES (1, 'a token');
"""


def script(page):
    """Return the SQL that a page of the documents has."""
    text = (DOCS / page).read_text("utf-8")
    (found,) = re.findall(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


def made_of(address):
    """Return what a database is made of."""
    with connected(address) as connection:
        return set(connection.execute(MADE_OF).fetchall())


@pytest.fixture(scope="module")
def columns(postgres):
    """Return what a new database is made of."""
    address = new_database(postgres, schema=False)
    remembering(address).close()
    return made_of(address)


def test_both_schemas_have_the_same_columns(columns):
    """What a statement may name is there on SQLite and on PostgreSQL."""
    there = {row[:2] for row in columns if row[2] == "statistics"}
    with closing(apsw.Connection(":memory:")) as raw:
        for sql in sqlite.DIALECT.schema():
            raw.execute(sql).fetchall()
        for table in tables():
            rows = raw.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            named = {(name,) for each, name in there if each == table}
            assert named == {*rows}, table


def test_the_user_stands_first_in_every_key(columns):
    """So that a server can keep the rows of a user together."""
    of_users = {table for table, column, *_ in columns if column == "user_key"}
    keys = [
        (table, told)
        for table, _, told, *_ in columns
        if table in of_users and re.match(r"PRIMARY|UNIQUE|FOREIGN", told)
    ]
    assert len(of_users) > 20
    assert {table for table, _ in keys} == of_users
    assert [each for each in keys if "(user_key" not in each[1]] == []


# From the schema of 0.2, which has number 5, to those before and after it.
FROM_5 = {
    4: "DROP TABLE job_users; ALTER TABLE derivations DROP COLUMN claimed_until; "
    "DELETE FROM schema_steps WHERE number = 5",
    5: "SELECT 1",
    6: "DROP TABLE job_users; INSERT INTO schema_steps VALUES (6)",
}


@pytest.mark.parametrize("number", [4, 5, 6])
def test_a_database_of_before_becomes_one_of_today(postgres, columns, number):
    """It is made of the same, and holds every record and how often it holds each term."""
    former = new_database(postgres, schema=False)
    with connected(former) as connection:
        connection.execute(Path(__file__).with_name("postgres_0_2.sql").read_text("utf-8"))
        connection.execute(FORMER)
        connection.execute(FROM_5[number])
        made_by = [ANALYZER, TermAnalyzer().name]
        connection.execute("INSERT INTO meta (name, value) VALUES (%s, %s)", made_by)
    with remembering(former) as memory:
        with connected(former) as connection:
            assert connection.execute("SELECT count(*) FROM nearest_2").fetchone() == (0,)
            connection.execute("DROP TABLE nearest_2")
        assert made_of(former) == columns
        assert [each.content for each in memory.records()] == ["Ana likes tea"]
        assert memory.search("who likes tea?")[0].record.content == "Ana likes tea"
        counts = "SELECT term, record_key, n FROM record_terms WHERE user_key = 2 ORDER BY term"
        with memory._services.store.read() as connection:
            assert connection.all(counts) == [("ben", 2, 1), ("tea", 2, 3)]
        memory.remember("Ana likes cake")
        assert memory.as_user("ben").count() == 1


def test_databases_of_each_later_number_become_one_of_today(postgres, columns):
    """Those that were new at that number; and one of a number that is not there yet is refused."""
    people = FORMER[: FORMER.index("INSERT INTO record_terms")]
    for number in range(DIALECT.step, len(DIALECT.schema()) + 1):
        former = new_database(postgres, schema=False)
        with connected(former) as connection:
            connection.execute(STEPS)
            for done, sql in enumerate(DIALECT.schema()[:number], 1):
                connection.execute(sql)
                connection.execute("INSERT INTO schema_steps VALUES (%s)", [done])
            connection.execute(people)
        with remembering(former) as memory:
            assert made_of(former) == columns, number
            memory.remember("Ana likes cake")
            found = [each.record.content for each in memory.search("who likes tea?", limit=1)]
            assert found == ["Ana likes tea"], number
            assert memory.as_user("ben").count() == 1
    with connected(former) as connection:
        connection.execute("INSERT INTO schema_steps VALUES (%s)", [number + 1])
    with pytest.raises(SchemaTooNew, match=rf"has schema {number + 1}; pip install -U memoranda"):
        remembering(former)


def test_the_script_for_row_level_security_keeps_users_apart(postgres):
    """Whoever logs in as Ana sees and touches rows of Ana alone, whatever a statement says."""
    address = new_database(postgres)
    with remembering(address) as memory:
        memory.remember("Ana likes tea")
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.as_user("ben").remember("Ben likes coffee")
        memory.as_user("ben").conversation("trip").add("user", "I live in Delft.")
    with connected(address) as connection:
        connection.execute(script("postgresql.md"))
        connection.execute("CREATE ROLE ana LOGIN IN ROLE memory_users")
    hers = as_role(address, "ana")
    try:
        with connected(hers) as connection:
            for table in ("users", "records", "messages", "conversations", "record_terms"):
                column = "key" if table == "users" else "user_key"
                owners = connection.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()  # noqa: S608
                assert owners == [(1,)], table
            changed = connection.execute("UPDATE records SET content = 'read'")
            assert changed.rowcount == connection.execute("DELETE FROM recalls").rowcount + 2
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("UPDATE records SET user_key = 2")
        with remembering(hers) as memory:
            memory.remember("Ana likes cake")
            assert memory.search("cake")[0].record.content == "Ana likes cake"
            assert memory.as_user("ben").records() == []
            with pytest.raises(StoreError):
                memory.as_user("ben").remember("Ben likes cake")
    finally:
        with connected(address) as connection:
            connection.execute("DROP OWNED BY ana, memory_users; DROP ROLE ana, memory_users")


def test_the_script_for_partitions_divides_what_is_there(postgres):
    """A memory goes on in tables that are divided by user, with all that it held."""
    address = new_database(postgres)
    with remembering(address) as memory:
        for name in ("ana", "ben", "cleo"):
            user = memory.as_user(name)
            user.conversation("trip").add("user", f"I am {name}.")
            user.remember(f"{name} likes tea")
    with connected(address) as connection:
        connection.execute(script("scaling.md"))
        divided = connection.execute("SELECT count(*) FROM pg_partitioned_table").fetchone()[0]
    assert divided > 20
    with remembering(address) as memory:
        for name in ("ana", "ben", "cleo", "dan"):
            user = memory.as_user(name)
            kept = user.remember(f"{name} likes cake")
            user.conversation("trip").add("user", "What do I like?")
            assert user.count() == (2 if name == "dan" else 4)
            user.forget(kept.id, erase=True)
            assert "cake" not in str(user.search("cake"))
        assert memory.verify() == []
