"""``memoranda chat``: a conversation with the memory, by a language model where there is one.

What a model says, and what is remembered, is shown as it is and never obeyed. The chat itself is
:class:`memoranda.agent.session.ChatSession`: text goes in, and its events are printed here.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from memoranda.agent import session as chats
from memoranda.agent.agent import STAGE
from memoranda.agent.commands import describe_command
from memoranda.cli.command import (
    FAILED,
    ChatName,
    Model,
    Session,
    command,
    ending_signals,
    exit_on_signal,
    handle_signals,
    make_console,
    read_input,
    write_json,
)
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.memory import Memory
from memoranda.model.notes import MEMORY_FILE
from memoranda.model.usage import add_up
from memoranda.rendering.chat import describe_changes, describe_start, show_event
from memoranda.rendering.conversations import SPANS, show_budget, show_figures, show_message
from memoranda.rendering.layout import Display, details, safe_text, table
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import escape_controls, one_line

if TYPE_CHECKING:  # A pipe does without its library.
    from memoranda.cli.chat_prompt import TerminalPrompt

PIPE_WIDTH = 100
HINT = "/expand shows them"
KEYS = {
    "Alt+Enter": "another line",
    "Ctrl+C": "stop an answer; clear the line; on an empty one, leave",
    "Ctrl+D": "leave",
    "Ctrl+R": "look for something you said before",
}

Shown = Iterator[RenderableType]

commands = typer.Typer()


@command(commands, "chat")
def chat(session: Session, *, in_session: ChatName = "chat", model: Model = None) -> None:
    """Talk with your memory, by a language model or from memory alone.

    All that is said is kept, whatever ends the conversation; /help lists the commands. In a pipe
    each line is answered by itself, with --json as one object a line.

    Examples:
        memoranda chat
        memoranda chat --session trip --model anthropic:claude-haiku-4-5
        memoranda chat --model openai:qwen3@http://localhost:11434/v1
        echo "what does Ana eat?" | memoranda chat --json
    """
    opened = Memory(session.db, user=session.user, settings=session.settings, llm=model)
    with handle_signals(ending_signals(), exit_on_signal), opened as memory:
        talk = chats.ChatSession(memory, session=in_session, own=MEANINGS)
        live = sys.stdin.isatty() and session.out.is_terminal and not session.as_json
        face = TerminalChat(session, talk, open_prompt(talk) if live else None)
        face.run()
    if face.failed and not live:
        raise typer.Exit(FAILED)


def open_prompt(talk: chats.ChatSession) -> TerminalPrompt:
    """Return the prompt of a user, with what they said in this conversation."""
    from memoranda.cli.chat_prompt import TerminalPrompt  # noqa: PLC0415 - see above

    said = [message.content for message in talk.agent.chat.by_role("user")]
    return TerminalPrompt(said, [*talk.meanings])


@dataclass(slots=True)
class TerminalChat:
    """A chat on a terminal or, without a prompt, in a pipe: prints the events of a session.

    Attributes:
        session: the run of the command.
        talk: the chat session.
        prompt: where a person types.
        failed: whether something could not be done.
        line: what came of the last text, as --json writes it.
    """

    session: Session
    talk: chats.ChatSession
    prompt: TerminalPrompt | None
    failed: bool = False
    line: dict[str, Any] = field(default_factory=dict)
    _answer: AnswerWriter = field(init=False)
    _waiting: ExitStack = field(default_factory=ExitStack)

    def run(self) -> None:
        """Answer until the person leaves, or the lines end."""
        if self.session.as_json:
            self.session.out = make_console(width=PIPE_WIDTH, color_system=None)
        if self.prompt is not None:
            self.session.print(*self._greet(), Text())
        for text in iter(self._read, None):
            if text.strip() and not self.answer(text.rstrip("\r\n")):
                break

    def _greet(self) -> Iterator[Text]:
        """Yield which model answers, which session goes on, and how to leave."""
        name = self.talk.agent.model
        who = [safe_text(one_line(name), "bold green")] if name else []
        hint = Text("/help lists the commands; Ctrl+D leaves, the session stays", "dim")
        yield from (*who, *describe_start(self.talk, HINT), hint)

    def _read(self) -> str | None:
        """Return the next text; ``None`` at the end."""
        if self.prompt is not None:
            return self.prompt.read()
        return read_input(line=True) or None

    def answer(self, text: str) -> bool:
        """Show what comes of a text; return whether the chat goes on."""
        self.line = {"text": "", "sources": (), "tools": ()}
        printed = io.StringIO()
        if self.session.as_json:
            self.session.out.file = printed
        with closing(AnswerWriter(self.session.out)) as self._answer:
            goes_on = self._play(text)
        if self.session.as_json:
            if not self.line["text"] and "error" not in self.line:
                self.line["text"] = printed.getvalue().rstrip()
            write_json(self.line, indent=None)
        elif self.prompt is not None:
            self.session.print(Text())
        return goes_on

    def _play(self, text: str) -> bool:
        goes_on = True
        with self._waiting, handle_signals([signal.SIGINT], lambda *_: self.talk.interrupt()):
            for event in self.talk.send(text):
                try:
                    goes_on = self._show(event) and goes_on
                except MemorandaError as error:
                    self._fail(chats.RequestFailed(error))
        return goes_on

    def _show(self, event: chats.ChatEvent) -> bool:
        """Show an event; return whether the chat goes on."""
        if not isinstance(event, chats.WorkStarted | chats.ToolUsed):
            self._waiting.close()
        match event:
            case chats.WorkStarted() if self.prompt is not None:
                self._waiting.enter_context(self.session.out.status("working…"))
            case chats.TextPiece(piece):
                self._answer.write(piece)
            case chats.AnswerFinished():
                self._finish(event)
            case chats.Question():
                return self._ask(event)
            case chats.InterfaceCommand(name, words):
                self.session.print(*RUN[name](self.talk, self.session.view, words))
            case chats.RequestFailed():
                self._fail(event)
            case _:
                self.session.print(*show_event(event, self.session.view, HINT))
        return not isinstance(event, chats.ChatEnded)

    def _finish(self, event: chats.AnswerFinished) -> None:
        answer = event.answer
        self.line |= describe_json(event)
        if not self._answer.written.rstrip().endswith(answer.text.rstrip()):
            self._answer.write(answer.text)  # It did not come in pieces.
        self._answer.close()
        if not self.session.as_json:
            self._tell(event)

    def _ask(self, question: chats.Question) -> bool:
        if self.prompt is None:
            raise InvalidInput(f"this asks first, and nobody can be asked here: {question.yes}")
        if self.prompt.confirm(question.text):
            return self._play(question.yes)
        self.session.print(Text("nothing was done", "dim"))
        return True

    def _fail(self, event: chats.RequestFailed) -> None:
        self.failed = True
        self._answer.close()
        self.line["error"] = one_line(str(event.error))
        self._tell(event)

    def _tell(self, event: chats.ChatEvent) -> None:
        """Show what is no answer; where answers go to a program, on standard error."""
        console = self.session.out if self.prompt is not None else self.session.err
        for each in show_event(event, self.session.view, HINT):
            console.print(each, soft_wrap=not console.is_terminal)


class AnswerWriter:
    """Shows an answer as it comes: whole lines stay, the last one grows.

    Attributes:
        written: the text so far.
    """

    def __init__(self, console: Console) -> None:
        """Write nothing yet."""
        self.written, self._line = "", ""
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def write(self, piece: str) -> None:
        """Show a piece of the answer."""
        self.written += piece
        shown = escape_controls(piece.replace("\r", "").replace("\t", "    "))
        *whole, self._line = (self._line + shown).split("\n")
        if self._console.is_terminal:
            self._live.start()
        self._live.update(Text(self._line), refresh=not whole)
        if whole:
            self._print("\n".join(whole))

    def close(self) -> None:
        """End the line that grows."""
        self._live.stop()
        if self._line:
            self._print(self._line)
        self._line = ""

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=not self._console.is_terminal)


def describe_json(event: chats.AnswerFinished) -> dict[str, Any]:
    """Return an answer as --json writes it, with what it and the session took of models."""
    answer = event.answer
    found: dict[str, Any] = {
        "text": answer.text,
        "sources": [hit.record.id for hit in answer.sources],
        "tools": answer.tools,
        "requests": answer.requests,
    }
    if note := "; ".join(line.plain for line in describe_changes(answer, HINT)):
        found["note"] = note
    if event.spending:
        found["usage"] = {
            "answer": answer.usage,
            "session": add_up(event.spending),
            "background": add_up(each for each in event.spending if each.stage != STAGE),
        }
    return found


# The commands that stand beside those of the chat session


def _memory(talk: chats.ChatSession, _view: Display, _words: str) -> Shown:
    """Show MEMORY.md: what is known, and where you can edit it."""
    notes = talk.agent.memory.notes
    yield from show_markdown(notes.read_memory() or "nothing is noted yet")
    yield safe_text(str(notes.folder / MEMORY_FILE), "dim")


def _context(talk: chats.ChatSession, view: Display, words: str) -> Shown:
    """Show what a model is sent, and what is in view; with WORDS, if you said them."""
    yield from show_budget(talk.agent.context(words or None).receipt, view)
    yield Text()
    yield from show_figures(talk.agent.chat.explain(), view)


def _expand(talk: chats.ChatSession, view: Display, words: str) -> Shown:
    """Show what left the view; with a PLACE, the messages there."""
    chat = talk.agent.chat
    for message in chat.expand(words) if words else ():
        yield from show_message(message, view)
    if not words:
        yield table(chat.explain().markers, SPANS, view, empty="nothing has left the view")


def _help(talk: chats.ChatSession, _view: Display, _words: str) -> Shown:
    """This list."""
    yield details({f"  {name}": does for name, does in {**talk.meanings, **KEYS}.items()})


# What each command does, as its docstring says; each yields what to show.
RUN: dict[str, Callable[[chats.ChatSession, Display, str], Shown]] = {
    "/context": _context,
    "/expand": _expand,
    "/memory": _memory,
    "/help": _help,
}
MEANINGS = {name: describe_command(run) for name, run in RUN.items()}
