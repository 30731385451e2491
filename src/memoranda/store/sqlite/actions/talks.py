"""Actions on conversations and their messages."""

from __future__ import annotations

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
from memoranda.model.times import to_ms
from memoranda.store.sqlite import prunings
from memoranda.store.sqlite.actions.transaction import Transaction, perform
from memoranda.store.sqlite.rows import message_values


@perform.register
def _(action: OpenConversation, tx: Transaction) -> None:
    info = action.info
    tx.connection.execute(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_key, id) DO UPDATE SET "
        "system = excluded.system, model = excluded.model, context_limit = excluded.context_limit "
        "WHERE excluded.agent IS NULL OR agent IS NULL OR agent = excluded.agent",
        (
            tx.user,
            tx.scope.agent,
            info.id,
            info.system,
            info.model,
            info.context_limit,
            to_ms(info.created_at),
        ),
    )
    if not tx.connection.changes():
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)


@perform.register
def _(action: Append, tx: Transaction) -> None:
    values = message_values(action.message)
    values["conversation_key"] = tx.conversation(action.conversation)
    columns = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    tx.connection.execute(
        # Never a place that was cleared or cut, also after the messages there were erased.
        f"INSERT INTO messages ({columns}, position) VALUES ({marks}, "
        "(SELECT next_position FROM conversations WHERE key = :conversation_key))",
        values,
    )


@perform.register
def _(action: Pin, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE messages SET pinned = ? WHERE conversation_key = ? AND id = ?",
        (action.pinned, tx.conversation(action.conversation), action.message),
    )
    if not tx.connection.changes():
        message = f"there is no message {action.message!r} in {action.conversation!r}"
        raise NotFound(message)


@perform.register
def _(action: ClearView, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET cleared_through = next_position - 1 WHERE key = ?",
        (tx.conversation(action.conversation),),
    )


@perform.register
def _(action: Prune, tx: Transaction) -> None:
    prunings.add(tx.connection, tx.conversation(action.conversation), action.pruning)


@perform.register
def _(action: Summarize, tx: Transaction) -> None:
    conversation = tx.conversation(action.conversation)
    prunings.summarize(tx.connection, conversation, action.pruning, action.summaries)


@perform.register
def _(action: Calibrate, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET token_scale = ?, token_overhead = ? WHERE key = ?",
        (
            action.calibration.scale,
            action.calibration.overhead,
            tx.conversation(action.conversation),
        ),
    )


@perform.register
def _(action: Recount, tx: Transaction) -> None:
    conversation = tx.conversation(action.conversation)
    # What was erased meanwhile is passed over: it needs no count.
    tx.connection.executemany(
        "UPDATE messages SET tokens = ?2 WHERE id = ?1 AND conversation_key = ?3 AND tokens <> ?2",
        [(message, tokens, conversation) for message, tokens in action.tokens.items()],
    )


@perform.register
def _(action: EndConversation, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET ended_at = ? WHERE key = ?",
        (to_ms(action.at), tx.conversation(action.conversation)),
    )
