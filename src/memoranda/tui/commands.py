"""Slash commands and keys of the terminal user interface, and what each of them is for."""

from __future__ import annotations

from memoranda.agent.commands import find_command, split_command
from memoranda.errors import InvalidInput

# Each command with the screen that it opens, where it opens one.
SCREENS = {
    "/help": "help",
    "/context": "context",
    "/settings": "settings",
    "/history": "history",
    "/search": "search",
    "/facts": "facts",
    "/forget": "facts",
    "/memory": "notes",
    "/stats": "stats",
}
TAKE_WORDS = {"/search", "/facts", "/forget"}
MEANINGS = {
    "/new": "end this session: it becomes memory, and the next one begins",
    "/end": "end this session as /new does, and leave",
    "/clear": "take what was said here out of view, after asking; nothing is lost",
    "/context": "what a model is sent, and which messages are in view (F2)",
    "/settings": "read and change the settings (F3)",
    "/history": "the conversations; open one, or go on in it (F4)",
    "/search": "search memory, with the reasons: /search WORDS (F5)",
    "/facts": "what is believed; confirm or forget it: /facts WORDS (F6)",
    "/forget": "the same screen: /forget WORDS",
    "/memory": "MEMORY.md, what is known of you (F7)",
    "/stats": "how much is remembered",
    "/help": "this page (F1)",
    "/exit": "leave; the session stays (Ctrl+Q)",
}
OTHERS = {"/quit": "/exit", "/?": "/help"}
KEYS = {
    "Enter": "send; Alt+Enter or Ctrl+J begins another line",
    "Escape": "stop an answer; leave a screen",
    "Ctrl+C": "stop an answer; copy what is selected",
    "PgUp PgDn": "scroll",
    "F2": "what a model is sent (other programs use Ctrl+I, which is Tab in a terminal)",
    "Ctrl+Q": "leave; the session stays",
}


def parse_command(line: str) -> tuple[str, str] | None:
    """Return the command that a line names, and what follows it; ``None`` for what is no command.

    Raises:
        InvalidInput: there is no such command, or it takes nothing.
    """
    found = split_command(line)
    if found is None:
        return None
    meant = find_command(found[0], (*MEANINGS, *OTHERS), "/help lists what there is")
    command, rest = OTHERS.get(meant, meant), found[1]
    if rest and command not in TAKE_WORDS:
        raise InvalidInput(f"{command} takes nothing; type {command} alone")
    return command, rest
