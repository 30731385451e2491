"""A turn: a message on its way into a transcript, checked before it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.model.checks import known
from memoranda.model.models import Image, ToolCall, ToolResult
from memoranda.model.text import clean, storable

ROLES = ("system", "user", "assistant", "tool")
SAME_ROLE = {"developer": "system", "function": "tool", "model": "assistant", "human": "user"}
DETAILS = ("auto", "low", "high", "original")
PLACES = ("https://", "http://", "data:image/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message that is not yet in a transcript.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: the text.
        tool_calls: the calls it makes (assistant only).
        tool_result: the call it answers (tool only).
        timestamp: when it was said, where that is known.
        images: the pictures in it.
        task: the title of the task that starts with it.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    timestamp: datetime | None = None
    images: tuple[Image, ...] = ()
    task: str | None = None

    def check(self) -> None:
        """Refuse a turn that cannot be kept.

        Raises:
            InvalidInput: a part of it cannot be stored; the message says which.
        """
        storable(self.content, "content")
        for text, name in self._tool_texts():
            storable(text, name)
        for image in self.images:
            _check_image(image)
        if self.task is not None:
            clean(self.task, "task")
        known(self.timestamp, "timestamp")
        said = self.content.strip() or self.images or self.tool_calls
        if not said and self.tool_result is None:
            raise InvalidInput("content is empty; give the message some text or a tool call")

    def _tool_texts(self) -> Iterator[tuple[object, str]]:
        if self.tool_calls and self.role != "assistant":
            raise InvalidInput(
                f"role={self.role!r} cannot make tool calls; only the assistant does"
            )
        for call in self.tool_calls:
            for name in ("id", "name", "arguments"):
                yield getattr(call, name), f"{name} of a tool call"
        result: object = self.tool_result
        if result is None:
            return
        if not isinstance(result, ToolResult):
            raise InvalidInput(
                f"tool_result must be a ToolResult or the id of the call, got {result!r:.80}"
            )
        if self.role != "tool":
            raise InvalidInput(f"role={self.role!r} cannot answer a tool call; use role='tool'")
        yield result.call_id, "tool_result"


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    if name not in ROLES:
        raise InvalidInput(f"role={role!r} is unknown; use one of {', '.join(ROLES)}")
    return str(name)


def _check_image(image: object) -> None:
    if not isinstance(image, Image) or not isinstance(image.url, str):
        raise InvalidInput(f"images must be Image values or their addresses, got {image!r:.80}")
    storable(image.url, "url of an image")
    if not image.url.startswith(PLACES):
        raise InvalidInput(
            f"the image {image.url!r:.60} is no address; "
            f"use https://… or data:image/png;base64,… with the picture in it"
        )
    if image.detail not in DETAILS:
        names = ", ".join(DETAILS)
        raise InvalidInput(f"detail={image.detail!r} of an image is unknown; use one of {names}")
