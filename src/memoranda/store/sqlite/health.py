"""Upkeep: the index functions, verification, rebuilding, cleaning and copying.

What is derived (index, links, vector queue) can always be made again from what is
canonical (records, messages, mentions in the links). ``verify`` compares the two,
``rebuild`` makes them equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memoranda.errors import InvalidInput, StoreReadOnly
from memoranda.model import capabilities
from memoranda.model.capabilities import Capability
from memoranda.model.ports import Analyzer, EntityExtractor, NameMatcher
from memoranda.model.text import content_hash
from memoranda.store.sqlite import decisions, entities
from memoranda.store.sqlite.connections import Connections
from memoranda.store.sqlite.failures import translated

CAPABILITIES = (
    Capability(capabilities.TRANSACTIONS, native=True, detail="one for each plan of actions"),
    Capability(capabilities.FULL_TEXT, native=True, detail="FTS5, with each user's own statistics"),
    Capability(capabilities.NEAREST, native=False, detail="exact, over vectors in memory"),
    Capability(capabilities.SNAPSHOTS, native=True, detail="readers never wait (WAL)"),
    Capability(capabilities.PROCESSES, native=True, detail="any number on one file"),
    Capability(capabilities.PURGE, native=True, detail="free pages are overwritten"),
)
ANALYZER = "analyzer"
PURGE = "purge_pending"
PATIENCE = 5.0
SAMPLE = 3
COUNT = "(SELECT count(*) FROM messages WHERE conversation_key = conversations.key)"
FREE = (
    "1 + max(cleared_through, coalesce("
    "(SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1))"
)
EPISODES = (
    "EXISTS (SELECT 1 FROM records r WHERE r.user_key = c.user_key AND r.kind = 'episode' "
    "AND r.session_id = c.session_id AND coalesce(r.agent, '') = c.agent)"
)
UNREGISTERED = (
    "SELECT {columns} FROM records r WHERE r.kind = 'episode' AND r.session_id IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM consolidations c WHERE c.user_key = r.user_key "
    "AND c.session_id = r.session_id AND c.agent = coalesce(r.agent, ''))"
)
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
        "SELECT id FROM records WHERE indexed = 1 AND key NOT IN "
        "(SELECT record_key FROM vectors UNION ALL SELECT record_key FROM pending_vectors)"
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
    "records waiting for their vectors under another user": (
        "SELECT r.id FROM pending_vectors p JOIN records r ON r.key = p.record_key "
        "WHERE r.user_key <> p.user_key"
    ),
    "entities without a name": (
        "SELECT id FROM entities WHERE key NOT IN (SELECT entity_key FROM entity_names)"
    ),
    "conversations with a wrong number of messages": (
        f"SELECT id FROM conversations WHERE message_count <> {COUNT}"
    ),
    "conversations whose next place is taken": (
        f"SELECT id FROM conversations WHERE next_position < {FREE}"
    ),
    "prunings whose conversation is gone": (
        "SELECT id FROM prunings WHERE conversation_key NOT IN (SELECT key FROM conversations)"
    ),
    "retired records with vectors": (
        "SELECT id FROM records WHERE indexed = 0 AND key IN "
        "(SELECT record_key FROM vectors UNION ALL SELECT record_key FROM pending_vectors)"
    ),
    "retired records with links": (
        "SELECT id FROM records WHERE indexed = 0 "
        "AND key IN (SELECT record_key FROM record_entities)"
    ),
    "retired records without an end": (
        "SELECT id FROM records WHERE indexed = 0 AND valid_until IS NULL"
    ),
    "records of an impossible strength": (
        "SELECT id FROM records WHERE strength NOT BETWEEN 0 AND 1 "
        "OR confidence NOT BETWEEN 0 AND 1"
    ),
    "recalls of what another user has, or nobody": (
        "SELECT record_key FROM recalls c WHERE NOT EXISTS "
        "(SELECT 1 FROM records r WHERE r.key = c.record_key AND r.user_key = c.user_key)"
    ),
    "sessions without episodes": f"SELECT session_id FROM consolidations c WHERE NOT {EPISODES}",
    "sessions that nothing will consolidate": UNREGISTERED.format(columns="DISTINCT r.session_id"),
    "decisions that lead to other decisions": (
        "SELECT d.folded FROM entity_decisions d JOIN entity_decisions t "
        "ON t.user_key = d.user_key AND t.folded = d.target AND t.target <> t.folded"
    ),
    "names apart that were decided to be one": f"SELECT folded FROM ({decisions.APART})",
    "names together that were decided to stand alone": (
        f"SELECT folded FROM ({decisions.NOT_ALONE})"
    ),
    "names that are not found under their keys": (
        "SELECT n.name FROM entity_names n JOIN json_each(memoranda_name_keys(n.name)) k "
        "WHERE NOT EXISTS (SELECT 1 FROM entity_name_keys e WHERE e.user_key = n.user_key "
        "AND e.name_key = k.value AND e.entity_key = n.entity_key AND e.folded = n.folded)"
    ),
    "sources filed under another record": (
        "SELECT r.id FROM records r WHERE (SELECT count(*) FROM record_sources s "
        "WHERE s.record_key = r.key AND s.user_key = r.user_key) <> "
        "(SELECT count(DISTINCT value) FROM json_each(r.source_ids))"
    ),
    "notes that cannot be read": "SELECT folder FROM notes_bases WHERE NOT json_valid(lines)",
    "broken foreign keys": 'SELECT "table" FROM pragma_foreign_key_check',
}
# Not a check that `rebuild` can answer: what these lines are of is in a file.
NOTED_ERASED = """
SELECT DISTINCT b.folder FROM notes_bases b, json_each(iif(json_valid(b.lines), b.lines, '[]')) l
WHERE NOT EXISTS (
    SELECT 1 FROM records r WHERE r.id = l.value ->> 0 AND r.user_key = b.user_key) ORDER BY 1
