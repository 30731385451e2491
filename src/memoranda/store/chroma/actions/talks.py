"""Actions on conversations and their messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Append,
    Calibrate,
    ClearView,
    EndConversation,
    OpenConversation,
    Pin,
    Prune,
    Recount,
    Summarize,
)
from memoranda.model.models import ConversationInfo
from memoranda.store.chroma import prunings
from memoranda.store.chroma.actions.transaction import Transaction, perform
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Said, Talk, cut_time, joined, new_message


def _set(tx: Transaction, conversation: str, **values: Any) -> None:
    """Set some of what is known of a conversation that the scope may see."""
    talk = tx.conversation(conversation)
    tx.state.put(replace(talk, info=replace(talk.info, **values)))


@perform.register
def _(action: OpenConversation, tx: Transaction) -> None:
    info = action.info
    known = tx.state.talks.get(info.id)
    if known is None:
        fresh = ConversationInfo(id=info.id, created_at=cut_time(info.created_at))
        known = Talk(info=fresh, number=tx.number(), agent=tx.scope.agent)
    elif not sees(tx.scope, known.agent):
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)
    tx.state.put(known)
    _set(tx, info.id, system=info.system, model=info.model, context_limit=info.context_limit)


@perform.register
def _(action: Append, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    # Never a place that was cleared or cut, also after the messages there were erased.
    message = new_message(action.message, position=talk.next_position)
    said = Said(message=message, conversation=talk.key)
    if said.key in tx.state.messages:
        text = f"{talk.key!r} has a message {message.id!r} already; give this one another id"
        raise InvalidInput(text)
    tx.state.put(said)
    tx.state.put(replace(talk, next_position=talk.next_position + 1))


@perform.register
def _(action: Pin, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    said = tx.state.messages.get(joined(talk.key, action.message))
    if said is None:
        message = f"there is no message {action.message!r} in {action.conversation!r}"
        raise NotFound(message)
    tx.state.put(replace(said, message=replace(said.message, pinned=action.pinned)))
    tx.revise(talk.key)


@perform.register
def _(action: ClearView, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    tx.state.put(replace(talk, cleared=talk.next_position - 1))
    tx.revise(talk.key)


@perform.register
def _(action: Prune, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    prunings.add(tx.state, talk.key, action.pruning)
    tx.revise(talk.key)


@perform.register
def _(action: Summarize, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    if prunings.summarize(tx.state, talk.key, action.pruning, action.summaries):
        tx.revise(talk.key)


@perform.register
def _(action: Calibrate, tx: Transaction) -> None:
    _set(tx, action.conversation, calibration=action.calibration)


@perform.register
def _(action: Recount, tx: Transaction) -> None:
    talk = tx.conversation(action.conversation)
    for counted, tokens in action.tokens.items():
        said = tx.state.messages.get(joined(talk.key, counted))
        # What was erased meanwhile is passed over: it needs no count.
        if said is not None and said.message.tokens != tokens:
            tx.state.put(replace(said, message=replace(said.message, tokens=tokens)))
            tx.revise(talk.key)


@perform.register
def _(action: EndConversation, tx: Transaction) -> None:
    _set(tx, action.conversation, ended_at=cut_time(action.at))
