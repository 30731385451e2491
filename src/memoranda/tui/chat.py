"""The chat: what was said, answers as they come, and how full the context is."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static, TextArea
from textual.widgets.markdown import MarkdownStream

from memoranda.agent import session as chats
from memoranda.agent.commands import split_command
from memoranda.conversation.explain import ConversationStats
from memoranda.errors import MemorandaError
from memoranda.model.models import Message
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.chat import describe_start, format_spending, show_event
from memoranda.rendering.conversations import alert_of, format_call
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import DOT, escape_controls, one_line
from memoranda.tui.commands import SCREENS, make_help, make_welcome
from memoranda.tui.layout import ConfirmScreen, EditScreen, OverlayScreen, make_text
from memoranda.tui.lists import ListPanel
from memoranda.tui.runtime import BUSY, ChatRuntime
from memoranda.tui.sources import (
    ContextScreen,
    FactsPanel,
    HistoryPanel,
    SearchPanel,
    SettingsPanel,
)

LAST_STRETCH = 30  # messages that are shown when a conversation opens
MOST_ENTRIES = 100  # entries of the log: with many, each drawing takes long; F4 has the others
CALL_WIDTH = 300  # characters of a tool call
NAME_WIDTH = 28  # characters of a session's name
# The screens over the chat, by their keys from F1 on.
SHOWN = ("help", "context", "settings", "history", "search", "facts", "notes")
PANELS: Mapping[str, Callable[[ChatRuntime, str], ListPanel[Any]]] = {
    "settings": SettingsPanel,
    "history": HistoryPanel,
    "search": SearchPanel,
    "facts": FactsPanel,
}
WORKING = "working…"
DOING = {False: "answering, Esc stops", True: "consolidating…"}
HINT = "F2 shows them"


class PromptArea(TextArea):
    """Where the person types: Enter sends, Alt+Enter and Ctrl+J begin another line.

    A binding would outrun what was typed just before.
    """

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            await self.run_action("screen.send")
        elif event.key in {"alt+enter", "ctrl+j"}:
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)


class ChatScreen(Screen[None]):
    """The conversation with the agent.

    Args:
        runtime: the agent.
    """

    BINDINGS = [
        Binding("escape", "stop"),
        Binding("pageup", "scroll(-1)", priority=True),
        Binding("pagedown", "scroll(1)", priority=True),
    ]

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        super().__init__()
        self.runtime = runtime
        self._state: tuple[str, ConversationStats] | None = None
        self._spent = ""
        self._log = VerticalScroll(id="log", can_focus=False)
        self._status = Static(id="status")
        self._stream: MarkdownStream | None = None

    def compose(self) -> ComposeResult:
        """Yield the log, the state, and where the person types."""
        yield self._log
        yield self._status
        yield PromptArea(
            id="prompt", show_line_numbers=False, highlight_cursor_line=False, compact=True
        )
        keys = enumerate(map(str.title, SHOWN), 1)
        yield Static(
            Text("  ").join(Text.assemble((f"F{at}", "bold"), f" {name}") for at, name in keys)
        )

    async def on_mount(self) -> None:
        """Show what is in the conversation."""
        self.runtime.opened = partial(self.app.call_later, self.show_conversation)
        await self.show_conversation()

    def show(self, name: str, words: str = "") -> None:
        """Show a screen over the chat, in place of the one that is there."""
        if isinstance(self.app.screen, ModalScreen):
            return  # A question waits for its answer.
        try:
            screen = self._make(name, words)
        except MemorandaError as error:
            self._warn(error)
            return
        while self.app.screen is not self:
            self.app.pop_screen()
        self.app.push_screen(screen)

    def _make(self, name: str, words: str) -> Screen[None]:
        if name in PANELS:
            panel = PANELS[name](self.runtime, words)
            return OverlayScreen(panel.title, panel)
        if name == "context":
            return ContextScreen(self.runtime)
        if name == "notes":
            notes = self.runtime.memory.notes
            about = safe_text(f"in {notes.folder}; a line that you take out is forgotten")
            text = notes.read_memory()
            return EditScreen(MEMORY_FILE, about, text, notes.write_memory, many_lines=True)
        return OverlayScreen("Help", make_text(make_help(self.runtime.chat)))

    def _warn(self, error: Exception) -> None:
        self.notify(one_line(str(error)), severity="warning", markup=False)

    # What is shown

    async def show_conversation(self) -> None:
        """Show the last stretch of the conversation that the agent is in."""
        self.runtime.chat.changed = partial(self.app.call_later, self._refresh)
        try:
            entries = await to_thread(lambda: [*self._begin()])
        except MemorandaError as error:
            self._warn(error)
            return
        await self._log.remove_children()
        await self._log.mount_all(entries)
        self._log.anchor()
        self._refresh()

    def _begin(self) -> Iterator[Widget]:
        """Yield how the conversation stands, and its last messages; called in a thread."""
        chat = self.runtime.agent.chat
        yield _line(Group(*describe_start(self.runtime.chat, HINT), "F1 lists keys and commands"))
        if not len(chat):
            yield _line(make_welcome(self.runtime.memory))
        for message in chat.recent(LAST_STRETCH):
            if message.role == "user":
                yield _said(message.content)
            elif message.role == "assistant" and message.content.strip():
                yield make_markdown(message.content)
            yield from _tool_lines(message)

    def _refresh(self) -> None:
        """Show what is under way and how full the context is, also in the screen over the chat."""
        self._show_status()
        self._read_stats()
        if isinstance(self.app.screen, ContextScreen):
            self.app.screen.panel.reload()

    @work(group="state", exclusive=True)
    async def _read_stats(self) -> None:
        chat = self.runtime.agent.chat
        with suppress(MemorandaError):  # Such as a store that cannot be reached just now.
            self._state = await to_thread(lambda: (chat.id, chat.stats()))
            self._show_status()

    def _show_status(self) -> None:
        """Show which session, how much of its window is used, what is under way, which model."""
        if self._state is None:
            return  # It is still being read.
        session, stats = self._state
        colour, alert = alert_of(stats.total_tokens / stats.token_limit)
        about = "" if stats.exact else "~"
        used = f"{about}{stats.total_tokens:,} of {stats.token_limit:,} tokens"
        share = f" {stats.percent_used:.0f} %{alert}", f"bold {colour}" if alert else ""
        doing = ((DOT + part, "bold") for part in (self._spent, self.runtime.doing) if part)
        # The model comes last, as it may be long, and is cut where there is no room.
        model = DOT + one_line(self.runtime.agent.model or "memory alone")
        name = one_line(session, NAME_WIDTH), "bold"
        self._status.update(Text.assemble(name, DOT, used, share, *doing, model))

    async def add(self, *entries: Widget) -> None:
        """Add entries at the end of the log."""
        await self._log.mount_all(entries)
        await self._log.remove_children(self._log.children[:-MOST_ENTRIES])

    async def tell(self, text: str, kind: str = "dim") -> None:
        """Add a line that nobody said."""
        await self.add(_line(text, kind))

    # What the person sends

    async def action_send(self) -> None:
        """Answer, or do what a command says."""
        prompt = self.query_one(TextArea)
        text = prompt.text
        if not text.strip():
            return
        if self.runtime.doing:
            await self.tell(BUSY)
            return
        prompt.clear()
        if split_command(text) is None:
            await self.add(_said(text))
        self._log.anchor()
        self._send(text)

    def action_stop(self) -> None:
        """Stop the answer that is under way."""
        self.runtime.chat.stop()

    def _send(self, text: str) -> None:
        """Do what a text asks for in a thread, which never keeps the program from ending."""
        self.runtime.doing = WORKING
        self._show_status()

        def act() -> None:
            for event in self.runtime.chat.send(text):
                later(self._take, event)
            later(self._end_turn)

        later = self.app.call_later
        Thread(target=act, name="memoranda-tui", daemon=True).start()

    @work(group="dialog")
    async def _ask(self, question: chats.Question) -> None:
        if await self.app.push_screen_wait(ConfirmScreen(question.text)):
            self._send(question.yes)

    def _end_turn(self) -> None:
        self.runtime.doing = ""
        self._refresh()

    # What comes

    async def _take(self, event: chats.ChatEvent) -> None:
        """Show what came."""
        match event:
            case chats.WorkStarted(ending):
                self.runtime.doing = DOING[ending]
                self._show_status()
            case chats.TextPiece(piece):
                await self._hear(piece)
            case chats.ToolUsed(used):
                await self._close(used.content if used.role == "assistant" else "")
                await self.add(*_tool_lines(used))
            case chats.Question():
                self._ask(event)
            case chats.ChatEnded():
                self.app.exit()
            case chats.InterfaceCommand(name, words):
                self.show(SCREENS.get(name, name[1:]), words)
            case _:
                await self._show_event(event)

    async def _show_event(self, event: chats.ChatEvent) -> None:
        if isinstance(event, chats.AnswerFinished):
            await self._close(event.answer.text)
            self._spent = DOT.join(format_spending(event.spending))
        elif isinstance(event, chats.ConversationChanged):
            await self.show_conversation()
        elif self._stream is not None:
            await self._close(self._stream.markdown_widget.source)
        view = self.runtime.make_display(self.app.size.width)
        kind = "problem" if isinstance(event, chats.RequestFailed) else "dim"
        if shown := [*show_event(event, view, HINT)]:
            await self.add(_line(Group(*shown), kind))

    async def _hear(self, piece: str) -> None:
        """Show a piece of an answer."""
        if self._stream is None:
            answer = make_markdown("")
            await self.add(answer)
            self._stream = Markdown.get_stream(answer)
        await self._stream.write(escape_controls(piece))

    async def _close(self, text: str) -> None:
        """Show an answer whole, in place of its words as they came."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.stop()
            await stream.markdown_widget.remove()
        if text.strip():
            await self.add(make_markdown(text))

    def action_scroll(self, pages: int) -> None:
        """Scroll the log by pages."""
        self._log.scroll_relative(y=pages * self._log.size.height, animate=False)


def _tool_lines(message: Message) -> Iterator[Widget]:
    """Yield the calls of tools in a message, or what went wrong in one."""
    for call in message.tool_calls:
        yield _line(one_line(f"called {format_call(call)}", CALL_WIDTH))
    if message.tool_result is not None and message.tool_result.is_error:
        yield _line(one_line(message.content, CALL_WIDTH))


def make_markdown(text: str) -> Markdown:
    """Return a text as Markdown; no control character in it, and no link that opens by itself."""
    return Markdown(escape_controls(text), classes="answer", open_links=False)


def _line(shown: RenderableType, kind: str = "dim") -> Static:
    return Static(safe_text(shown) if isinstance(shown, str) else shown, classes=f"line {kind}")


def _said(text: str) -> Static:
    return Static(Text("> ", "bold").append_text(safe_text(text, "not bold")), classes="said")
