"""Where the messages of a conversation are kept: in memory here, in a store elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Protocol

from recollect.core.errors import NotFound
from recollect.core.models import ConversationInfo, Message


class Transcript(Protocol):
    """An append-only list of messages with the settings of its conversation. Thread-safe."""

    def info(self) -> ConversationInfo:
        """Return the conversation's settings and state."""

    def append(self, messages: Sequence[Message]) -> list[Message]:
        """Add messages at the end, all of them or none; return them as they are kept."""

    def messages(self, *, last: int | None = None) -> list[Message]:
        """Return the messages since the last ``clear``, or the last so many of them, in order."""

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it; ``NotFound`` if it is not there."""

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""


class MemoryTranscript:
    """A transcript that lives as long as its process."""

    def __init__(self, info: ConversationInfo) -> None:
        """Start empty, with these settings."""
        self._info = info
        self._messages: list[Message] = []
        self._start = 0
        self._lock = Lock()

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._lock:
            return replace(self._info, messages=len(self._messages))

    def append(self, messages: Sequence[Message]) -> list[Message]:
        """Add messages at the end; return them."""
        with self._lock:
            self._messages.extend(messages)
        return list(messages)

    def messages(self, *, last: int | None = None) -> list[Message]:
        """Return the messages since the last ``clear``, or the last so many."""
        with self._lock:
            found = self._messages[self._start :]
        return found if last is None else found[max(0, len(found) - last) :]

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self._lock:
            for index, known in enumerate(self._messages):
                if known.id == message:
                    self._messages[index] = replace(known, pinned=pinned)
                    return
        text = f"there is no message {message!r} in this conversation"
        raise NotFound(text)

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""
        with self._lock:
            self._start = len(self._messages)
            if self._messages:
                self._info = replace(self._info, cleared_through=self._messages[-1].id)

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        with self._lock:
            self._info = replace(self._info, ended_at=at)
