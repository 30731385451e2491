"""Actions of the Markdown layer: how far the history tells a session, what MEMORY.md says."""

from __future__ import annotations

from dataclasses import replace

from memoranda.model.actions import KeepNotes, Noted
from memoranda.store.chroma.actions.transaction import Transaction, perform
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Base


@perform.register
def _(action: Noted, tx: Transaction) -> None:
    for key in tx.state.indexes.progress[action.session]:
        row = tx.state.sessions[key]
        if sees(tx.scope, row.agent) and row.noted < action.through:
            tx.state.put(replace(row, noted=action.through))


@perform.register
def _(action: KeepNotes, tx: Transaction) -> None:
    lines = tuple(action.base.lines)
    new = Base(agent=tx.scope.agent or None, folder=action.base.folder, lines=lines)
    before = tx.state.notes.get(new.key)
    tx.state.put(new)
    kept = {line.id for line in lines}
    dropped = [line.id for line in before.lines if line.id not in kept] if before else []
    if tx.erased(dropped):
        # By a digest a guess at the text can be tested: no copy of it may stay in free space.
        tx.ask_for_purge()
