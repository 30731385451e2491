"""The action that removes records for good, with every trace of their text (law 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memoranda.model.actions import Erase
from memoranda.model.scope import Scope
from memoranda.store.sqlite import decisions, entities, prunings
from memoranda.store.sqlite.actions.transaction import Target, Transaction, perform
from memoranda.store.sqlite.derivation import copies, derived, versions
from memoranda.store.sqlite.rows import dump

FORGET_SOURCES = """
UPDATE records SET source_ids = (
    SELECT json_group_array(value) FROM json_each(records.source_ids)
    WHERE value NOT IN (SELECT value FROM json_each(:ids)))
WHERE user_key = :user AND source_ids <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(records.source_ids)
    WHERE value IN (SELECT value FROM json_each(:ids)))
"""
# What was only believed less stands behind nothing now; what was closed stays so.
FORGET_REPLACEMENTS = """
UPDATE records SET superseded_by = NULL WHERE user_key = :user AND closed_at IS NULL
    AND superseded_by IN (SELECT value FROM json_each(:ids))
"""
FORGET_SESSIONS = """
DELETE FROM consolidations AS c
WHERE c.user_key = :user AND c.session_id IN (SELECT value FROM json_each(:sessions))
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.user_key = c.user_key
        AND r.session_id = c.session_id AND r.kind = 'episode' AND coalesce(r.agent, '') = c.agent)
"""
# What comes next takes the place of the last that went, and was neither read nor told.
SHORTEN_SESSIONS = """
UPDATE consolidations AS c SET through = min(c.through, s.last), noted = min(c.noted, s.last)
FROM (SELECT j.value AS session, coalesce((SELECT max(r.position) FROM records r
        WHERE r.user_key = :user AND r.session_id = j.value), -1) AS last
    FROM json_each(:sessions) j) s
WHERE c.user_key = :user AND c.session_id = s.session AND max(c.through, c.noted) > s.last
"""


@perform.register
def _(action: Erase, tx: Transaction) -> None:
    targets = [tx.target(record) for record in dict.fromkeys(action.ids)]
    # Also what it replaced, copies of these, and what was derived from them, by any agent of
    # the user: the text is gone for good, or it is not.
    everywhere = replace(tx, scope=Scope(tx.scope.user))
    where = (tx.connection, everywhere.scope, tx.user)
    same = [*action.ids, *versions(*where, action.ids)]
    same += copies(*where, same)
    others = dict.fromkeys([*same, *derived(*where, same)]).keys() - set(action.ids)
    targets += map(everywhere.target, sorted(others))
    ids, keys = [target.id for target in targets], [target.key for target in targets]
    touched = entities.of_records(tx.connection, keys)
    named = _names(tx, keys)
    sessions = _sessions(tx, keys)
    tx.raise_epoch()
    _erase_messages(tx, ids)
    for target in targets:
        _erase_record(tx, target)
        tx.log(target, action.at, "erase", action.reason)
    entities.forget_unmentioned(tx.connection, touched)
    decisions.forget(tx.connection, tx.user, named)
    entities.rename(tx.connection, touched)
    values = {"user": tx.user, "ids": dump(ids), "sessions": dump(sessions)}
    for sql in (FORGET_SOURCES, FORGET_REPLACEMENTS, FORGET_SESSIONS, SHORTEN_SESSIONS):
        tx.connection.execute(sql, values)
    # The digests of their lines in `notes_bases` stay: by these the caller knows the lines in
    # MEMORY.md, which without them would be read back as additions of a person. It cleans the
    # file and replaces the base right after; until then `verify` says that it has not.
    tx.ask_for_purge()


def _erase_record(tx: Transaction, target: Target) -> None:
    tx.connection.execute("DELETE FROM records WHERE key = ?", (target.key,))
    tx.connection.execute(
        "DELETE FROM history WHERE record_id = ? AND user_key = ?", (target.id, tx.user)
    )


def _names(tx: Transaction, keys: Sequence[int]) -> set[str]:
    """Return the names of decisions that these records use, also where they have no links."""
    decided = decisions.names(tx.connection, tx.user)
    if not decided:
        return set()
    rows: Any = tx.connection.execute(
        "SELECT content FROM records WHERE key IN (SELECT value FROM json_each(?))",
        (dump(list(keys)),),
    )
    texts = [tx.names.fold(row[0]) for row in rows]
    named = {name for name in decided if any(name in text for text in texts)}
    links: Any = tx.connection.execute(
        "SELECT DISTINCT folded FROM record_entities "
        "WHERE record_key IN (SELECT value FROM json_each(?))",
        (dump(list(keys)),),
    )
    return named | decided.intersection(row[0] for row in links)


def _sessions(tx: Transaction, keys: Sequence[int]) -> list[str]:
    rows: Any = tx.connection.execute(
        "SELECT DISTINCT session_id FROM records WHERE session_id IS NOT NULL "
        "AND key IN (SELECT value FROM json_each(?))",
        (dump(list(keys)),),
    )
    return [row[0] for row in rows]


def _erase_messages(tx: Transaction, records: Sequence[str]) -> None:
    gone: defaultdict[int, list[int]] = defaultdict(list)
    rows: Any = tx.connection.execute(
        "DELETE FROM messages WHERE record_id IN (SELECT value FROM json_each(?)) "
        "AND conversation_key IN (SELECT key FROM conversations WHERE user_key = ?) "
        "RETURNING conversation_key, position",
        (dump(records), tx.user),
    )
    for conversation, position in rows:
        gone[conversation].append(position)
    for conversation, positions in gone.items():
        prunings.tear(tx.connection, conversation, positions)
