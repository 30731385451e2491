"""What stands over the chat: facts, search, conversations, messages, settings, the context."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static, TabbedContent, TabPane

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import ExplainedMessage, ViewExplanation
from memoranda.errors import MemorandaError
from memoranda.maintenance.facts import Fact
from memoranda.model.models import Context, Hit, Message
from memoranda.model.passwords import HIDDEN
from memoranda.rendering.conversations import (
    MESSAGES,
    OVERVIEW,
    show_budget,
    show_figures,
    show_message,
)
from memoranda.rendering.facts import FACTS, describe_fact, show_provenance
from memoranda.rendering.layout import Column, format_error, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import join, one_line, pluralize
from memoranda.rendering.records import HITS, show_hits, show_reasons, show_record
from memoranda.search.recall import find_near_best
from memoranda.settings.configure import Setting, format_value
from memoranda.settings.fields import MASK
from memoranda.tui.layout import ConfirmScreen, EditScreen, OverlayScreen
from memoranda.tui.lists import MOST, ListPanel, act_on_row
from memoranda.tui.runtime import ChatRuntime

FOUND = 20  # hits of a search
QUOTED = 160  # characters of a fact in a question
# Characters of a setting.
VALUE_WIDTH, SOURCE_WIDTH, DEFAULT_WIDTH = 26, 16, 60


class FactsPanel(ListPanel[Fact]):
    """The facts; one can be traced, corrected, confirmed and forgotten."""

    BINDINGS = [
        Binding("e", "correct", "Correct"),
        Binding("c", "confirm", "Confirm"),
        Binding("f", "forget", "Forget"),
    ]
    title = "Facts · Enter shows where one comes from"
    columns = (*FACTS[:2], Column("what", "record.content"))
    question = "a question or words; Enter finds the facts about it"
    empty = "No facts yet. What you say of yourself becomes one; /new reads the whole session."

    def find(self, words: str) -> Sequence[Fact]:
        """Return the facts about words; without them, those said last first."""
        return self.memory.facts(words or None, limit=MOST)

    def describe(self, row: Fact) -> RenderableType:
        """Return a fact whole, with who said it and what it replaced."""
        return Group(*describe_fact(row, self.view))

    @act_on_row
    async def action_choose(self, row: Fact) -> None:
        """Show where a fact comes from."""
        found = await to_thread(self.memory.trace_fact, row.record.id)
        self.show("Where a fact comes from", *show_provenance(found, self.view))

    @act_on_row
    async def action_correct(self, row: Fact) -> None:
        """Let the person say what takes the place of a fact."""
        content = row.record.content
        asked = EditScreen(
            "Correct a fact: what you type takes its place · Enter saves",
            safe_text(content, "dim"),
            content,
            lambda text: self.memory.correct(row.record.id, text),
        )
        if new := await self.app.push_screen_wait(asked):
            self.report(f"Corrected: {new.content}")

    @act_on_row
    async def action_confirm(self, row: Fact) -> None:
        """Believe a fact for ever."""
        await to_thread(self.memory.confirm, row.record.id)
        self.report(f"Confirmed: {row.record.content}")

    @act_on_row
    async def action_forget(self, row: Fact) -> None:
        """Ask, and forget a fact."""
        quoted = one_line(row.record.content, QUOTED)
        if await self.app.push_screen_wait(ConfirmScreen(f"Forget this?\n\n{quoted}")):
            await to_thread(self.memory.forget, row.record.id)
            self.report(f"Forgotten: {quoted}")


class SearchPanel(ListPanel[Hit]):
    """The search of memory: when, who, what and why."""

    title = "Search · Enter shows the whole record"
    columns = HITS
    question = "a question or words; Enter searches"
    empty = (
        "Nothing is found yet. Type a question or a few words above and press Enter, such as: "
        "where does my sister live?\nWhat was said and what is believed is listed, best first."
    )

    def find(self, words: str) -> Sequence[Hit]:
        """Return what is relevant to the words, best first."""
        return find_near_best(self.memory.search(words, limit=FOUND)) if words else ()

    def describe(self, row: Hit) -> RenderableType:
        """Return a hit with the reasons for it."""
        return Group(safe_text(row.record.content), show_reasons(row, self.view))

    @act_on_row
    async def action_choose(self, row: Hit) -> None:
        """Show a record whole, with the reasons for it."""
        view = self.view
        self.show(row.record.id, show_record(row.record, view), Text(), show_reasons(row, view))


class HistoryPanel(ListPanel[ConversationOverview]):
    """The conversations; one can be looked at, or gone on in."""

    BINDINGS = [Binding("g", "go_on", "Go on in it")]
    title = "History · Enter opens a conversation"
    columns = OVERVIEW
    question = "part of a name; Enter finds the conversations of that name"
    empty = "No conversation has that in its name."

    def find(self, words: str) -> Sequence[ConversationOverview]:
        """Return the conversations with words in their name, the newest first."""
        found = self.memory.stored_conversations.overviews(MOST)
        words = words.casefold()
        return [each for each in found if words in f"{each.info.id}\n{each.title}".casefold()]

    def describe(self, row: ConversationOverview) -> RenderableType:
        """Return whether a conversation has ended, and with which model it was."""
        info = row.info
        ended = f"ended {self.view.minute(info.ended_at)}" if info.ended_at else "still open"
        return safe_text(join(one_line(info.id), ended, one_line(info.model or "")))

    @act_on_row
    async def action_choose(self, row: ConversationOverview) -> None:
        """Show the messages of a conversation."""
        chat = self.memory.stored_conversations.open_existing(row.info.id)
        panel = MessagesPanel(self.runtime, lambda: chat)
        title = f"Conversation {row.info.id} · Enter shows a message whole"
        self.app.push_screen(OverlayScreen(title, panel))

    @act_on_row
    async def action_go_on(self, row: ConversationOverview) -> None:
        """Go on in a conversation."""
        await to_thread(self.runtime.switch, row.info.id)
        self.app.pop_screen()


class MessagesPanel(ListPanel[ExplainedMessage]):
    """The messages of a conversation, each with its state and the reason for it.

    Attributes:
        found: the conversation as it was when it was read last.

    Args:
        runtime: the agent.
        chat: returns the conversation.
    """

    columns = MESSAGES
    question = "a word or a state, such as pruned; Enter narrows the list"
    empty = "No messages."
    newest_last = True
    found: ViewExplanation

    def __init__(self, runtime: ChatRuntime, chat: Callable[[], Conversation]) -> None:
        """Read nothing yet."""
        super().__init__(runtime)
        self._chat = chat

    def find(self, words: str) -> Sequence[ExplainedMessage]:
        """Return the messages that say words or have that state, the newest last."""
        self.found = self._chat().explain()
        wanted = words.casefold()
        return [
            line
            for line in self.found.lines
            if wanted in f"{line.state} {line.message.content}".casefold()
        ]

    def describe(self, row: ExplainedMessage) -> RenderableType:
        """Return the state of a message, and why it has that."""
        more = "; Enter shows what is out there" if row.marker else ""
        return safe_text(f"#{row.message.position} {row.state}: {one_line(row.why)}{more}")

    @act_on_row
    async def action_choose(self, row: ExplainedMessage) -> None:
        """Show a message whole, or all that left the view with it."""
        chat = self._chat()
        found: Sequence[Message] = [row.message]
        if row.marker is not None:
            found = await to_thread(chat.expand, row.marker)
        texts = (text for each in found for text in show_message(each, self.view))
        self.show(f"{pluralize(len(found), 'message')} from #{found[0].position} on", *texts)


class SettingsPanel(ListPanel[Setting]):
    """Every setting; the one at the cursor can be changed."""

    title = "Settings · Enter changes one"
    question = "part of a name or of what it does; Enter narrows the list"
    empty = "no setting has that in its name or meaning"
    columns = (
        Column("setting", "name"),
        Column("value", lambda row, _: one_line(format_value(row.value), VALUE_WIDTH)),
        # Of the settings file its name alone.
        Column("from", lambda row, _: one_line(Path(row.source).name, SOURCE_WIDTH), "dim"),
    )

    def find(self, words: str) -> Sequence[Setting]:
        """Return the settings about ``words``; those of that name first, of the model before."""
        wanted = words.casefold()
        found = self.runtime.list_settings()
        about = [each for each in found if wanted in f"{each.name} {each.meaning}".casefold()]
        about.sort(key=lambda each: (not each.name.endswith(wanted), each.name != f"llm.{wanted}"))
        return about

    def describe(self, row: Setting) -> RenderableType:
        """Return what a setting does, what it takes, and is where nothing says otherwise."""
        default = one_line(format_value(row.default), DEFAULT_WIDTH)
        return safe_text(f"{row.meaning}\ntakes {row.type}; default {default}")

    @act_on_row
    async def action_choose(self, row: Setting) -> None:
        """Let the person change a setting in the settings file."""
        # What is not shown whole is typed anew.
        is_hidden = row.value is None or row.value == MASK or HIDDEN in str(row.value)
        text = "" if is_hidden else format_value(row.value)
        asked = EditScreen(
            f"{row.name} · Enter saves",
            self.describe(row),
            text,
            lambda text: self.runtime.save(row.name, text),
        )
        if done := await self.app.push_screen_wait(asked):
            wins = f", but {done.overridden_by} is set in the environment, and wins"
            self.report(f"saved in {done.path}{wins if done.overridden_by else ''}")


class ContextPanel(MessagesPanel):
    """The messages of the chat, with what is sent beside them; any can be pinned.

    Attributes:
        built: what a model would be sent now, or why it cannot be.
        notes: MEMORY.md.

    Args:
        runtime: the agent.
    """

    BINDINGS = [Binding("p", "pin", "Pin/unpin")]
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

    BINDINGS = [
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
