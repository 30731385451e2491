"""Verifies and rebuilds what is derived: terms, links, sources, queues, counts.

What is derived can always be made again from what is canonical. ``verify`` compares the two,
``rebuild`` makes them equal.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from memoranda.model.checks import content_hash
from memoranda.model.ports import ENTITIES, Analyzer, EntityExtractor, NameMatcher
from memoranda.store.sql import entities
from memoranda.store.sql.dialect import Database, SqlConnection
from memoranda.store.sql.entities import EntityWriter
from memoranda.store.sql.record_actions import ADD_SOURCE
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import PURGE

ANALYZER = "analyzer"
SAMPLE = 3
BATCH = 1_000
COUNT = "(SELECT count(*) FROM messages WHERE conversation_key = conversations.key)"
FREE = (
    "1 + greatest(cleared_through, coalesce("
    "(SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1))"
)
EPISODES = (
    "EXISTS (SELECT 1 FROM records r WHERE r.user_key = sessions.user_key AND r.kind = 'episode' "
    "AND r.session_id = sessions.session_id AND coalesce(r.agent, '') = sessions.agent)"
)
UNREGISTERED = (
    "FROM records r WHERE r.kind = 'episode' AND r.session_id IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.user_key = r.user_key "
    "AND c.session_id = r.session_id AND c.agent = coalesce(r.agent, ''))"
)
WRONG_LENGTH = (
    "length(embedding) <> 2 * "
    "(SELECT CAST(value AS integer) FROM meta WHERE name = 'embedding_dimensions')"
)
CHECKS = {
    "vectors without a record": (
        "SELECT record_key FROM vectors WHERE record_key NOT IN (SELECT key FROM records)"
    ),
    "records neither embedded nor waiting for it": (
        "SELECT id FROM records WHERE indexed = 1 AND key NOT IN "
        "(SELECT record_key FROM vectors "
        "UNION ALL SELECT record_key FROM derivations WHERE work = 'vectors')"
    ),
    "vectors of the wrong length": f"SELECT record_key FROM vectors WHERE {WRONG_LENGTH}",
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
    "records waiting under another user": (
        "SELECT r.id FROM derivations p JOIN records r ON r.key = p.record_key "
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
        "(SELECT record_key FROM vectors UNION ALL SELECT record_key FROM derivations)"
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
    "sessions without episodes": f"SELECT session_id FROM sessions WHERE NOT {EPISODES}",
    "sessions that nothing will consolidate": f"SELECT DISTINCT r.session_id {UNREGISTERED}",
    "decisions that lead to other decisions": (
        "SELECT d.folded FROM entity_decisions d JOIN entity_decisions t "
        "ON t.user_key = d.user_key AND t.folded = d.target AND t.target <> t.folded"
    ),
    "names apart that were decided to be one": f"SELECT a.folded FROM ({entities.APART}) a",
    "names together that were decided to stand alone": (
        f"SELECT a.folded FROM ({entities.NOT_ALONE}) a"
    ),
}
REPAIRS = (
    "DELETE FROM vectors WHERE record_key NOT IN (SELECT key FROM records)",
    """UPDATE records SET confidence = least(greatest(confidence, 0), 1),
        strength = least(greatest(strength, 0), 1)
        WHERE confidence NOT BETWEEN 0 AND 1 OR strength NOT BETWEEN 0 AND 1""",
    # What has no end is active: it is indexed like the rest.
    "UPDATE records SET indexed = 1 WHERE valid_until IS NULL AND indexed = 0",
    """DELETE FROM recalls WHERE NOT EXISTS (SELECT 1 FROM records r
        WHERE r.key = recalls.record_key AND r.user_key = recalls.user_key)""",
    f"DELETE FROM sessions WHERE NOT {EPISODES}",
    f"""INSERT INTO sessions (user_key, session_id, agent, first_seen_at)
        SELECT r.user_key, r.session_id, coalesce(r.agent, ''), min(r.created_at)
        {UNREGISTERED} GROUP BY 1, 2, 3""",
    """UPDATE entity_decisions SET target = (SELECT t.target FROM entity_decisions t
            WHERE t.user_key = entity_decisions.user_key AND t.folded = entity_decisions.target)
        WHERE EXISTS (SELECT 1 FROM entity_decisions t
            WHERE t.user_key = entity_decisions.user_key AND t.folded = entity_decisions.target
            AND t.target <> t.folded)""",
    """DELETE FROM vectors WHERE user_key <>
        (SELECT r.user_key FROM records r WHERE r.key = vectors.record_key)""",
    f"DELETE FROM vectors WHERE {WRONG_LENGTH}",
    """DELETE FROM derivations WHERE NOT EXISTS (SELECT 1 FROM records r
        WHERE r.key = derivations.record_key AND r.user_key = derivations.user_key)""",
    """INSERT INTO derivations (work, record_key, user_key)
        SELECT 'vectors', key, user_key FROM records
        WHERE indexed = 1 AND key NOT IN (SELECT record_key FROM vectors)
        ON CONFLICT (work, record_key) DO NOTHING""",
    "DELETE FROM vectors WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    "DELETE FROM derivations WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    "DELETE FROM record_entities WHERE record_key IN (SELECT key FROM records WHERE indexed = 0)",
    """DELETE FROM record_entities WHERE NOT EXISTS (SELECT 1 FROM records r
        JOIN entities e ON e.user_key = r.user_key
        JOIN entity_names n ON n.user_key = e.user_key AND n.folded = record_entities.folded
            AND n.entity_key = e.key
        WHERE r.key = record_entities.record_key AND e.key = record_entities.entity_key)""",
    "DELETE FROM entities WHERE key NOT IN (SELECT entity_key FROM record_entities)",
    """DELETE FROM entity_names WHERE NOT EXISTS (SELECT 1 FROM record_entities l
        WHERE l.entity_key = entity_names.entity_key AND l.folded = entity_names.folded)""",
    """UPDATE messages SET record_id = NULL
        WHERE record_id NOT IN (SELECT id FROM records)""",
    f"UPDATE conversations SET message_count = {COUNT} WHERE message_count <> {COUNT}",
    f"UPDATE conversations SET next_position = {FREE} WHERE next_position < {FREE}",
    "DELETE FROM prunings WHERE conversation_key NOT IN (SELECT key FROM conversations)",
)
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
UNREADABLE_NOTES = "notes that cannot be read"
Problems = list[str]


def follow_analyzer(database: Database, analyzer: Analyzer) -> None:
    """Index everything anew where another analyzer, or another version, made the index."""
    with database.read() as connection:
        if meta(connection, ANALYZER) == analyzer.name:
            return
    with database.write() as connection:
        if meta(connection, ANALYZER) != analyzer.name:
            reindex(connection, database, analyzer)
            connection.run(
                "INSERT INTO meta (name, value) VALUES (:name, :value) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                {"name": ANALYZER, "value": analyzer.name},
            )


def reindex(connection: SqlConnection, database: Database, analyzer: Analyzer) -> None:
    """Make the full-text index anew."""
    database.full_text.clear(connection)
    last = 0
    while rows := connection.all(
        "SELECT key, user_key, content FROM records WHERE key > :last ORDER BY key LIMIT :limit",
        {"last": last, "limit": BATCH},
    ):
        terms = [analyzer.terms(row[2]) for row in rows]
        joined = zip(rows, terms, strict=True)
        database.full_text.add(
            connection, [(row[0], row[1], " ".join(each)) for row, each in joined]
        )
        counts = zip(rows, terms, strict=True)
        connection.run_many(
            "UPDATE records SET term_count = :count WHERE key = :key",
            [{"count": len(each), "key": row[0]} for row, each in counts],
        )
        last = rows[-1][0]
    connection.run("UPDATE users SET index_epoch = index_epoch + 1")


def verify(database: Database, analyzer: Analyzer, names: NameMatcher) -> Problems:
    """Return a line for each kind of difference found, with examples."""
    with database.snapshot(), database.read() as connection:
        problems = database.problems(connection)
        for name, sql in CHECKS.items():
            with _damage(name, problems, database.damage):
                problems += report(name, [str(row[0]) for row in connection.all(sql)])
        problems += report("records changed behind memoranda's back", _altered(connection))
        with _damage("full-text index", problems, database.damage):
            problems += _index_problems(connection, database, analyzer)
        problems += report("sources filed under another record", _missourced(connection))
        with _damage("names", problems, database.damage):
            missing = _names_without_keys(connection, names)
            problems += report("names that are not found under their keys", missing)
        problems += _notes_problems(connection)
        if meta(connection, PURGE):
            problems.append("erased text may remain in free space; run memoranda doctor --purge")
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


def _altered(connection: SqlConnection) -> list[str]:
    rows = connection.all("SELECT id, content, content_hash FROM records")
    return [record for record, content, known in rows if content_hash(content) != known]


def _index_problems(connection: SqlConnection, database: Database, analyzer: Analyzer) -> Problems:
    # The index holds no text to compare with, so each record is asked for by its own terms.
    indexed = database.full_text.keys(connection)
    missing: list[str] = []
    wrong: list[str] = []
    rows = connection.all("SELECT key, id, user_key, content, term_count FROM records")
    for key, record, user, content, number in rows:
        terms = analyzer.terms(content)
        rarest = sorted(set(terms), key=len)[-SAMPLE:]
        if key not in indexed:
            missing.append(record)
        elif len(terms) != number or not database.full_text.holds(connection, key, user, rarest):
            wrong.append(record)
    extra = [str(key) for key in sorted(indexed - {row[0] for row in rows})]
    return [
        *report("full-text rows without a record", extra),
        *report("records missing from the full-text index", missing),
        *report("records indexed under other terms", wrong),
    ]


def _missourced(connection: SqlConnection) -> list[str]:
    filed: defaultdict[int, set[str]] = defaultdict(set)
    for record, source in connection.all(
        "SELECT s.record_key, s.source_id FROM record_sources s "
        "JOIN records r ON r.key = s.record_key AND r.user_key = s.user_key"
    ):
        filed[record].add(source)
    rows = connection.all("SELECT key, id, source_ids FROM records")
    return [record for key, record, sources in rows if set(json.loads(sources)) != filed[key]]


def _names_without_keys(connection: SqlConnection, names: NameMatcher) -> list[str]:
    held: defaultdict[tuple[int, int, str], set[str]] = defaultdict(set)
    for user, key, entity, folded in connection.all(
        "SELECT user_key, name_key, entity_key, folded FROM entity_name_keys"
    ):
        held[user, entity, folded].add(key)
    rows = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
    return [
        name
        for user, entity, folded, name in rows
        if not set(names.keys(name)) <= held[user, entity, folded]
    ]


def _notes_problems(connection: SqlConnection) -> Problems:
    unreadable, noted = [], []
    for user, folder, text in connection.all(
        "SELECT user_key, folder, lines FROM notes_bases ORDER BY folder"
    ):
        lines = _parsed(text)
        if lines is None:
            unreadable.append(folder)
            continue
        # Not a check that `rebuild` can answer: what these lines are of is in a file.
        ids = dump([line[0] for line in lines])
        gone = connection.value(
            "SELECT count(*) FROM (@texts(:ids)) j WHERE NOT EXISTS "
            "(SELECT 1 FROM records r WHERE r.id = j.value AND r.user_key = :user)",
            {"ids": ids, "user": user},
        )
        if gone:
            noted.append(folder)
    return report(UNREADABLE_NOTES, unreadable) + [
        f"{folder} {STILL_NOTED}" for folder in dict.fromkeys(noted)
    ]


def _parsed(text: str) -> list[list[str]] | None:
    try:
        found: list[list[str]] = json.loads(text)
    except ValueError:
        return None
    return found


def rebuild(
    database: Database, analyzer: Analyzer, names: NameMatcher, extractor: EntityExtractor
) -> Problems:
    """Derive again what can be derived; return the problems that were there before."""
    problems = verify(database, analyzer, names)
    with database.write() as connection:
        reindex(connection, database, analyzer)
        for record in _altered(connection):
            _accept(connection, record)
        _file_sources(connection)
        _file_name_keys(connection, names)
        for sql in REPAIRS:
            connection.run(sql)
        for user, folder, text in connection.all("SELECT user_key, folder, lines FROM notes_bases"):
            if _parsed(text) is None:  # The file is then read as a new one.
                connection.run(
                    "DELETE FROM notes_bases WHERE user_key = :user AND folder = :folder",
                    {"user": user, "folder": folder},
                )
        relinked = _link_again(connection, names, extractor)
        for (user,) in connection.all("SELECT key FROM users"):
            EntityWriter(connection, user, names).obey_decisions()
    return problems + report("records linked to other entities", relinked)


def _accept(connection: SqlConnection, record: str) -> None:
    # The text is canonical: its hash follows it, and its vector is of another text.
    row = connection.one("SELECT key, content FROM records WHERE id = :id", {"id": record})
    if row is not None:
        values = {"key": row[0], "hash": content_hash(row[1])}
        connection.run("UPDATE records SET content_hash = :hash WHERE key = :key", values)
        connection.run("DELETE FROM vectors WHERE record_key = :key", values)


def _file_sources(connection: SqlConnection) -> None:
    connection.run("DELETE FROM record_sources")
    rows = connection.all("SELECT user_key, key, source_ids FROM records WHERE source_ids <> '[]'")
    connection.run_many(
        ADD_SOURCE,
        [
            {"user": user, "source": source, "record": key}
            for user, key, sources in rows
            for source in json.loads(sources)
        ],
    )


def _file_name_keys(connection: SqlConnection, names: NameMatcher) -> None:
    connection.run("DELETE FROM entity_name_keys")
    rows = connection.all("SELECT user_key, entity_key, folded, name FROM entity_names")
    connection.run_many(
        entities.ADD_KEY,
        [
            {"user": user, "key": key, "entity": entity, "folded": folded}
            for user, entity, folded, name in rows
            for key in sorted(names.keys(name))
        ],
    )


def _link_again(
    connection: SqlConnection, names: NameMatcher, extractor: EntityExtractor
) -> list[str]:
    wrong: list[str] = []
    waiting = {
        row[0]
        for row in connection.all(
            "SELECT record_key FROM derivations WHERE work = :work", {"work": ENTITIES}
        )
    }
    rows = connection.all(
        "SELECT key, id, user_key, content, enriched FROM records WHERE indexed = 1"
    )
    for key, record, user, content, enriched in rows:
        if key in waiting:
            continue
        writer = EntityWriter(connection, user, names)
        mentions = extractor.extract(content)
        wanted = {names.fold(mention.text) for mention in mentions} - {""}
        held = connection.all(
            "SELECT folded FROM record_entities WHERE record_key = :key", {"key": key}
        )
        known = {row[0] for row in held}
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
    found: str | None = connection.value(
        "SELECT value FROM meta WHERE name = :name", {"name": name}
    )
    return found
