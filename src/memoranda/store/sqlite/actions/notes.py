"""Actions of the Markdown layer: how far the history tells a session, what MEMORY.md says."""

from __future__ import annotations

from memoranda.model.actions import KeepNotes, Noted
from memoranda.store.sqlite import notes
from memoranda.store.sqlite.actions.transaction import Transaction, perform
from memoranda.store.sqlite.rows import dump

NOTE = """
UPDATE consolidations SET noted = max(noted, :through)
WHERE user_key = :user AND session_id = :session
    AND (:agent IS NULL OR agent = '' OR agent = :agent)
"""
KEEP = """
INSERT INTO notes_bases (user_key, agent, folder, lines) VALUES (?, ?, ?, ?)
ON CONFLICT (user_key, agent, folder) DO UPDATE SET lines = excluded.lines
"""


@perform.register
def _(action: Noted, tx: Transaction) -> None:
    tx.connection.execute(
        NOTE,
        {
            "user": tx.user,
            "agent": tx.scope.agent,
            "session": action.session,
            "through": action.through,
        },
    )


@perform.register
def _(action: KeepNotes, tx: Transaction) -> None:
    folder, lines = action.base.folder, action.base.lines
    before = notes.base(tx.connection, tx.scope, tx.user, folder)
    tx.connection.execute(
        KEEP,
        (
            tx.user,
            tx.scope.agent or "",
            folder,
            dump([(line.id, line.digest, line.batch) for line in lines]),
        ),
    )
    kept = {line.id for line in lines}
    dropped = [line.id for line in before.lines if line.id not in kept] if before else []
    if tx.erased(dropped):
        # By a digest a guess at the text can be tested: no copy of it may stay in free space.
        tx.ask_for_purge()
