"""Verifies and rebuilds what is derived: terms, links, sources, queues, counts.

What is derived can always be made again from what is canonical. ``verify`` compares the two,
``rebuild`` makes them equal.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from memoranda.errors import StoreError
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.ports import ENTITIES, Analyzer, EntityExtractor, NameMatcher
from memoranda.store.sql import entities
from memoranda.store.sql.damage import REMEDY, damaged_rows, keep_aside
from memoranda.store.sql.database import Database, Row, SqlConnection, indexed
from memoranda.store.sql.dialect import FOLDER, backfill, tables
from memoranda.store.sql.entities import EntityWriter
from memoranda.store.sql.rows import RowShape, dump, insertion, noted_lines, read_strings
from memoranda.store.sql.transaction import NEXT_EPOCH, PURGE, SET_META

ANALYZER = "analyzer"
SAMPLE = 3
BATCH = 1_000
NEXT_KEYS = """
SELECT key FROM records WHERE user_key = :user AND key > :last ORDER BY key LIMIT :limit
"""
HASH_ANEW = "UPDATE records SET content_hash = :hash WHERE @partition(records) AND key = :key"
UNEMBED = "DELETE FROM vectors WHERE @partition(vectors) AND record_key = :key"
LINKS = "SELECT folded FROM record_entities l WHERE @partition(l) AND record_key = :key"
UNLINK = "DELETE FROM record_entities WHERE @partition(record_entities) AND record_key = :key"
BETWEEN = "user_key = :user AND key > :first AND key <= :last"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
LOG_LOST = "log_lost"
LOST_LOG = (
    "its write-ahead log (-wal) was removed after a process was killed, and with it what was "
    "stored last"
)
LOST_LOG_REMEDY = "put the log back or restore a backup, or accept it with doctor --rebuild"
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
Problems = list[str]


@cache
def checks() -> dict[str, list[str]]:
    """Return for each check of ``checks.toml`` what finds it and what mends it, in their order."""
    text = (FOLDER / "checks.toml").read_text("utf-8")
    decided = {"apart": entities.APART, "not_alone": entities.NOT_ALONE}
    found = {}
    for name, row in tomllib.loads(text).items():
        place = {"table": row["table"].format(**decided), "where": row["where"]}
        mend = row.get("mend", ["DELETE FROM {table} WHERE {where}"])
        find = "SELECT {show} FROM {table} WHERE {where}".format(**place, show=row["show"])
        found[name] = [find, *(sql.format(**place) for sql in mend)]
    return found


def follow_analyzer(database: Database[Any], analyzer: Analyzer) -> None:
    """Index everything anew where another analyzer, or another version, made the index."""
    with database.read() as connection:
        if meta(connection, ANALYZER) == analyzer.name:
            return
    with database.write() as connection:
        if meta(connection, ANALYZER) != analyzer.name:
            reindex(connection, database, analyzer)
            connection.run(SET_META, {"name": ANALYZER, "value": analyzer.name})


def reindex(connection: SqlConnection, database: Database[Any], analyzer: Analyzer) -> None:
    """Make the full-text index anew."""
    database.full_text.clear(connection)
    for (user,) in connection.all("SELECT DISTINCT user_key FROM records"):
        _reindex_user(connection, database, analyzer, user)
    connection.run(f"UPDATE users SET {NEXT_EPOCH}")


def _reindex_user(
    connection: SqlConnection, database: Database[Any], analyzer: Analyzer, user: int
) -> None:
    values = {"user": user, "last": 0, "limit": BATCH}
    while batch := connection.all(NEXT_KEYS, values):
        values |= {"first": values["last"], "last": batch[-1][0]}
        if values["last"] <= values["first"]:
            message = f"the keys of records in {database.location} are not in order: it is damaged"
            raise StoreError(message)
        rows = _texts(connection, BETWEEN, **values)
        terms = {
            each.key: indexed(analyzer.terms(each.content), items=each.kind == Kind.ITEM)
            for each in rows
        }
        joined = [(each.key, each.user, " ".join(terms[each.key])) for each in rows]
        database.full_text.add(connection, joined)
        connection.run_many(
            "UPDATE records SET term_count = :count WHERE @partition(records) AND key = :key",
            [{"user": user, "count": len(each), "key": key} for key, each in terms.items()],
        )


def verify(database: Database[Any], analyzer: Analyzer, names: NameMatcher) -> Problems:
    """Return a line for each kind of difference found, with examples."""
    with database.snapshot(), database.read() as connection:
        problems = database.problems(connection)
        for each in tables():
            with _damage(each, problems, database.damage):
                problems += [f"{row}; {REMEDY}" for row in damaged_rows(connection, each)]
        for name, (find, *_) in checks().items():
            with _damage(name, problems, database.damage):
                problems += report(name, [str(row[0]) for row in connection.all(find)])
        with _damage("texts", problems, database.damage):
            altered = [each.id for each, _ in _altered(connection)]
            problems += report("records changed behind memoranda's back", altered)
        with _damage("full-text index", problems, database.damage):
            problems += _index_problems(connection, database, analyzer)
        with _damage("sources and names", problems, database.damage):
            for name, table in _derived_tables(connection, names).items():
                held = connection.all(f"SELECT {', '.join(table.columns)} FROM {table.name}")
                wrong = table.rows.keys() ^ set(held)
                problems += report(name, sorted({table.rows.get(row, str(row)) for row in wrong}))
        with _damage("notes", problems, database.damage):
            problems += _notes_problems(connection)
        if meta(connection, LOG_LOST):
            problems.append(f"{LOST_LOG}; {LOST_LOG_REMEDY}")
        if meta(connection, PURGE):
            problems.append(UNPURGED)
    return problems


@contextmanager
def _damage(name: str, problems: Problems, damage: type[Exception]) -> Iterator[None]:
    # What is derived can be rebuilt, so damage to it is a line among others.
    try:
        yield
    except damage as error:
        problems.append(f"{name}: cannot be checked ({error})")


def report(name: str, found: list[str]) -> Problems:
    """Return a line about what was found, if anything was."""
    if not found:
        return []
    more = ", …" if len(found) > SAMPLE else ""
    return [f"{name}: {len(found)} ({', '.join(found[:SAMPLE])}{more})"]


def _altered(connection: SqlConnection) -> list[tuple[StoredText, str]]:
    """Return the records whose text is not what was stored, with the hash of what it is."""
    hashes = ((each, content_hash(each.content)) for each in _texts(connection))
    return [(each, found) for each, found in hashes if found != each.hash]


class StoredText(NamedTuple):
    """The text of a record, and what is derived of it."""

    key: int
    user: int
    id: str
    content: str
    hash: str
    terms: int
    kind: str
    enriched: int | None


STORED_TEXT = RowShape(
    **{name: each.__forward_arg__ for name, each in StoredText.__annotations__.items()}
)


def _texts(connection: SqlConnection, where: str = "TRUE", **values: Any) -> list[StoredText]:
    """Return the texts of records, without those that are damaged."""
    made = connection.made(
        lambda row: StoredText(*STORED_TEXT.require(row)),
        "records",
        "SELECT key, user_key, id, content, content_hash, term_count, kind, enriched_at "
        f"FROM records WHERE {where} ORDER BY key",
        values,
    )
    return [each for each in made if each is not None]


def _index_problems(
    connection: SqlConnection, database: Database[Any], analyzer: Analyzer
) -> Problems:
    # The index holds no text to compare with, so each record is asked for by its own terms.
    known = database.full_text.keys(connection)
    missing: list[str] = []
    wrong: list[str] = []
    for each in _texts(connection):
        terms = indexed(analyzer.terms(each.content), items=each.kind == Kind.ITEM)
        rarest = sorted(set(terms), key=len)[-SAMPLE:]
        if each.key not in known:
            missing += [each.id] if terms else []  # Not every index has a row for a text of none.
        elif len(terms) != each.terms or not database.full_text.holds(
            connection, each.key, each.user, rarest
        ):
            wrong.append(each.id)
    keys = {row[0] for row in connection.all("SELECT key FROM records")}
    extra = [str(key) for key in sorted(known - keys)]
    return [
        *report("full-text rows without a record", extra),
        *report("records missing from the full-text index", missing),
        *report("records indexed under other terms", wrong),
    ]


class DerivedTable(NamedTuple):
    """A table that is made of others.

    Attributes:
        name: of the table.
        columns: its columns.
        rows: what the table is to have, and what each row is told of.
    """

    name: str
    columns: tuple[str, ...]
    rows: dict[Row, str]


SPELLING = RowShape(user="int", entity="int", folded="str", name="str")


def _derived_tables(connection: SqlConnection, names: NameMatcher) -> dict[str, DerivedTable]:
    """Return the tables that are made anew, by what is wrong where their rows are others."""
    cited = connection.made(
        lambda row: (*row[:3], read_strings(row[3])),
        "records",
        "SELECT user_key, key, id, source_ids FROM records",
    )
    spelled = connection.made(
        SPELLING.require,
        "entity_names",
        "SELECT user_key, entity_key, folded, name FROM entity_names",
    )
    return {
        "sources filed under another record": DerivedTable(
            "record_sources",
            ("user_key", "source_id", "record_key"),
            {
                (user, source, key): record
                for user, key, record, sources in filter(None, cited)
                for source in sources
            },
        ),
        "names that are not found under their keys": DerivedTable(
            "entity_name_keys",
            ("user_key", "name_key", "entity_key", "folded"),
            {
                (user, key, entity, folded): name
                for user, entity, folded, name in filter(None, spelled)
                for key in names.keys(name)
            },
        ),
    }


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
    database: Database[Any],
    analyzer: Analyzer,
    names: NameMatcher,
    extractor: EntityExtractor,
    file: Path | None,
) -> Problems:
    """Derive again what can be derived; return the problems that were there before.

    What cannot be read is kept aside, see ``damage.py``.
    """
    problems = verify(database, analyzer, names)
    with database.write() as connection:
        problems += keep_aside(connection, file)
        connection.run("DELETE FROM meta WHERE name = :name", {"name": LOG_LOST})
        reindex(connection, database, analyzer)
        # The text is canonical: its hash follows it, and its vector is of another text.
        altered = [
            {"user": each.user, "key": each.key, "hash": found}
            for each, found in _altered(connection)
        ]
        for sql in (HASH_ANEW, UNEMBED):
            connection.run_many(sql, altered)
        for sql in (*backfill(), *(sql for _, *mend in checks().values() for sql in mend)):
            connection.run(sql)
        for table in _derived_tables(connection, names).values():
            connection.run(f"DELETE FROM {table.name}")
            rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            connection.run_many(insertion(table.name, table.columns), rows)
        relinked = _link_again(connection, names, extractor)
        for (user,) in connection.all("SELECT key FROM users"):
            EntityWriter(connection, user, names).obey_decisions()
    return problems + report("records linked to other entities", relinked)


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
