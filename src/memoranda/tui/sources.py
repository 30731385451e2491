"""What the lists over the chat show: facts, search, conversations, messages and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationOverview
from memoranda.conversation.explain import ExplainedMessage, ViewExplanation
from memoranda.maintenance.facts import BELIEVED, Fact
from memoranda.model.models import Hit, Message
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.conversations import MESSAGES, OVERVIEW, STATES, show_message
from memoranda.rendering.facts import FACTS, describe_fact, show_provenance
from memoranda.rendering.layout import Column, Display, details, safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import HITS, show_hits, show_record
from memoranda.tui.layout import ConfirmScreen, EditScreen, KeyAction, TextScreen
from memoranda.tui.lists import ListPanel, ListScreen, ListSource
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

MOST = 500  # rows that are read
FOUND = 20  # hits of a search
QUOTED = 160  # characters of a fact in a question
NO_NOTES = "Nothing is noted yet. What you say of yourself is noted here; e writes a note."
ASK = (
    "Type a question or a few words above and press Enter, such as: where does my sister live?\n"
    "What was said and what is believed is listed, best first, each with the reasons."
)


def facts_source(runtime: ChatRuntime) -> ListSource[Fact]:
    """Return the facts; one can be traced, corrected, confirmed and forgotten."""

    async def trace(panel: ListPanel[Fact], fact: Fact) -> None:
        found = await run_in_thread(lambda: runtime.memory.trace_fact(fact.record.id))
        shown = Group(*show_provenance(found, panel.view))
        panel.app.push_screen(TextScreen("Where a fact comes from", shown))

    async def correct(panel: ListPanel[Fact], fact: Fact) -> None:
        def replace(text: str) -> str:
            runtime.memory.correct(fact.record.id, text)
            return f"Corrected: {one_line(text, QUOTED)}"

        about = safe_text(fact.record.content, "dim")
        action = KeyAction("enter", "Correct", replace)
        await panel.edit(
            EditScreen(
                "Correct a fact: what you type takes its place",
                about,
                fact.record.content,
                [action],
            )
        )

    async def confirm(panel: ListPanel[Fact], fact: Fact) -> None:
        await panel.change(lambda: runtime.memory.confirm(fact.record.id),
                           f"Confirmed: {one_line(fact.record.content, QUOTED)}")  # fmt: skip

    async def forget(panel: ListPanel[Fact], fact: Fact) -> None:
        quoted = one_line(fact.record.content, QUOTED)
        asked = ConfirmScreen(f"Forget this?\n\n{quoted}", "Forget")
        if await panel.app.push_screen_wait(asked):
            await panel.change(lambda: runtime.memory.forget(fact.record.id),
                               f"Forgotten: {quoted}")  # fmt: skip

    return ListSource(
        title="Facts · Enter shows where one comes from",
        columns=(*FACTS[:2], Column("what", _shorten_fact)),
        find=lambda words: runtime.memory.facts(words or None, limit=MOST),
        describe=lambda fact, view: Group(*describe_fact(fact, view)),
        actions=(
            KeyAction("enter", "Trace", trace),
            KeyAction("e", "Correct", correct),
            KeyAction("c", "Confirm", confirm),
            KeyAction("f", "Forget", forget),
        ),
        question="a question or words; Enter finds the facts about it",
        empty="No facts yet. What you say of yourself becomes one; /new reads the whole session.",
    )


def _shorten_fact(fact: Fact, view: Display) -> Text:
    text = safe_text(view.brief(fact.record.content))
    return text if fact.state == BELIEVED else Text(f"({fact.state}) ", "dim").append_text(text)


def search_source(runtime: ChatRuntime) -> ListSource[Hit]:
    """Return the search of memory: when, who, what and why."""

    async def show(panel: ListPanel[Hit], hit: Hit) -> None:
        shown = Group(show_record(hit.record, panel.view), show_hits([hit], panel.view, why=True))
        panel.app.push_screen(TextScreen(hit.record.id, shown))

    return ListSource(
        title="Search · Enter shows the whole record",
        columns=HITS,
        find=lambda words: runtime.memory.search(words, limit=FOUND),
        describe=lambda hit, view: show_hits([hit], view, why=True),
        actions=(KeyAction("enter", "Show", show),),
        question="a question or words; Enter searches",
        hint=ASK,
        empty="Nothing found; other words may find it.",
    )


def history_source(runtime: ChatRuntime) -> ListSource[ConversationOverview]:
    """Return the conversations; one can be looked at, or gone on in."""

    async def look(panel: ListPanel[ConversationOverview], row: ConversationOverview) -> None:
        chat = runtime.memory.stored_conversations.open_existing(row.info.id)
        title = f"Conversation {one_line(row.info.id)} · Enter shows a message whole"
        source = MessageList(lambda: chat).source(title)
        panel.app.push_screen(ListScreen(runtime, source))

    async def go_on(panel: ListPanel[ConversationOverview], row: ConversationOverview) -> None:
        if not panel.app.is_busy():
            await run_in_thread(lambda: runtime.switch(row.info.id))
            await panel.app.reopen_chat()
            panel.app.pop_screen()

    def find(words: str) -> Sequence[ConversationOverview]:
        found = runtime.memory.stored_conversations.overviews(MOST)
        return [each for each in found if words.casefold() in each.info.id.casefold()]

    return ListSource(
        title="History · Enter opens a conversation",
        columns=OVERVIEW,
        find=find,
        describe=_describe_conversation,
        actions=(KeyAction("enter", "Open", look), KeyAction("g", "Go on in it", go_on)),
        question="part of a name; Enter finds the conversations of that name",
        empty="No conversation has that in its name.",
    )


def _describe_conversation(row: ConversationOverview, view: Display) -> RenderableType:
    ended = "still open" if row.info.ended_at is None else f"ended {view.minute(row.info.ended_at)}"
    rows = {
        "name": one_line(row.info.id),
        "begun": f"{view.minute(row.info.created_at)}, {ended}",
        "model": one_line(row.info.model or "none"),
    }
    return details(rows.items())


class MessageList:
    """The messages of a conversation, each with its state and the reason for it.

    Attributes:
        found: the conversation as it was when it was read last.

    Args:
        chat: returns the conversation.
    """

    found: ViewExplanation

    def __init__(self, chat: Callable[[], Conversation]) -> None:
        """Read nothing yet."""
        self._chat = chat

    def source(self, title: str = "", *actions: KeyAction) -> ListSource[ExplainedMessage]:
        """Return the messages as a list, the newest last, with ``actions`` beside looking."""
        return ListSource(
            title=title,
            columns=MESSAGES,
            find=self._find,
            describe=self._describe,
            actions=(KeyAction("enter", "Show", self._show), *actions),
            empty="No messages yet.",
            newest_last=True,
        )

    def _find(self, _: str) -> Sequence[ExplainedMessage]:
        self.found = self._chat().explain()
        return self.found.lines

    def _describe(self, line: ExplainedMessage, _: Display) -> RenderableType:
        shown = Text(f"#{line.message.position} ", "bold")
        shown.append(line.state.value, STATES.get(line.state, "red"))
        more = "; Enter shows what is out there" if line.marker else ""
        return shown.append_text(safe_text(f": {one_line(line.why)}{more}", "not bold"))

    async def _show(self, panel: ListPanel[ExplainedMessage], line: ExplainedMessage) -> None:
        """Show a message whole, or all that left the view with it."""
        found: Sequence[Message] = (line.message,)
        if line.marker is not None:
            marker = line.marker
            found = await run_in_thread(lambda: self._chat().expand(marker))
        texts = (text for each in found for text in show_message(each, panel.view))
        heading = f"{pluralize(len(found), 'message')} from #{found[0].position} on"
        panel.app.push_screen(TextScreen(heading, Group(*texts)))


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A line of MEMORY.md under its heading."""

    topic: str
    text: str


