"""``memoranda chat``: a talk with the memory, through a language model where there is one."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from memoranda.agent import Agent, Answer
from memoranda.cli import chat_drawing
from memoranda.cli import conversations_drawing as drawing
from memoranda.cli.chat_answering import (
    Interruptible,
    Stopped,
    answered,
    terminating,
    unechoed,
)
from memoranda.cli.chat_commands import (
    EXIT,
    MEANINGS,
    NEW,
    QUIT,
    Desk,
    meant,
    obey,
    parsed,
)
from memoranda.cli.chat_drawing import Words
from memoranda.cli.chat_history import PromptHistory, history_file
from memoranda.cli.chat_prompt import Lines, Prompt
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.conversations_drawing import Look
from memoranda.cli.output import one_line, styled, write_json_line
from memoranda.errors import MemorandaError
from memoranda.memory import Memory, parts_of
from memoranda.model.chat import ChatModel

WAITING = {False: "thinking…", True: "consolidating…"}
STOPPED = "stopped; what you said is kept"
LATER = "it goes on; Ctrl+C again leaves, and what is left is read later"
PLAIN_WIDTH = 100

commands = typer.Typer()


@command(
    commands,
    "chat",
    examples=(
        "memoranda chat",
        "memoranda chat --session trip --model anthropic:claude-haiku-4-5",
        "memoranda chat --model openai:qwen3@http://localhost:11434/v1",
        'echo "what does Ana eat?" | memoranda chat --json',
    ),
)
def chat(
    session: Session,
    *,
    name: Annotated[
        str, typer.Option("--session", metavar="NAME", help="The talk that goes on, or begins.")
    ] = "chat",
    system: Annotated[
        str | None,
        typer.Option(help="The system prompt; otherwise agent.system.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The language model; otherwise llm.model.", show_default=False
        ),
    ] = None,
) -> None:
    """Talk with your memory, in the words of a language model or from memory alone.

    All that is said is kept, whatever ends the talk; /help lists the commands. In a pipe each
    line is answered by itself, with --json as one object a line.
    """
    opened = Memory(session.shared.db, user=session.user, settings=session.settings, llm=model)
    with terminating(), opened as memory:
        talk = _talk(session, memory, name, system)
        talk.run()
    if talk.failed and not talk.live:
        raise typer.Exit(FAILED)


def _talk(session: Session, memory: Memory, name: str, system: str | None) -> Talk:
    own = parts_of(memory).models.model
    model = Interruptible(cast("ChatModel", own)) if hasattr(own, "chat") else None
    agent = Agent(memory, session=name, system=system, llm=model)
    live = sys.stdin.isatty() and session.out.is_terminal and not session.shared.as_json
    history = PromptHistory(history_file(memory.user), session.warn)
    reader = Prompt(history, MEANINGS) if live else Lines()
    look = Look(console=session.out, settings=session.settings)
    return Talk(Desk(session, agent, reader, look), model, live=live)


@dataclass(slots=True)
class Talk:
    """One run of a chat.

    Attributes:
        desk: what it works with.
        model: the model that answers, if there is one.
        live: whether a person sits at a terminal.
        failed: whether something could not be answered.
    """

    desk: Desk
    model: Interruptible | None
    live: bool
    failed: bool = False

    def run(self) -> None:
        """Answer until the person leaves, or the lines end."""
        if self.live:
            self._print(*chat_drawing.greeting(self.desk.agent, self.desk.look), Text())
        while (said := self.desk.reader.read()) is not None:
            if not said.strip():
                continue
            command, rest = parsed(said) or (None, "")
            try:
                command = command and meant(command, rest)
                if command in {EXIT, QUIT}:
                    return
                self._take(NEW if command == NEW else said, command, rest)
            except BrokenPipeError:
                raise
            except (MemorandaError, OSError) as error:
                self._fail(error, command)
            if self.live:
                self._print(Text())

    def _take(self, said: str, command: str | None, rest: str) -> None:
        if command is not None and command != NEW:
            self._obey(command, rest)
        elif self.desk.session.shared.as_json:
            self._told(self._answer(said, command, lambda _: None))
        else:
            self._speak(said, command)

    def _obey(self, command: str, rest: str) -> None:
        drawn = obey(self.desk, command, rest)
        if self.desk.session.shared.as_json:
            self._told(Answer(_plain(drawn), command=command))
            return
        for part in drawn:  # Each at once: the next may ask about it.
            self._print(part)

    def _speak(self, said: str, command: str | None) -> None:
        """Let an answer be heard as it comes, and say what it was made from."""
        words = Words(self.desk.session.out)
        heard = io.StringIO()
        try:
            with self._waiting(command) as over:

                def hear(piece: str) -> None:
                    over()
                    heard.write(piece)
                    words.say(piece)

                answer = self._answer(said, command, hear)
        except Stopped:
            words.end()
            self._print(Text(STOPPED, "dim"))
            return
        except MemorandaError:
            words.end()
            raise
        self._finish(answer, words, heard.getvalue())

    def _finish(self, answer: Answer, words: Words, heard: str) -> None:
        look = self.desk.look
        if self.live and self.model is None and answer.command is None:
            self._print(*chat_drawing.remembered(answer.text, look))
        elif not heard.rstrip().endswith(answer.text.rstrip()):
            # It was not told as it came.
            words.say(f"\n\n{answer.text}" if heard else answer.text)
        words.end()
        if self.live and self.model is not None and answer.command is None:
            self._print(*chat_drawing.spent(answer, look))
        if answer.note is not None:
            self._print(*drawing.hung("", Text(answer.note, "dim"), look))

    def _answer(self, said: str, command: str | None, hear: Callable[[str], None]) -> Answer:
        if self.model is not None:
            self.model.begin()
        stop = self._stop if command is None else partial(self._print, Text(LATER, "dim"))
        process = self.desk.agent.process
        # Without a model all words come at once, and are drawn when they are there.
        listens = self.model is not None
        return answered(lambda told: process(said, told=told if listens else None), hear, stop)

    def _stop(self) -> None:
        if self.model is not None:
            self.model.stop()

    @contextmanager
    def _waiting(self, command: str | None) -> Iterator[Callable[[], None]]:
        """Show that something is being done, until the first word."""
        if not self.live:
            yield lambda: None
            return
        status = self.desk.session.out.status(Text(WAITING[command == NEW], "dim"))
        with unechoed():
            status.start()
            try:
                yield status.stop
            finally:
                status.stop()

    def _print(self, *rendered: RenderableType) -> None:
        for each in rendered:
            self.desk.session.out.print(each, soft_wrap=isinstance(each, Text))

    def _told(self, answer: Answer, error: str | None = None) -> None:
        told: dict[str, Any] = {
            "text": answer.text,
            "sources": [hit.record.id for hit in answer.sources],
            "tools": answer.tools,
            "command": answer.command,
        }
        if answer.note is not None:
            told["note"] = answer.note
        write_json_line(told if error is None else told | {"error": error})

    def _fail(self, error: Exception, command: str | None) -> None:
        self.failed = True
        line = one_line(str(error))
        shown = styled("error: ", "bold red").append(line, "not bold")
        if self.live:
            self._print(*drawing.hung("", shown, self.desk.look))
        else:
            self.desk.session.err.print(shown, soft_wrap=True)
        if self.desk.session.shared.as_json:
            self._told(Answer("", command=command), line)


def _plain(drawn: Iterator[RenderableType]) -> str:
    """Return what would be shown, as text."""
    console = Console(
        file=io.StringIO(), width=PLAIN_WIDTH, markup=False, emoji=False, highlight=False,
        color_system=None,
    )  # fmt: skip
    for part in drawn:
        console.print(part, soft_wrap=isinstance(part, Text))
    file = cast("io.StringIO", console.file)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
