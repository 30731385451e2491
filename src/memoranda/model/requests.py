"""The receipts of what a person asks of memory while they talk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memoranda.model.short_repr import ShortRepr


class RequestOutcome(StrEnum):
    """What became of a request."""

    # A statement or an instruction is kept from now on.
    REMEMBERED = "remembered"
    # An instruction was taken back, and holds no more.
    ENDED = "ended"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RequestReceipt(ShortRepr):
    """What a message asked of memory, and what became of it.

    Attributes:
        outcome: whether it was done.
        content: what is kept, holds no more, or is not kept; empty where that is a secret.
        record: the id of the fact, where there is one.
        because: why it was refused; empty where it was not.
    """

    outcome: RequestOutcome
    content: str
    record: str | None = None
    because: str = ""

    @property
    def line(self) -> str:
        """What a person is told of it, such as ``Remembered: My locker is 212``."""
        if self.outcome is RequestOutcome.REMEMBERED:
            return f"Remembered: {self.content}"
        if self.outcome is RequestOutcome.ENDED:
            return f"No longer kept: {self.content}"
        what = f": {self.content.rstrip('.。')}" if self.content else ""
        return f"Not remembered{what}, because {self.because}."
