"""Texts beside and in the records, and what is left of a message that is erased."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from memoranda.model.models import Message, TextPlace

# What stands in the place of a text that repeated what was erased.
ERASED = "[erased]"


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text that a store keeps.

    Attributes:
        place: where.
        text: what it says, JSON as it is stored; empty where that is in ``message``.
        message: the message that it is.
        model: whose tokens count in its conversation.
        is_forgotten: whether the episode of the message was forgotten.
    """

    place: TextPlace
    text: str = ""
    message: Message | None = None
    model: str | None = None
    is_forgotten: bool = False

    @property
    def told(self) -> str:
        """All that it says: of a message also its calls, its images and what a provider gave."""
        said = self.message
        if said is None:
            return self.text
        raw = "" if said.raw is None else json.dumps(said.raw, ensure_ascii=False)
        calls = [call.arguments for call in said.tool_calls]
        images = [image.url for image in said.images]
        return "\n".join([said.content, said.task or "", *calls, *images, raw])


def erase_message(message: Message) -> Message:
    """Return a message that says only that it was erased; its calls keep their ids and names."""
    calls = tuple(replace(call, arguments="{}") for call in message.tool_calls)
    return replace(message, content=ERASED, task=None, tool_calls=calls, images=(), raw=None)
