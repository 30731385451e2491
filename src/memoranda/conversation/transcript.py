"""Where the messages of a conversation are kept: in memory here, in a store or a file elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Protocol

from memoranda.errors import NotFound
from memoranda.model.models import Calibration, ConversationInfo, Message, PrunedSpan, Pruning


class Transcript(Protocol):
    """An append-only list of messages with the settings of its conversation. Thread-safe."""

    def info(self) -> ConversationInfo:
        """Return the conversation's settings and state."""

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end, all of them or none; their positions are given here."""

    def announce(self) -> None:
        """Tell those who listen beyond this conversation what was added; they may call back."""

    def messages(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages in order: the ``last`` so many, or all.

        Those left behind by ``clear`` only with ``cleared``, only those whose position is
        greater than ``after``, and with ``pinned`` only those that are.
        """

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning, by their first positions, their summaries."""

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it; ``NotFound`` if it is not there."""

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""

    def calibrate(self, calibration: Calibration) -> None:
        """Keep what the provider's own counts taught."""

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""


def newest(messages: list[Message], last: int | None) -> list[Message]:
    """Return the last so many messages, or all."""
    return messages if last is None else messages[max(0, len(messages) - last) :]


def add_summaries(pruning: Pruning, summaries: Mapping[int, str]) -> Pruning:
    """Return the receipt with the summaries of its cuts, by their first positions."""

    def with_summary(cut: PrunedSpan) -> PrunedSpan:
        return replace(cut, summary=summaries.get(cut.first, cut.summary))

    return replace(pruning, cuts=tuple(map(with_summary, pruning.cuts)))


class MemoryTranscript:
    """A transcript that lives as long as its process."""

    def __init__(self, info: ConversationInfo) -> None:
        """Start empty, with these settings."""
        self._info = info
        self._messages: list[Message] = []
        self._prunings: list[Pruning] = []
        self._start = 0
        self._lock = Lock()

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._lock:
            return replace(self._info, messages=len(self._messages))

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        with self._lock:
            start = len(self._messages)
            self._messages += [
                replace(message, position=start + index) for index, message in enumerate(messages)
            ]

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
        """Return messages in order."""
        with self._lock:
            start = 0 if cleared else self._start
            if after is not None:
                start = max(start, after + 1)
            if not pinned and last is not None:
                return self._messages[max(start, len(self._messages) - last) :]
            found = self._messages[start:]
        return newest([item for item in found if item.pinned], last) if pinned else found

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        with self._lock:
            return list(self._prunings)

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        with self._lock:
            self._prunings.append(pruning)
            self._changed()

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""
        with self._lock:
            self._prunings = [
                add_summaries(known, summaries) if known.id == pruning else known
                for known in self._prunings
            ]
            self._changed()

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self._lock:
            for index, known in enumerate(self._messages):
                if known.id == message:
                    self._messages[index] = replace(known, pinned=pinned)
                    self._changed()
                    return
        raise NotFound(f"there is no message {message!r} in this conversation")

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self._lock:
            self._messages = [
                replace(known, tokens=tokens.get(known.id, known.tokens))
                for known in self._messages
            ]
            self._changed()

    def calibrate(self, calibration: Calibration) -> None:
        """Keep what the provider's own counts taught."""
        with self._lock:
            self._info = replace(self._info, calibration=calibration)

    def clear(self) -> None:
        """Leave what was said so far out of every later view."""
        with self._lock:
            self._start = len(self._messages)
            if self._messages:
                self._info = replace(
                    self._info, cleared_through=self._messages[-1].id, start=self._start
                )
            self._changed()

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        with self._lock:
            self._info = replace(self._info, ended_at=at)

    def _changed(self) -> None:
        self._info = replace(self._info, revision=self._info.revision + 1)


class ReadOnlyTranscript:
    """A transcript to look at and to try things on, over another one.

    Reading it reads the other. Writing to it does nothing, so that a conversation over it
    answers what a change would do, and cannot do it.
    """

    def __init__(self, transcript: Transcript) -> None:
        """Read from ``transcript``."""
        self.info = transcript.info
        self.messages = transcript.messages
        self.prunings = transcript.prunings

    def _ignore(self, *arguments: object, **named: object) -> None:
        """Change nothing, and tell nobody."""

    append = announce = prune = summarize = pin = recount = calibrate = clear = end = _ignore
