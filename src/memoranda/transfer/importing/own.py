"""What a program puts into a talk that nobody said, and what memory itself told in it."""

from __future__ import annotations

import re
from typing import Any

from memoranda.model.models import ToolCall
from memoranda.text.recalled import CLOSING, FENCE, OPENING

WRAPPERS = (
    "system-reminder|user-prompt-submit-hook|session-start-hook|"
    "command-name|command-message|command-args|command-contents|"
    "local-command-stdout|local-command-stderr|local-command-caveat|"
    "bash-input|bash-stdout|bash-stderr|"
    "ide_opened_file|ide_selection|ide_diagnostics|post-tool-use-hook|"
    "task-notification|task-id|background-task-output"
)
WRAPPING = re.compile(rf"<({WRAPPERS})(?:\s[^<>]*)?>")
INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")
REMINDING = re.compile(r"<(system-reminder)>")
OWN_TOOLS = frozenset(
    {
        "search_memories",
        "store_memory",
        "forget_memory",
        "recall_context",
        "search_memory",
        "remember_fact",
        "correct_fact",
        "confirm_fact",
        "memory_stats",
        "get_entity_info",
        "expand_messages",
    }
)
"""The tools of memory, over MCP and of agents."""
OWN_COMMAND = re.compile(r"(?:^|[;&|(]\s*|\s)(?:\S*/)?memoranda\s+\w")
"""A command of a shell that calls the program ``memoranda``."""


def without_wrappers(text: str) -> str:
    """Return what a person said in ``text``: no reminders, commands or output of commands."""
    return INTERRUPTED.sub("", _without(text, WRAPPING)).strip()


def without_reminders(text: str) -> str:
    """Return what a tool gave back, without the reminders that were put behind it."""
    return _without(text, REMINDING)


def _without(text: str, opening: re.Pattern[str]) -> str:
    """Return ``text`` without what stands between tags. A tag that is never closed is text.

    Each part of the text is looked at once for each tag, however many of them it holds.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    start = place = 0
    while found := opening.search(text, place):
        tag, place = found[1], found.end()
        if tag in unclosed:
            continue
        closing = f"</{tag}>"
        end = text.find(closing, place)
        if end < 0:
            unclosed.add(tag)
            continue
        kept.append(text[start : found.start()])
        start = place = end + len(closing)
    return "".join([*kept, text[start:]])


def asks_memory(name: str, arguments: Any) -> bool:
    """Return whether a call asks memory: one of its tools, or its command in a shell.

    Args:
        name: of the tool; over MCP ``mcp__<server>__<tool>``.
        arguments: of the call.
    """
    if name.rpartition("__")[2] in OWN_TOOLS:
        return True
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return isinstance(command, str) and OWN_COMMAND.search(command) is not None


def fenced(text: str) -> str:
    """Return what memory told in its fence, by which it is known as told and never as new."""
    if not text.strip():
        return text
    inner = OPENING.sub("", CLOSING.sub("", text)).strip()
    return f"<{FENCE}>\n{inner}\n</{FENCE}>"


class Asked:
    """The calls of a talk that asked memory."""

    def __init__(self) -> None:
        """Start with none."""
        self._ids: set[str] = set()

    def note(self, call: ToolCall, arguments: Any) -> None:
        """Remember ``call`` if it asks memory."""
        if asks_memory(call.name, arguments):
            self._ids.add(call.id)

    def told(self, call: str, text: str) -> str:
        """Return the answer to ``call``, in its fence if memory gave it."""
        return fenced(text) if call in self._ids else text
