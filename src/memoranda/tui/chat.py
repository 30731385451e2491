"""The chat: what was said, answers as they come, and how full the context is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, cast

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message as TextualMessage
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static, TextArea

from memoranda.agent.commands import split_command
from memoranda.agent.session import (
    AnswerFinished,
    ChatEvent,
    ConversationChanged,
    InterfaceCommand,
    Question,
    RequestFailed,
    SessionEnded,
    TextPiece,
    ToolUsed,
    WorkStarted,
)
from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ConversationStats
from memoranda.errors import MemorandaError
from memoranda.model.models import Message
from memoranda.rendering.chat import describe_start, format_spending, show_event
from memoranda.rendering.conversations import alert_colour, format_call
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import DOT, escape_controls, one_line, pluralize
from memoranda.tui.commands import SCREENS
from memoranda.tui.help import make_welcome
from memoranda.tui.layout import ChatApp, ConfirmScreen, make_display
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

LAST_STRETCH = 30  # messages that are shown when a conversation opens
MOST_ENTRIES = 100  # entries of the log: with many, each drawing takes long; F4 has the others
CALL_WIDTH = 300  # characters of a tool call
NAME_WIDTH = 28  # characters of a session's name
# From which share of the window it is said in words, too (R2.4, R6.2).
ALERTS = ((0.9, "almost full"), (0.8, "near the limit"))
# Number of its key, name and title of each screen over the chat.
SHOWN = (
    (1, "help", "Help"),
    (2, "context", "Context"),
    (3, "settings", "Settings"),
    (4, "history", "History"),
    (5, "search", "Search"),
    (6, "facts", "Facts"),
    (7, "notes", "Notes"),
)
WORKING = "working…"
DOING = {False: "answering, Esc stops", True: "consolidating…"}
HINT = "F2 shows them"
BUSY = "an answer is under way; Escape stops it"


class ChatEventArrived(TextualMessage):
    """Something came of what the person sent; ``None`` at its end."""

    def __init__(self, event: ChatEvent | None) -> None:
        """Carry the event."""
        super().__init__()
        self.event = event


class MessageAdded(TextualMessage):
    """The conversation has another message."""


class PromptArea(TextArea):
    """Where the person types: Enter sends, Alt+Enter and Ctrl+J begin another line."""

    class Submitted(TextualMessage):
        """The person sent a text."""

        def __init__(self, text: str) -> None:
            """Carry the text."""
            super().__init__()
            self.text = text

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self.text))
        elif event.key in {"alt+enter", "ctrl+j"}:
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)


class StatusLine(Static):
    """Which session, which model, and how much of its window is used."""

    def show(self, session: str, model: str | None, stats: ConversationStats, *more: str) -> None:
        """Show the state; ``more`` is what the session has cost, and what is under way."""
        line = Text()
        line.append(one_line(session, NAME_WIDTH), "bold")
        share = stats.total_tokens / stats.token_limit
        about = "" if stats.exact else "~"
        line.append(DOT).append(f"{about}{stats.total_tokens:,} of {stats.token_limit:,} tokens")
        word = next((word for least, word in ALERTS if share >= least), "")
        percent = f" {stats.percent_used:.0f} %" + (f", {word}" if word else "")
        line.append(percent, f"bold {alert_colour(share)}" if word else "")
        for part in filter(None, more):
            line.append(DOT + part, "bold")
        # Last, as it may be long, and is cut where there is no room.
        line.append(DOT + one_line(model or "memory alone"))
        self.update(line)


class ChatScreen(Screen[None]):
    """The conversation with the agent.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(f"f{number}", f"app.show('{name}')", title, priority=True)
            for number, name, title in SHOWN
        ),
        Binding("escape", "app.stop", "Stop", show=False),
        Binding("pageup", "scroll('up')", show=False, priority=True),
        Binding("pagedown", "scroll('down')", show=False, priority=True),
    ]

    app: ChatApp

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        super().__init__()
        self.runtime = runtime
        self.doing = self.spent = ""
        self._state: tuple[str, ConversationStats]
        self._heard = ""
        self._streaming: Static | None = None
        self._due = self._leaving = False

    def compose(self) -> ComposeResult:
        """Yield the log, the state, and where the person types."""
        yield VerticalScroll(id="log", can_focus=False)
        yield StatusLine(id="status")
        yield PromptArea(
            id="prompt", show_line_numbers=False, highlight_cursor_line=False, compact=True
        )
        keys = (Text.assemble((f"F{number}", "bold"), f" {title}") for number, _, title in SHOWN)
        yield Static(Text("  ").join(keys), id="keys")

    async def on_mount(self) -> None:
        """Show what is in the conversation."""
        self.query_one("#log").anchor()
        await self.show_conversation()
        self.query_one(PromptArea).focus()

    # What is shown

    async def show_conversation(self) -> None:
        """Show the last stretch of the conversation that the agent is in."""
        self.runtime.chat.changed = lambda: self.post_message(MessageAdded())
        log, chat = self.query_one("#log"), self.runtime.agent.chat
        await log.remove_children()
        state, held, messages = await run_in_thread(
            lambda: (_read_state(chat), len(chat), chat.recent(LAST_STRETCH))
        )
        start = await run_in_thread(lambda: [*describe_start(self.runtime.chat)])
        entries = [*self._greet(held, *state), *(Static(each, classes="line") for each in start)]
        if not held:
            welcome = await run_in_thread(partial(make_welcome, self.runtime.memory))
            entries.append(Static(welcome, classes="line"))
        for message in messages:
            entries += self._entries(message)
        await log.mount_all(entries)
        log.anchor()
        self._show_state(*state)

    def _notify_error(self, error: MemorandaError) -> None:
        self.app.notify(one_line(str(error)), severity="error", markup=False)

    def _greet(self, held: int, session: str, stats: ConversationStats) -> Iterator[Widget]:
        name = one_line(session)
        state = f"goes on with {pluralize(held, 'message')}" if held else "is new"
        if stats.total_messages > held:
            cleared = pluralize(stats.total_messages - held, "message was", "messages were")
            state += f"; {cleared} cleared" if held else f" again; {cleared} cleared"
        yield _line(f"session {name} {state}{DOT}F1 lists keys and commands")
        if stats.pruned_messages:
            out = pluralize(stats.pruned_messages, "message is", "messages are")
            yield _line(f"{out} out of view; F2 shows them", "notice")

    def _entries(self, message: Message) -> Iterator[Widget]:
        """Yield what stands for a message of the transcript."""
        if message.role == "user":
            yield _said(message.content)
        elif message.role == "assistant":
            if message.content.strip():
                yield make_markdown(message.content)
            yield from (_line(f"called {one_line(format_call(call), CALL_WIDTH)}")
                        for call in message.tool_calls)  # fmt: skip
        elif message.role == "tool" and message.tool_result and message.tool_result.is_error:
            yield _line(one_line(message.content, CALL_WIDTH))

    def _show_state(self, session: str, stats: ConversationStats) -> None:
        self._state = session, stats
        self.query_one(StatusLine).show(
            session, self.runtime.agent.model, stats, self.spent, self.doing
        )

    def update_state(self) -> None:
        """Show what is under way, and session and tokens once they have been read again."""
        self._show_state(*self._state)
        self._read_again()

    @work(group="state", exclusive=True)
    async def _read_again(self) -> None:
        chat = self.runtime.agent.chat
        try:
            state = await run_in_thread(partial(_read_state, chat))
        except MemorandaError as error:  # Such as a store that cannot be reached just now.
            if chat is self.runtime.agent.chat:
                self._notify_error(error)
            return
        if chat is self.runtime.agent.chat:
            self._show_state(*state)

    async def add(self, *entries: Widget) -> None:
        """Add entries at the end of the log."""
        log = self.query_one("#log")
        await log.mount_all(entries)
        for old in list(log.children)[:-MOST_ENTRIES]:
            old.remove()

    async def tell(self, text: str, kind: str = "dim") -> None:
        """Add a line that nobody said."""
        await self.add(_line(text, kind))

    # What the person sends

    async def on_prompt_area_submitted(self, event: PromptArea.Submitted) -> None:
        """Answer, or do what a command says."""
        if not event.text.strip():
            return
        if self.doing:
            await self.tell(BUSY)
            return
        self.query_one(PromptArea).clear()
        self.doing = WORKING
        if split_command(event.text) is None:
            self.doing = DOING[False]
            await self.add(_said(event.text))
        self.query_one("#log").anchor()
        self._send(event.text)

    def _send(self, text: str) -> None:
        self.doing = self.doing or WORKING
        self.update_state()
        self._heard, self._streaming = "", None
        self._take_events(text)

    @work(group="answer")
    async def _take_events(self, text: str) -> None:
        def act() -> None:
            for event in self.runtime.chat.send(text):
                self.post_message(ChatEventArrived(event))

        await run_in_thread(act)
        self.post_message(ChatEventArrived(None))

    @work(group="dialog")
    async def _ask(self, question: Question) -> None:
        if await self.app.push_screen_wait(ConfirmScreen(question.text)):
            self._send(question.yes)

    # What comes

    async def on_chat_event_arrived(self, message: ChatEventArrived) -> None:
        """Show what came."""
        match message.event:
            case None if self._leaving:
                self.app.exit()
            case None:
                self.doing = ""
                self.update_state()
            case WorkStarted(ending):
                self.doing = DOING[ending]
                self.update_state()
            case TextPiece(piece):
                await self._hear(piece)
            case ToolUsed(used):
                await self._close_stream(used.content if used.role == "assistant" else "")
                await self.add(*(each for each in self._entries(used) if is_line(each)))
            case Question() as question:
                self._ask(question)
            case SessionEnded() | InterfaceCommand("/exit"):
                self._leaving = True
            case InterfaceCommand(name, words):
                self.app.show(SCREENS[name], words)
            case event:
                await self._show_event(event)

    def on_message_added(self) -> None:
        """Show how full the context is now, also in the screen over the chat."""
        self.update_state()
        self.app.refresh_overlay()

    async def _show_event(self, event: ChatEvent) -> None:
        if isinstance(event, AnswerFinished):
            await self._close_stream(event.answer.text)
            self.spent = DOT.join(format_spending(event.spending))
        elif isinstance(event, ConversationChanged):
            await self.show_conversation()
        elif self._heard:
            await self._close_stream(self._heard)
        self.app.refresh_overlay()
        view = make_display(self.app.size.width, self.runtime.memory.settings.zone)
        kind = "problem" if isinstance(event, RequestFailed) else "dim"
        shown = show_event(event, view, HINT)
        await self.add(*(Static(each, classes=f"line {kind}") for each in shown))

    async def _hear(self, piece: str) -> None:
        """Show a piece of an answer, with others that come before the next drawing."""
        self._heard += piece
        if self._streaming is None:
            self._streaming = Static(classes="answer streaming", markup=False)
            await self.add(self._streaming)
        if not self._due:
            self._due = True
            self.call_after_refresh(self._stream)

    def _stream(self) -> None:
        self._due = False
        if self._streaming is not None:
            self._streaming.update(safe_text(self._heard.strip("\n")))

    async def _close_stream(self, text: str) -> None:
        """Put an answer in Markdown where its words stood as they came."""
        streaming, self._streaming, self._heard = self._streaming, None, ""
        if text.strip():
            await self.add(make_markdown(text))
        if streaming is not None:
            await streaming.remove()

    def action_scroll(self, where: str) -> None:
        """Scroll the log by a page."""
        log = cast("VerticalScroll", self.query_one("#log"))
        move: Any = log.scroll_page_up if where == "up" else log.scroll_page_down
        move(animate=False)


def _read_state(chat: Conversation) -> tuple[str, ConversationStats]:
    return chat.id, chat.stats()


def make_markdown(text: str) -> Markdown:
    """Return a text as Markdown; no control character in it, and no link that opens by itself."""
    return Markdown(escape_controls(text), classes="answer", open_links=False)


def is_line(entry: Widget) -> bool:
    """Return whether an entry of the log is a line that nobody said."""
    return isinstance(entry, Static) and entry.has_class("line")


def _line(text: str, kind: str = "dim") -> Static:
    return Static(safe_text(text), classes=f"line {kind}")


def _said(text: str) -> Static:
    return Static(Text("> ", "bold").append_text(safe_text(text, "not bold")), classes="said")
