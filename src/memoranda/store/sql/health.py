"""Verifies a store, and makes its derived rows anew: terms, links, sources, queues, counts.

``verify`` compares what is derived with what is canonical, and ``rebuild`` derives it again. No row
that nothing derives is ever mended: a wrong one is a fault to be told of, not to be hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from memoranda.errors import StoreError
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.store.sql import rows
from memoranda.store.sql.database import NO_UTF8, Database, Row, SqlConnection, indexed, tables
from memoranda.store.sql.record_writes import CHANGE_ALL, PURGE, SET_META

ANALYZER = "analyzer"
SAMPLE = 3
INDEXED_ALL = f"""
{CHANGE_ALL}, terms_waiting = 0,
    terms_through = (SELECT max(key) FROM records WHERE user_key = users.key) WHERE key = :user
"""
# How many rows that cannot be read are named.
MOST_NAMED = 100
ADD_SOURCE = rows.insertion("record_sources", ("user_key", "source_id", "record_key"))
ADD_NAME_KEY = rows.insertion("entity_name_keys", ("user_key", "entity_key", "folded", "name_key"))
TEXTS = "SELECT key, user_key, id, content, content_hash, kind, term_count FROM records"
COUNT_TERMS = "UPDATE records SET term_count = :count WHERE user_key = :user AND key = :key"
HASH_ANEW = "UPDATE records SET content_hash = :hash WHERE key = :key"
UNEMBED = "DELETE FROM vectors WHERE record_key = :key"
UNLINK = "DELETE FROM record_entities WHERE record_key = :key"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
# The tables of which every row can be made of rows of others. A rebuild keeps what is right of
# what is dear to make (vectors), or was told by a person or a file (entities).
DERIVED: Final = {
    *("derivations", "vectors", "token_vectors", "record_sources"),
    *("entities", "entity_names", "entity_name_keys", "record_entities"),
}
# What finds each kind of difference: a query for the names of the rows.
CROSS_CHECKS: Final[Mapping[str, str]] = {
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
SELECT id FROM records WHERE indexed = 1 AND key NOT IN (SELECT record_key FROM vectors
    UNION ALL SELECT record_key FROM derivations WHERE work = 'vectors')
""",
    "vectors of the wrong length": """
SELECT record_key FROM vectors WHERE length(embedding) <> 2 *
    (SELECT CAST(value AS integer) FROM meta WHERE name = 'embedding_dimensions')
""",
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
DERIVE: Final = (
    """
DELETE FROM vectors WHERE NOT EXISTS (
    SELECT 1 FROM records r WHERE r.key = vectors.record_key AND r.user_key = vectors.user_key
    AND r.indexed = 1
) OR length(embedding) <> 2 *
    (SELECT CAST(value AS integer) FROM meta WHERE name = 'embedding_dimensions')
""",
    "DELETE FROM token_vectors WHERE record_key NOT IN (SELECT record_key FROM vectors)",
    """
DELETE FROM derivations WHERE NOT EXISTS (
    SELECT 1 FROM records r WHERE r.key = derivations.record_key
    AND r.user_key = derivations.user_key AND r.indexed = 1)
""",
    """
INSERT INTO derivations (work, record_key, user_key)
SELECT 'vectors', key, user_key FROM records
WHERE indexed = 1 AND key NOT IN (SELECT record_key FROM vectors)
UNION ALL SELECT 'entities', key, user_key FROM records WHERE indexed = 1 AND kind <> 'item'
ON CONFLICT DO NOTHING
""",
    "DELETE FROM record_sources",
    """
DELETE FROM record_entities WHERE NOT EXISTS (
    SELECT 1 FROM records r
    JOIN entities e ON e.user_key = r.user_key
    JOIN entity_names n ON n.user_key = e.user_key AND n.folded = record_entities.folded
        AND n.entity_key = e.key
    WHERE r.key = record_entities.record_key AND r.user_key = record_entities.user_key
    AND e.key = record_entities.entity_key AND r.indexed = 1)
""",
    """
DELETE FROM entity_names WHERE NOT EXISTS (
    SELECT 1 FROM record_entities l
    WHERE l.entity_key = entity_names.entity_key AND l.folded = entity_names.folded)
""",
    "DELETE FROM entity_name_keys",
    "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
    """
UPDATE conversations SET message_count = (
        SELECT count(*) FROM messages WHERE conversation_key = conversations.key AND position >= 0),
    next_position = 1 + greatest(next_position - 1, cleared_through, coalesce(
        (SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1))
""",
)


def _times(row: Row) -> object:
    return [rows.OPTIONAL_TIME.read(each) for each in row]


# The columns of each table that have to be decoded, after the one that names a row; and what
# decodes them, or raises one of ``DAMAGE``.
DECODED: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Row], object]]]] = {
    "records": (("id", *rows.RECORDS.names), rows.RECORDS.fields),
    "messages": (("id", *rows.MESSAGES.names), rows.MESSAGES.fields),
    "conversations": (("id", "created_at", "ended_at", "deleted_at"), _times),
    "sessions": (("session_id", "first_seen_at", "consolidated_at"), _times),
    "tombstones": (("id", "at"), _times),
    "prunings": (("id", "spans"), lambda row: rows.SPAN_LIST.read(row[0])),
    "history": (
        ("record_id", "at", "detail"),
        lambda row: (rows.TIME.read(row[0]), rows.OBJECT.read(row[1])),
    ),
    "notes_bases": (("folder", "lines"), lambda row: rows.noted_lines(row[0])),
}


