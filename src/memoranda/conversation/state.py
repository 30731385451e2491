"""A conversation at one moment: its settings, its live messages, and what measures them.

What changed in the transcript since is read, not the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memoranda.conversation.ledger import Ledger
from memoranda.conversation.limits import Limits
from memoranda.conversation.transcript import Transcript
from memoranda.model.models import ConversationInfo, Message, Pruning
from memoranda.model.ports import MessageMeter
from memoranda.tokens.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """The figures of one moment that a decision is made from.

    Attributes:
        ledger: the live messages.
        info: the settings of the conversation.
        meter: measures messages.
        window: the model's context window, in tokens.
    """

    ledger: Ledger
    info: ConversationInfo
    meter: MessageMeter
    window: int

    @property
    def system(self) -> int:
        """Tokens of the system prompt."""
        return self.meter.message(self.info.system) if self.info.system else 0

    @property
    def used(self) -> int:
        """Tokens of a context with all that is live, as the provider is taken to count."""
        return self.without(())

    @property
    def full(self) -> int:
        """Tokens in use, with those of the markers for what prunings took out."""
        return self.used + self.billed(self.ledger.marked(self.meter))

    def billed(self, tokens: int) -> int:
        """Return what the provider is taken to count for ``tokens`` of messages."""
        return int(tokens * self.info.calibration.scale)

    def without(self, messages: Iterable[Message]) -> int:
        """Return the tokens that are in use when these messages are gone."""
        orphans = {item.id for item in self.ledger.grouping.orphans()}
        gone = sum(item.tokens for item in messages if item.id not in orphans)
        left = self.system + self.ledger.tokens + self.meter.reply - gone
        return self.billed(left) + self.info.calibration.overhead

    def counted(self, tokens: int) -> int:
        """Return the messages' share of what the provider counts as ``tokens``."""
        return max(0, self.info.calibration.room(tokens) - self.system)


class StateReader:
    """Keeps the ledger of one transcript in step with it.

    Not thread-safe: its conversation holds the lock.
    """

    def __init__(self, transcript: Transcript, catalog: Catalog, limits: Limits) -> None:
        """Read nothing yet."""
        self._transcript = transcript
        self._catalog = catalog
        self._limits = limits
        self._revision: int | None = None
        self._count = 0
        self.ledger = Ledger()

    def read(self) -> ConversationState:
        """Return the conversation as it is now."""
        info = self._transcript.info()
        if info.revision != self._revision:
            self.ledger = self._read_all(info)
            self._revision = info.revision
        elif info.messages != self._count:
            self.ledger.extend(self._transcript.messages(after=self.ledger.next - 1))
        self._count = info.messages
        known = self._catalog.context_limit(info.model)
        chosen = self._limits.context_limit or info.context_limit or known
        return ConversationState(
            ledger=self.ledger,
            info=info,
            meter=self._catalog.meter(info.model),
            window=chosen or self._limits.settings.context_limit,
        )

    def apply(self, pruning: Pruning) -> None:
        """Take out what a pruning names that was just written, without reading again."""
        self.ledger.prune(pruning)
        if self._revision is not None:
            self._revision += 1

    def _read_all(self, info: ConversationInfo) -> Ledger:
        prunings = [
            replace(item, cuts=tuple(cut for cut in item.cuts if cut.first >= info.start))
            for item in self._transcript.prunings()
        ]
        ledger = Ledger(prunings, start=info.start)
        # A long conversation begins with what is out of view: that need not be read.
        first = ledger.gaps[0] if ledger.gaps else None
        after = info.start - 1
        if first is not None and first.first <= info.start:
            after = first.last
            # But for what was pinned after it left: that is back.
            pinned = self._transcript.messages(pinned=True)
            ledger.extend(item for item in pinned if (item.position or 0) <= after)
        ledger.extend(self._transcript.messages(after=after))
        return ledger
