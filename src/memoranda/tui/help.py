"""The help page: keys, commands, and how messages are chosen that stay in view (R7.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.conversation.strategies import STRATEGIES
from memoranda.rendering.layout import details, safe_text
from memoranda.tui.commands import KEYS, MEANINGS
from memoranda.tui.runtime import ChatRuntime

SCREENS = {
    "F1": "this page",
    "F2": "what a model is sent, and which messages are in view",
    "F3": "settings",
    "F4": "conversations",
    "F5": "search, with reasons",
    "F6": "facts: confirm, forget",
    "F7": "MEMORY.md",
}


def make_help(runtime: ChatRuntime) -> RenderableType:
    """Return the help page for a conversation as it is now."""
    return Group(*_show(runtime))


def _show(runtime: ChatRuntime) -> Iterator[RenderableType]:
    for title, meanings in (("Screens", SCREENS), ("Keys", KEYS), ("Commands", MEANINGS)):
        yield Text(title, "bold underline")
        yield _list(meanings)
        yield Text()
    yield Text("What stays in view", "bold underline")
    found = runtime.agent.chat.explain()
    for sentence in found.told:
        yield safe_text(sentence)
    yield Text()
    yield Text("Strategies (F3, conversation.strategy)", "bold underline")
    yield _list({name: each.description for name, each in STRATEGIES.items()})


def _list(meanings: Mapping[str, str]) -> RenderableType:
    made = details((name, meaning) for name, meaning in meanings.items())
    made.columns[0].style = "bold"
    return made