def notes_source(runtime: ChatRuntime) -> ListSource[NoteLine]:
    """Return the lines of MEMORY.md, which can be edited."""

    async def edit(panel: ListPanel[NoteLine], _: NoteLine) -> None:
        notes = runtime.memory.notes

        def save(text: str) -> str:
            notes.write_memory(text)
            return "The notes are saved"

        lasting = "" if notes.is_lasting else ", until this ends"
        about = safe_text(f"in {notes.folder}{lasting}; a line that you take out is forgotten")
        text = await run_in_thread(notes.read_memory)
        action = KeyAction("ctrl+s", "Save", save)
        await panel.edit(EditScreen(MEMORY_FILE, about, text, [action]))

    def find(words: str) -> Sequence[NoteLine]:
        lines = [*read_notes(runtime.memory.notes.read_memory())] or [NoteLine("", NO_NOTES)]
        return [each for each in lines if words.casefold() in each.text.casefold()]

    return ListSource(
        title=f"{MEMORY_FILE} · Enter edits it",
        columns=(Column("topic", "topic", "bold cyan", wide=True), Column("note", "text")),
        find=find,
        describe=lambda line, _: safe_text(line.text),
        actions=(KeyAction("enter", "Edit", edit), KeyAction("e", "Edit", edit)),
        question="words; Enter finds the notes with them",
    )


def read_notes(text: str) -> Iterator[NoteLine]:
    """Yield the lines of Markdown that say something, each under its heading."""
    topic = ""
    for line in text.splitlines():
        if line.startswith("#"):
            topic = line.lstrip("# ")
        elif line.strip() and not line.lstrip().startswith("<!--"):
            yield NoteLine(topic, line.strip().removeprefix("- "))
