"""``memoranda chat`` on a terminal: the line editor, questions, signals, and what they leave."""

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest
from model_server import stalling, stopping, talked
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.cells import cell_len
from rich.console import Console
from tables import each_row
from terminal_codes import CODES

from memoranda import Memory
from memoranda.agent.session import ChatSession
from memoranda.cli.chat import MEANINGS, AnswerWriter, TerminalChat, open_prompt
from memoranda.cli.chat_prompt import TerminalPrompt
from memoranda.cli.command import Command, Session

UP, ALT_ENTER, CTRL_C, CTRL_D, ENTER, TAB = "\x1b[A", "\x1b\r", "\x03", "\x04", "\r", "\t"
PATIENCE = 30.0
# A model that says a little and then nothing more.
BREAKING_OFF = stopping("I think that ", "silent")
# A key such as Ctrl+C is a signal only to who has the terminal for its own.
ATTACHED = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


@pytest.fixture(autouse=True)
def _terminal(own_machine, monkeypatch):
    """One that does not say where its cursor is."""
    del own_machine  # Which comes first.
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")


@pytest.fixture
def prompted():
    """Type into a prompt; return what it read, until it was left or the keys end."""

    def start(*keys, history=()):
        read = []
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            prompt = TerminalPrompt(history, [*MEANINGS])
            for each in keys:
                pipe.send_text(each)
                read.append(prompt.read())
        return read

    return start


@each_row(
    ("keys", "read"),
    [
        # Alt+Enter begins another line, Enter says all of it; what is pasted is one text.
        ([f"one{ALT_ENTER}two{ENTER}"], ["one\ntwo"]),
        ([f"\x1b[200~one\ntwo\x1b[201~{ENTER}"], ["one\ntwo"]),
        # Ctrl+C drops what was typed, and leaves on an empty line; so does Ctrl+D.
        ([f"wrong{CTRL_C}right{ENTER}"], ["right"]),
        ([f"wrong{CTRL_C}x{CTRL_C}right{ENTER}"], ["right"]),
        ([f"wrong{CTRL_C}{CTRL_C}"], [None]),
        ([f"one{CTRL_C}two{ENTER}", CTRL_C], ["two", None]),
        ([CTRL_D], [None]),
        # Tab fills in a command that is the only one to begin so.
        ([f"/mem{TAB}{ENTER}"], ["/memory"]),
        ([f"/exp{TAB} 1-2{ENTER}"], ["/expand 1-2"]),
        # The arrow brings back what was said before, the newest first.
        ([f"{UP}{UP}{ENTER}"], ["first"]),
    ],
)
def test_keys_do_what_they_do_in_a_line_editor(prompted, keys, read):
    """Enter, Ctrl+C, Ctrl+D, Tab, arrows and pastes."""
    assert prompted(*keys, history=["first", "second"]) == read


@pytest.fixture
def live():
    """Hold a talk at a terminal that is played; return what was shown."""

    def start(*keys, before=lambda _: None, columns=80, user="default"):
        shown = io.StringIO()
        session = Session(Command("chat"))
        session.out = session.err = Console(
            file=shown, force_terminal=True, width=columns, markup=False, highlight=False,
            color_system=None, emoji=False, force_interactive=False,
        )  # fmt: skip
        with (
            Memory(user=user) as memory,
            create_pipe_input() as pipe,
            create_app_session(input=pipe, output=DummyOutput()),
        ):
            before(memory)
            chat = ChatSession(memory, own=MEANINGS)
            prompt = open_prompt(chat)
            pipe.send_text("".join(keys))
            TerminalChat(session, chat, prompt).run()
            left = memory.records(limit=100), len(chat.agent.chat)
        return CODES.sub("", shown.getvalue()), *left

    return start


def test_the_arrow_brings_back_what_was_said_in_the_conversation(live, tmp_path):
    """Of an earlier run, too; and nothing that was typed is in a file of its own."""

    def talked(memory):
        memory.conversation("chat").add("user", "I have two cats.")
        memory.conversation("chat").add("assistant", "Noted.")

    _, records, held = live(f"{UP}{ENTER}{CTRL_D}", before=talked)
    assert (held, [each.content for each in records].count("I have two cats.")) == (4, 2)
    assert list(tmp_path.rglob("*.history")) == []


