"""What a model is sent, live: the budget by part, every message with its state, recall, notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static, TabbedContent, TabPane

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ExplainedMessage, ViewExplanation
from memoranda.errors import MemorandaError
from memoranda.model.models import Context
from memoranda.rendering.conversations import show_budget, show_figures
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import show_hits
from memoranda.tui.layout import KeyAction, OverlayScreen
from memoranda.tui.lists import ListPanel
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.sources import MessageList
from memoranda.tui.threads import run_in_thread

TABS = {"budget": "1 Budget", "messages": "2 Messages", "memory": "3 Memory"}


class ContextScreen(OverlayScreen):
    """Shows what a model is sent and why; pruned messages can be expanded, any can be pinned.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(str(number), f"tab('{name}')", show=False) for number, name in enumerate(TABS, 1)
    ]
    heading = "Context"

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        super().__init__()
        self._runtime = runtime
        self._built: Context | MemorandaError
        self._notes = ""
        self._messages = MessageList(self._read)
        source = self._messages.source("", KeyAction("p", "Pin/unpin", self._pin))
        self._panel = ListPanel(runtime, source)

    def _read(self) -> Conversation:
        """Read what is sent beside messages, and return the conversation; called in a thread."""
        agent = self._runtime.agent
        try:
            self._built = agent.context()
        except MemorandaError as error:  # Such as a budget that is too small.
            self._built = error
        self._notes = agent.memory.notes.read_memory()
        return agent.chat

    def compose_body(self) -> ComposeResult:
        """Yield the tabs."""
        with TabbedContent():
            for name, title in TABS.items():
                with TabPane(title, id=name):
                    if name == "messages":
                        yield self._panel
                    else:
                        with VerticalScroll():
                            yield Static("reading…", id=f"{name}-text")

    def reload(self) -> None:
        """Read the state and show it; the cursor stays where it is."""
        self._panel.reload()

    def on_list_panel_filled(self) -> None:
        """Show what was read together with the messages."""
        view, found = self._panel.view, self._messages.found
        self.fill("#heading", _title(found))
        self.fill("#budget-text", Group(*self._show_budget(found, view)))
        self.fill("#memory-text", Group(*self._show_memory(view)))

    def _show_budget(self, found: ViewExplanation, view: Display) -> Iterator[RenderableType]:
        if isinstance(self._built, Context):
            yield from show_budget(self._built.receipt, view)
        else:
            yield safe_text(f"error: {one_line(str(self._built))}", "bold red")
        yield Text()
        yield from show_figures(found, view)
        yield Text()
        yield safe_text("\n".join(found.told), "dim")

    def _show_memory(self, view: Display) -> Iterator[RenderableType]:
        hits = self._built.recall.hits if isinstance(self._built, Context) else ()
        yield Text("Recalled for your last message", "bold")
        yield show_hits(hits, view, why=True)
        yield Text("\nNotes, which every request begins with", "bold")
        yield from show_markdown(self._notes or "nothing is noted yet")

    async def _pin(self, panel: ListPanel[ExplainedMessage], line: ExplainedMessage) -> None:
        """Keep a message in every context, or stop keeping it."""
        message, chat = line.message, self._runtime.agent.chat
        await run_in_thread(lambda: chat.pin(message.id, pinned=not message.pinned))
        panel.reload()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        """Let the keys go to what the tab shows."""
        event.pane.query("DataTable, VerticalScroll").first().focus()

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one(TabbedContent).active = name


def _title(found: ViewExplanation) -> Text:
    figures = found.figures
    counts = f"{figures.messages_in_context} of {pluralize(figures.total_messages, 'message')}"
    title = Text.assemble(("Context", "bold"), f"  {one_line(found.info.id, 30)}")
    return title.append(f"  {counts} in context")
