"""What an agent answers."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.model.models import ContextReceipt, Hit
from memoranda.model.usage import Usage

NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of an agent; as text, its words.

    Attributes:
        text: what it says.
        sources: the records that were recalled for it, best first.
        tools: names of the tools that were called for it, in order.
        receipt: what the model was sent in its last call; ``None`` without a call.
        usage: what the model took; nothing without one.
        command: the command that was obeyed, such as ``/new``; ``None`` for a talk.
        note: what a person should know beside it, in a line; ``None`` for nothing.
    """

    text: str
    sources: tuple[Hit, ...] = ()
    tools: tuple[str, ...] = ()
    receipt: ContextReceipt | None = None
    usage: Usage = NO_USAGE
    command: str | None = None
    note: str | None = None

    def __str__(self) -> str:
        """The words."""
        return self.text
