"""Commands and keys of the terminal user interface, and the texts that say what to do (R7.5)."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.agent.session import ChatSession
from memoranda.memory import Memory
from memoranda.rendering.layout import details, safe_text
from memoranda.rendering.plain import pluralize

MEANINGS = {
    "/context": "what a model is sent, and which messages are in view (F2)",
    "/settings": "read and change the settings (F3)",
    "/history": "the conversations; open one, or go on in it (F4)",
    "/search": "search memory, with the reasons: /search WORDS (F5)",
    "/facts": "what is believed; correct, confirm or forget it: /facts WORDS (F6)",
    "/memory": "MEMORY.md, what is known of you (F7)",
    "/help": "this page (F1)",
}
# The screen that a command opens has its name, but for this.
SCREENS = {"/memory": "notes"}
KEYS = {
    "Enter": "send; Alt+Enter or Ctrl+J begins another line",
    "Escape": "stop an answer; leave a screen",
    "Ctrl+C": "copy what is selected",
    "PgUp PgDn": "scroll",
    "F2": "what a model is sent (other programs use Ctrl+I, which is Tab in a terminal)",
    "Ctrl+Q": "leave; the session stays",
}
EXAMPLES = {
    "My sister Karin lives in Malmö.": "is remembered",
    "Where does my sister live?": "is answered from memory",
    "/new": "ends the session: what was said becomes memory",
    "F5": "searches all that was ever said",
}


def make_help(chat: ChatSession) -> RenderableType:
    """Return the help page for a conversation as it is now."""
    return Group(
        Text("Commands and screens", "bold underline"),
        details(chat.meanings),
        Text("\nKeys", "bold underline"),
        details(KEYS),
        Text("\nWhat stays in view (F3, conversation.strategy)", "bold underline"),
        safe_text(chat.agent.chat.explain().told),
    )


def make_welcome(memory: Memory) -> RenderableType:
    """Return what a new conversation begins with: what to do, and what is remembered so far."""
    held = {kind: count for kind, count in memory.stats().records.items() if count}
    remembered = ", ".join(pluralize(count, kind) for kind, count in held.items())
    where = f"{remembered}; F6 shows the facts, F7 the notes" if held else "nothing yet"
    return Group(
        Text("Type what you want to say or ask, and press Enter. For example:\n"),
        details(EXAMPLES),
        Text(f"\nRemembered so far: {where}.", "dim"),
    )
