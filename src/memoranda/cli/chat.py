"""``memoranda chat``: a conversation with the memory, by a language model where there is one.

What a model says, and what is remembered, is shown as it is and never obeyed. The chat itself is
:class:`memoranda.agent.session.ChatSession`: text goes in, and its events are printed here.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from memoranda.agent import session as chats
from memoranda.agent.agent import STAGE
from memoranda.cli.chat_commands import EXIT, HINT, MEANINGS, RUN
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
from memoranda.rendering.chat import describe_changes, describe_start, show_event
from memoranda.rendering.forms import to_json
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import escape_controls, one_line, pluralize
from memoranda.serving.signals import ending_signals
from memoranda.text.patterns import compile_pattern

if TYPE_CHECKING:  # A pipe does without its library.
    from memoranda.cli.chat_prompt import TerminalPrompt

WAITING = {False: "thinking…", True: "consolidating…"}
PIPE_WIDTH = 100
# A word with the blanks before it, of which more may come.
WORD = compile_pattern(r"(\s*)(\S+)")

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
    opened = Memory(session.db, user=session.user, settings=session.settings, llm=model)
    with handle_signals(ending_signals(), exit_on_signal), opened as memory:
        talk = chats.ChatSession(memory, session=in_session, system=system, own=MEANINGS)
        live = sys.stdin.isatty() and session.out.is_terminal and not session.as_json
        face = TerminalChat(session, talk, open_prompt(talk, session) if live else None)
        face.run()
    if face.failed and not live:
        raise typer.Exit(FAILED)


def open_prompt(talk: chats.ChatSession, session: Session) -> TerminalPrompt:
    """Return the prompt of a user, with what they typed in earlier chats."""
    from memoranda.cli.chat_prompt import TerminalPrompt  # noqa: PLC0415 - see above
    from memoranda.notes.erasing import history_file  # noqa: PLC0415

    return TerminalPrompt(history_file(talk.agent.memory.user), [*talk.meanings], session.warn)


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
    _words: WordWriter = field(init=False)
    _waiting: ExitStack = field(default_factory=ExitStack)

    def run(self) -> None:
        """Answer until the person leaves, or the lines end."""
        if self.session.as_json:
            self.session.out = make_console(width=PIPE_WIDTH, color_system=None)
        if self.prompt is not None:
            self.session.print(*self._greet(), Text())
        while (text := self._read()) is not None and self.answer(text):
            pass

    def _greet(self) -> Iterator[Text]:
        """Yield which model answers, which session goes on, and how to leave."""
        agent, hang = self.talk.agent, self.session.view.hang
        held = len(agent.chat)
        state = f"goes on with {pluralize(held, 'message')}" if held else "is new"
        if agent.model is not None:
            yield from hang("", safe_text(one_line(agent.model), "bold green"))
        yield from hang("", f"session {one_line(agent.chat.id)} {state}")
        for line in describe_start(self.talk):
            yield from hang("", line)
        yield from hang(
            "", Text("/help lists the commands; Ctrl+D leaves, the session stays", "dim")
        )

    def _read(self) -> str | None:
        """Return the next text that is not blank; ``None`` at the end."""
        read = self.prompt.read if self.prompt is not None else lambda: next(sys.stdin, None)
        while (text := read()) is not None:
            if text.strip():
                return text.rstrip("\r\n")
        return None

    def answer(self, text: str) -> bool:
        """Show what comes of a text; return whether the chat goes on."""
        self.line = {
            "text": "",
            "sources": (),
            "tools": (),
            "command": self.talk.find_command(text),
        }
        if self.session.as_json:
            self.session.out.file = io.StringIO()
        self._words = WordWriter(self.session.out)
        goes_on = self._play(text)
        if self.session.as_json:
            if not self.line["text"] and "error" not in self.line:
                shown = self.session.out.file.getvalue()  # type: ignore[attr-defined] # see above
                self.line["text"] = shown.rstrip()
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
            case chats.WorkStarted(ending):
                if self.prompt is not None:
                    self._waiting.enter_context(self.session.out.status(WAITING[ending]))
            case chats.TextPiece(piece):
                self._words.write(piece)
            case chats.ToolUsed():
                pass
            case chats.AnswerFinished():
                self._finish(event)
            case chats.Question():
                return self._ask(event)
            case chats.InterfaceCommand(name, words):
                return name != EXIT and self._run(name, words)
            case chats.RequestFailed():
                self._fail(event)
            case _:
                self.session.print(*show_event(event, self.session.view, HINT))
        return not isinstance(event, chats.SessionEnded)

    def _finish(self, event: chats.AnswerFinished) -> None:
        answer = event.answer
        self.line |= describe_json(event)
        if not self._words.written.rstrip().endswith(answer.text.rstrip()):
            self._words.write(answer.text)  # It did not come in pieces.
        self._words.end()
        if not self.session.as_json:
            self._tell(event)

    def _run(self, name: str, words: str) -> bool:
        """Do a command of this face; return whether the chat goes on."""
        for each in RUN[name](self.talk, self.session.view, words):
            if isinstance(each, chats.Question):
                return self._ask(each)
            self.session.print(each)
        return True

    def _ask(self, question: chats.Question) -> bool:
        if self.prompt is None:
            message = f"this asks first, and nobody can be asked here: {question.yes}"
            raise InvalidInput(message)
        if self.prompt.confirm(question.text):
            return self._play(question.yes)
        self.session.print(Text("nothing was done", "dim"))
        return True

    def _fail(self, event: chats.RequestFailed) -> None:
        self.failed = True
        self._words.end()
        self.line["error"] = one_line(str(event.error))
        self._tell(event)

    def _tell(self, event: chats.ChatEvent) -> None:
        """Show what is no answer; where answers go to a program, on standard error."""
        console = self.session.out if self.prompt is not None else self.session.err
        for each in show_event(event, self.session.view, HINT):
            console.print(each, soft_wrap=True)


class WordWriter:
    """Writes the words of an answer as they come; on a terminal none is broken at its edge.

    Attributes:
        written: the text so far.
    """

    def __init__(self, console: Console) -> None:
        """Write nothing yet."""
        self.written = ""
        self._file = console.file
        self._width = console.width if console.is_terminal else None
        self._column = 0
        self._rest = ""

    def write(self, text: str) -> None:
        """Write a piece; its last word, which may go on, waits for what follows."""
        self.written += text
        self._rest += escape_controls(text.replace("\r", "").replace("\t", "    "))
        end = 0
        for found in WORD.finditer(self._rest):
            if found.end() < len(self._rest):
                self._put(*found.groups())
                end = found.end()
        self._rest = self._rest[end:]
        self._file.flush()

    def end(self) -> None:
        """Write what waits, and end the line."""
        if found := WORD.fullmatch(self._rest.rstrip()):
            self._put(*found.groups())
        if self._column:
            self._file.write("\n")
        self._file.flush()
        self._column, self._rest = 0, ""

    def _put(self, gap: str, word: str) -> None:
        """Write a word behind a gap, or on the next line where it does not fit."""
        *lines, blanks = gap.split("\n")
        if lines:
            self._column = 0
        elif self._width and self._column and self._column + cell_len(gap + word) > self._width:
            gap, blanks, self._column = "\n", "", 0
        self._file.write(gap + word)
        self._column += cell_len(blanks + word)


def describe_json(event: chats.AnswerFinished) -> dict[str, Any]:
    """Return an answer as --json writes it, with what it and the session took of models."""
    answer = event.answer
    found: dict[str, Any] = {
        "text": answer.text,
        "sources": [hit.record.id for hit in answer.sources],
        "tools": answer.tools,
    }
    if answer.requests:
        found["requests"] = [
            {"outcome": each.outcome.value, "record": each.record, "text": each.line}
            for each in answer.requests
        ]
    if note := "; ".join(line.plain for line in describe_changes(answer, HINT)):
        found["note"] = note
    if event.spending:
        background = [each.usage for each in event.spending if each.stage != STAGE]
        found["usage"] = {
            "answer": to_json(answer.usage),
            "session": to_json(sum((each.usage for each in event.spending), NO_USAGE)),
            "background": to_json(sum(background, NO_USAGE)),
        }
    return found
