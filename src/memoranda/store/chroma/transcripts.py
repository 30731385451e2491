"""Reads of conversations and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoranda.model.models import ConversationInfo, Message, Pruning
from memoranda.model.scope import Scope
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Talk
from memoranda.store.chroma.state import State


def conversation(state: State, scope: Scope, id: str) -> ConversationInfo | None:
    """Return the conversation, or ``None``."""
    talk = _talk(state, scope, id)
    return None if talk is None else _info(state, talk)


def conversations(state: State, scope: Scope) -> list[ConversationInfo]:
    """Return all conversations, the newest first."""
    talks = [talk for talk in state.talks.values() if sees(scope, talk.agent)]
    talks.sort(key=lambda talk: (talk.info.created_at, talk.number), reverse=True)
    return [_info(state, talk) for talk in talks]


def _talk(state: State, scope: Scope, id: str) -> Talk | None:
    talk = state.talks.get(id)
    return talk if talk is not None and sees(scope, talk.agent) else None


def _said(state: State, talk: Talk) -> Iterable[Message]:
    return (state.messages[key].message for key in state.indexes.talks[talk.key])


def place(message: Message) -> int:
    """Return where a message is in its transcript; all that are stored have a place."""
    return -1 if message.position is None else message.position


def _info(state: State, talk: Talk) -> ConversationInfo:
    """Return what was set of a conversation, and what its messages make of it."""
    last: Message | None = None
    if talk.cleared >= 0:
        cleared = (message for message in _said(state, talk) if place(message) <= talk.cleared)
        last = max(cleared, key=place, default=None)
    return replace(
        talk.info,
        cleared_through=None if last is None else last.id,
        start=talk.cleared + 1,
        messages=sum(1 for _ in state.indexes.talks[talk.key]),
    )


def messages(
    state: State,
    scope: Scope,
    id: str,
    *,
    last: int | None = None,
    after: int | None = None,
    cleared: bool = False,
    pinned: bool = False,
) -> list[Message]:
    """Return the last so many messages in order, or all; only those after a position."""
    talk = _talk(state, scope, id)
    if talk is None:
        return []
    start = max(-1 if after is None else after, -1 if cleared else talk.cleared)
    found = [
        message
        for message in _said(state, talk)
        if place(message) > start and (message.pinned or not pinned)
    ]
    found.sort(key=place)
    return found if last is None else found[max(0, len(found) - last) :]


def prunings(state: State, scope: Scope, id: str) -> list[Pruning]:
    """Return the receipts of all prunings of a conversation, oldest first."""
    talk = _talk(state, scope, id)
    if talk is None:
        return []
    receipts = [state.receipts[key] for key in state.indexes.receipts[talk.key]]
    receipts.sort(key=lambda receipt: (receipt.pruning.at, receipt.number))
    return [receipt.pruning for receipt in receipts]


def quoting(state: State, scope: Scope, records: Sequence[str]) -> int:
    """Return how many messages hold the text of these records."""
    keys = (key for record in set(records) for key in state.indexes.episodes[record])
    return sum(_talk(state, scope, state.messages[key].conversation) is not None for key in keys)
