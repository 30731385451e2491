"""Files of every schema there was: they open whole."""

import gzip
import hashlib
import json
import re
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
from former_memory import describe
from samples import ALL, ANA, User

from memoranda import Memory
from memoranda.store.sql.database import schema_steps
from memoranda.store.sqlite import DIALECT
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

DATA = Path(__file__).with_name("data")
NEWEST = len(DIALECT.schema())
# Its tables and indexes but those of full text, by name.
PARTS = """
SELECT name FROM sqlite_schema WHERE rootpage > 0 AND sql IS NOT NULL
    AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'records_fts*'
"""
# A step that somebody's file has seen is never edited: a change is one more numbered file.
STEPS = (
    "994ee8a9",
    "1e6a6db5",
    "070171e6",
    "32145aa0",
    "0c6b32a7",
    "b0ee526c",
    "e3b0c442",  # Of PostgreSQL alone.
    "b16298bd",
    "467c5764",
    "8e78b487",
    "e3b0c442",  # Of PostgreSQL alone.
    "489e2add",
    "07cb9267",
    "e3b0c442",  # Of PostgreSQL alone.
    "46e7f3a7",
    "c48e288a",
    "9a96f05b",
    "686076f4",
    "10a5481a",
    "e3b0c442",  # Of PostgreSQL alone.
)
# Since when rows of transcripts say whose they are, and removed messages are rows.
OWNED, REMOVED = 4, 10
REMOVED_ROWS = """
INSERT INTO tombstones (key, id, conversation_key, at, count) VALUES (1, 'tmb_1', 1, 7, 2);
INSERT INTO removed_messages (tombstone_key, place, message)
SELECT 1, place, json_object('id', 'msg_' || place, 'role', 'user', 'content', text, 'timestamp', 5,
    'tokens', 3, 'importance', NULL, 'pinned', 0, 'tool_calls', '[]', 'tool_result', NULL,
    'images', '[]', 'task', NULL, 'position', place, 'record_id', NULL, 'raw', NULL, 'part', 0)
FROM (SELECT 7 AS place, 'I drink beer' AS text UNION ALL SELECT 8, 'or wine')
"""
ROWS = """
INSERT INTO users (key, name) VALUES (1, 'ana');
INSERT INTO records (key, id, user_key, kind, content, content_hash, term_count, event_time,
    created_at, confidence, strength, strength_at, decay_rate, source_ids, origin, trust, tags,
    metadata, reason, namespace)
VALUES (1, 'fact_1', 1, 'fact', 'Ana drinks tea', '', 3, 5, 5, 1.0, 1.0, 5, 0.0, '[]', 'user',
    'person', '["drink"]', '{}', 'asked', '');
INSERT INTO conversations (key, user_key, id, created_at, message_count, next_position)
VALUES (1, 1, 'trip', 5, 1, 1);
INSERT INTO messages (key, id, conversation_key, position, role, content, timestamp, tokens,
    tool_calls, images) VALUES (1, 'msg_1', 1, 0, 'user', 'I drink tea', 5, 3, '[]', '[]');
INSERT INTO prunings (key, id, conversation_key, at, triggered_by, why, strategy, tokens_before,
    tokens_after, through, spans) VALUES (1, 'prn_1', 1, 5, 'manual', '', 'recency', 9, 5, 0, '[]');
"""


def make_file(path, number):
    """Make a file of a number of the schema that holds a record, a message and a pruning."""
    with closing(apsw.Connection(str(path))) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        for sql in DIALECT.schema()[:number]:
            raw.execute(sql).fetchall()
        raw.execute(f"PRAGMA user_version = {number}; PRAGMA application_id = {0x6D656D6F}")
        raw.execute(ROWS)
        tables = ["messages", "prunings"]
        if number < REMOVED:
            raw.execute(REMOVED_ROWS)
            tables += ["tombstones", "removed_messages"]
        if number >= OWNED:
            for table in tables:
                raw.execute(f"UPDATE {table} SET user_key = 1")  # noqa: S608 - a test


