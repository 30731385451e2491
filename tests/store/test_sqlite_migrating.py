"""Old files: a database of any schema ever shipped opens with all that was in it."""

import os
from datetime import UTC, datetime

import apsw
import pytest

from memoranda.errors import StoreError
from memoranda.model.actions import Close, Consolidated, Erase, KeepNotes, Noted, Retire
from memoranda.model.life import SessionInfo
from memoranda.model.models import ConversationInfo, Message, ToolCall, ToolResult
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.scope import Scope
from memoranda.model.text import content_hash
from memoranda.model.times import from_ms
from memoranda.store.sqlite import entities, schema
from memoranda.store.sqlite.store import SqliteStore
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts.samples import ALL, ANA, BEN, moment, page, placed, prune, say

FIRST_SCHEMA, SECOND_SCHEMA, THIRD_SCHEMA = schema.migrations()[:3]
# What the first version wrote: a conversation with every field and a cleared beginning, one of
# which the end was erased after it was cleared, one without messages, and one of another user.
FILLED = """
INSERT INTO users (name) VALUES ('ana'), ('ben');
INSERT INTO records (id, user_key, kind, content, content_hash, term_count, session_id, position,
    event_time, created_at, origin, trust)
VALUES ('ep_1', 1, 'episode', 'Green tea', :hash, 99, 'trip', 0, 1, 2, 'conversation', 'person');
INSERT INTO conversations (key, user_key, agent, id, system, model, context_limit, created_at,
    ended_at, cleared_through)
VALUES (1, 1, NULL, 'trip', 'Plan.', 'm', 9000, 1000, 5000, 1),
    (2, 1, 'cook', 'soup', NULL, NULL, NULL, 2000, NULL, 4),
    (3, 1, NULL, 'empty', NULL, NULL, NULL, 3000, NULL, -1),
    (4, 2, NULL, 'trip', NULL, NULL, NULL, 4000, NULL, -1);
INSERT INTO messages (id, conversation_key, position, role, content, timestamp, tokens, importance,
    pinned, tool_calls, tool_result, record_id)
VALUES ('msg_1', 1, 0, 'system', 'Be 🐈', 1001, 5, NULL, 0, '[]', NULL, NULL),
    ('msg_2', 1, 1, 'user', 'Green tea', 1002, 6, 0.5, 1, '[]', NULL, 'ep_1'),
    ('msg_3', 1, 2, 'assistant', '', 1003, 7, NULL, 0, '[["c1","look","{}"]]', NULL, NULL),
    ('msg_4', 1, 3, 'tool', '42', 1004, 8, NULL, 0, '[]', '["c1",true]', NULL),
    ('msg_5', 2, 1, 'user', 'salt', 2001, 9, NULL, 0, '[]', NULL, NULL),
    ('msg_6', 2, 2, 'user', 'pepper', 2002, 9, NULL, 0, '[]', NULL, NULL),
    ('msg_7', 4, 0, 'user', 'his', 4001, 9, NULL, 0, '[]', NULL, NULL);
"""
# What lived before the life of a memory was known: recalled, replaced, expired, forgotten after an
# import, and sessions of two agents.
LIVED = """
INSERT INTO records (id, user_key, agent, kind, content, content_hash, term_count, session_id,
    position, event_time, created_at, valid_until, superseded_by, confidence, last_accessed,
    decay_rate, source_ids, origin, trust)
VALUES ('fact_1', 1, NULL, 'fact', 'a', 'a', 1, NULL, NULL, 1, 10, NULL, NULL, 0.5, 20, 0.1,
        '["ep_1"]', 'consolidation', 'agent'),
    ('fact_2', 1, NULL, 'fact', 'b', 'b', 1, NULL, NULL, 1, 10, 30, 'fact_1', 1, NULL, 0,
        '[]', 'api', 'person'),
    ('ctx_1', 1, NULL, 'context', 'c', 'c', 1, NULL, NULL, 1, 10, 40, NULL, 1, NULL, 0,
        '[]', 'api', 'person'),
    ('ep_2', 1, NULL, 'episode', 'd', 'd', 1, 'trip', 1, 1, 11, 50, NULL, 1, NULL, 0,
        '[]', 'import:memoranda', 'person'),
    ('ep_3', 1, 'cook', 'episode', 'e', 'e', 1, 'trip', 2, 1, 12, NULL, NULL, 1, NULL, 0,
        '[]', 'conversation', 'person'),
    ('ep_4', 1, NULL, 'episode', 'f', 'f', 1, 'done', 0, 1, 13, NULL, NULL, 1, NULL, 0,
        '[]', 'conversation', 'person');
INSERT INTO history (at, user_key, agent, record_id, action, reason)
VALUES (10, 1, NULL, 'fact_2', 'insert', 'remembered'), (30, 1, NULL, 'fact_2', 'close', 'x'),
    (11, 1, NULL, 'ep_2', 'insert', 'imported');
INSERT INTO consolidations VALUES (1, 'trip', 5, NULL), (1, 'done', 6, 60), (1, 'gone', 7, NULL);
"""
TRIP = [
    Message(id="msg_1", role="system", content="Be \U0001f408", timestamp=from_ms(1_001), tokens=5),
    Message(
        id="msg_2",
        role="user",
        content="Green tea",
        timestamp=from_ms(1_002),
        tokens=6,
        importance=0.5,
        pinned=True,
        record_id="ep_1",
    ),
    Message(
        id="msg_3",
        role="assistant",
        content="",
        timestamp=from_ms(1_003),
        tokens=7,
        tool_calls=(ToolCall("c1", "look"),),
    ),
    Message(
        id="msg_4",
        role="tool",
        content="42",
        timestamp=from_ms(1_004),
        tokens=8,
        tool_result=ToolResult("c1", is_error=True),
    ),
]


