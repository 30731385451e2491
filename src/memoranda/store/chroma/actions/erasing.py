"""The action that removes records for good, with every trace of their text (law 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoranda.model.actions import Erase
from memoranda.model.models import Kind
from memoranda.model.scope import Scope
from memoranda.store.chroma import decisions, entities, prunings
from memoranda.store.chroma.actions.transaction import Transaction, perform
from memoranda.store.chroma.derivation import copies, derived, versions
from memoranda.store.chroma.rows import Log, Stored


@perform.register
def _(action: Erase, tx: Transaction) -> None:
    targets = _targets(action, tx)
    ids = [row.key for row in targets]
    touched = entities.of_records(tx.state, ids)
    named = _names(tx, targets)
    sessions = {row.record.session_id for row in targets}
    tx.raise_epoch()
    _erase_messages(tx, ids)
    for row in targets:
        tx.drop(row)
        tx.vectors.pop(row.key, None)
        # Of its history, too, only this is left.
        tx.state.put(Log(record=row.key, agent=row.record.agent))
        tx.log(row, action.at, "erase", action.reason)
    entities.forget_unmentioned(tx.state, touched)
    decisions.forget(tx.state, named)
    entities.rename(tx.state, touched)
    _forget_sources(tx, ids)
    _forget_replacements(tx, ids)
    for session in sorted(filter(None, sessions)):
        _shorten(tx, session)
    # The digests of their lines in the notes stay: by these the caller knows the lines in
    # MEMORY.md, which without them would be read back as additions of a person. It cleans the
    # file and replaces the base right after; until then `verify` says that it has not.
    tx.ask_for_purge()


def _targets(action: Erase, tx: Transaction) -> list[Stored]:
    """Return what is to go: what was named, and what has its text or came of it.

    Also what it replaced, copies of these, and what was derived from them, by any agent of the
    user: the text is gone for good, or it is not.
    """
    named = list(map(tx.target, dict.fromkeys(action.ids)))
    everyone = Scope(tx.scope.user)
    same = [*action.ids, *versions(tx.state, everyone, action.ids)]
    same += copies(tx.state, everyone, same)
    others = {*same, *derived(tx.state, everyone, same)}.difference(action.ids)
    return named + [tx.state.records[other] for other in sorted(others)]


def _names(tx: Transaction, targets: Sequence[Stored]) -> set[str]:
    """Return the names of decisions that these records use, also where they have no links."""
    decided = decisions.names(tx.state)
    if not decided:
        return set()
    texts = [tx.names.fold(row.record.content) for row in targets]
    named = {name for name in decided if any(name in text for text in texts)}
    return named | decided.intersection(folded for row in targets for _, folded in row.links)


def _erase_messages(tx: Transaction, records: Iterable[str]) -> None:
    gone: defaultdict[str, list[int]] = defaultdict(list)
    keys = [key for record in records for key in tx.state.indexes.episodes[record]]
    for said in [tx.state.messages[key] for key in keys]:
        tx.state.drop(said)
        tx.revise(said.conversation)
        gone[said.conversation].append(said.message.position or 0)
    for conversation, positions in gone.items():
        tx.revise(conversation, prunings.tear(tx.state, conversation, positions))


def _forget_sources(tx: Transaction, ids: Sequence[str]) -> None:
    """Let what stands on a word of its own rest no longer on what is gone."""
    gone = set(ids)
    for record in {other for source in ids for other in tx.state.indexes.sources[source]}:
        row = tx.state.records[record]
        left = tuple(source for source in row.record.source_ids if source not in gone)
        tx.put(replace(row, record=replace(row.record, source_ids=left)))


def _forget_replacements(tx: Transaction, ids: Sequence[str]) -> None:
    """Let what was only believed less stand behind nothing; what was closed stays so."""
    for record in {other for by in ids for other in tx.state.indexes.replaced[by]}:
        row = tx.state.records[record]
        if row.closed_at is None:
            tx.put(replace(row, record=replace(row.record, superseded_by=None)))


def _shorten(tx: Transaction, session: str) -> None:
    """Forget a session of which no episode is left; say of another how far it goes now."""
    state = tx.state
    left = [state.records[key].record for key in state.indexes.sessions[session]]
    agents = {item.agent for item in left if item.kind is Kind.EPISODE}
    # What comes next takes the place of the last that went, and was neither read nor told.
    last = state.indexes.place(session)
    for row in [state.sessions[key] for key in state.indexes.progress[session]]:
        if row.agent not in agents:
            state.drop(row)
        elif max(row.through, row.noted) > last:
            state.put(replace(row, through=min(row.through, last), noted=min(row.noted, last)))
