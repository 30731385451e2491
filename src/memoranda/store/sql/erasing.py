"""Removes records for good, with every trace of their text."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from memoranda.model.actions import Erase
from memoranda.model.models import Scope
from memoranda.model.query import RecordRelation
from memoranda.model.replacements import Replacement
from memoranda.store.sql.conversation_actions import change_spans
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import SET_META, Transaction

CITING = """
SELECT r.key, r.source_ids FROM records r WHERE r.user_key = :user AND r.key IN (
    SELECT record_key FROM record_sources
    WHERE user_key = :user AND source_id IN (@texts(:ids)))
"""
# With an answer goes the reasoning that led to it.
MESSAGES = """
WITH RECURSIVE gone(conversation_key, position, role) AS (
    SELECT m.conversation_key, m.position, m.role
    FROM messages m JOIN conversations c ON c.key = m.conversation_key
    WHERE c.user_key = :user AND m.record_id IN (@texts(:records))
    UNION
    SELECT m.conversation_key, m.position, m.role
    FROM gone JOIN messages m ON m.conversation_key = gone.conversation_key
        AND m.position = gone.position - 1
    WHERE gone.role = 'assistant' AND m.role = 'assistant' AND m.raw IS NOT NULL
        AND m.content = '' AND m.tool_calls = '[]' AND m.record_id IS NULL)
DELETE FROM messages WHERE key IN (
    SELECT m.key FROM gone JOIN messages m ON m.conversation_key = gone.conversation_key
        AND m.position = gone.position)
RETURNING conversation_key, position
"""
DELETE = "DELETE FROM records WHERE key IN (@ints(:keys)) RETURNING session_id"
# What was only believed less stands behind nothing now; what was closed stays so.
FORGET_REPLACEMENTS = """
UPDATE records SET superseded_by = NULL WHERE user_key = :user AND closed_at IS NULL
    AND superseded_by IN (@texts(:ids)) RETURNING kind, trust, agent
"""
FORGET_SESSIONS = """
DELETE FROM sessions WHERE user_key = :user AND session_id IN (@texts(:sessions))
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.user_key = sessions.user_key
        AND r.session_id = sessions.session_id AND r.kind = 'episode'
        AND coalesce(r.agent, '') = sessions.agent)
"""
LAST_POSITION = """(
    SELECT coalesce(max(position), -1) FROM records r
    WHERE r.user_key = sessions.user_key AND r.session_id = sessions.session_id)"""
# What comes next takes the place of the last that went, and was neither read nor told.
SHORTEN_SESSIONS = f"""
UPDATE sessions SET through = least(through, {LAST_POSITION}), noted = least(noted, {LAST_POSITION})
WHERE user_key = :user AND session_id IN (@texts(:sessions))
"""


def erase(tx: Transaction, action: Erase) -> None:
    """Remove records, what they replaced, their copies and what was derived from any of these.

    By any agent of the user: the text is gone for good, or it is not.
    """
    targets = [tx.target(record) for record in dict.fromkeys(action.ids)]
    everywhere = replace(tx, scope=Scope(tx.scope.user))
    same = list(action.ids)
    for relation in (RecordRelation.VERSIONS, RecordRelation.COPIES, RecordRelation.DERIVED):
        same += tx.related(everywhere.scope, same, relation)
    others = set(same) - set(action.ids)
    targets += map(everywhere.target, sorted(others))
    ids, keys = [target.id for target in targets], [target.key for target in targets]
    touched = tx.entity_writer.of_records(keys)
    named = _decided_names(tx, keys)
    tx.raise_epoch()
    tx.raise_noteworthy(each.agent for each in targets if each.can_be_noteworthy)
    _erase_messages(tx, ids)
    tx.full_text.remove(tx.connection, keys)
    values = {"user": tx.user, "ids": dump(ids), "keys": dump(keys)}
    tx.connection.run(SET_META, {"name": "last_key", "value": str(tx.last_key())})
    gone = tx.connection.all(DELETE, values)
    values["sessions"] = dump(sorted({row[0] for row in gone if row[0] is not None}))
    tx.connection.run(
        "DELETE FROM history WHERE user_key = :user AND record_id IN (@texts(:ids))", values
    )
    for target in targets:
        tx.log(target, action.at, "erase", action.reason)
    tx.entity_writer.forget_unmentioned(touched)
    tx.entity_writer.forget_decisions(named)
    tx.entity_writer.rename(touched)
    _forget_sources(tx, ids)
    freed = tx.connection.all(FORGET_REPLACEMENTS, values)
    tx.raise_noteworthy(agent for kind, trust, agent in freed if kind == "fact" != trust)
    tx.connection.run(FORGET_SESSIONS, values)
    tx.connection.run(SHORTEN_SESSIONS, values)
    # The digests of their lines in `notes_bases` stay: by these the caller knows the lines in
    # MEMORY.md, which without them would be read back as additions of a person. It cleans the
    # file and replaces the base right after; until then `verify` says that it has not.
    tx.ask_for_purge()


def _forget_sources(tx: Transaction, ids: Sequence[str]) -> None:
    values = {"user": tx.user, "ids": dump(ids)}
    gone = set(ids)
    rows = [
        {"key": key, "sources": dump([each for each in json.loads(text) if each not in gone])}
        for key, text in tx.connection.all(CITING, values)
    ]
    tx.connection.run_many("UPDATE records SET source_ids = :sources WHERE key = :key", rows)
    tx.connection.run(
        "DELETE FROM record_sources WHERE user_key = :user AND source_id IN (@texts(:ids))", values
    )


def _decided_names(tx: Transaction, keys: Sequence[int]) -> set[str]:
    """Return the names of decisions that these records use, also where they have no links."""
    decided = tx.entity_writer.decided_names()
    if not decided:
        return set()
    values = {"keys": dump(keys)}
    rows = tx.connection.all("SELECT content FROM records WHERE key IN (@ints(:keys))", values)
    texts = [tx.names.fold(row[0]) for row in rows]
    named = {name for name in decided if any(name in text for text in texts)}
    links = tx.connection.all(
        "SELECT DISTINCT folded FROM record_entities WHERE record_key IN (@ints(:keys))", values
    )
    return named | decided.intersection(row[0] for row in links)


def _erase_messages(tx: Transaction, records: Sequence[str]) -> None:
    tx.connection.run(
        "DELETE FROM removed_messages WHERE record_id IN (@texts(:records)) "
        "AND tombstone_key IN (SELECT t.key FROM tombstones t "
        "JOIN conversations c ON c.key = t.conversation_key WHERE c.user_key = :user)",
        {"records": dump(records), "user": tx.user},
    )
    gone: defaultdict[int, list[int]] = defaultdict(list)
    rows = tx.connection.all(MESSAGES, {"records": dump(records), "user": tx.user})
    for conversation, position in rows:
        gone[conversation].append(position)
    for conversation, positions in gone.items():
        tx.connection.run(
            "UPDATE conversations SET message_count = message_count - :count, "
            "revision = revision + 1 WHERE key = :key",
            {"count": len(positions), "key": conversation},
        )
        change_spans(tx, conversation, Replacement(positions))