def write_old(path, version):
    """Make a database as an older version of memoranda wrote it, with something in it."""
    connection = apsw.Connection(os.fspath(path))
    connection.create_scalar_function("memoranda_terms", str.lower, 1)
    connection.execute(FIRST_SCHEMA)
    connection.execute(FILLED, {"hash": content_hash("Green tea")})
    connection.execute(LIVED)
    hashes = [(content_hash(name), name) for name in "abcdef"]
    connection.executemany("UPDATE records SET content_hash = ? WHERE content = ?", hashes)
    if version > 1:
        connection.execute(SECOND_SCHEMA)
    if version > 2:
        entities.register(connection, PlainNames())
        connection.execute(THIRD_SCHEMA)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.close()


def schema_of(path):
    """Return the version of a database and what it is made of."""
    connection = apsw.Connection(os.fspath(path))
    made = connection.execute("SELECT sql FROM sqlite_schema ORDER BY rowid").fetchall()
    version = connection.pragma("user_version")
    connection.close()
    return version, made


@pytest.fixture(params=[1, 2, 3])
def first(path, request):
    """A database of an older schema."""
    write_old(path, request.param)
    return path


def test_its_records_are_read(first, open_store):
    """What was remembered is there, indexed anew under the analyzer of today, and sound."""
    assert first.exists()
    store = open_store()
    assert page(store, ANA) == ["Green tea", *"abcdef"]
    assert list(store.match_terms(ANA, ["green"], limit=5).lengths) == [2]
    assert store.verify() == []


@pytest.mark.usefixtures("first")
def test_its_messages_are_the_same(open_store):
    """Every message of the first schema comes back as it was, with its place."""
    store = open_store()
    assert store.messages(ANA, "trip", cleared=True) == placed(*TRIP)
    assert store.messages(ANA, "trip") == placed(*TRIP)[2:]
    soup = store.messages(ANA, "soup", cleared=True)
    assert [(message.content, message.position) for message in soup] == [("salt", 1), ("pepper", 2)]
    assert [message.content for message in store.messages(BEN, "trip")] == ["his"]


@pytest.mark.usefixtures("first")
def test_its_conversations_are_counted(open_store):
    """Settings stay, and what is new has the values that the messages give it."""
    store = open_store()
    assert store.conversation(ANA, "trip") == ConversationInfo(
        id="trip",
        created_at=datetime.fromtimestamp(1, UTC),
        system="Plan.",
        model="m",
        context_limit=9_000,
        ended_at=datetime.fromtimestamp(5, UTC),
        cleared_through="msg_2",
        messages=4,
        start=2,
    )
    counts = {info.id: (info.messages, info.start) for info in store.conversations(ANA)}
    assert counts == {"trip": (4, 2), "soup": (2, 5), "empty": (0, 0)}
    assert all(store.prunings(ANA, name) == [] for name in counts)
    assert store.verify() == []


