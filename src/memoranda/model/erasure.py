"""Texts beside the records, and what is cut out of them when it is erased."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.model.models import Message, TextPlace


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text that is kept beside the records.

    Attributes:
        place: where.
        text: what it says; empty where that is in ``message``.
        message: the message that it is.
        model: whose tokens count in its conversation.
    """

    place: TextPlace
    text: str = ""
    message: Message | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TextCut:
    """What is cut out of one place.

    Attributes:
        place: where.
        pieces: the texts that go, exactly as they stand there.
        name: what a conversation is called from then on, of the kind ``NAME``.
        tokens: the length of the message after that.
    """

    place: TextPlace
    pieces: tuple[str, ...]
    name: str | None = None
    tokens: int | None = None
