"""Verifies a store, and makes its derived rows anew: terms, links, sources, queues, counts.

``verify`` compares what is derived with what is canonical, and ``rebuild`` derives it again. No row
that nothing derives is ever mended: a wrong one is a fault to be told of, not to be hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from memoranda.errors import StoreError
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.ports import ENTITIES, Analyzer, EntityExtractor, NameMatcher
from memoranda.store.sql.database import NO_UTF8, Database, Row, SqlConnection, indexed, tables
from memoranda.store.sql.entities import EntityWriter
from memoranda.store.sql.rows import (
    DAMAGE,
    MESSAGES,
    OBJECT,
    OPTIONAL_TIME,
    RECORDS,
    SPAN_LIST,
    TIME,
    dump,
    insertion,
    noted_lines,
    read_strings,
)
from memoranda.store.sql.transaction import CHANGE_ALL, PURGE, SET_META

ANALYZER = "analyzer"
SAMPLE = 3
ADD_SOURCE = insertion("record_sources", ("user_key", "source_id", "record_key"))
ADD_NAME_KEY = insertion("entity_name_keys", ("user_key", "name_key", "entity_key", "folded"))
# How many rows that cannot be read are named.
MOST_NAMED = 100
COUNT_TERMS = "UPDATE records SET term_count = :count WHERE user_key = :user AND key = :key"
HASH_ANEW = "UPDATE records SET content_hash = :hash WHERE user_key = :user AND key = :key"
UNEMBED = "DELETE FROM vectors WHERE record_key = :key"
LINKS = "SELECT folded FROM record_entities l WHERE l.user_key = :user AND record_key = :key"
UNLINK = "DELETE FROM record_entities WHERE user_key = :user AND record_key = :key"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
# The tables of which every row is made of rows of others.
DERIVED: Final = frozenset(
    {
        "derivations",
        "entities",
        "entity_name_keys",
        "entity_names",
        "record_entities",
        "record_sources",
        "token_vectors",
        "vectors",
    }
)
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
    "retired records that are still derived from": """
SELECT id FROM records WHERE indexed = 0 AND key IN (SELECT record_key FROM vectors
    UNION ALL SELECT record_key FROM derivations UNION ALL SELECT record_key FROM record_entities)
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
# What makes derived rows anew, beside terms, sources, names and links.
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
WHERE indexed = 1 AND key NOT IN (SELECT record_key FROM vectors) ON CONFLICT DO NOTHING
""",
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
    "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
    "DELETE FROM entity_name_keys",
    "DELETE FROM record_sources",
    """
UPDATE conversations SET message_count =
    (SELECT count(*) FROM messages WHERE conversation_key = conversations.key AND position >= 0)
""",
    """
