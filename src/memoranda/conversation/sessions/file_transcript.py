"""A transcript in a session file, for a conversation that needs no store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

from memoranda.conversation.sessions.format import SessionMetadata
from memoranda.conversation.sessions.session_file import Meters, SessionFile
from memoranda.conversation.transcript import add_summaries, newest
from memoranda.errors import NotFound
from memoranda.model.models import Calibration, ConversationInfo, Message, Pruning


class FileTranscript:
    """Implements :class:`memoranda.conversation.transcript.Transcript` on a session file.

    Its messages are held in memory. Before each answer it looks whether the file changed, so
    several processes may hold the same conversation; what others added is read, not the whole.
    Adding costs the same at any length; a pin, a pruning and the like write the file anew.

    Args:
        file: the session, which has begun.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is no session file.
    """

    def __init__(self, file: SessionFile) -> None:
        """Read the file, after repairing what a crash left at its end."""
        self.file = file
        # Held for moments only: who also needs the lock of the file takes that one first.
        self._lock = Lock()
        self._session = file.load()
        self._messages = list(self._session.messages)
        self._problems = list(self._session.problems)
        self._unannounced = 0

    @classmethod
    def opened(
        cls,
        path: str | Path,
        *,
        created_at: datetime,
        meters: Meters,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        power_safe: bool = False,
        busy_timeout: float = 60.0,
    ) -> tuple[Self, bool]:
        """Open the conversation in a file, or begin it; what is given replaces what is there.

        A new conversation is named after its file.

        Args:
            path: the file; its folder must be there.
            created_at: the present moment, for a conversation that begins.
            meters: gives what counts the tokens of a model, for messages without a count.
            system, model, context_limit: settings, checked; as in the file, if not given.
            power_safe, busy_timeout: as for :class:`SessionFile`.

        Returns:
            The transcript, and whether its messages were counted for another model.

        Raises:
            InvalidInput: the path cannot be used, or the file is no session.
            StoreError: it cannot be written.
        """
        file = SessionFile(path, power_safe=power_safe, busy_timeout=busy_timeout, meters=meters)
        asked = {"system": system, "model": model, "context_limit": context_limit}
        given: dict[str, Any] = {name: item for name, item in asked.items() if item is not None}
        file.start(ConversationInfo(id=file.path.stem, created_at=created_at, **given))
        transcript = cls(file)
        before = transcript.info()
        if any(getattr(before, name) != value for name, value in given.items()):
            file.update(lambda metadata: replace(metadata, **given))
        return transcript, model is not None and model != before.model

    @property
    def problems(self) -> tuple[str, ...]:
        """The lines of the file that are no messages, with their numbers and why."""
        with self._lock:
            self._refresh()
            return tuple(self._problems)

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._lock:
            found = self._refresh()
            index = self._index(found.start)
            return ConversationInfo(
                id=found.id,
                created_at=found.created_at,
                system=found.system,
                model=found.model,
                context_limit=found.context_limit,
                ended_at=found.ended_at,
                cleared_through=self._messages[index - 1].id if index else None,
                start=found.start,
                messages=found.first + len(self._messages),
                revision=found.revision + self._unannounced,
                calibration=found.calibration,
            )

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        self.file.append(messages)

    def announce(self) -> None:
        """Nobody listens beyond the conversation."""

    def messages(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages in order; with ``cleared`` also those that were trimmed."""
        with self._lock:
            metadata = self._refresh()
            start = 0 if cleared else metadata.start
            if after is not None:
                start = max(start, after + 1)
            found = self._messages[self._index(start) :]
        if start < metadata.first:
            before = (item for item in self.file.trimmed() if (item.position or 0) >= start)
            found = [*before, *found]
        return newest([item for item in found if item.pinned] if pinned else found, last)

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        with self._lock:
            return list(self._refresh().prunings)

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        self.file.update(lambda item: replace(item, prunings=(*item.prunings, pruning)))

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""

        def with_summaries(known: Pruning) -> Pruning:
            return add_summaries(known, summaries) if known.id == pruning else known

        self.file.update(
            lambda item: replace(item, prunings=tuple(map(with_summaries, item.prunings)))
        )

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self.file.locked(), self._lock:
            self._refresh()
            found = next((item for item in self._messages if item.id == message), None)
            if found is None:
                raise NotFound(f"there is no message {message!r} in this conversation")
            if found.pinned != pinned:
                self.file.set({found.position or 0: {"pinned": pinned or None}})

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self.file.locked(), self._lock:
            self._refresh()
            self.file.set(
                {
                    item.position or 0: {"tokens": tokens[item.id]}
                    for item in self._messages
                    if item.id in tokens
                }
            )

    def calibrate(self, calibration: Calibration) -> None:
        """Keep what the provider's own counts taught."""
        self.file.update(lambda item: replace(item, calibration=calibration), seen=False)

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""
        with self.file.locked(), self._lock:
            self._refresh()
            end = self._session.next
            self.file.update(lambda item: replace(item, cleared=end))

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        self.file.update(lambda item: replace(item, ended_at=at), seen=False)

    def _refresh(self) -> SessionMetadata:
        news = self.file.news(self._session)
        if news is not None:
            if not news.whole:
                self._messages += news.messages
                self._problems += news.problems
            else:
                self._messages, self._problems = list(news.messages), list(news.problems)
                # Another program, or a person, changed lines without saying so.
                self._unannounced += news.metadata.edition == self._session.metadata.edition
            self._session = replace(news, messages=(), problems=())
        return self._session.metadata

    def _index(self, position: int) -> int:
        return bisect_left(self._messages, position, key=_position)


def _position(message: Message) -> int:
    return message.position or 0