@pytest.mark.usefixtures("first")
def test_it_goes_on_where_it_stopped(open_store):
    """New messages come after all that was ever said, and what is new can be done to the old."""
    store = open_store()
    for name, place in (("trip", 4), ("soup", 5), ("empty", 0)):
        said = say(store, name, "more", task="new")
        assert store.messages(ANA, name, last=1) == placed(*said, start=place)
    assert store.conversation(ANA, "trip").revision == 0
    receipt = prune(store, "trip")
    assert store.prunings(ANA, "trip") == [receipt]
    store.apply(ANA, [Erase(("ep_1",), moment(1), "asked")])
    assert store.conversation(ANA, "trip").messages == 4
    store.purge()
    assert store.verify() == []


@pytest.mark.usefixtures("first")
def test_its_records_fade_from_what_is_believed(open_store):
    """Strength is the confidence of old, since the last access or the recording."""
    store = open_store()
    found = {item.id: item for item in store.page(ANA, ALL, limit=9, after=None)}
    used, fresh = found["fact_1"], found["fact_2"]
    assert (used.strength, used.strength_at) == (0.5, from_ms(20))
    assert (fresh.strength, fresh.strength_at) == (1.0, from_ms(10))
    assert [item.id for item in store.fading(ANA, moment(1))] == ["fact_1"]


@pytest.mark.usefixtures("first")
def test_its_endings_are_told_apart(open_store):
    """What expired has lapsed; what history closed, or an import found ended, has not."""
    store = open_store()
    assert [item.id for item in store.lapsed(ANA, moment(1))] == ["ctx_1"]
    found = store.episodes(ANA, "trip", after=-1, limit=9)
    assert [item.id for item in found] == ["ep_1", "ep_3"]


@pytest.mark.usefixtures("first")
def test_its_sessions_wait_by_agent(open_store):
    """Sessions with episodes are known as before, those without are gone."""
    store = open_store()
    assert store.sessions(ANA) == [
        SessionInfo(id="trip", first_seen_at=from_ms(5)),
        SessionInfo(id="done", first_seen_at=from_ms(6), consolidated_at=from_ms(60), through=0),
    ]
    store.apply(Scope("ana", "cook"), [Consolidated("trip", 2, moment(1), finished=True)])
    assert store.sessions(Scope("ana", "cook"), pending=True) == []
    store.apply(ANA, [Retire("ctx_1", moment(2), "expired")])
    store.purge()
    assert store.verify() == []


@pytest.mark.usefixtures("first")
def test_its_facts_can_be_noted(open_store):
    """Facts of old stand, and their version follows them; no session of old is told yet."""
    store = open_store()
    now = moment(1)
    assert [item.id for item in store.standing(ANA, now=now, limit=9)] == ["fact_1"]
    assert [info.noted for info in store.sessions(ANA)] == [-1, -1]
    before = store.standing_version(ANA, now=now)
    base = NotesBase("/notes", (NotedLine("fact_1", content_hash("a")),))
    store.apply(ANA, [Noted("trip", 1), KeepNotes(base), Close("fact_1", now, "forgotten")])
    assert store.session(ANA, "trip").noted == 1
    assert store.notes_base(ANA, "/notes") == base
    assert store.standing_version(ANA, now=now) != before
    assert store.verify() == []


@pytest.mark.parametrize(
    ("version", "point"),
    [*((1, point) for point in range(0, 56, 3)), *((3, point) for point in range(11))],
)
def test_an_interrupted_migration_leaves_the_old_schema(path, open_store, version, point):
    """Whatever statement fails, the file is what it was, and is brought up to date the next time.

    The points are counted from the first statement that writes.
    """
    write_old(path, version)
    before = schema_of(path)

    class Failing(SqliteStore):
        def _prepare(self, connection):
            super()._prepare(connection)
            left = iter(range(point))
            connection.exec_trace = lambda _cursor, sql, _values: (
                sql.startswith(("ROLLBACK", "BEGIN", "SELECT", "\nSELECT"))
                or next(left, None) is not None
            )

    with pytest.raises(StoreError):
        Failing(path, analyzer=WordAnalyzer(), names=PlainNames())
    assert schema_of(path) == before
    store = open_store()
    assert store.messages(ANA, "trip", cleared=True) == placed(*TRIP)
    assert store.verify() == []
