"""A transcript in a store: each message is also an episode that later sessions can find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock

from memoranda.conversation.returning import heard
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Action,
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
from memoranda.model.models import Calibration, ConversationInfo, Kind, Message, Pruning, Record
from memoranda.model.scope import Scope
from memoranda.model.text import clean
from memoranda.parts import Parts
from memoranda.records.drafts import Draft


class StoredTranscript:
    """Implements :class:`memoranda.conversation.transcript.Transcript` on a store.

    Nothing is kept in memory, so several processes may hold the same conversation.
    """

    def __init__(self, parts: Parts, scope: Scope, id: str) -> None:
        """Work on the conversation ``id`` of ``scope``."""
        self._parts = parts
        self._scope = scope
        self._id = id
        self._unsaid: list[Record] = []
        self._begun = False
        self._lock = Lock()

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
    ) -> tuple[StoredTranscript, bool]:
        """Open or start a conversation; what is given replaces what is stored.

        Returns:
            The transcript, and whether its messages were counted for another model.

        Raises:
            InvalidInput: an argument cannot be stored, or another agent has that conversation.
        """
        known = parts.store.conversation(scope, id)
        if known is None and parts.store.conversation(Scope(scope.user), id) is not None:
            raise InvalidInput(f"conversation {id!r} is another agent's; choose another id")
        start = known or ConversationInfo(id=id, created_at=parts.now())
        info = replace(
            start,
            system=start.system if system is None else clean(system, "system"),
            model=start.model if model is None else clean(model, "model"),
            context_limit=context_limit or start.context_limit,
        )
        if info != known:
            parts.store.apply(scope, [OpenConversation(info)])
        return cls(parts, scope, id), known is not None and info.model != start.model

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        info = self._parts.store.conversation(self._scope, self._id)
        if info is None:
            raise NotFound(f"conversation {self._id!r} is no longer there")
        return info

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages and their episodes, in one transaction."""
        actions: list[Action] = []
        episodes: list[Record] = []
        for message in messages:
            text, used = heard(self._parts, self._scope, message.content)
            actions += used
            stored = message
            if text.strip() and message.role != "system":
                insert = self._parts.ingest.plan(self._scope, self._episode(message, text))
                episodes.append(insert.record)
                actions.append(insert)
                stored = replace(message, record_id=insert.record.id)
            actions.append(Append(self._id, stored))
        self._parts.store.apply(self._scope, actions)
        self._parts.vectors.notify()
        with self._lock:
            self._unsaid += episodes
            began, self._begun = bool(episodes) and not self._begun, self._begun or bool(episodes)
        if began:
            self._parts.session_began(self._scope, self._id)

    def _episode(self, message: Message, text: str) -> Draft:
        return Draft(
            content=text,
            kind=Kind.EPISODE,
            session=self._id,
            role=message.role,
            event_time=message.timestamp,
            origin="conversation",
        )

    def announce(self) -> None:
        """Tell the subscribers of the memory which episodes were added."""
        with self._lock:
            unsaid, self._unsaid = self._unsaid, []
        for record in unsaid:
            self._parts.events.emit("remembered", record)

    def messages(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages in order."""
        return self._parts.store.messages(
            self._scope, self._id, last=last, after=after, cleared=cleared, pinned=pinned
        )

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        return self._parts.store.prunings(self._scope, self._id)

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        self._apply(Prune(self._id, pruning))

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""
        self._apply(Summarize(self._id, pruning, summaries))

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        self._apply(Recount(self._id, tokens))

    def calibrate(self, calibration: Calibration) -> None:
        """Keep what the provider's own counts taught."""
        self._apply(Calibrate(self._id, calibration))

    def _apply(self, action: Action) -> None:
        self._parts.store.apply(self._scope, [action])

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        self._apply(Pin(self._id, message, pinned))

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""
        self._apply(ClearView(self._id))

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        self._apply(EndConversation(self._id, at))
        self._parts.session_ended(self._scope, self._id)
