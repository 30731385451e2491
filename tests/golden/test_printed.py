"""What the commands print for a person, in a pipe and at a terminal, compared with a golden file.

``MEMORANDA_REGENERATE_GOLDENS=1 pytest tests/golden`` writes the file anew; see
``test_sessions.py``.
"""

from __future__ import annotations

import re
from contextlib import closing

import apsw
import pytest
from goldens import check_golden
from talk_of_two_tasks import tell

from memoranda import Memory

pytestmark = pytest.mark.usefixtures("plain_environment", "anas_file")

CODES = re.compile(r"\x1b\[[0-9;]*m")
OF_FILES = re.compile(r"^(?:changed|size) .*\n", re.MULTILINE)
TALKS = (
    ("I live in Porto.", "I am a vegetarian.", "My dog is called Rex."),
    ("I live in Lisbon now.", "I'm a vegetarian, you know.", "I never fly before nine."),
    ("Actually, I work at Acme now.",),
)
WITHOUT_TEXT = [
    {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA"},
    {"role": "user", "content": [{"type": "input_file", "file_id": "f"}]},
]
# Each line is a command; {words} stands for the id of the only record that says these words.
COMMANDS = (
    ("conversations",),
    ("conversations", "list", "--limit", "2"),
    ("conversations", "show", "empty"),
    ("conversations", "show", "ferry"),
    ("conversations", "show", "trip"),
    ("conversations", "show", "trip", "--budget", "650"),
    ("conversations", "prune", "trip", "--to", "8000"),
    ("conversations", "prune", "trip", "--to", "650", "--dry-run"),
    ("conversations", "prune", "trip", "--to", "650"),
    ("conversations", "show", "trip"),
    ("conversations", "show", "trip", "--all"),
    ("conversations", "show", "trip", "--explain", "--budget", "520"),
    ("conversations", "expand", "trip", "1-2"),
    ("conversations", "clear", "trip", "--yes"),
    ("conversations", "clear", "trip", "--yes"),
    ("conversations", "show", "trip", "--all"),
    ("consolidate", "talk2"),
    ("consolidate", "talk2"),
    ("consolidate", "talk0", "--dry-run"),
    ("maintain", "consolidate", "expire"),
    ("facts",),
    ("facts", "--all"),
    ("facts", "vegetarian"),
    ("facts", "show", "{vegetarian}"),
    ("facts", "show", "{lives in Lisbon}"),
    ("facts", "show", "{lives in Porto}"),
    ("forget", "{Rex}"),
    ("facts", "Rex", "--all"),
    ("facts", "show", "{likes tea}"),
    ("entities",),
    ("audit",),
    ("stats",),
    ("search", "vegetarian", "--why"),
    ("notes",),
    ("notes", "history"),
    ("notes", "history", "lisbon"),
)
AT_A_TERMINAL = (
    ("conversations",),
    ("conversations", "show", "trip", "--all"),
    ("facts", "--all"),
    ("facts", "show", "{lives in Lisbon}"),
    ("audit",),
)


def prepare(folder):
    """Make a memory with conversations of every kind, and things that an audit finds."""
    with Memory(folder / "agent.db", user="ana") as memory:
        tell(memory.conversation("trip", system="You are careful.", context_limit=8_000))
        memory.conversation("ferry").extend(WITHOUT_TEXT)
        memory.conversation("empty")
        for number, lines in enumerate(TALKS):
            chat = memory.conversation(f"talk{number}")
            for line in lines:
                chat.add("user", line)
                chat.add("assistant", "I see.")
        memory.remember_many(["Ana likes tea", "The password is hunter2!x77"])


def test_what_each_command_prints_is_as_ever(tmp_path, run_command, monkeypatch):
    """Tables, bars, rules and sentences, plain in a pipe; the last ones at a terminal, too."""
    monkeypatch.setenv("COLUMNS", "80")
    prepare(tmp_path)
    printed = [run(run_command, line, tmp_path) for line in COMMANDS]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    printed += [run(run_command, line, tmp_path) for line in AT_A_TERMINAL]
    check_golden("printed", printed, {str(tmp_path.resolve()): "<folder>"})


def run(run_command, line, folder):
    """Run a command; return what it printed, without the codes of a terminal."""
    words = [find_id(folder, word) if word[0] == "{" else word for word in line]
    code, out, err = run_command(*words)
    return {
        "command": " ".join(line),
        "code": code,
        "out": OF_FILES.sub("", CODES.sub("", out)).split("\n"),
        "err": err,
        "coloured": "\x1b" in out,
    }


def find_id(folder, word):
    """Return the id of the only fact, believed or not, that says ``{words}``."""
    with closing(apsw.Connection(str(folder / "agent.db"))) as connection:
        asked = "SELECT id FROM records WHERE id LIKE 'fact%' AND instr(content, ?)"
        ((found,),) = connection.execute(asked, (word[1:-1],))
    return found
