"""The help page, and what a first screen says: what to type, and what is remembered (R7.5)."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.memory import Memory
from memoranda.rendering.layout import details, safe_text
from memoranda.rendering.plain import pluralize
from memoranda.tui.commands import KEYS
from memoranda.tui.runtime import ChatRuntime

EXAMPLES = {
    "My sister Karin lives in Malmö.": "is remembered",
    "Where does my sister live?": "is answered from memory",
    "/new": "ends the session: what was said becomes memory",
    "F5": "searches all that was ever said",
}


def make_help(runtime: ChatRuntime) -> RenderableType:
    """Return the help page for a conversation as it is now."""
    return Group(
        Text("Commands and screens", "bold underline"),
        details(runtime.chat.meanings.items()),
        Text("\nKeys", "bold underline"),
        details(KEYS.items()),
        Text("\nWhat stays in view (F3, conversation.strategy)", "bold underline"),
        safe_text(runtime.agent.chat.explain().told),
    )


def make_welcome(memory: Memory) -> RenderableType:
    """Return what a new conversation begins with: what to do, and what is remembered so far."""
    held = {kind: count for kind, count in memory.stats().records.items() if count}
    remembered = ", ".join(pluralize(count, kind) for kind, count in held.items())
    where = f"{remembered}; F6 shows the facts, F7 the notes" if held else "nothing yet"
    return Group(
        Text("Type what you want to say or ask, and press Enter. For example:\n"),
        details(EXAMPLES.items()),
        Text(f"\nRemembered so far: {where}.", "dim"),
    )
