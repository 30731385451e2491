"""What a model is sent, live: the budget by part, every message with its state, recall, notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Static, TabbedContent, TabPane

from memoranda.conversation.explain import ExplainedMessage, ViewExplanation
from memoranda.errors import MemorandaError
from memoranda.model.models import Context, Message
from memoranda.rendering.conversations import (
    ROLES,
    STATES,
    format_call,
    format_unread,
    show_budget,
    show_figures,
    show_message,
)
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import show_hits
from memoranda.tui.layout import (
    OverlayScreen,
    TextScreen,
    fill_table,
    make_display,
    make_table,
    selected,
)
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

LONGEST = 200  # characters of a message in the table
MOST_ROWS = 1_000  # rows of the table; the newest
TABS = {"budget": "1 Budget", "messages": "2 Messages", "recall": "3 Recall", "notes": "4 Notes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextState:
    """What the overlay shows, read at one moment.

    Attributes:
        found: the view, message by message.
        built: what would be sent; ``None`` where ``problem`` says why nothing can be.
        notes: the text of MEMORY.md.
        problem: why no context can be built.
    """

    found: ViewExplanation
    built: Context | None
    notes: str
    problem: str | None = None


def read_state(runtime: ChatRuntime) -> ContextState:
    """Return what the overlay shows now."""
    agent = runtime.agent
    built, problem = None, None
    try:
        built = agent.context()
    except MemorandaError as error:
        problem = str(error)
    return ContextState(
        found=agent.chat.explain(cleared=True),
        built=built,
        notes=agent.memory.notes.read_memory(),
        problem=problem,
    )


class ContextScreen(OverlayScreen):
    """Shows what a model is sent and why; pruned messages can be expanded, any can be pinned.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"tab('{name}')", show=False)
            for number, name in enumerate(TABS, 1)
        ),
        Binding("p", "pin", "Pin/unpin"),
        Binding("e", "expand", "Expand"),
    ]
    heading = "Context"

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        super().__init__()
        self._runtime = runtime
        self._lines: dict[str, ExplainedMessage] = {}

    def compose_body(self) -> ComposeResult:
        """Yield the tabs."""
        with TabbedContent(id="tabs"):
            for name, title in TABS.items():
                with TabPane(title, id=name):
                    if name == "messages":
                        yield make_table("all-messages")
                        yield Static(id="message-why", classes="detail")
                    else:
                        with VerticalScroll():
                            yield Static(id=f"{name}-text")

    def on_mount(self) -> None:
        """Show what is now."""
        table = self.query_one(DataTable)
        for title in ("#", "time", "role", "state", "tokens", "text"):
            table.add_column(title, key=title)
        self.reload()

    @work(exclusive=True, group="context")
    async def reload(self) -> None:
        """Read the state and show it; the cursor stays where it is."""
        try:
            state = await run_in_thread(lambda: read_state(self._runtime))
        except MemorandaError as error:
            self.show_problem(error)
            return
        view = make_display(self.app.size.width, self._runtime.memory.settings.zone)
        self.fill("#heading", _title(state.found))
        self.fill("#budget-text", Group(*_show_budget(state, view)))
        self.fill("#recall-text", _show_recall(state, view))
        self.fill("#notes-text", _show_notes(state))
        self._fill_messages(state, view)

    def _fill_messages(self, state: ContextState, view: Display) -> None:
        table = self.query_one("#all-messages", DataTable)
        fresh, row = not table.row_count, table.cursor_row
        at_end = fresh or row == table.row_count - 1
        self._lines = {line.message.id: line for line in state.found.lines[-MOST_ROWS:]}
        fill_table(table, {key: _cells(line, view) for key, line in self._lines.items()})
        table.move_cursor(row=table.row_count - 1 if at_end else row)
        self._show_why()

    def on_data_table_row_highlighted(self) -> None:
        """Say why the message at the cursor is in view, or not."""
        self._show_why()

    def _line(self) -> ExplainedMessage | None:
        return self._lines.get(selected(self.query_one("#all-messages", DataTable)) or "")

    def _show_why(self) -> None:
        line = self._line()
        if line is None:
            self.fill("#message-why", Text("no messages", "dim"))
            return
        shown = Text(f"#{line.message.position} ", "bold")
        shown.append(line.state.value, STATES.get(line.state, "red"))
        shown.append_text(safe_text(f": {one_line(line.why)}", "not bold"))
        if line.score is not None:
            shown.append(f"; score {line.score:.2f}", "dim")
        self.fill("#message-why", shown)

    def on_data_table_row_selected(self) -> None:
        """Show a message, or what was pruned around it, whole."""
        self.action_expand()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        """Let the keys go to what the tab shows."""
        event.pane.query("DataTable, VerticalScroll").first().focus()

    def action_tab(self, name: str) -> None:
        """Go to a tab."""
        self.query_one(TabbedContent).active = name

    def action_expand(self) -> None:
        """Show the messages for which one marker stands, or the one at the cursor, whole."""
        line = self._line()
        if line is None or self.query_one(TabbedContent).active != "messages":
            return
        found: tuple[Message, ...] = (line.message,)
        try:
            if line.marker is not None:
                found = self._runtime.agent.chat.expand(line.marker)
        except MemorandaError as error:  # It was erased meanwhile.
            self.show_problem(error)
            return
        view = make_display(self.app.size.width, self._runtime.memory.settings.zone)
        heading = line.marker or f"#{line.message.position}"
        shown = Group(*(text for each in found for text in show_message(each, view)))
        self.app.push_screen(TextScreen(f"{heading}: {pluralize(len(found), 'message')}", shown))

    def action_pin(self) -> None:
        """Keep the message at the cursor in every context, or stop keeping it."""
        line = self._line()
        if line is None or self.query_one(TabbedContent).active != "messages":
            return
        try:
            self._runtime.agent.chat.pin(line.message.id, pinned=not line.message.pinned)
        except MemorandaError as error:
            self.show_problem(error)
            return
        self.reload()


def _title(found: ViewExplanation) -> Text:
    figures = found.figures
    title = Text("Context", "bold")
    title.append(f"  {one_line(found.info.id, 30)}", "not bold")
    counts = f"{figures.messages_in_context} of {pluralize(figures.total_messages, 'message')}"
    return title.append(f"  {counts} in context", "not bold")


def _show_budget(state: ContextState, view: Display) -> Iterator[RenderableType]:
    if state.built is None:
        yield safe_text(f"error: {one_line(state.problem or '')}", "bold red")
    else:
        yield from show_budget(state.built.receipt, view)
    yield Text()
    yield from show_figures(state.found, view)
    yield Text()
    for sentence in state.found.told:
        yield safe_text(sentence, "dim")


def _show_recall(state: ContextState, view: Display) -> RenderableType:
    hits = () if state.built is None else state.built.recall.hits
    if not hits:
        return Text("nothing is recalled for the last message of the user", "dim")
    return show_hits(hits, view, why=True)


def _show_notes(state: ContextState) -> RenderableType:
    return Group(*show_markdown(state.notes or "nothing is noted yet"))


def _cells(line: ExplainedMessage, view: Display) -> Iterator[Text]:
    message = line.message
    said = message.content or " ".join(map(format_call, message.tool_calls))
    yield Text(str(message.position), "dim")
    yield Text(f"{view.local(message.timestamp):%H:%M}", "dim")
    yield Text(message.role, ROLES.get(message.role, ""))
    state = "pinned" if message.pinned else line.state.value
    yield Text(state, STATES.get(line.state, "red"))
    yield Text(f"{line.tokens:,}", justify="right")
    yield safe_text(one_line(said or format_unread(message), LONGEST))
