"""The stored conversations: to look at one, or to go on in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.errors import MemorandaError
from memoranda.rendering.conversations import TranscriptOptions, alert_colour, show_conversation
from memoranda.rendering.layout import Display, details, safe_text
from memoranda.rendering.plain import one_line
from memoranda.tui.layout import ChatApp, TextScreen
from memoranda.tui.lists import ListScreen
from memoranda.tui.threads import run_in_thread

MOST = 500
NAME_WIDTH = 30


class HistoryScreen(ListScreen[ConversationOverview]):
    """Lists conversations, the newest first; one can be opened, or gone on in."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "go_on", "Go on in it")]
    heading = "History · Enter opens a conversation"
    columns = ("conversation", "messages", "in view", "used", "last message")
    question = "part of a name; Enter finds the conversations of that name"
    empty = "no conversations"
    app: ChatApp

    def find(self, words: str) -> Sequence[ConversationOverview]:
        """Return the conversations whose names have the words in them."""
        found = self.runtime.memory.stored_conversations.overviews(MOST)
        return [each for each in found if words.casefold() in each.id.casefold()]

    def key_of(self, row: ConversationOverview) -> str:
        """Return the name."""
        return row.id

    def cells(self, row: ConversationOverview, view: Display) -> Iterator[Text]:
        """Yield name, messages, those in view, the share of the window, and the last moment."""
        share = row.stats.total_tokens / row.stats.token_limit
        name = safe_text(one_line(row.id, NAME_WIDTH), "bold")
        yield name if row.ended_at is None else name.append(" (ended)", "not bold dim")
        yield Text(f"{row.messages:,}", justify="right")
        yield Text(f"{row.stats.messages_in_context:,}", justify="right")
        yield Text(f"{row.stats.percent_used:.0f} %", alert_colour(share), justify="right")
        yield Text("" if row.last_message is None else view.minute(row.last_message), "dim")

    def describe(self, row: ConversationOverview, view: Display) -> RenderableType:
        """Return what is known of a conversation beside its figures."""
        ended = "still open" if row.ended_at is None else f"ended {view.minute(row.ended_at)}"
        rows = {
            "begun": f"{view.minute(row.created_at)}, {ended}",
            "model": one_line(row.model or "none"),
            "tokens": f"{row.stats.total_tokens:,} of {row.stats.token_limit:,}",
        }
        return details(rows.items())

    def on_data_table_row_selected(self) -> None:
        """Show a conversation."""
        self.action_open()

    @work
    async def action_open(self) -> None:
        """Show the conversation at the cursor as a model sees it, and why."""
        row = self.row
        if row is None:
            return
        stored = self.runtime.memory.stored_conversations
        try:
            found = await run_in_thread(lambda: stored.open_read_only(row.id).explain())
        except MemorandaError as error:
            self.show_problem(error)
            return
        options = TranscriptOptions(explain=True)
        shown = Group(*show_conversation(found, self.view, options))
        self.app.push_screen(TextScreen(f"Conversation {row.id}", shown))

    @work
    async def action_go_on(self) -> None:
        """Go on in the conversation at the cursor; of one that has ended, in the next."""
        row = self.row
        if row is None or self.app.is_busy():
            return
        try:
            await run_in_thread(lambda: self.runtime.switch(row.id))
        except MemorandaError as error:
            self.show_problem(error)
            return
        await self.app.reopen_chat()
        self.action_close()
