"""A transcript in a store: each message is also an episode that later sessions can find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from recollect.app.parts import Parts
from recollect.core.actions import (
    Action,
    Append,
    ClearView,
    EndConversation,
    OpenConversation,
    Pin,
)
from recollect.core.errors import InvalidInput, NotFound
from recollect.core.models import ConversationInfo, Kind, Message, Record
from recollect.core.scope import Scope
from recollect.core.text import clean
from recollect.lifecycle.ingest import Draft, without_recalled


class StoredTranscript:
    """Implements :class:`recollect.conversation.transcript.Transcript` on a store.

    Nothing is kept in memory, so several processes may hold the same conversation.
    """

    def __init__(self, parts: Parts, scope: Scope, id: str) -> None:
        """Work on the conversation ``id`` of ``scope``."""
        self._parts = parts
        self._scope = scope
        self._id = id

    @classmethod
    def opened(
        cls,
        parts: Parts,
        scope: Scope,
        id: str,
        *,
        system: str | None,
        model: str | None,
        context_limit: int | None,
    ) -> StoredTranscript:
        """Open or start a conversation; what is given replaces what is stored.

        Raises:
            InvalidInput: an argument cannot be stored, or another agent has that conversation.
        """
        known = parts.store.conversation(scope, id)
        if known is None and parts.store.conversation(Scope(scope.user), id) is not None:
            message = f"conversation {id!r} is another agent's; choose another id"
            raise InvalidInput(message)
        start = known or ConversationInfo(id=id, created_at=parts.now())
        info = replace(
            start,
            system=start.system if system is None else clean(system, "system"),
            model=start.model if model is None else clean(model, "model"),
            context_limit=context_limit or start.context_limit,
        )
        if info != known:
            parts.store.apply(scope, [OpenConversation(info)])
        return cls(parts, scope, id)

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        info = self._parts.store.conversation(self._scope, self._id)
        if info is None:
            message = f"conversation {self._id!r} is no longer there"
            raise NotFound(message)
        return info

    def append(self, messages: Sequence[Message]) -> list[Message]:
        """Add messages and their episodes, in one transaction; return them with these."""
        kept: list[Message] = []
        actions: list[Action] = []
        episodes: list[Record] = []
        for message in messages:
            text = without_recalled(message.content)
            stored = message
            if text.strip() and message.role != "system":
                insert = self._parts.ingest.plan(self._scope, self._episode(message, text))
                episodes.append(insert.record)
                actions.append(insert)
                stored = replace(message, record_id=insert.record.id)
            kept.append(stored)
            actions.append(Append(self._id, stored))
        self._parts.store.apply(self._scope, actions)
        self._parts.vectors.notify()
        for record in episodes:
            self._parts.events.emit("remembered", record)
        return kept

    def _episode(self, message: Message, text: str) -> Draft:
        return Draft(
            content=text,
            kind=Kind.EPISODE,
            session=self._id,
            role=message.role,
            event_time=message.timestamp,
            origin="conversation",
        )

    def messages(self, *, last: int | None = None) -> list[Message]:
        """Return the messages since the last ``clear``, or the last so many."""
        return self._parts.store.messages(self._scope, self._id, last=last)

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        self._parts.store.apply(self._scope, [Pin(self._id, message, pinned)])

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""
        self._parts.store.apply(self._scope, [ClearView(self._id)])

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        self._parts.store.apply(self._scope, [EndConversation(self._id, at)])
