"""Upkeep: the index functions, verification, rebuilding, cleaning and copying.

What is derived (index, links, vector queue) can always be made again from what is
canonical (records, messages, mentions in the links). ``verify`` compares the two,
``rebuild`` makes them equal.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from recollect.core.ports import Analyzer, EntityExtractor, NameMatcher
from recollect.core.text import content_hash
from recollect.stores.sqlite import entities
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.failures import translated

ANALYZER = "analyzer"
PURGE = "purge_pending"
SAMPLE = 3
CHECKS = {
    "full-text rows without a record": (
        "SELECT rowid FROM records_fts WHERE rowid NOT IN (SELECT key FROM records)"
    ),
    "records missing from the full-text index": (
        "SELECT id FROM records WHERE key NOT IN (SELECT rowid FROM records_fts)"
    ),
    "vectors without a record": (
        "SELECT record_key FROM vectors WHERE record_key NOT IN (SELECT key FROM records)"
    ),
    "records neither embedded nor waiting for it": (
        "SELECT id FROM records WHERE key NOT IN (SELECT record_key FROM vectors) "
        "AND key NOT IN (SELECT record_key FROM pending_vectors)"
    ),
    "vectors of the wrong length": (
        "SELECT record_key FROM vectors WHERE length(embedding) <> 2 * "
        "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'embedding_dimensions')"
    ),
    "vectors filed under another user": (
        "SELECT r.id FROM vectors v JOIN records r ON r.key = v.record_key "
        "WHERE r.user_key <> v.user_key"
    ),
    "entities that no record mentions": (
        "SELECT id FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)"
    ),
    "names that no record uses": (
        "SELECT name FROM entity_names n WHERE NOT EXISTS (SELECT 1 FROM record_entities l "
        "WHERE l.entity_key = n.entity_key AND l.folded = n.folded)"
    ),
    "links between two users": (
        "SELECT r.id FROM record_entities l JOIN records r ON r.key = l.record_key "
        "JOIN entities e ON e.key = l.entity_key WHERE e.user_key <> r.user_key"
    ),
    "messages whose episode is gone": (
        "SELECT id FROM messages WHERE record_id IS NOT NULL "
        "AND record_id NOT IN (SELECT id FROM records)"
    ),
    "broken foreign keys": 'SELECT "table" FROM pragma_foreign_key_check',
}


class TermFunctions:
    """The SQL functions by which triggers analyse a text: its terms and their number."""

    def __init__(self, analyzer: Analyzer) -> None:
        """Analyse with ``analyzer``."""
        self._analyzer = analyzer
        self._last: tuple[str, list[str]] = ("", [])

    def register(self, connection: apsw.Connection) -> None:
        """Make the functions known to ``connection``."""
        flags = apsw.SQLITE_INNOCUOUS
        connection.create_scalar_function(
            "recollect_terms", self.joined, 1, deterministic=True, flags=flags
        )
        connection.create_scalar_function(
            "recollect_term_count", self.number, 1, deterministic=True, flags=flags
        )

    def joined(self, text: str) -> str:
        """Return the terms of ``text`` with a space between them."""
        return " ".join(self._terms(text))

    def number(self, text: str) -> int:
        """Return how many terms ``text`` has."""
        return len(self._terms(text))

    def _terms(self, text: str) -> list[str]:
        # An insert asks for the number and then, from the trigger, for the terms.
        last, terms = self._last
        if last != text:
            terms = self._analyzer.terms(text)
            self._last = (text, terms)
        return terms


def follow_analyzer(connections: Connections, analyzer: Analyzer) -> None:
    """Index everything anew where another analyzer, or another version, made the index."""
    with connections.read() as connection:
        if _meta(connection, ANALYZER) == analyzer.name:
            return
    with connections.write() as connection:
        if _meta(connection, ANALYZER) != analyzer.name:
            _index_again(connection)
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (ANALYZER, analyzer.name))


def verify(connections: Connections, terms: TermFunctions) -> list[str]:
    """Return a line for each kind of difference found, with examples."""
    with connections.read() as connection:
        # FTS5 checks itself against the structure it last read; a query makes it read again.
        connection.execute("SELECT 1 FROM records_fts WHERE records_fts MATCH 'scope : u0'")
        problems = [
            f"SQLite: {row[0]}"
            for row in connection.execute("PRAGMA integrity_check")
            if row[0] != "ok"
        ]
        for name, sql in CHECKS.items():
            found = [str(row[0]) for row in connection.execute(sql)]
            problems.extend(_report(name, found))
        problems.extend(_report("records changed behind recollect's back", _altered(connection)))
        problems.extend(_report("records indexed under other terms", _misindexed(connection, terms)))
        if _meta(connection, PURGE):
            problems.append("erased text may remain in free space; run recollect doctor --purge")
    return problems


def _report(name: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = ", …" if len(found) > SAMPLE else ""
    return [f"{name}: {len(found)} ({', '.join(found[:SAMPLE])}{more})"]


def _altered(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT id, content, content_hash FROM records")
    return [id for id, content, known in rows if content_hash(content) != known]


def _misindexed(connection: apsw.Connection, terms: TermFunctions) -> list[str]:
    # The index holds no text to compare with, so each record is asked for by its own terms.
    wrong = []
    for key, id, user, content, number in connection.execute(
        "SELECT key, id, user_key, content, term_count FROM records"
    ):
        distinct = sorted(set(terms.joined(content).split()), key=len)[-SAMPLE:]
        query = " AND ".join([f"scope : u{user}", *(f'terms : "{term}"' for term in distinct)])
        held = connection.execute(
            "SELECT 1 FROM records_fts WHERE records_fts MATCH ? AND rowid = ?", (query, key)
        ).get
        if not held or terms.number(content) != number:
            wrong.append(id)
    return wrong


def rebuild(connections: Connections, terms: TermFunctions) -> list[str]:
    """Derive again what can be derived; return the problems that were there before."""
    problems = verify(connections, terms)
    with connections.write() as connection:
        _index_again(connection)
        for sql in (
            "DELETE FROM vectors WHERE record_key NOT IN (SELECT key FROM records)",
            "DELETE FROM vectors WHERE user_key <> "
            "(SELECT user_key FROM records WHERE key = record_key)",
            "DELETE FROM vectors WHERE length(embedding) <> 2 * "
            "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'embedding_dimensions')",
            "INSERT OR IGNORE INTO pending_vectors SELECT key, user_key FROM records "
            "WHERE key NOT IN (SELECT record_key FROM vectors)",
            "DELETE FROM record_entities WHERE record_key NOT IN (SELECT key FROM records)",
            "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
            "DELETE FROM entity_names WHERE NOT EXISTS (SELECT 1 FROM record_entities l WHERE "
            "l.entity_key = entity_names.entity_key AND l.folded = entity_names.folded)",
            "UPDATE users SET index_epoch = index_epoch + 1",
        ):
            connection.execute(sql)
    return problems


def relink(
    connections: Connections, names: NameMatcher, extractor: EntityExtractor
) -> list[str]:
    """Link every record again to the entities in its text; return how many were different."""
    wrong = []
    with connections.write() as connection:
        rows = connection.execute("SELECT key, id, user_key, content FROM records").fetchall()
        for key, id, user, content in rows:
            mentions = extractor.extract(content)
            wanted = {names.fold(mention.text) for mention in mentions} - {""}
            held = {
                row[0]
                for row in connection.execute(
                    "SELECT folded FROM record_entities WHERE record_key = ?", (key,)
                )
            }
            if wanted != held:
                wrong.append(id)
                before = entities.of_records(connection, [key])
                connection.execute("DELETE FROM record_entities WHERE record_key = ?", (key,))
                entities.link(connection, user, names, key, mentions)
                entities.forget_unmentioned(connection, before)
    return _report("records linked to other entities", wrong)


def _index_again(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
    connection.execute("UPDATE records SET term_count = recollect_term_count(content)")
    connection.execute(
        "INSERT INTO records_fts (rowid, terms, scope) "
        "SELECT key, recollect_terms(content), 'u' || user_key FROM records"
    )


def purge(connections: Connections) -> bool:
    """Rewrite the index and the file without what was erased; false while others still read it."""
    with connections.alone() as connection:
        connection.execute("INSERT INTO records_fts (records_fts) VALUES ('optimize')")
        connection.execute("VACUUM")
        if not connections.in_memory:
            busy = connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchone()[0]
            if busy:
                return False
        connection.execute("DELETE FROM meta WHERE key = ?", (PURGE,))
    return True


def backup(connections: Connections, path: str) -> None:
    """Copy the database page by page to ``path``, which appears there whole or not at all."""
    partial = f"{path}.partial"
    os.close(os.open(partial, os.O_CREAT | os.O_RDWR, 0o600))
    try:
        with translated(partial):
            copy = apsw.Connection(partial)
            try:
                with connections.read() as source, copy.backup("main", source, "main") as job:
                    while not job.done:
                        job.step(1_000)
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()
        Path(partial).rename(path)
    finally:
        Path(partial).unlink(missing_ok=True)


def _meta(connection: apsw.Connection, key: str) -> str | None:
    value: str | None = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return value
