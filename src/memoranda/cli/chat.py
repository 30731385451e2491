"""``memoranda chat``: a conversation with the memory, by a language model where there is one.

What a model says, and what is remembered, is shown as it is and never obeyed. Words come as they
are said, and can be stopped: :class:`memoranda.agent.session.ChatSession` works in a thread of its
own, and the main thread only waits, so that a signal never meets a lock that it holds.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from memoranda.agent.agent import STAGE
from memoranda.agent.session import (
    AnswerFinished,
    ChatEvent,
    ChatSession,
    InterfaceCommand,
    Question,
    RequestFailed,
    SessionEnded,
    TextPiece,
    ToolUsed,
    WorkStarted,
)
from memoranda.cli import chat_commands
from memoranda.cli.chat_commands import EXIT, MEANINGS, ChatDesk, PipeReader
from memoranda.cli.command import (
    FAILED,
    ChatName,
    Model,
    Session,
    System,
    command,
    exit_on_signal,
    handle_signals,
    make_console,
    write_json,
)
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.memory import Memory
from memoranda.model.usage import NO_USAGE
from memoranda.rendering.chat import (
    describe_answer,
    describe_changes,
    describe_requests,
    describe_start,
    show_event,
)
from memoranda.rendering.forms import to_json
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import escape_controls, one_line, pluralize
from memoranda.serving.signals import ending_signals
from memoranda.text.patterns import compile_pattern

if sys.platform != "win32":
    import termios

WAITING = {False: "thinking…", True: "consolidating…"}
HINT = "/expand shows them"
ASKS = "this asks first, and nobody can be asked here: {}"
# A line by which memory quotes itself: when and by whom, and what.
SOURCE = compile_pattern(r"(- )(\[[^\]]*\] )(.*)")
PIECES = compile_pattern(r"\n|[^\S\n]+|\S")
LOCAL_FLAGS = 3  # their place in what termios.tcgetattr returns
WIDE = 2

commands = typer.Typer()


@command(commands, "chat")
def chat(
    session: Session, *, in_session: ChatName = "chat", system: System = None, model: Model = None
) -> None:
    """Talk with your memory, by a language model or from memory alone.

    All that is said is kept, whatever ends the conversation; /help lists the commands. In a pipe
    each line is answered by itself, with --json as one object a line.

    Examples:
        memoranda chat
        memoranda chat --session trip --model anthropic:claude-haiku-4-5
        memoranda chat --model openai:qwen3@http://localhost:11434/v1
        echo "what does Ana eat?" | memoranda chat --json
    """
    opened = Memory(session.shared.db, user=session.user, settings=session.settings, llm=model)
    with handle_signals(ending_signals(), exit_on_signal), opened as memory:
        talk = ChatSession(memory, session=in_session, system=system, own=MEANINGS)
        live = sys.stdin.isatty() and session.out.is_terminal and not session.shared.as_json
        reader = open_prompt(talk, session.warn) if live else PipeReader()
        loop = ChatLoop(ChatDesk(session, talk, reader), live=live)
        loop.run()
    if loop.failed and not loop.live:
        raise typer.Exit(FAILED)


def open_prompt(talk: ChatSession, warn: Callable[[str], None]) -> PipeReader:
    """Return the prompt of a user, with what they typed in earlier chats."""
    from memoranda.cli import chat_prompt  # noqa: PLC0415 - a pipe does without its library
    from memoranda.notes.erasing import history_file  # noqa: PLC0415

    history = history_file(talk.agent.memory.user)
    return chat_prompt.TerminalReader(history, talk.meanings, warn)


@dataclass(slots=True)
class ChatLoop:
    """One run of a chat.

    Attributes:
        desk: what it works with.
        live: whether a person sits at a terminal.
        failed: whether something could not be done.
    """

    desk: ChatDesk
    live: bool
    failed: bool = False

    def run(self) -> None:
        """Answer until the person leaves, or the lines end."""
        if self.live:
            self._print(*show_greeting(self.desk.chat, self.desk.view), Text())
        while (text := self.desk.reader.read()) is not None:
            if not text.strip():
                continue
            turn = TurnPrinter(self)
            goes_on = turn.take(text)
            if self.desk.session.shared.as_json:
                turn.write()
            if not goes_on:
                return
            if self.live:
                self._print(Text())

    def _print(self, *rendered: RenderableType) -> None:
        self.desk.session.print(*rendered)


@dataclass(slots=True)
class TurnPrinter:
    """Prints what comes of one text: as it comes, or as one object of JSON at its end."""

    loop: ChatLoop
    line: dict[str, Any] = field(
        default_factory=lambda: {"text": "", "sources": (), "tools": (), "command": None}
    )
    rendered: list[RenderableType] = field(default_factory=list)
    words: WordWriter = field(init=False)
    heard: str = ""
    waiting: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        """Hear nothing yet."""
        self.words = WordWriter(self.desk.session.out)

    @property
    def desk(self) -> ChatDesk:
        """What the chat works with."""
        return self.loop.desk

    def take(self, text: str) -> bool:
        """Show what comes of a text; return whether the chat goes on."""
        talk, goes_on = self.desk.chat, True
        self.line["command"] = talk.find_command(text)
        with self.waiting, handle_signals([signal.SIGINT], lambda *_: talk.interrupt()):
            for event in talk.send(text):
                try:
                    goes_on = self._show(event) and goes_on
                except BrokenPipeError:
                    raise
                except (MemorandaError, OSError) as error:
                    self._show(RequestFailed(error))
        return goes_on

    def _show(self, event: ChatEvent) -> bool:
        """Show an event; return whether the chat goes on."""
        if isinstance(event, WorkStarted):
            self._wait(WAITING[event.ending])
            return True
        if isinstance(event, TextPiece):
            self._hear(event.text)
            return True
        if isinstance(event, ToolUsed):
            return True
        self.waiting.close()
        match event:
            case AnswerFinished():
                self._finish(event)
            case Question(text, yes):
                return self._ask(text, yes)
            case InterfaceCommand(name, words):
                if name == EXIT:
                    return False
                for each in chat_commands.RUN[name](self.desk, words):
                    self._print(each)  # Each at once: the next may ask about it.
            case RequestFailed(error):
                self._fail(event, error)
            case _:
                self.words.end()
                self._print(*show_event(event, self.desk.view, HINT))
        return not isinstance(event, SessionEnded)

    def _wait(self, doing: str) -> None:
        """Show that something is being done, until the first word."""
        if self.loop.live:
            self.waiting.enter_context(hide_typing())
            self.waiting.enter_context(self.desk.session.out.status(Text(doing, "dim")))

    def _hear(self, piece: str) -> None:
        self.heard += piece
        if not self.desk.session.shared.as_json:
            self.waiting.close()
            self.words.write(piece)

    def _finish(self, event: AnswerFinished) -> None:
        answer, view = event.answer, self.desk.view
        self.line |= describe_json(event)
        if self.desk.session.shared.as_json:
            return
        if self.loop.live and self.desk.chat.model is None:
            self._print(*show_recalled(answer.text, view))
        elif not self.heard.rstrip().endswith(answer.text.rstrip()):
            # It did not come in pieces.
            self.words.write(f"\n\n{answer.text}" if self.heard else answer.text)
        self.words.end()
        lines = [*describe_requests(answer), *describe_changes(answer, HINT)]
        if self.loop.live:
            lines = [*describe_answer(event, HINT)]
        for line in lines:
            self._print(*view.hang("", line))

    def _ask(self, question: str, yes: str) -> bool:
        answer = self.desk.reader.ask(f"{question} [y/N]")
        if answer is None:
            raise InvalidInput(ASKS.format(yes))
        if answer.casefold() in {"y", "yes"}:
            return self.take(yes)
        self._print(Text("nothing was done", "dim"))
        return True

    def _fail(self, event: RequestFailed, error: Exception) -> None:
        self.loop.failed = True
        self.words.end()
        self.line["error"] = one_line(str(error))
        shown = show_event(event, self.desk.view, HINT)
        if self.loop.live:
            self._print(*shown)
        else:
            self.desk.session.err.print(*shown, soft_wrap=True)

    def _print(self, *rendered: RenderableType) -> None:
        if self.desk.session.shared.as_json:
            self.rendered += rendered
        else:
            self.desk.session.print(*rendered)

    def write(self) -> None:
        """Write all of it as one object."""
        file = io.StringIO()
        console = make_console(file=file, width=100, color_system=None)
        for each in self.rendered:
            console.print(each, soft_wrap=isinstance(each, Text))
        beside = "\n".join(line.rstrip() for line in file.getvalue().splitlines())
        if self.line["text"] == "" and "error" not in self.line:
            self.line["text"] = beside
        write_json(self.line, indent=None)


class WordWriter:
    """Writes the words of an answer as they come. On a terminal no word is broken at its edge."""

    def __init__(self, console: Console) -> None:
        """Write nothing yet."""
        self._file = console.file
        self._width = console.width if console.is_terminal else None
        self._column = 0
        self._gap = ""
        self._word = ""

    def write(self, text: str) -> None:
        """Write a piece; a word that may go on waits for its end."""
        shown = escape_controls(text.replace("\r", "").replace("\t", "    "))
        if self._width is None:
            self._file.write(shown)
            self._column = 0 if shown.endswith("\n") else self._column + len(shown)
        else:
            for piece in PIECES.findall(shown):
                self._take(piece)
        self._file.flush()

    def end(self) -> None:
        """Write what waits, and end the line."""
        self._flush()
        if self._column:
            self._file.write("\n")
        self._file.flush()
        self._column = 0

    def _take(self, piece: str) -> None:
        self._word += piece.strip()
        if piece.isspace() or cell_len(piece) >= WIDE:
            self._flush()  # Between wide characters a line may break, too.
        if piece == "\n":
            self._break()
        elif piece.isspace():
            self._gap += piece

    def _break(self) -> None:
        self._file.write("\n")
        self._column, self._gap = 0, ""

    def _flush(self) -> None:
        width, wide = self._width or 1, cell_len(self._word)
        if not self._word:
            return
        if self._column and self._column + len(self._gap) + wide > width:
            self._break()
        self._file.write(self._gap + self._word)
        self._column += len(self._gap) + wide
        if self._column > width:  # The terminal breaks what is longer than a line.
            self._column = (self._column - 1) % width + 1
        self._gap = self._word = ""


def show_greeting(talk: ChatSession, view: Display) -> Iterator[Text]:
    """Yield which model answers, which session goes on, and how to leave."""
    agent = talk.agent
    held = len(agent.chat)
    state = f"goes on with {pluralize(held, 'message')}" if held else "is new"
    who = Text("memory alone answers", "bold yellow")
    if agent.model is not None:
        who = safe_text(one_line(agent.model), "bold green")
    name = safe_text(one_line(agent.chat.id), "not dim bold")
    session = Text("session ", "dim").append_text(name).append(f" {state}", "not bold dim")
    yield from view.flow([who, session])
    for line in describe_start(talk):
        yield from view.hang("", line)
    hints = ("/help lists the commands", "Ctrl+D leaves, the session stays")
    yield from view.flow(Text(hint, "dim") for hint in hints)


def describe_json(event: AnswerFinished) -> dict[str, Any]:
    """Return an answer as --json writes it, with what it and the session took of models."""
    answer = event.answer
    asked = [
        {"outcome": each.outcome.value, "record": each.record, "text": each.line}
        for each in answer.requests
    ]
    note = "; ".join(line.plain for line in describe_changes(answer, HINT)) or None
    more: dict[str, Any] = {"requests": asked or None, "note": note}
    if event.spending:
        background = [each.usage for each in event.spending if each.stage != STAGE]
        more["usage"] = {
            "answer": to_json(answer.usage),
            "session": to_json(sum((each.usage for each in event.spending), NO_USAGE)),
            "background": to_json(sum(background, NO_USAGE)),
        }
    return {
        "text": answer.text,
        "sources": [hit.record.id for hit in answer.sources],
        "tools": answer.tools,
        **{name: value for name, value in more.items() if value is not None},
    }


def show_recalled(text: str, view: Display) -> Iterator[Text]:
    """Yield an answer from memory alone; date and speaker of its sources are dim."""
    for line in text.splitlines():
        found = SOURCE.fullmatch(line)
        if found is None:
            yield from view.hang("", line)
        else:
            body = safe_text(found[2], "dim").append_text(safe_text(found[3], "not dim"))
            yield from view.hang(found[1], body, "dim")


@contextmanager
def hide_typing() -> Iterator[None]:
    """Keep what is typed meanwhile for the next prompt, and out of what is being written."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    quiet = [*before]
    quiet[LOCAL_FLAGS] &= ~termios.ECHO
    termios.tcsetattr(file, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
