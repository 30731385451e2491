"""What the slash commands of ``memoranda chat`` do, and where their answers come from."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from memoranda.agent import Agent
from memoranda.agent.commands import YES
from memoranda.agent.session import ChatSession
from memoranda.cli.command import Session
from memoranda.cli.config import show_explanation, show_settings
from memoranda.conversation.conversation_store import expand_place
from memoranda.errors import InvalidInput
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Record
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.conversations import show_budget, show_message, show_state
from memoranda.rendering.layout import LONGEST, Display, details, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import list_erased, warn_of_rest
from memoranda.settings import configure
from memoranda.settings.fields import groups
from memoranda.text.patterns import compile_pattern

EXIT = "/exit"
_BREAK = compile_pattern(r"[\s,]+")
MEANINGS = {
    "/context": "show what a model would be sent; with WORDS, if you said them",
    "/stats": "show how full the context is, and what is in view",
    "/expand": "show what left the view; with a MARKER, its messages",
    "/memory": "show MEMORY.md: what is known, and where you can edit it",
    "/forget": "forget facts: ID or WORDS; with --erase, for good",
    "/settings": "list the settings; NAME explains one, NAME VALUE changes it",
    "/help": "this list",
    EXIT: "leave; the session stays",
}
KEYS = {
    "Alt+Enter": "another line",
    "Ctrl+C": "stop an answer; clear the line; twice, leave",
    "Ctrl+D": "leave",
    "Ctrl+R": "look for something you typed before",
}
ERASE = "--erase"
ID = compile_pattern(r"(?:fact|ep|ctx|ref)_\w+", re.ASCII)
# What the other lines of an item of a list stand behind.
MARKER = compile_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)|[ \t]*")
FOUND = 5
EVERY = "all"
SURE = {False: "Forget this?", True: "Erase this for good?"}
FORGOTTEN = 160

Rendered = Iterator[RenderableType]


class PipeReader:
    """Lines of standard input, each a message of its own. Nobody can be asked."""

    def read(self) -> str | None:
        """Return the next line that is not blank; ``None`` at the end."""
        for line in sys.stdin:
            if line.strip():
                return line.rstrip("\r\n")
        return None

    def ask(self, question: str) -> str | None:
        """Return the answer to a question; ``None``, as nobody can be asked."""
        del question
        return None

    def reload(self) -> None:
        """Read anew what was typed before; nothing is kept here."""


@dataclass(frozen=True, slots=True)
class ChatDesk:
    """What a command works with: the chat, where answers come from, where results go."""

    session: Session
    chat: ChatSession
    reader: PipeReader

    @property
    def agent(self) -> Agent:
        """The agent of the chat."""
        return self.chat.agent

    @property
    def view(self) -> Display:
        """Where results are shown."""
        return self.session.view

    def confirm(self, question: str, words: Sequence[str]) -> bool:
        """Ask, unless the words say yes.

        Raises:
            InvalidInput: nobody can be asked.
        """
        return YES in words or self.ask(f"{question} [y/N]").casefold() in {"y", "yes"}

    def ask(self, question: str) -> str:
        """Return the answer to a question.

        Raises:
            InvalidInput: nobody can be asked.
        """
        answer = self.reader.ask(question)
        if answer is None:
            message = f"this asks first, and nobody can be asked here; name an id and add {YES}"
            raise InvalidInput(message)
        return answer


def _memory(desk: ChatDesk, rest: str) -> Rendered:
    del rest
    notes = desk.agent.memory.notes
    text = notes.read_memory()
    for line in show_markdown(text or "nothing is noted yet"):
        found = MARKER.match(line.plain)
        if line.plain.strip() and found is not None:
            start, rest_of_line = line.divide([found.end()]) if found.end() else (Text(), line)
            yield from desk.view.hang(start, rest_of_line)
        else:
            yield line
    where = str(notes.folder / MEMORY_FILE)
    yield safe_text(where if notes.is_lasting else f"{where}, until this chat ends", "dim")


def _context(desk: ChatDesk, rest: str) -> Rendered:
    """Yield what a model would be sent: its size as a bar, and the share of each part."""
    yield from show_budget(desk.agent.context(rest or None).receipt, desk.view)


def _stats(desk: ChatDesk, rest: str) -> Rendered:
    """Yield the state of the conversation, and how much is remembered."""
    del rest
    yield from show_state(desk.agent.chat.explain(), desk.view)
    counts = desk.agent.memory.stats().records
    held = (pluralize(count, kind) for kind, count in counts.items() if count)
    remembered = ", ".join(held) or "nothing yet"
    yield Text(f"  {'remembered':<16}", "dim").append(remembered, "not dim")


def _expand(desk: ChatDesk, rest: str) -> Rendered:
    """Yield the messages of a marker; without one, the markers there are."""
    chat, view = desk.agent.chat, desk.view
    if rest:
        for message in expand_place(chat, rest):
            yield from show_message(message, view)
        return
    markers = chat.explain().markers
    for marker in markers:
        many = pluralize(marker.messages, "message")
        yield from view.hang(f"{marker.id}  ", Text(f"{many}, {view.minute(marker.since)}", "dim"))
    hint = "/expand MARKER shows its messages" if markers else "nothing has left the view"
    yield Text(hint, "dim")


def _settings(desk: ChatDesk, rest: str) -> Rendered:
    """Yield all settings, or what one means; or change it in the settings file."""
    name, _, value = rest.partition(" ")
    if value.strip():
        done = configure.put(name, value.strip())
        yield safe_text(f"{done.name} = {done.value}", "bold").append(
            f"  in {done.path}", "not bold"
        )
        yield Text("it holds from the next chat on", "dim")
    elif name and name not in groups():
        yield show_explanation(configure.explain(name))
    else:
        found = configure.list_settings(desk.agent.memory.settings)
        yield from show_settings(one for one in found if not name or one.name.startswith(name))


def _help(desk: ChatDesk, rest: str) -> Rendered:
    del rest
    yield _list_meanings(desk.chat.meanings)
    yield Text()
    yield _list_meanings(KEYS)
    yield Text()
    yield from desk.view.hang("", " ".join(desk.agent.chat.explain().told))


def _list_meanings(meanings: Mapping[str, str]) -> RenderableType:
    made = details((f"  {name}", meaning) for name, meaning in meanings.items())
    made.columns[0].style = "bold"
    return made


def _forget(desk: ChatDesk, rest: str) -> Rendered:
    words = rest.split()
    wanted = " ".join(word for word in words if not word.startswith("--"))
    unknown = [word for word in words if word.startswith("--") and word not in {YES, ERASE}]
    if unknown or not wanted:
        problem = f"{unknown[0]} is unknown" if unknown else "say what"
        raise InvalidInput(f"{problem}: /forget ID or /forget WORDS, with {ERASE} for good")
    erase = ERASE in words
    found = _find(desk, wanted)
    if not found:
        yield Text("no fact has to do with that", "dim")
        return
    yield from _number(found, desk.view)
    if len(found) == 1:
        # Only who names an id can say yes beforehand.
        sure = desk.confirm(SURE[erase], words if ID.fullmatch(wanted) else ())
        chosen = found if sure else []
    else:
        verb = "Erase for good" if erase else "Forget"
        answer = desk.ask(f"{verb} which? [1-{len(found)}, {EVERY}; Enter for none]")
        chosen = _choose(answer, found)
    for record in chosen:
        yield from _forget_record(desk, record, erase=erase)
    if not chosen:
        yield Text("nothing was forgotten", "dim")


def _find(desk: ChatDesk, wanted: str) -> list[Record]:
    memory = desk.agent.memory
    if not ID.fullmatch(wanted):
        return [hit.record for hit in memory.search(wanted, kind="fact", limit=FOUND)]
    return [services_of(memory).records(scope_of(memory)).existing(wanted)]


def _number(found: Sequence[Record], view: Display) -> Iterator[Text]:
    """Yield records, numbered, each with its day and its id."""
    for number, record in enumerate(found, 1):
        start = Text(f"{number:>3}  ", "bold")
        start.append(f"{view.day(record.event_time)}  ", "not bold dim")
        yield from view.hang(start, safe_text(one_line(record.content, LONGEST)))
        yield from view.hang(" " * start.cell_len, record.id, "dim")


def _choose(answer: str, found: Sequence[Record]) -> list[Record]:
    """Return the records that an answer such as ``2`` or ``1, 3`` means.

    Raises:
        InvalidInput: it means something else.
    """
    if answer.casefold() == EVERY:
        return list(found)
    numbers = [part for part in _BREAK.split(answer) if part]
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= len(found)):
            message = f"{number!r:.40} is none of 1 to {len(found)}; nothing was forgotten"
            raise InvalidInput(message)
    return [found[place] for place in sorted({int(number) - 1 for number in numbers})]


def _forget_record(desk: ChatDesk, record: Record, *, erase: bool) -> Rendered:
    receipt = desk.agent.memory.forget(record.id, erase=erase)
    if erase:
        desk.reader.reload()
        parts = ", ".join(list_erased(receipt))
        yield safe_text(f"Erased{f', with {parts}' if parts else ''}.")
        for each in warn_of_rest(receipt):
            yield safe_text(each, "dim")
    else:
        content = one_line(record.content, FORGOTTEN)
        yield from desk.view.hang("", safe_text(f"Forgotten: {content}"))


# What each command of this face does; each yields what to show.
RUN: dict[str, Callable[[ChatDesk, str], Rendered]] = {
    "/memory": _memory,
    "/stats": _stats,
    "/context": _context,
    "/expand": _expand,
    "/settings": _settings,
    "/forget": _forget,
    "/help": _help,
}
