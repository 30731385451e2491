"""Verifies a store, and makes its derived rows anew: terms, links, sources, queues, counts.

``verify`` compares what is derived with what is canonical, and ``rebuild`` derives it again. No row
that nothing derives is ever mended: a wrong one is a fault to be told of, not to be hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.store.sql import rows
from memoranda.store.sql.database import SET_META, Database, Row, SqlConnection
from memoranda.store.sql.record_writes import CHANGE_ALL, PURGE, QUEUE, index_terms

ANALYZER = "analyzer"
INDEXED_ALL = f"""
{CHANGE_ALL}, terms_waiting = 0,
    terms_through = (SELECT max(key) FROM records WHERE user_key = users.key) WHERE key = :user
"""
# How many rows of one kind are named.
MOST_NAMED = 100
ADD_SOURCE = rows.insertion("record_sources", ("user_key", "source_id", "record_key"))
ADD_NAME_KEY = rows.insertion("entity_name_keys", ("user_key", "entity_key", "folded", "name_key"))
UNKEYED = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM entity_names)
    AND NOT EXISTS (SELECT 1 FROM entity_name_keys)
"""
TEXTS = "SELECT key, user_key, id, content, content_hash, kind, term_count FROM records"
COUNT_TERMS = "UPDATE records SET term_count = :count WHERE user_key = :user AND key = :key"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
# Of what is derived from a record, in a table that is called d.
OUTDATED = """
NOT EXISTS (SELECT 1 FROM records r
    WHERE r.key = d.record_key AND r.user_key = d.user_key AND r.indexed = 1)
"""
WRONG_LENGTH = """
(length(embedding) % 2 = 1 OR CAST(length(embedding) / 2 AS text) <>
    (SELECT value FROM meta WHERE name = 'embedding_dimensions'))
"""
# What finds each kind of difference: a query for the names of the rows.
CROSS_CHECKS = {
    "rows filed under another user": """
SELECT DISTINCT 'message ' || m.id FROM messages m
    JOIN conversations c ON c.key = m.conversation_key WHERE c.user_key <> m.user_key
UNION ALL SELECT 'record ' || r.id FROM records r
    JOIN vectors v ON v.record_key = r.key WHERE r.user_key <> v.user_key
UNION ALL SELECT 'links of ' || r.id FROM records r
    JOIN record_entities l ON l.record_key = r.key JOIN entities e ON e.key = l.entity_key
    WHERE r.user_key <> l.user_key OR r.user_key <> e.user_key
""",
    "records neither embedded nor waiting": """
SELECT r.id FROM records r JOIN users u ON u.key = r.user_key AND r.key <= u.terms_through
WHERE r.indexed = 1 AND r.key NOT IN (SELECT record_key FROM vectors
    UNION ALL SELECT record_key FROM derivations WHERE work = 'vectors')
""",
    "vectors of the wrong length": f"SELECT record_key FROM vectors WHERE {WRONG_LENGTH}",
    "entities that no record mentions": """
SELECT id FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)
""",
    "conversations with a wrong number of messages": """
SELECT c.id FROM conversations c LEFT JOIN (
    SELECT conversation_key, count(*) AS held, max(position) AS last FROM messages
    WHERE position >= 0 GROUP BY 1
) m ON m.conversation_key = c.key
WHERE c.message_count <> coalesce(m.held, 0) OR c.next_position <= coalesce(m.last, -1)
""",
}
# What a rebuild does beside index and sources: what is right of vectors and links stays, and all
# records wait for names, and for vectors that they lack, as new ones do.
DERIVE = (
    f"DELETE FROM vectors AS d WHERE {OUTDATED} OR {WRONG_LENGTH}",
    "DELETE FROM token_vectors WHERE record_key NOT IN (SELECT record_key FROM vectors)",
    "DELETE FROM derivations",
    "UPDATE users SET terms_through = 0",
    "DELETE FROM record_sources",
    f"""
DELETE FROM record_entities AS d WHERE {OUTDATED} OR NOT EXISTS (SELECT 1 FROM entity_names n
    WHERE n.user_key = d.user_key AND n.folded = d.folded AND n.entity_key = d.entity_key)
""",
    (
        "DELETE FROM entity_names WHERE (entity_key, folded) NOT IN "
        "(SELECT entity_key, folded FROM record_entities)"
    ),
    "DELETE FROM entity_name_keys",
    "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
    """
UPDATE conversations SET message_count = (
        SELECT count(*) FROM messages WHERE conversation_key = conversations.key AND position >= 0),
    next_position = 1 + greatest(next_position - 1, cleared_through, coalesce(
        (SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1))
""",
)


# The column that names a row of each table, and those of its columns that have to be decoded.
DECODED = {
    "records": ("id", rows.RECORDS.codecs),
    "messages": ("id", rows.MESSAGES.codecs),
    "conversations": ("id", rows.CONVERSATIONS.codecs),
    "sessions": ("session_id", rows.SESSIONS.codecs),
    "tombstones": ("id", {"at": rows.TIME}),
    "prunings": ("id", {"at": rows.TIME, "spans": rows.SPAN_LIST}),
    "history": ("record_id", rows.CHANGES.codecs),
    "notes_bases": ("folder", {"lines": rows.NOTED_LINES}),
}