def require_whole(store):
    """Check that all is there that ``make_file`` stores, and that nothing lacks."""
    assert [item.content for item in store.records(ANA, ALL)] == ["Ana drinks tea"]
    assert [each.content for each in store.messages(ANA, "trip")] == ["I drink tea"]
    assert [each.id for each in store.prunings(ANA, "trip")] == ["prn_1"]
    with store.read() as connection, closing(apsw.Connection(":memory:")) as whole:
        for sql in DIALECT.schema():
            whole.execute(sql).fetchall()
        assert {*whole.execute(PARTS)} <= {*connection.raw.execute(PARTS)}
    User(store).remember("Ana drinks coffee")
    assert len(User(store).holders("drinks")[0]) == 2


def test_no_step_is_edited():
    """Each numbered file is what it was when files were written with it."""
    texts = [re.sub(r" *--[^\n]*", "", step) for step in schema_steps()]
    assert [hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts] == list(STEPS)


def test_files_of_every_number_open(path, open_store):
    """A file of each number is brought to the newest with all that it holds, once."""
    for number in range(1, NEWEST + 1):
        make_file(path, number)
        store = open_store()
        require_whole(store)
        removed = [message for left in User(store).tombstones("trip") for message in left.messages]
        texts = [(message.content, message.position) for message in removed]
        assert texts == [("I drink beer", 7), ("or wine", 8)][: 2 * (number < REMOVED)]
        store.close()
        again = open_store()
        assert again.count(ANA, ALL)
        again.close()
        path.unlink()


def test_names_of_before_are_found(path, open_store):
    """Names of a file whose number had other keys for them are kept under those of today."""
    store = open_store()
    User(store).remember("Zoe sings")
    store.close()
    with closing(apsw.Connection(str(path))) as raw:
        raw.execute(DIALECT.schema()[17]).fetchall()
    again = User(open_store())
    again.remember("Zoe Lopez dances")
    assert again.entity_names() == ["Zoe Lopez"]


def test_what_recover_saved_is_a_memory(path, open_store):
    """SQLite's ``.recover`` leaves out the tables of the full-text index: they are made anew."""
    store = open_store()
    User(store).remember("Ana drinks tea", "Ben drinks rum")
    store.close()
    with closing(apsw.Connection(str(path))) as raw:
        entries = raw.execute(
            "SELECT name, sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        raw.execute("DROP TABLE records_terms; DROP TABLE records_fts")
        raw.execute("PRAGMA writable_schema = ON")
        insert = "INSERT INTO sqlite_schema VALUES ('table', ?, ?, 0, ?)"  # As `.recover` does.
        raw.executemany(insert, [(name, name, sql) for name, sql in entries])
    saved = open_store()
    assert [*map(len, User(saved).holders("drinks", "rum"))] == [2, 1]
    assert saved.verify() == []
    assert User(saved).page() == ["Ana drinks tea", "Ben drinks rum"]


def test_a_file_of_before_holds_everything(tmp_path):
    """A database of schema 5 opens, and each user has in it what its own program told of it.

    ``data/schema_5.json`` is what :func:`former_memory.describe` gave then.
    """
    path = tmp_path / "memory.db"
    with gzip.open(DATA / "schema_5.db.gz") as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    before = json.loads((DATA / "schema_5.json").read_text("utf-8"))
    clock = FrozenClock(datetime(2026, 3, 2, 12, tzinfo=UTC))  # As then: contexts end with the day.
    with Memory(path, user="ana", embedder=HashEmbedder(8), clock=clock) as memory:
        ids = {name: list(each["records"]) for name, each in before.items()}
        after = json.loads(json.dumps(describe(memory, ids)))
        assert memory.verify() == []
    for name, held in before.items():
        for what, found in held.items():
            assert after[name][what] == found, (name, what)