"""
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
RELINKED = """
SELECT key, id, user_key, content, json_extract(attributes, '$.enriched_at') IS NOT NULL
FROM records WHERE indexed = 1
"""
REPAIRS = (
    "UPDATE entity_names SET name = name",  # Their keys are made anew by a trigger.
    "DELETE FROM record_sources",
    """INSERT OR IGNORE INTO record_sources SELECT r.user_key, j.value, r.key
        FROM records r, json_each(r.source_ids) j WHERE r.source_ids <> '[]'""",
    "DELETE FROM vectors WHERE record_key NOT IN (SELECT key FROM records)",
    """UPDATE records SET confidence = min(max(confidence, 0), 1),
        strength = min(max(strength, 0), 1)
        WHERE confidence NOT BETWEEN 0 AND 1 OR strength NOT BETWEEN 0 AND 1""",
    # What has no end is believed: it is indexed like the rest.
    "UPDATE records SET indexed = 1 WHERE valid_until IS NULL AND indexed = 0",
    """DELETE FROM recalls WHERE NOT EXISTS
        (SELECT 1 FROM records r WHERE r.key = record_key AND r.user_key = recalls.user_key)""",
    f"DELETE FROM consolidations AS c WHERE NOT {EPISODES}",
    "INSERT INTO consolidations (user_key, session_id, agent, first_seen_at) "
    + UNREGISTERED.format(
        columns="r.user_key, r.session_id, coalesce(r.agent, ''), min(r.created_at)"
    )
    + " GROUP BY 1, 2, 3",
    """UPDATE entity_decisions AS d SET target = t.target FROM entity_decisions t
        WHERE t.user_key = d.user_key AND t.folded = d.target AND t.target <> t.folded""",
    """DELETE FROM vectors WHERE user_key <>
        (SELECT user_key FROM records WHERE key = record_key)""",
    """DELETE FROM vectors WHERE length(embedding) <> 2 *
        (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'embedding_dimensions')""",
    """DELETE FROM pending_vectors WHERE NOT EXISTS (SELECT 1 FROM records r
        WHERE r.key = record_key AND r.user_key = pending_vectors.user_key)""",
    """INSERT OR IGNORE INTO pending_vectors SELECT key, user_key FROM records
        WHERE indexed = 1 AND key NOT IN (SELECT record_key FROM vectors)""",
    "DELETE FROM vectors WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    "DELETE FROM pending_vectors WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    "DELETE FROM record_entities WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    """DELETE FROM record_entities WHERE NOT EXISTS (SELECT 1 FROM records r
        JOIN entities e ON e.user_key = r.user_key
        JOIN entity_names n ON n.user_key = e.user_key AND n.folded = record_entities.folded
            AND n.entity_key = e.key
        WHERE r.key = record_key AND e.key = record_entities.entity_key)""",
    "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
    """DELETE FROM entity_names WHERE NOT EXISTS (SELECT 1 FROM record_entities l
        WHERE l.entity_key = entity_names.entity_key AND l.folded = entity_names.folded)""",
    """UPDATE messages SET record_id = NULL
        WHERE record_id NOT IN (SELECT id FROM records)""",
    f"UPDATE conversations SET message_count = {COUNT} WHERE message_count <> {COUNT}",
    f"UPDATE conversations SET next_position = {FREE} WHERE next_position < {FREE}",
    "DELETE FROM prunings WHERE conversation_key NOT IN (SELECT key FROM conversations)",
    "DELETE FROM notes_bases WHERE NOT json_valid(lines)",  # The file is then read as a new one.
)


class TermFunctions:
    """The SQL functions by which triggers analyse a text: its terms and their number."""

    def __init__(self, analyzer: Analyzer) -> None:
        """Analyse with ``analyzer``."""
        self._analyzer = analyzer
        self._last: tuple[str, list[str]] = ("", [])

    def register(self, connection: apsw.Connection) -> None:
        """Make the functions known to ``connection``."""
        functions: dict[str, Callable[[str], str | int]] = {
            "memoranda_terms": self.joined,
            "memoranda_term_count": self.number,
        }
        for name, function in functions.items():
            scalar: Any = function  # apsw's type takes functions of any number of values
            connection.create_scalar_function(
                name, scalar, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
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
            index_again(connection)
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (ANALYZER, analyzer.name)
            )


def verify(connections: Connections, terms: TermFunctions) -> list[str]:
    """Return a line for each kind of difference found, with examples."""
    with connections.moment() as connection:
        problems = _sqlite_problems(connection)
        for name, sql in CHECKS.items():
            with _damage(name, problems):
                rows: list[Any] = connection.execute(sql).fetchall()
                problems += _report(name, [str(row[0]) for row in rows])
        problems += _report("records changed behind memoranda's back", _altered(connection))
        misindexed = "records indexed under other terms"
        with _damage(misindexed, problems):
            problems += _report(misindexed, _misindexed(connection, terms))
        with _damage("notes", problems):
            rows = connection.execute(NOTED_ERASED).fetchall()
            problems += [f"{row[0]} {STILL_NOTED}" for row in rows]
        if _meta(connection, PURGE):
            problems.append("erased text may remain in free space; run memoranda doctor --purge")
    return problems


@contextmanager
def _damage(name: str, problems: list[str]) -> Iterator[None]:
    # What is derived can be rebuilt, so damage to it is a line among others.
    try:
        yield
    except apsw.CorruptError as error:
        problems.append(f"{name}: cannot be checked ({error})")


def _sqlite_problems(connection: apsw.Connection) -> list[str]:
    problems: list[str] = []
    with _damage("full-text index", problems):
        # FTS5 checks itself against the structure it last read; a query makes it read again.
        connection.execute("SELECT 1 FROM records_fts WHERE records_fts MATCH 'scope : u0'")
    with _damage("SQLite", problems):
        rows: list[Any] = connection.execute("PRAGMA integrity_check").fetchall()
        problems += [f"SQLite: {row[0]}" for row in rows if row[0] != "ok"]
    return problems


def _report(name: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = ", …" if len(found) > SAMPLE else ""
    return [f"{name}: {len(found)} ({', '.join(found[:SAMPLE])}{more})"]


def _altered(connection: apsw.Connection) -> list[str]:
    rows: Any = connection.execute("SELECT id, content, content_hash FROM records")
    return [record for record, content, known in rows if content_hash(content) != known]


def _misindexed(connection: apsw.Connection, terms: TermFunctions) -> list[str]:
    # The index holds no text to compare with, so each record is asked for by its own terms.
    wrong: list[str] = []
    rows: Any = connection.execute("SELECT key, id, user_key, content, term_count FROM records")
    for key, record, user, content, number in rows:
        distinct = sorted(set(terms.joined(content).split()), key=len)[-SAMPLE:]
        query = " AND ".join([f"scope : u{user}", *(f'terms : "{term}"' for term in distinct)])
        held = connection.execute(
            "SELECT 1 FROM records_fts WHERE records_fts MATCH ? AND rowid = ?", (query, key)
        ).get
        if not held or terms.number(content) != number:
            wrong.append(record)
    return wrong


def rebuild(
    connections: Connections,
    terms: TermFunctions,
    names: NameMatcher,
    extractor: EntityExtractor,
) -> list[str]:
    """Derive again what can be derived; return the problems that were there before."""
    problems = verify(connections, terms)
    with connections.write() as connection:
        index_again(connection)
        for record in _altered(connection):
            _accept(connection, record)
        for sql in REPAIRS:
            connection.execute(sql)
        relinked = _link_again(connection, names, extractor)
        entities.obey(connection)
    return problems + _report("records linked to other entities", relinked)


def _accept(connection: apsw.Connection, record: str) -> None:
    # The text is canonical: its hash follows it, and its vector is of another text.
    row: Any = connection.execute(
        "SELECT key, content FROM records WHERE id = ?", (record,)
    ).fetchone()
    connection.execute(
        "UPDATE records SET content_hash = ? WHERE key = ?", (content_hash(row[1]), row[0])
    )
    connection.execute("DELETE FROM vectors WHERE record_key = ?", (row[0],))


def _link_again(
    connection: apsw.Connection, names: NameMatcher, extractor: EntityExtractor
) -> list[str]:
    wrong: list[str] = []
    rows: list[Any] = connection.execute(RELINKED).fetchall()
    for key, record, user, content, enriched in rows:
        mentions = extractor.extract(content)
        wanted = {names.fold(mention.text) for mention in mentions} - {""}
        held: list[Any] = connection.execute(
            "SELECT folded FROM record_entities WHERE record_key = ?", (key,)
        ).fetchall()
        known = {row[0] for row in held}
        # What was read by a slower extractor has links that this one cannot find again.
        if wanted == known or (enriched and wanted < known):
            continue
        wrong.append(record)
        before = entities.of_records(connection, [key])
        if not enriched:
            connection.execute("DELETE FROM record_entities WHERE record_key = ?", (key,))
        entities.link(connection, user, names, key, mentions)
        entities.forget_unmentioned(connection, before)
    return wrong


def index_again(connection: apsw.Connection) -> None:
    """Index the texts of all records anew."""
    connection.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
    connection.execute("UPDATE records SET term_count = memoranda_term_count(content)")
    connection.execute(
        "INSERT INTO records_fts (rowid, terms, scope) "
        "SELECT key, memoranda_terms(content), 'u' || user_key FROM records"
    )
    connection.execute("UPDATE users SET index_epoch = index_epoch + 1")


def purge(connections: Connections) -> bool:
    """Rewrite the index and the file without what was erased; false while others still read it."""
    with connections.alone() as connection:
        asked = _meta(connection, PURGE)
        connection.execute("INSERT INTO records_fts (records_fts) VALUES ('optimize')")
        connection.execute("VACUUM")
        if not connections.in_memory:
            # Whoever writes waits meanwhile, so this waits for readers only for a moment.
            connection.set_busy_timeout(round(min(connections.busy_timeout, PATIENCE) * 1000))
            state: Any = connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchone()
            if state[0]:
                return False
        connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (PURGE, asked))
        return _meta(connection, PURGE) is None


def backup(connections: Connections, path: str) -> None:
    """Copy the database page by page to ``path``, which appears there whole or not at all."""
    partial = Path(f"{path}.partial")
    if Path(path).exists():
        message = f"{path} exists already; choose a new name for the backup"
        raise InvalidInput(message)
    try:
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _copy(connections, str(partial))
        partial.rename(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}; choose another place"
        raise StoreReadOnly(message) from error
    finally:
        partial.unlink(missing_ok=True)


def _copy(connections: Connections, path: str) -> None:
    # Within one read transaction, or each write of another process would start the copy anew.
    with connections.moment() as source, translated(path):
        copy = apsw.Connection(path)
        try:
            source.execute("SELECT 1 FROM meta").fetchone()
            with copy.backup("main", source, "main") as job:
                while not job.done:
                    job.step(1_000)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()


def _meta(connection: apsw.Connection, key: str) -> str | None:
    value: str | None = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return value