def remembering(*contents):
    """Return what remembers facts."""
    return lambda memory: [memory.remember(content) for content in contents]


@each_row(
    ("answer", "held"),
    [(f"y{ENTER}", 2), (f"n{ENTER}", 4), (ENTER, 4), (CTRL_C, 4), (CTRL_D, 4), (f"nope{ENTER}", 4)],
)
def test_clear_asks(live, answer, held):
    """/clear takes the talk out of view after a yes, and only then; the talk goes on."""
    said = f"/new{ENTER}I have two cats.{ENTER}/clear{ENTER}{answer}hello{ENTER}{CTRL_D}"
    shown, records, found = live(said)
    assert ("Cleared;" if held == 2 else "nothing was done") in shown
    assert found == held
    assert "I have two cats." in [record.content for record in records]


def test_a_greeting_says_who_answers(live):
    """The first lines say that memory alone answers and how to change that, and which session."""
    shown, *_ = live(f"hello there{ENTER}{CTRL_D}")
    assert "memory alone" in shown
    assert "/model lists what can be used" in shown
    assert "session chat is new" in shown
    assert "session chat goes on with 2 messages" in live(CTRL_D)[0]


def test_no_line_is_wider_than_the_terminal(live):
    """Neither lists nor contexts, answers nor errors."""
    facts = remembering(
        "Ana likes green tea " * 20,
        "每个月的报表都要显示合计金额数字要对齐。" * 9,
        "Ana keeps two cats and a dog in her house in Porto",
    )
    keys = ["does Ana like tea?", "/search tea", "/context", "/memory", "/help", "/nope", "报表"]
    for columns in (40, 80, 120):
        said = "".join(f"{key}{ENTER}" for key in keys)
        shown, *_ = live(said, CTRL_D, before=facts, columns=columns, user=str(columns))
        lines = [line.rstrip() for line in shown.splitlines()]
        assert columns > 40 or "- Ana keeps two cats and a dog in her" in lines
        lines = [line for line in lines if not line.startswith(("- Ana", "- 每"))]
        wide = [line for line in lines if cell_len(line.rstrip()) > columns and os.sep not in line]
        assert wide == []


def screen(shown):
    """Return the lines of a terminal to which this was written: rich moves up and erases lines."""
    lines, row = [""], 0
    for code, lasting in re.findall(r"\x1b\[[?\d;]*([a-zA-Z])|([\r\n]|[^\x1b\r\n]+)", shown):
        if code == "A":
            row -= 1
        elif code == "K":
            lines[row] = ""
        elif lasting == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif lasting != "\r":
            lines[row] += lasting
    return "\n".join(line.rstrip() for line in lines)


@each_row("piece", [1, 3, 1_000])
def test_words_are_whole_at_the_edge(piece):
    """However an answer comes in pieces, words are not broken, and line ends are as they were."""
    file = io.StringIO()
    answer = AnswerWriter(Console(file=file, force_terminal=True, width=20))
    text = "one two three four five six\n\n    indented code\n报表报表 end\ttab\n\nand so on"
    for start in range(0, len(text), piece):
        answer.write(text[start : start + piece])
    answer.close()
    assert screen(file.getvalue()) == (
        "one two three four\nfive six\n\n    indented code\n报表报表 end    tab\n\nand so on\n"
    )


# As a process of its own, at a real terminal


class Terminal:
    """A process at a pseudo terminal."""

    def __init__(self, *arguments):
        """Start ``memoranda chat`` there."""
        self.ours, self.theirs = pty.openpty()
        self.before = termios.tcgetattr(self.theirs)
        self.shown, self.seen = b"", 0
        chat = ["-W", "error", "-m", "memoranda", "chat", *arguments]
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
            [sys.executable, "-c", ATTACHED, *chat],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
        )

    def until(self, text):
        """Wait until ``text`` was shown, after what was waited for before."""
        end = time.monotonic() + PATIENCE
        while (place := self._read_plain().find(text, self.seen)) < 0:
            assert self.process.poll() is None, self.shown
            assert time.monotonic() < end, self.shown
            self._read()
        self.seen = place + len(text)

    def ended(self):
        """Return the exit code, once it has one."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self._read()
        return self.process.poll()

    def _read_plain(self):
        return CODES.sub("", self.shown.decode(errors="replace"))

    def _read(self):
        if select.select([self.ours], [], [], 0.02)[0]:
            self.shown += os.read(self.ours, 10_000)

    def is_as_before(self):
        """Return whether the terminal is as it was, and nothing went wrong on it."""
        same = termios.tcgetattr(self.theirs)[:4] == self.before[:4]
        return same and b"Traceback" not in self.shown

    def type(self, keys):
        """Type."""
        os.write(self.ours, keys.encode())

    def close(self):
        """End it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.ours)
            os.close(self.theirs)