def damaged_rows(connection: SqlConnection, table: str) -> Iterator[str]:
    """Yield the name of each row that cannot be decoded, and why."""
    name, codecs = DECODED[table]
    for row in connection.all(f"SELECT {', '.join((name, *codecs))}, t.* FROM {table} t"):
        try:
            rows.decode(codecs, dict(zip(codecs, row[1:], strict=False)))
        except rows.DAMAGE as error:
            yield f"{row[0]}: {error}"


def follow_analyzer(database: Database) -> None:
    """Make the index anew where another analyzer made it, and the keys of names where none are."""
    analyzer = database.analyzer.name
    with database.read() as connection:
        if meta(connection, ANALYZER) == analyzer and not connection.value(UNKEYED):
            return
    with database.transact_alone() as connection:
        if meta(connection, ANALYZER) != analyzer:
            reindex(connection, database)
            connection.run(SET_META, {"name": ANALYZER, "value": analyzer})
        if connection.value(UNKEYED):
            _add_name_keys(connection, database)


def reindex(connection: SqlConnection, database: Database) -> None:
    """Make the full-text index anew, a user at a time."""
    database.full_text.clear(connection)
    for user in connection.column("SELECT DISTINCT user_key FROM records"):
        entries: list[tuple[int, int, str]] = []
        counts: list[tuple[int, int, int]] = []
        for key, _, _, content, _, kind, _ in _texts(connection, user):
            terms = index_terms(database.analyzer.terms, content, is_item=kind == Kind.ITEM)
            entries.append((key, user, terms))
            counts.append((len(terms.split()), user, key))
        database.full_text.add(connection, entries)
        connection.run_many(COUNT_TERMS, counts)
        connection.run(QUEUE, {"user": user, "through": 0})
        connection.run(INDEXED_ALL, {"user": user})


def _texts(connection: SqlConnection, user: int | None = None) -> list[Row]:
    """Return the rows of ``TEXTS`` of a user or of all."""
    whose = "" if user is None else "WHERE user_key = :user"
    return connection.all(f"{TEXTS} {whose} ORDER BY key", {"user": user})


def verify(database: Database) -> list[str]:
    """Return a line for each kind of difference found, with examples."""
    with database.snapshot(), database.read() as connection:
        problems = database.problems(connection)
        try:
            problems.extend(_differences(connection, database))
        except database.damage as error:
            problems.append(f"the rest cannot be checked ({error})")
        if meta(connection, PURGE):
            problems.append(UNPURGED)
    return problems


def _differences(connection: SqlConnection, database: Database) -> Iterator[str]:
    """Yield a line for each kind of difference between rows."""
    for table in DECODED:
        damaged = [*damaged_rows(connection, table)]
        yield from _report(f"rows of {table} that cannot be read", damaged)
    for name, sql in CROSS_CHECKS.items():
        yield from _report(name, connection.column(sql))
    known, texts = database.full_text.keys(connection), _texts(connection)
    altered = [row[2] for row in texts if content_hash(row[3]) != row[4]]
    yield from _report("rows of records whose text is not the one that was stored", altered)
    extra = known.difference(row[0] for row in texts)
    yield from _report("full-text rows without a record", sorted(extra))
    through: dict[int, int] = dict(connection.all("SELECT key, terms_through FROM users"))
    # Not every index has a row for a text without terms. What came since waits, and is not there.
    wrong = [
        id_
        for key, user, id_, *_, terms in texts
        if terms and (key in known) != (key <= through.get(user, key))
    ]
    yield from _report("records missing from the full-text index, or there too early", wrong)


def _report(name: str, found: list[Any]) -> Iterator[str]:
    """Yield a line about what was found, if anything was."""
    if found:
        more = ", …" if len(found) > MOST_NAMED else ""
        yield f"{name}: {len(found)} ({', '.join(map(str, found[:MOST_NAMED]))}{more})"


def rebuild(database: Database) -> list[str]:
    """Make the derived rows anew, or queue them, and touch no other; return what was wrong before.

    What is right of what is dear to make (vectors), or was told by a person or a file (entities),
    is kept.
    """
    problems = verify(database)
    with database.transact_alone() as connection:
        for sql in DERIVE:
            connection.run(sql)
        reindex(connection, database)
        connection.run_many(ADD_SOURCE, _sources(connection))
        _add_name_keys(connection, database)
    return problems


def _add_name_keys(connection: SqlConnection, database: Database) -> None:
    """Store under which keys each name is found; there are none yet."""
    named = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
    keyed = [(*whose, key) for *whose, text in named for key in database.names.keys(text)[0]]
    connection.run_many(ADD_NAME_KEY, keyed)


def _sources(connection: SqlConnection) -> set[Row]:
    """Return the rows by which records are found from their sources."""
    cited = connection.made(
        lambda row: {(row[0], source, row[1]) for source in rows.read_strings(row[2])},
        "SELECT user_key, key, source_ids FROM records",
    )
    return set().union(*cited)


def meta(connection: SqlConnection, name: str) -> str | None:
    """Return a value that is kept for the store as a whole."""
    sql = "SELECT value FROM meta WHERE name = :name"
    found: str | None = connection.value(sql, {"name": name})
    return found
