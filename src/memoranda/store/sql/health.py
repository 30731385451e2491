"""Verifies and rebuilds what is derived: terms, links, sources, queues, counts.

What is derived can always be made again from what is canonical. ``verify`` compares the two,
``rebuild`` makes them equal.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.ports import ENTITIES, Analyzer, EntityExtractor, NameMatcher
from memoranda.store.sql import entities
from memoranda.store.sql.database import Database, Row, SqlConnection, indexed
from memoranda.store.sql.dialect import FOLDER
from memoranda.store.sql.entities import EntityWriter
from memoranda.store.sql.rows import dump, insertion
from memoranda.store.sql.transaction import NEXT_EPOCH, PURGE, SET_META

ANALYZER = "analyzer"
SAMPLE = 3
BATCH = 1_000
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
UNREADABLE_NOTES = "notes that cannot be read"
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
    last = 0
    while rows := connection.all(
        "SELECT key, user_key, content, kind FROM records WHERE key > :last "
        "ORDER BY key LIMIT :limit",
        {"last": last, "limit": BATCH},
    ):
        terms = {
            key: indexed(analyzer.terms(content), items=kind == Kind.ITEM)
            for key, _, content, kind in rows
        }
        joined = [(key, user, " ".join(terms[key])) for key, user, *_ in rows]
        database.full_text.add(connection, joined)
        connection.run_many(
            "UPDATE records SET term_count = :count WHERE key = :key",
            [{"count": len(each), "key": key} for key, each in terms.items()],
        )
        last = rows[-1][0]
    connection.run(f"UPDATE users SET {NEXT_EPOCH}")


def verify(database: Database[Any], analyzer: Analyzer, names: NameMatcher) -> Problems:
    """Return a line for each kind of difference found, with examples."""
    with database.snapshot(), database.read() as connection:
        problems = database.problems(connection)
        for name, (find, *_) in checks().items():
            with _damage(name, problems, database.damage):
                problems += report(name, [str(row[0]) for row in connection.all(find)])
        problems += report("records changed behind memoranda's back", list(_altered(connection)))
        with _damage("full-text index", problems, database.damage):
            problems += _index_problems(connection, database, analyzer)
        with _damage("sources and names", problems, database.damage):
            for name, table in _derived_tables(connection, names).items():
                held = connection.all(f"SELECT {', '.join(table.columns)} FROM {table.name}")
                wrong = table.rows.keys() ^ set(held)
                problems += report(name, sorted({table.rows.get(row, str(row)) for row in wrong}))
        problems += _notes_problems(connection)
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


def _altered(connection: SqlConnection) -> dict[str, str]:
    """Return the records whose text is not what was stored, with the hash of what it is."""
    rows = connection.all("SELECT id, content, content_hash FROM records")
    hashes = ((record, content_hash(content), known) for record, content, known in rows)
    return {record: found for record, found, known in hashes if found != known}


def _index_problems(
    connection: SqlConnection, database: Database[Any], analyzer: Analyzer
) -> Problems:
    # The index holds no text to compare with, so each record is asked for by its own terms.
    known = database.full_text.keys(connection)
    missing: list[str] = []
    wrong: list[str] = []
    rows = connection.all("SELECT key, id, user_key, content, term_count, kind FROM records")
    for key, record, user, content, number, kind in rows:
        terms = indexed(analyzer.terms(content), items=kind == Kind.ITEM)
        rarest = sorted(set(terms), key=len)[-SAMPLE:]
        if key not in known:
            missing += [record] if terms else []  # Not every index has a row for a text of none.
        elif len(terms) != number or not database.full_text.holds(connection, key, user, rarest):
            wrong.append(record)
    extra = [str(key) for key in sorted(known - {row[0] for row in rows})]
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


def _derived_tables(connection: SqlConnection, names: NameMatcher) -> dict[str, DerivedTable]:
    """Return the tables that are made anew, by what is wrong where their rows are others."""
    cited = connection.all("SELECT user_key, key, id, source_ids FROM records")
    spelled = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
    return {
        "sources filed under another record": DerivedTable(
            "record_sources",
            ("user_key", "source_id", "record_key"),
            {
                (user, source, key): record
                for user, key, record, sources in cited
                for source in json.loads(sources)
            },
        ),
        "names that are not found under their keys": DerivedTable(
            "entity_name_keys",
            ("user_key", "name_key", "entity_key", "folded"),
            {
                (user, key, entity, folded): name
                for user, entity, folded, name in spelled
                for key in names.keys(name)
            },
        ),
    }


def _notes_bases(connection: SqlConnection) -> list[tuple[int, str, list[list[str]] | None]]:
    """Return user, folder and lines of what is kept of notes; no lines where none can be read."""
    found: list[tuple[int, str, list[list[str]] | None]] = []
    for user, folder, text in connection.all(
        "SELECT user_key, folder, lines FROM notes_bases ORDER BY folder"
    ):
        try:
            found.append((user, folder, json.loads(text)))
        except ValueError:
            found.append((user, folder, None))
    return found


def _notes_problems(connection: SqlConnection) -> Problems:
    bases = _notes_bases(connection)
    # Not a check that `rebuild` can answer: what these lines are of is in a file.
    noted = [
        f"{folder} {STILL_NOTED}"
        for user, folder, lines in bases
        if connection.value(
            "SELECT count(*) FROM (@texts(:ids)) j WHERE NOT EXISTS "
            "(SELECT 1 FROM records r WHERE r.id = j.value AND r.user_key = :user)",
            {"ids": dump([line[0] for line in lines or ()]), "user": user},
        )
    ]
    unreadable = [folder for _, folder, lines in bases if lines is None]
    return report(UNREADABLE_NOTES, unreadable) + list(dict.fromkeys(noted))


def rebuild(
    database: Database[Any], analyzer: Analyzer, names: NameMatcher, extractor: EntityExtractor
) -> Problems:
    """Derive again what can be derived; return the problems that were there before."""
    problems = verify(database, analyzer, names)
    with database.write() as connection:
        reindex(connection, database, analyzer)
        # The text is canonical: its hash follows it, and its vector is of another text.
        altered = [{"id": each, "hash": new} for each, new in _altered(connection).items()]
        connection.run_many("UPDATE records SET content_hash = :hash WHERE id = :id", altered)
        connection.run_many(
            "DELETE FROM vectors WHERE record_key = (SELECT key FROM records WHERE id = :id)",
            altered,
        )
        for _, *mend in checks().values():
            for sql in mend:
                connection.run(sql)
        for table in _derived_tables(connection, names).values():
            connection.run(f"DELETE FROM {table.name}")
            rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            connection.run_many(insertion(table.name, table.columns), rows)
        for user, folder, lines in _notes_bases(connection):
            if lines is None:  # The file is then read as a new one.
                unread = "DELETE FROM notes_bases WHERE user_key = :user AND folder = :folder"
                connection.run(unread, {"user": user, "folder": folder})
        relinked = _link_again(connection, names, extractor)
        for (user,) in connection.all("SELECT key FROM users"):
            EntityWriter(connection, user, names).obey_decisions()
    return problems + report("records linked to other entities", relinked)


def _link_again(
    connection: SqlConnection, names: NameMatcher, extractor: EntityExtractor
) -> list[str]:
    wrong: list[str] = []
    for key, record, user, content, enriched in connection.all(
        "SELECT key, id, user_key, content, enriched_at FROM records WHERE indexed = 1 "
        "AND kind <> 'item' AND key NOT IN (SELECT record_key FROM derivations WHERE work = :work)",
        {"work": ENTITIES},
    ):
        writer = EntityWriter(connection, user, names)
        mentions = extractor.extract(content)
        wanted = {names.fold(mention.text) for mention in mentions} - {""}
        links = "SELECT folded FROM record_entities WHERE record_key = :key"
        known = {row[0] for row in connection.all(links, {"key": key})}
        # What was read by a slower extractor has links that this one cannot find again.
        if wanted == known or (enriched and wanted < known):
            continue
        wrong.append(record)
        before = writer.of_records([key])
        if not enriched:
            connection.run("DELETE FROM record_entities WHERE record_key = :key", {"key": key})
        writer.link(key, mentions)
        writer.forget_unmentioned(before)
    return wrong


def meta(connection: SqlConnection, name: str) -> str | None:
    """Return a value that is kept for the store as a whole."""
    sql = "SELECT value FROM meta WHERE name = :name"
    found: str | None = connection.value(sql, {"name": name})
    return found