@pytest.fixture
def terminal():
    """Start a chat at a terminal of its own."""
    started = []

    def start(*arguments):
        started.append(Terminal(*arguments))
        return started[-1]

    yield start
    for each in started:
        each.close()


def said():
    """Return what is stored of the conversation."""
    with Memory() as memory:
        return [(item.role, item.content) for item in memory.conversation("chat").messages]


def test_an_answer_can_be_stopped_and_a_killed_chat_goes_on(terminal, server, on_hangup):
    """After Ctrl+C the talk goes on, what was said is kept; after kill -9 so does the session.

    A terminal that is closed in an answer ends it with the code of its signal, and is as it was.
    """
    on_hangup(signal.SIG_DFL)
    server.play(BREAKING_OFF)
    at = terminal("--model", server.openai)
    at.until("session chat is new")
    at.until("> ")
    at.type(f"Are you there?{ENTER}")
    at.until("I think")
    at.type(CTRL_C)
    at.until("stopped; what you said is kept")
    at.until("> ")
    assert server.left.wait(PATIENCE)
    server.play(talked("Here I am."), BREAKING_OFF, BREAKING_OFF)
    at.type(f"And now?{ENTER}")
    at.until("Here I am.")
    at.until("> ")
    at.type(f"I have two cats.{ENTER}")
    at.until("I think")
    at.process.send_signal(signal.SIGKILL)
    at.ended()
    again = terminal("--model", server.openai)
    again.until("session chat goes on with 5 messages")
    again.until("> ")
    again.type(f"I have a dog.{ENTER}")
    again.until("I think")
    again.process.send_signal(signal.SIGHUP)
    assert again.ended() == 128 + signal.SIGHUP
    assert again.is_as_before()
    told = [each for each in said() if each[0] == "user" or each[1] != "(no answer)"]
    # Whether it can still be kept that there was no answer is a matter of moments.
    assert told == [
        ("user", "Are you there?"),
        ("user", "And now?"),
        ("assistant", "Here I am."),
        ("user", "I have two cats."),
        ("user", "I have a dog."),
    ]


def test_what_is_to_outlive_its_terminal_goes_on_until_it_is_terminated(terminal, on_hangup):
    """Started as by ``nohup``, it does not heed that the terminal is closed."""
    on_hangup(signal.SIG_IGN)
    at = terminal()
    at.until("> ")
    at.process.send_signal(signal.SIGHUP)
    at.type(f"I have two cats.{ENTER}")
    at.until("Noted")
    at.until("> ")
    at.process.send_signal(signal.SIGTERM)
    assert at.ended() == 128 + signal.SIGTERM
    assert at.is_as_before()


def test_a_slow_end_of_a_session_can_be_left(terminal, server):
    """While /new waits for the model, Ctrl+C says that it goes on, and a second one leaves."""
    server.play(talked("Nice."), stalling)
    at = terminal("--model", server.openai)
    at.until("> ")
    at.type(f"I have two cats.{ENTER}")
    at.until("Nice.")
    at.until("> ")
    at.type(f"/new{ENTER}")
    at.until("working")
    at.type(CTRL_C)
    at.until("Ctrl+C again leaves")
    at.type(CTRL_C)
    assert at.ended() == 130
    assert b"Traceback" not in at.shown
    with Memory() as memory:
        ended = {info.id: info.ended_at is not None for info in memory.conversations()}
        assert ended["chat"]
        assert memory.search("cats")[0].record.content == "I have two cats."