UPDATE conversations SET next_position = 1 + greatest(next_position - 1, cleared_through, coalesce(
    (SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1))
""",
)
Problems = list[str]


class StoredRows(NamedTuple):
    """The rows of a table of which some column has to be decoded.

    Attributes:
        columns: those that are read, the one that names a row first.
        decode: makes values of a row of these, or raises one of ``DAMAGE``.
    """

    columns: tuple[str, ...]
    decode: Callable[[Row], object]


def _times(row: Row) -> object:
    return [OPTIONAL_TIME.read(each) for each in row[1:]]


DECODED: Final[Mapping[str, StoredRows]] = {
    "records": StoredRows(("id", *RECORDS.names), lambda row: RECORDS.fields(row[1:])),
    "messages": StoredRows(("id", *MESSAGES.names), lambda row: MESSAGES.fields(row[1:])),
    "conversations": StoredRows(("id", "created_at", "ended_at", "deleted_at"), _times),
    "sessions": StoredRows(("session_id", "first_seen_at", "consolidated_at"), _times),
    "tombstones": StoredRows(("id", "at"), _times),
    "prunings": StoredRows(("id", "spans"), lambda row: SPAN_LIST.read(row[1])),
    "history": StoredRows(
        ("record_id", "at", "detail"), lambda row: (TIME.read(row[1]), OBJECT.read(row[2]))
    ),
    "notes_bases": StoredRows(("folder", "lines"), lambda row: noted_lines(row[1])),
}


def damaged_rows(connection: SqlConnection, table: str) -> Iterator[str]:
    """Yield the name of each row that cannot be decoded, and why: every read leaves it out."""
    columns, decode = DECODED[table]
    for number, row in enumerate(connection.rows(f"SELECT {', '.join(columns)} FROM {table}"), 1):
        try:
            if row is None:
                raise ValueError(NO_UTF8)
            decode(row)
        except DAMAGE as error:
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
        rows: list[tuple[int, int, str]] = []
        counts: list[dict[str, int]] = []
        for each in _texts(connection, "user_key = :user", user=user):
            terms = indexed(analyzer.terms(each.content), items=each.kind == Kind.ITEM)
            rows.append((each.key, user, " ".join(terms)))
            counts.append({"user": user, "key": each.key, "count": len(terms)})
        database.full_text.add(connection, rows)
        connection.run_many(COUNT_TERMS, counts)
        connection.run(f"{CHANGE_ALL} WHERE key = :user", {"user": user})


def verify(database: Database[Any]) -> Problems:
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
        yield from report(left_out, [*damaged_rows(connection, table)], MOST_NAMED)
    for name, sql in CROSS_CHECKS.items():
        yield from report(name, [str(row[0]) for row in connection.all(sql)])
    yield from _text_problems(connection, database)
    yield from _notes_problems(connection)


def report(name: str, found: list[str], most: int = SAMPLE) -> Problems:
    """Return a line about what was found, if anything was, with so many examples at most."""
    if not found:
        return []
    more = ", …" if len(found) > most else ""
    return [f"{name}: {len(found)} ({', '.join(found[:most])}{more})"]


class StoredText(NamedTuple):
    """The text of a record, and what is derived of it."""

    key: int
    user: int
    id: str
    content: str
    hash: str
    kind: str
    enriched: int | None
    terms: int


def _texts(connection: SqlConnection, where: str = "TRUE", **values: Any) -> list[StoredText]:
    """Return the texts of records, without those that are damaged."""
    rows = connection.all(
        "SELECT key, user_key, id, content, content_hash, kind, enriched_at, term_count "
        f"FROM records WHERE {where} ORDER BY key",
        values,
    )
    return [StoredText._make(row) for row in rows if isinstance(row[3], str)]


def _text_problems(connection: SqlConnection, database: Database[Any]) -> Problems:
    """Return where texts are not those that were stored, or not those that are indexed."""
    known, texts = database.full_text.keys(connection), _texts(connection)
    altered = [each.id for each in texts if content_hash(each.content) != each.hash]
    # Not every index has a row for a text without terms.
    missing = [each.id for each in texts if each.terms and each.key not in known]
    extra = known.difference(row[0] for row in connection.all("SELECT key FROM records"))
    return [
        *report("records changed behind memoranda's back", altered),
        *report("full-text rows without a record", [str(key) for key in sorted(extra)]),
        *report("records missing from the full-text index", missing),
    ]


def _notes_problems(connection: SqlConnection) -> Problems:
    bases = connection.made(
        lambda row: (*row[:2], noted_lines(row[2])),
        "notes_bases",
        "SELECT user_key, folder, lines FROM notes_bases ORDER BY folder",
    )
    # Not a check that `rebuild` can answer: what these lines are of is in a file.
    noted = [
        f"{folder} {STILL_NOTED}"
        for user, folder, lines in filter(None, bases)
        if connection.value(
            "SELECT count(*) FROM (@texts(:ids)) j WHERE NOT EXISTS "
            "(SELECT 1 FROM records r WHERE r.id = j.value AND r.user_key = :user)",
            {"ids": dump([line.id for line in lines]), "user": user},
        )
    ]
    return list(dict.fromkeys(noted))


def rebuild(
    database: Database[Any], analyzer: Analyzer, names: NameMatcher, extractor: EntityExtractor
) -> Problems:
    """Make the derived rows anew, and touch no other; return the problems there were before.

    Raises:
        StoreError: rows that nothing derives would have been lost; nothing was changed.
    """
    problems = verify(database)
    with database.transact_alone() as connection:
        before = _count_canonical(connection)
        reindex(connection, database, analyzer)
        # The text is canonical: its hash follows it, and its vector is of another text.
        altered = [
            {"user": each.user, "key": each.key, "hash": found}
            for each in _texts(connection)
            if (found := content_hash(each.content)) != each.hash
        ]
        for sql in (HASH_ANEW, UNEMBED):
            connection.run_many(sql, altered)
        for sql in DERIVE:
            connection.run(sql)
        connection.run_many(ADD_SOURCE, _sources(connection))
        connection.run_many(ADD_NAME_KEY, _name_keys(connection, names))
        relinked = _link_again(connection, names, extractor)
        _require_all(before, _count_canonical(connection), database.location)
    return problems + report("records linked to other entities", relinked)


def _sources(connection: SqlConnection) -> list[Row]:
    """Return the rows by which records are found from their sources."""
    cited = connection.made(
        lambda row: {(row[0], source, row[1]) for source in read_strings(row[2])},
        "records",
        "SELECT user_key, key, source_ids FROM records",
    )
    return [row for rows in cited for row in rows or ()]


def _name_keys(connection: SqlConnection, names: NameMatcher) -> list[Row]:
    """Return the rows by which names are found from their keys."""
    spelled = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
    return [
        (user, key, entity, folded)
        for user, entity, folded, name in spelled
        for key in names.keys(name)
    ]


def _count_canonical(connection: SqlConnection) -> dict[str, int]:
    """Return how many rows each table holds that nothing derives."""
    canonical = (table for table in tables() if table not in DERIVED)
    return {table: connection.value(f"SELECT count(*) FROM {table}") for table in canonical}


def _require_all(before: dict[str, int], after: dict[str, int], location: str) -> None:
    """Refuse to end a rebuild after which a table holds another number of rows than before."""
    for table, rows in before.items():
        if after[table] != rows:
            message = (
                f"{location}: the rebuild would have left {after[table]} of {rows} rows in "
                f"{table}, so nothing was changed; make a backup and report this"
            )
            raise StoreError(message)


def _link_again(
    connection: SqlConnection, names: NameMatcher, extractor: EntityExtractor
) -> list[str]:
    wrong: list[str] = []
    done = "key NOT IN (SELECT record_key FROM derivations WHERE work = :work)"
    for each in _texts(connection, f"indexed = 1 AND kind <> 'item' AND {done}", work=ENTITIES):
        key, record, enriched = each.key, each.id, each.enriched
        writer = EntityWriter(connection, each.user, names)
        mentions = extractor.extract(each.content)
        wanted = {names.fold(mention.text) for mention in mentions} - {""}
        this = {"user": each.user, "key": key}
        known = {row[0] for row in connection.all(LINKS, this)}
        # What was read by a slower extractor has links that this one cannot find again.
        if wanted == known or (enriched and wanted < known):
            continue
        wrong.append(record)
        before = writer.of_records([key])
        if not enriched:
            connection.run(UNLINK, this)
        writer.link(key, mentions)
        writer.forget_unmentioned(before)
    return wrong


def meta(connection: SqlConnection, name: str) -> str | None:
    """Return a value that is kept for the store as a whole."""
    sql = "SELECT value FROM meta WHERE name = :name"
    found: str | None = connection.value(sql, {"name": name})
    return found
