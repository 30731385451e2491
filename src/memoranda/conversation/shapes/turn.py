"""A turn: a message on its way into a transcript, and the roles it can have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.model.models import Image, ToolCall, ToolResult

ROLES = ("system", "user", "assistant", "tool")
SAME_ROLE = {"developer": "system", "function": "tool", "model": "assistant", "human": "user"}


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


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    if name not in ROLES:
        message = f"role={role!r} is unknown; use one of {', '.join(ROLES)}"
        raise InvalidInput(message)
    return str(name)
