"""A transcript to look at and to try things on: what is written to it leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from memoranda.conversation.transcript import Transcript
from memoranda.model.models import Calibration, ConversationInfo, Message, Pruning


class Rehearsal:
    """Implements :class:`memoranda.conversation.transcript.Transcript` over another one.

    Reading it reads the other. Writing to it does nothing, so that a conversation over it
    answers what a change would do, and cannot do it.
    """

    def __init__(self, transcript: Transcript) -> None:
        """Read from ``transcript``."""
        self._transcript = transcript

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        return self._transcript.info()

    def messages(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages in order."""
        return self._transcript.messages(last=last, after=after, cleared=cleared, pinned=pinned)

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        return self._transcript.prunings()

    def append(self, messages: Sequence[Message]) -> None:
        """Add nothing."""

    def announce(self) -> None:
        """Tell nobody."""

    def prune(self, pruning: Pruning) -> None:
        """Keep no receipt."""

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Keep no summary."""

    def pin(self, message: str, *, pinned: bool) -> None:
        """Pin nothing."""

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Leave the token counts as they are."""

    def calibrate(self, calibration: Calibration) -> None:
        """Learn nothing."""

    def clear(self) -> None:
        """Leave the view as it is."""

    def end(self, at: datetime) -> None:
        """Leave the conversation open."""
