"""What a model is sent, live: the budget by part, every message with its state, recall, notes."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterator
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static, TabbedContent, TabPane

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ExplainedMessage
from memoranda.errors import MemorandaError
from memoranda.model.models import Context
from memoranda.rendering.conversations import show_budget, show_figures
from memoranda.rendering.layout import format_error, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.records import show_hits
from memoranda.tui.layout import OverlayScreen
from memoranda.tui.lists import act_on_row
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.sources import MessagesPanel


class ContextPanel(MessagesPanel):
    """The messages of the chat, with what is sent beside them; any can be pinned.

    Attributes:
        built: what a model would be sent now, or why it cannot be.
        notes: MEMORY.md.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("p", "pin", "Pin/unpin")]
    built: Context | MemorandaError
    notes = ""

    def __init__(self, runtime: ChatRuntime) -> None:
        """Read nothing yet."""
        super().__init__(runtime, self._read)

    def _read(self) -> Conversation:
        """Read what is sent beside messages, and return the conversation; called in a thread."""
        agent = self.runtime.agent
        try:
            self.built = agent.context()
        except MemorandaError as error:  # Such as a budget that is too small.
            self.built = error
        self.notes = agent.memory.notes.read_memory()
        return agent.chat

    @act_on_row
    async def action_pin(self, row: ExplainedMessage) -> None:
        """Keep a message in every context, or stop keeping it."""
        message, chat = row.message, self.runtime.agent.chat
        await to_thread(chat.pin, message.id, pinned=not message.pinned)
        self.reload()


class ContextScreen(OverlayScreen):
    """Shows what a model is sent and why; pruned messages can be expanded.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(str(number), f"tab('{name}')", show=False)
        for number, name in enumerate(("budget", "messages", "memory"), 1)
    ]

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        self.panel, tabs = ContextPanel(runtime), TabbedContent()
        super().__init__("Context", tabs)
        for pane in (
            TabPane("1 Budget", VerticalScroll(Static("reading…")), id="budget"),
            TabPane("2 Messages", self.panel, id="messages"),
            TabPane("3 Memory", VerticalScroll(Static("reading…")), id="memory"),
        ):
            tabs.compose_add_child(pane)

    def on_list_panel_filled(self) -> None:
        """Show what was read together with the messages."""
        self.query_one("#budget Static", Static).update(Group(*self._show_budget()))
        self.query_one("#memory Static", Static).update(Group(*self._show_memory()))

    def _show_budget(self) -> Iterator[RenderableType]:
        found, built, view = self.panel.found, self.panel.built, self.panel.view
        if isinstance(built, Context):
            yield from show_budget(built.receipt, view)
        else:
            yield format_error(built)
        yield Text()
        yield from show_figures(found, view)
        yield Text()
        yield safe_text(found.told, "dim")

    def _show_memory(self) -> Iterator[RenderableType]:
        built, notes = self.panel.built, self.panel.notes
        hits = built.recall.hits if isinstance(built, Context) else ()
        yield Text("Recalled for your last message", "bold")
        yield show_hits(hits, self.panel.view, why=True)
        yield Text("\nNotes, which every request begins with", "bold")
        yield from show_markdown(notes or "nothing is noted yet")

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        """Let the keys go to what the tab shows."""
        event.pane.query("DataTable, VerticalScroll").first().focus()

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one(TabbedContent).active = name
