"""The command as a process of its own: entry point, pipes, signals, terminals, memory, endings."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from memoranda import Memory
from memoranda.errors import MemorandaError
from memoranda.providers.embedding.model_files import find

# A session is read once the next one begins, by patterns, in code in C++.
UNCLOSED = """
import sys
from traceback import walk_stack
from memoranda import Memory

def is_at_work():
    tops = sys._current_frames().values()
    return any(frame.f_code.co_name == "finditer" for top in tops for frame, _ in walk_stack(top))

memory = Memory("agent.db")
chat = memory.conversation("trip")
for number in range(20):
    chat.add("user", f"Rita moved to Lisbon with Marta Silva and {number} cats. " * 20)
memory.conversation("next").add("user", "Hello.")
while not is_at_work():
    pass
"""
INTERRUPTED = """
import sys
from threading import Event, Thread
from memoranda import cli
from memoranda.text.patterns import LinearPattern

begun = Event()
pattern = LinearPattern("(a|b|ab)*c")

def work():
    while True:
        begun.set()
        pattern.search("ab" * 100_000)

Thread(target=work, daemon=True).start()
begun.wait()
cli.app = lambda **_: sys.exit(130)
print("said")
cli.main()
"""


@pytest.fixture
def memory():
    """The memory that the commands use, in this process."""
    with Memory() as memory:
        yield memory


def test_a_terminal_without_unicode_gets_no_error(started, memory):
    """Where the encoding cannot hold the text, something is shown; --json is exact, and alone."""
    memory.remember("Zoë drinks tea ☕")
    for options in ((), ("--json",)):
        with started("search", "tea", *options, PYTHONIOENCODING="ascii") as process:
            shown, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint) == (0, "")
    assert json.loads(shown)[0]["content"] == "Zoë drinks tea ☕"


def test_input_is_utf_8_whatever_the_code_page(started, memory):
    """A mark of the byte order is no letter; what is not UTF-8 is refused, and told where."""
    for arguments, given in (
        (("remember", "-"), "\ufeffKöln liegt am Rhein 项目".encode()),
        (("chat",), "Ich heiße Jörg.\n".encode()),
        (("remember", "-"), "Zoë".encode("cp1252")),
    ):
        with started(*arguments, stdin=PIPE, text=False, PYTHONIOENCODING="cp1252") as process:
            _, complaint = process.communicate(given, timeout=60)
    assert (process.returncode, complaint.count(b"\n")) == (1, 1)
    assert b"not UTF-8 near" in complaint
    kept = {each.content for each in memory.records()}
    assert kept >= {"Köln liegt am Rhein 项目", "Ich heiße Jörg."}
    assert len([each for each in kept if "Zo" in each]) == 0


# A command line, as in test_cli_wrong_input.py, with its exit code.
def finished(command, environment, folder):
    """Run a command to its end in a folder; return its code and what it wrote."""
    return subprocess.run(  # noqa: S603 - this interpreter
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


FORBIDDEN = [
    ("list --db sealed.db", 1, "sealed.db cannot be opened", "may not read"),
    ("remember x --db closed/a.db", 1, "closed/a.db", "may not write"),
    ("export closed/x.jsonl", 1, "closed/x.jsonl", "choose another place"),
    ("backup closed/x.db", 1, "closed/x.db", "choose another place"),
    ("import sealed.db", 2, "'sealed.db' is not readable", "see memoranda import --help"),
    ("MEMORANDA_CONFIG=closed/c.toml config set user ana", 1, "closed/c.toml", "named by"),
    (
        "MEMORANDA_LOCATION= XDG_DATA_HOME={here}/closed remember x",
        1,
        "closed",
        "name another place",
    ),
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_a_missing_right_is_one_line_that_names_the_file(environment, memory, tmp_path, subtests):
    """Who may not read or write is told which file, and what to do."""
    (tmp_path / "closed").mkdir()
    memory.remember("Ana likes tea.")
    for place in ("sealed.db", "closed/a.db"):
        Memory(tmp_path / place).close()
    (tmp_path / "sealed.db").chmod(0)
    (tmp_path / "closed" / "a.db").chmod(0o400)
    (tmp_path / "closed").chmod(0o500)
    powers = "--bounding-set=-dac_override,-dac_read_search"
    bare = ["setpriv", powers, "--inh-caps=-all"] if os.geteuid() == 0 else []
    for line, code, *told in FORBIDDEN:
        words = line.format(here=tmp_path).split()
        own = dict(words.pop(0).split("=", 1) for _ in line.split() if "=" in words[0])
        own = {name: value for name, value in (environment | own).items() if value}
        with subtests.test(line):
            done = finished([*bare, sys.executable, "-m", "memoranda", *words], own, tmp_path)
            assert done.returncode == code
            assert done.stderr.count("\n") == 1
            assert all(each in done.stderr for each in told)
    (tmp_path / "closed").chmod(0o700)


def test_a_closed_pipe_is_no_error(started, memory):
    """When the reader goes away, as in ``| head``, nothing is said on stderr."""
    record = memory.remember("word " * 100_000)
    with started("show", record.id) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=60)


def test_an_interrupt_ends_quietly_with_130(started, memory):
    """Ctrl+C at a question exits with 130 and no traceback, and nothing was done."""
    record = memory.remember("keep me")
    ours, theirs = pty.openpty()
    # Who runs tests side by side may ignore the signal, and a child inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with started("forget", record.id, "--erase", stdin=theirs, text=False) as process:
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


@pytest.mark.parametrize(
    ("script", "code", "said"), [(UNCLOSED, 0, ""), (INTERRUPTED, 130, "said\n")]
)
def test_what_is_at_work_aborts_no_process(script, code, said, environment, tmp_path):
    """Neither one that leaves its memory open nor one that is interrupted while it answers."""
    done = finished([sys.executable, "-c", script], environment, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


def private_megabytes(process):
    """Return what a process has for itself alone, without the files that it maps."""
    rows = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    [kibibytes] = [row.split()[1] for row in rows if row.startswith("Anonymous:")]
    return int(kibibytes) * 1_024 / 1e6


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_a_chat_takes_little_memory(started):
    """N3.5: the whole process after twenty messages, and after they are consolidated."""
    try:
        find()
    except MemorandaError as error:
        pytest.skip(str(error))
    lines = ["My sister Tasha lives in Leeds.", "What do you know about me?"] * 9
    lines += ["I'm vegetarian and I never fly before nine.", "Where does Tasha live?"]
    # What its upkeep takes is measured after /new.
    own = {"MEMORANDA_EMBEDDING__MODEL": "local", "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false"}
    with started("chat", "--json", stdin=subprocess.PIPE, **own) as chat:

        def say(line):
            print(line, file=chat.stdin, flush=True)
            return json.loads(chat.stdout.readline())["text"]

        assert "Tasha" in [say(line) for line in lines][-1]
        assert private_megabytes(chat) < 160
        say("/new")
        assert "vegetarian" in say("What do I eat?")
        assert private_megabytes(chat) < 165
        chat.stdin.close()
