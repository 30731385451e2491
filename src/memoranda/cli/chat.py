"""``memoranda chat``: a conversation with the memory, by a language model where there is one.

What a model says, and what is remembered, is shown as it is and never obeyed. Words come as they
are said, and can be stopped: the agent works in a thread of its own, and the main thread only
waits, so that a signal never meets a lock that it holds.
"""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, cast

import typer
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from memoranda.agent import Agent, Answer
from memoranda.agent.commands import END, NEW, split_command
from memoranda.agent.interruption import AnswerStopped, InterruptibleModel
from memoranda.cli import chat_commands
from memoranda.cli.chat_commands import MEANINGS, ChatDesk, PipeReader
from memoranda.cli.command import (
    FAILED,
    SIGNAL_WAIT,
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
from memoranda.errors import MemorandaError
from memoranda.memory import Memory, services_of
from memoranda.model.chat import ChatModel, OnText
from memoranda.rendering.conversations import describe_pruned, describe_usage
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import escape_controls, one_line, pluralize
from memoranda.serving.signals import ending_signals
from memoranda.text.patterns import compile_pattern

if sys.platform != "win32":
    import termios

ENDINGS = (NEW, END)
WAITING = {False: "thinking…", True: "consolidating…"}
LATER = "it goes on; Ctrl+C again leaves, and what is left is read later"
SET_MODEL = "memoranda config set llm.model anthropic:claude-haiku-4-5"
# A line by which memory quotes itself: when and by whom, and what.
SOURCE = compile_pattern(r"(- )(\[[^\]]*\] )(.*)")
PIECES = compile_pattern(r"\n|[^\S\n]+|\S")
INTERRUPT = object()
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
        own = services_of(memory).models.model
        answering = InterruptibleModel(cast("ChatModel", own)) if hasattr(own, "chat") else None
        agent = Agent(memory, session=in_session, system=system, llm=answering, upkeep=True)
        live = sys.stdin.isatty() and session.out.is_terminal and not session.shared.as_json
        reader = open_prompt(memory.user, session.warn) if live else PipeReader()
        loop = ChatLoop(ChatDesk(session, agent, reader), answering, live=live)
        loop.run()
    if loop.failed and not loop.live:
        raise typer.Exit(FAILED)


def open_prompt(user: str, warn: Callable[[str], None]) -> PipeReader:
    """Return the prompt of a user, with what they typed in earlier chats."""
    from memoranda.cli import chat_prompt  # noqa: PLC0415 - a pipe does without its library
    from memoranda.notes.erasing import history_file  # noqa: PLC0415

    return chat_prompt.TerminalReader(history_file(user), MEANINGS, warn)


@dataclass(slots=True)
class ChatLoop:
    """One run of a chat.

    Attributes:
        desk: what it works with.
        model: the model that answers, if there is one.
        live: whether a person sits at a terminal.
        failed: whether something could not be answered.
    """

    desk: ChatDesk
    model: InterruptibleModel | None
    live: bool
    failed: bool = False

    def run(self) -> None:
        """Answer until the person leaves, or the lines end."""
        if self.live:
            self._print(*show_greeting(self.desk.agent, self.desk.view), Text())
        while (text := self.desk.reader.read()) is not None:
            if not text.strip():
                continue
            command, rest = split_command(text) or (None, "")
            try:
                command = command and chat_commands.resolve_command(command, rest)
                if command in {chat_commands.EXIT, chat_commands.QUIT}:
                    return
                self._handle(command if command in ENDINGS else text, command, rest)
                if command == END:
                    return
            except BrokenPipeError:
                raise
            except (MemorandaError, OSError) as error:
                self._fail(error, command)
            if self.live:
                self._print(Text())

    def _handle(self, text: str, command: str | None, rest: str) -> None:
        as_json = self.desk.session.shared.as_json
        if command is None or command in ENDINGS:
            if as_json:
                self._write(self._answer(text, command, lambda _: None))
            else:
                self._speak(text, command)
            return
        rendered = chat_commands.RUN[command](self.desk, rest)
        if as_json:
            self._write(Answer(_render_plain(rendered), command=command))
            return
        for each in rendered:  # Each at once: the next may ask about it.
            self._print(each)

    def _speak(self, text: str, command: str | None) -> None:
        """Let an answer be read as it comes, and say what it was made from."""
        words = WordWriter(self.desk.session.out)
        heard = io.StringIO()
        try:
            with self._wait(command) as end_waiting:

                def hear(piece: str) -> None:
                    end_waiting()
                    heard.write(piece)
                    words.write(piece)

                answer = self._answer(text, command, hear)
        except AnswerStopped:
            words.end()
            self._print(Text("stopped; what you said is kept", "dim"))
            return
        except MemorandaError:
            words.end()
            raise
        self._finish(answer, words, heard.getvalue())

    def _finish(self, answer: Answer, words: WordWriter, heard: str) -> None:
        view = self.desk.view
        plain = self.live and answer.command is None
        if plain and self.model is None:
            self._print(*show_recalled(answer.text, view))
        elif not heard.rstrip().endswith(answer.text.rstrip()):
            # It did not come in pieces.
            words.write(f"\n\n{answer.text}" if heard else answer.text)
        words.end()
        if plain and self.model is not None:
            self._print(*show_usage(answer, view))
        for receipt in answer.untold_requests:
            self._print(*view.hang("", safe_text(one_line(receipt.line), "dim")))
        for line in describe_changes(answer):
            self._print(*view.hang("", line))

    def _answer(self, text: str, command: str | None, hear: Callable[[str], None]) -> Answer:
        if self.model is not None:
            self.model.begin()
        stop = self._stop if command is None else partial(self._print, Text(LATER, "dim"))
        process = self.desk.agent.process
        # Without a model all words come at once, and are drawn when they are there.
        listens = self.model is not None
        return run_interruptible(
            lambda on_text: process(text, on_text=on_text if listens else None), hear, stop
        )

    def _stop(self) -> None:
        if self.model is not None:
            self.model.stop()

    @contextmanager
    def _wait(self, command: str | None) -> Iterator[Callable[[], None]]:
        """Show that something is being done, until the first word."""
        if not self.live:
            yield lambda: None
            return
        waiting = Text(WAITING[command in ENDINGS], "dim")
        with hide_typing(), self.desk.session.out.status(waiting) as status:
            yield status.stop

    def _print(self, *rendered: RenderableType) -> None:
        self.desk.session.print(*rendered)

    def _write(self, answer: Answer, error: str | None = None) -> None:
        line: dict[str, Any] = {
            "text": answer.text,
            "sources": [hit.record.id for hit in answer.sources],
            "tools": answer.tools,
            "command": answer.command,
        }
        asked = [
            {"outcome": each.outcome.value, "record": each.record, "text": each.line}
            for each in answer.requests
        ]
        note = "; ".join(line.plain for line in describe_changes(answer)) or None
        more = {"requests": asked or None, "note": note, "error": error}
        line |= {name: value for name, value in more.items() if value is not None}
        write_json(line, indent=None)

    def _fail(self, error: Exception, command: str | None) -> None:
        self.failed = True
        line = one_line(str(error))
        shown = safe_text("error: ", "bold red").append(line, "not bold")
        if self.live:
            self._print(*self.desk.view.hang("", shown))
        else:
            self.desk.session.err.print(shown, soft_wrap=True)
        if self.desk.session.shared.as_json:
            self._write(Answer("", command=command), line)


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


def show_greeting(agent: Agent, view: Display) -> Iterator[Text]:
    """Yield which model answers, which session goes on, and how to leave."""
    held = len(agent.chat)
    state = f"goes on with {pluralize(held, 'message')}" if held else "is new"
    who = Text("memory alone answers", "bold yellow")
    if agent.model is not None:
        who = safe_text(one_line(agent.model), "bold green")
    name = safe_text(one_line(agent.chat.id), "not dim bold")
    session = Text("session ", "dim").append_text(name).append(f" {state}", "not bold dim")
    yield from view.flow([who, session])
    figures = agent.chat.stats()
    if agent.model is None:
        yield from view.flow([Text(f"with a model: {SET_MODEL}", "dim")])
    elif not figures.limit_known:
        assumed = f"its context window is not known, {figures.token_limit:,} tokens are assumed"
        yield from view.flow([Text(f"{assumed}: set tokens.limits", "yellow")])
    hints = ("/help lists the commands", "Ctrl+D leaves, the session stays")
    yield from view.flow(Text(hint, "dim") for hint in hints)


def describe_changes(answer: Answer) -> Iterator[Text]:
    """Yield what a person should know beside an answer: what left the view, what is not done."""
    if answer.usage_warning is not None:
        yield describe_usage(answer.usage_warning)
    pruned = describe_pruned(answer.prunings, "/expand shows it")
    if pruned is not None:
        yield pruned
    if answer.note is not None:
        yield Text(answer.note, "dim")


def show_recalled(text: str, view: Display) -> Iterator[Text]:
    """Yield an answer from memory alone; date and speaker of its sources are dim."""
    for line in text.splitlines():
        found = SOURCE.fullmatch(line)
        if found is None:
            yield from view.hang("", line)
        else:
            body = safe_text(found[2], "dim").append_text(safe_text(found[3], "not dim"))
            yield from view.hang(found[1], body, "dim")


def show_usage(answer: Answer, view: Display) -> Iterator[Text]:
    """Yield in a line what an answer of a model was made from, and what it took."""
    usage = answer.usage
    parts = [pluralize(len(answer.sources), "memory", "memories")] if answer.sources else []
    calls = {name: answer.tools.count(name) for name in dict.fromkeys(answer.tools)}
    parts += [f"{name} × {times}" if times > 1 else name for name, times in calls.items()]
    if usage.input_tokens or usage.output_tokens:
        parts += [f"{usage.input_tokens:,} tokens in", f"{usage.output_tokens:,} out"]
    if usage.cost:
        parts.append(f"${usage.cost:.4f}")
    yield from view.flow(safe_text(one_line(part), "dim") for part in parts)


def _render_plain(rendered: Iterator[RenderableType]) -> str:
    """Return what would be shown, as text."""
    file = io.StringIO()
    console = make_console(file=file, width=100, color_system=None)
    for each in rendered:
        console.print(each, soft_wrap=isinstance(each, Text))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def run_interruptible(
    work: Callable[[OnText], Answer], hear: OnText, stop: Callable[[], None]
) -> Answer:
    """Have ``work`` done while this thread waits, and return the answer.

    Args:
        work: makes the answer, and tells its words as they come.
        hear: called here with each piece.
        stop: called at the first Ctrl+C; it need not wait.

    Raises:
        KeyboardInterrupt: Ctrl+C came twice.

    What ``work`` raises is raised here.
    """
    # Of all queues only this one may be used by a signal's handler.
    events: SimpleQueue[Any] = SimpleQueue()

    def act() -> None:
        try:
            events.put(work(events.put))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            events.put(error)

    stopping = False
    with handle_signals([signal.SIGINT], lambda _number, _frame: events.put(INTERRUPT)):
        Thread(target=act, name="memoranda-chat", daemon=True).start()
        while not isinstance(event := _next(events), Answer):
            if isinstance(event, BaseException):
                raise event
            if event is not INTERRUPT:
                if not stopping:
                    hear(event)
            elif stopping:
                # What is under way is left as it is, and a warning would only say so.
                warnings.filterwarnings("ignore", "coroutine .* was never awaited")
                raise KeyboardInterrupt
            else:
                stopping = True
                stop()
    return event


def _next(events: SimpleQueue[Any]) -> Any:
    """Return the next event, and never wait for long: a signal just before a wait ends none."""
    while True:
        with suppress(Empty):
            return events.get(timeout=SIGNAL_WAIT)


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
