"""Keeps the ledger of a transcript in step with it: what changed is read, not the whole."""

from __future__ import annotations

from dataclasses import replace

from memoranda.conversation.ledger import Ledger
from memoranda.conversation.transcript import Transcript
from memoranda.model.models import ConversationInfo, Cut, Pruning


class Live:
    """The ledger of one transcript. Not thread-safe: its conversation holds the lock."""

    def __init__(self, transcript: Transcript) -> None:
        """Read nothing yet."""
        self._transcript = transcript
        self._ledger = Ledger()
        self._revision: int | None = None
        self._count = 0

    def synced(self, info: ConversationInfo) -> Ledger:
        """Return the ledger as the transcript is now, or a moment after ``info`` was read."""
        if info.revision != self._revision:
            self._ledger = self._read(info)
            self._revision = info.revision
        elif info.messages != self._count:
            self._ledger.extend(self._transcript.messages(after=self._ledger.next - 1))
        self._count = info.messages
        return self._ledger

    def pruned(self, pruning: Pruning) -> None:
        """Take out what a pruning names that was just written, without reading again."""
        self._ledger.prune(pruning)
        if self._revision is not None:
            self._revision += 1

    def _read(self, info: ConversationInfo) -> Ledger:
        prunings = [
            replace(item, cuts=tuple(cut for cut in item.cuts if _in_view(cut, info)))
            for item in self._transcript.prunings()
        ]
        ledger = Ledger(prunings, start=info.start)
        # A long conversation begins with what is out of view: that need not be read.
        first = ledger.gaps[0] if ledger.gaps else None
        begun = first is not None and first.first <= info.start
        after = first.last if first is not None and begun else info.start - 1
        if begun:
            # But for what was pinned after it left: that is back.
            pinned = self._transcript.messages(pinned=True)
            ledger.extend(item for item in pinned if (item.position or 0) <= after)
        ledger.extend(self._transcript.messages(after=after))
        return ledger


def _in_view(cut: Cut, info: ConversationInfo) -> bool:
    return cut.first >= info.start
