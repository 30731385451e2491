"""The command as a process of its own: entry point, pipes, signals, terminals."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memoranda import Memory, Settings
from memoranda.errors import MemorandaError
from memoranda.providers.embedding.model_files import find


@pytest.fixture
def run(environment, tmp_path):
    """Run ``python -m memoranda`` to its end."""

    def start(*arguments, stdin=None, **changes):
        return subprocess.run(  # noqa: S603 - this interpreter, on arguments of the test
            [sys.executable, "-W", "error", "-m", "memoranda", *arguments],
            env=environment | changes,
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return start


@pytest.fixture
def memory(tmp_path):
    """The memory that the commands use, in this process."""
    settings = Settings(embedding={"model": "none"})
    with Memory(tmp_path / "agent.db", settings=settings) as memory:
        yield memory


def test_a_terminal_without_unicode_gets_no_error(run, memory):
    """Where the encoding cannot hold the text, something is shown; --json is exact, and alone."""
    memory.remember("Zoë drinks tea ☕")
    shown = run("search", "tea", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    told = run("search", "tea", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(told.stdout)[0]["content"] == "Zoë drinks tea ☕"
    assert (told.returncode, told.stderr) == (0, "")


def test_a_closed_pipe_is_no_error(memory, environment, tmp_path):
    """When the reader goes away, as in ``| head``, nothing is said on stderr."""
    record = memory.remember("word " * 100_000)
    for options in ((), ("--json",)):
        with subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
            [sys.executable, "-m", "memoranda", "show", record.id, *options],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.stdout.close()
            complaint = process.stderr.read().decode()
            process.wait(timeout=60)
        assert complaint == ""


def test_an_interrupt_ends_quietly_with_130(memory, environment, tmp_path):
    """Ctrl+C at a question exits with 130 and no traceback, and nothing was done."""
    record = memory.remember("keep me")
    ours, theirs = pty.openpty()
    # Who runs tests side by side may ignore the signal, and a child inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
        [sys.executable, "-m", "memoranda", "forget", record.id, "--erase"],
        env=environment,
        cwd=tmp_path,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        asked = b""
        while b"Erase this for good?" not in asked:
            some = os.read(process.stderr.fileno(), 1_000)
            assert some, asked
            asked += some
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert b"Traceback" not in complaint
    assert memory.get(record.id).content == "keep me"


def private_megabytes(process):
    """Return what a process has for itself alone, without the files that it maps."""
    rows = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    [kibibytes] = [row.split()[1] for row in rows if row.startswith("Anonymous:")]
    return int(kibibytes) * 1_024 / 1e6


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("model", "talking", "consolidated"), [("none", 90, 130), ("local", 125, 165)]
)
def test_a_chat_takes_little_memory(environment, tmp_path, model, talking, consolidated):
    """N3.5: the whole process after twenty messages, and after they are consolidated."""
    if model == "local":
        try:
            find()
        except MemorandaError as error:
            pytest.skip(str(error))
    lines = ["My sister Tasha lives in Leeds.", "What do you know about me?"] * 9
    lines += ["I'm vegetarian and I never fly before nine.", "Where does Tasha live?"]
    with subprocess.Popen(
        [sys.executable, "-m", "memoranda", "chat", "--json"],
        # What its upkeep takes is measured after /new.
        env=environment
        | {"MEMORANDA_EMBEDDING__MODEL": model, "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false"},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as chat:

        def say(line):
            print(line, file=chat.stdin, flush=True)
            return json.loads(chat.stdout.readline())["text"]

        assert "Tasha" in [say(line) for line in lines][-1]
        assert private_megabytes(chat) < talking
        say("/new")
        assert "vegetarian" in say("What do I eat?")
        assert private_megabytes(chat) < consolidated
        chat.stdin.close()