def damaged_rows(connection: SqlConnection, table: str) -> Iterator[str]:
    """Yield the name of each row that cannot be decoded, and why: every read leaves it out."""
    columns, decode = DECODED[table]
    for number, row in enumerate(connection.rows(f"SELECT {', '.join(columns)} FROM {table}"), 1):
        try:
            if row is None:
                raise ValueError(NO_UTF8)
            decode(row[1:])
        except rows.DAMAGE as error:
            yield f"{f'row {number}' if row is None else row[0]}: {error}"


def follow_analyzer(database: Database[Any], analyzer: Analyzer) -> None:
    """Index everything anew where another analyzer, or another version, made the index."""
    with database.read() as connection:
        if meta(connection, ANALYZER) == analyzer.name:
            return
    with database.transact_alone() as connection:
        if meta(connection, ANALYZER) != analyzer.name:
            reindex(connection, database, analyzer)
            connection.run(SET_META, {"name": ANALYZER, "value": analyzer.name})


def reindex(connection: SqlConnection, database: Database[Any], analyzer: Analyzer) -> None:
    """Make the full-text index anew, a user at a time."""
    database.full_text.clear(connection)
    for (user,) in connection.all("SELECT DISTINCT user_key FROM records"):
        entries: list[tuple[int, int, str]] = []
        counts: list[tuple[int, int, int]] = []
        for key, _, _, content, _, kind, _ in _texts(connection, user):
            terms = indexed(analyzer.terms(content), items=kind == Kind.ITEM)
            entries.append((key, user, " ".join(terms)))
            counts.append((len(terms), user, key))
        database.full_text.add(connection, entries)
        connection.run_many(COUNT_TERMS, counts)
        connection.run(INDEXED_ALL, {"user": user})


def _texts(connection: SqlConnection, user: int | None = None) -> list[Row]:
    """Return the rows of ``TEXTS`` of a user or of all, without those that are damaged."""
    whose = "" if user is None else "WHERE user_key = :user"
    found = connection.all(f"{TEXTS} {whose} ORDER BY key", {"user": user})
    return [row for row in found if isinstance(row[3], str)]


def verify(database: Database[Any]) -> list[str]:
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


def _differences(connection: SqlConnection, database: Database[Any]) -> Iterator[str]:
    """Yield a line for each kind of difference between rows."""
    for table in DECODED:
        left_out = f"rows of {table} that cannot be read, and are left out"
        yield from _report(left_out, [*damaged_rows(connection, table)], MOST_NAMED)
    for name, sql in CROSS_CHECKS.items():
        yield from _report(name, [row[0] for row in connection.all(sql)])
    known, texts = database.full_text.keys(connection), _texts(connection)
    altered = [row[2] for row in texts if content_hash(row[3]) != row[4]]
    yield from _report("records changed behind memoranda's back", altered)
    extra = known.difference(row[0] for row in connection.all("SELECT key FROM records"))
    yield from _report("full-text rows without a record", sorted(extra))
    through: dict[int, int] = dict(connection.all("SELECT key, terms_through FROM users"))
    # Not every index has a row for a text without terms. What came since waits, and is not there.
    wrong = [
        id_
        for key, user, id_, *_, terms in texts
        if terms and (key in known) != (key <= through.get(user, key))
    ]
    yield from _report("records missing from the full-text index, or there too early", wrong)


def _report(name: str, found: list[Any], most: int = SAMPLE) -> list[str]:
    """Return a line about what was found, if anything was, with so many examples at most."""
    if not found:
        return []
    more = ", …" if len(found) > most else ""
    return [f"{name}: {len(found)} ({', '.join(map(str, found[:most]))}{more})"]


def rebuild(database: Database[Any], analyzer: Analyzer, names: NameMatcher) -> list[str]:
    """Make the derived rows anew, or queue them, and touch no other; return what was wrong before.

    Raises:
        StoreError: rows that nothing derives would have been lost; nothing was changed.
    """
    problems = verify(database)
    with database.transact_alone() as connection:
        before = _count_canonical(connection)
        reindex(connection, database, analyzer)
        for key, _, _, content, stored_hash, _, _ in _texts(connection):
            # The text is canonical: its hash follows it, and its vector is of another text.
            if (found := content_hash(content)) != stored_hash:
                for sql in (HASH_ANEW, UNEMBED, UNLINK):
                    connection.run(sql, {"key": key, "hash": found})
        for sql in DERIVE:
            connection.run(sql)
        connection.run_many(ADD_SOURCE, _sources(connection))
        named = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
        keyed = [(*whose, key) for *whose, text in named for key in names.keys(text)]
        connection.run_many(ADD_NAME_KEY, keyed)
        for table, count in _count_canonical(connection).items():
            if count != before[table]:
                message = (
                    f"{database.location}: the rebuild would have left {count} of {before[table]} "
                    f"rows in {table}, so nothing was changed; make a backup and report this"
                )
                raise StoreError(message)
    return problems


def _sources(connection: SqlConnection) -> set[Row]:
    """Return the rows by which records are found from their sources."""
    cited = connection.made(
        lambda row: {(row[0], source, row[1]) for source in rows.read_strings(row[2])},
        "records",
        "SELECT user_key, key, source_ids FROM records",
    )
    return set().union(*filter(None, cited))


def _count_canonical(connection: SqlConnection) -> dict[str, int]:
    """Return how many rows each table holds that nothing derives."""
    canonical = (table for table in tables() if table not in DERIVED)
    return {table: connection.value(f"SELECT count(*) FROM {table}") for table in canonical}


def meta(connection: SqlConnection, name: str) -> str | None:
    """Return a value that is kept for the store as a whole."""
    sql = "SELECT value FROM meta WHERE name = :name"
    found: str | None = connection.value(sql, {"name": name})
    return found
