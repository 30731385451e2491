"""The commands that look at conversations and change what is in view of them, on real files."""

import os
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from talk_of_two_tasks import tell
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app
from memoranda.model.models import ToolCall
from memoranda.testing.clocks import FrozenClock

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x9b1m \x07bell"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-7](?:;\d+)*m")
CODES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone, a folder of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda conversations``."""
    return ("conversations",)


@pytest.fixture
def trip(tmp_path):
    """A stored conversation named trip, in which nothing was pruned yet."""
    with Memory(tmp_path / "agent.db") as memory:
        chat = memory.conversation("trip", system="You are careful.", context_limit=8_000)
        tell(chat)
        return chat.messages


@pytest.fixture
def looked(tmp_path):
    """Return all that is stored of a conversation, as a value."""

    def look(id="trip"):
        with Memory(tmp_path / "agent.db") as memory:
            chat = memory.conversation(id)
            return memory.conversations(), chat.messages, chat.prunings, memory.records(limit=999)

    return look


def test_in_a_pipe_it_is_plain_and_whole(run, trip):
    """Piped, there is no code of a terminal, and no text is wrapped or cut."""
    out = run("show", "trip").stdout
    assert "\x1b" not in out
    for message in trip:
        for line in message.content.splitlines():
            assert line.rstrip() in out
    assert 'read_file(path="报表.py")' in out
    assert "run_linter({)" in out
    assert "[image]" in out


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("options", [(), ("--explain",), ("--all", "--explain"), ("-n", "3")])
def test_a_terminal_is_never_exceeded(run, drawn, columns, options):
    """No line is wider than the terminal, with wide characters and what was pruned, too."""
    run("prune", "trip", "--to", "650")
    lines = drawn("show", "trip", *options, columns=columns)
    assert max(map(cell_len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)
    assert max(map(cell_len, drawn("receipts", "trip", columns=columns))) <= columns


@pytest.mark.usefixtures("trip")
def test_without_colour_there_is_none(run, monkeypatch):
    """On a terminal roles are coloured; with NO_COLOR nothing is, and the text is the same."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("show", "trip").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    bare = run("show", "trip").stdout
    assert COLOUR.search(coloured)
    assert not COLOUR.search(bare)
    assert CODES.sub("", coloured) == CODES.sub("", bare)


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize(("share", "colour"), [(0.7, 32), (0.85, 33), (0.95, 31)])
def test_the_bar_warns(run, told, monkeypatch, share, colour):
    """The bar is green, from 80 % of the budget yellow, and from 90 % red (R6.1, R6.2)."""
    budget = int(told("show", "trip")["tokens"] / share)
    monkeypatch.setenv("FORCE_COLOR", "1")
    line = run("show", "trip", "--budget", str(budget)).stdout.splitlines()[1]
    assert line.startswith(f"\x1b[{colour}m━")
    assert f"({share:.0%})".replace("%", " %") in CODES.sub("", line)


@pytest.mark.usefixtures("trip")
def test_looking_changes_nothing(run, looked, monkeypatch):
    """No look writes, also where the settings prune when a session starts."""
    before = looked()
    monkeypatch.setenv("MEMORANDA_CONVERSATION__AT_SESSION_START", "prune")
    run("show", "trip", "--explain", "--all", "--budget", "500", "--strategy", "hybrid")
    run("prune", "trip", "--to", "500", "--dry-run")
    run("expand", "trip", "cut_1-2")
    run("receipts", "trip")
    run()
    run("show", "trap", code=1)
    monkeypatch.delenv("MEMORANDA_CONVERSATION__AT_SESSION_START")
    assert looked() == before


@pytest.mark.usefixtures("trip")
def test_a_dry_run_says_what_pruning_does(run, told, looked):
    """--dry-run prints the receipt of the real pruning, and prunes nothing."""
    tried = told("prune", "trip", "--to", "650", "--dry-run")
    assert looked()[2] == ()
    assert "dry run, nothing was changed" in run("prune", "trip", "--to", "650", "--dry-run").stdout
    done = told("prune", "trip", "--to", "650")
    assert done | {"id": tried["id"], "at": tried["at"]} == tried
    assert [receipt.id for receipt in looked()[2]] == [done["id"]]


def test_clear_asks_first(run, trip, looked, ask):
    """Clear asks, and only a yes clears (workflow 4); no answer is a no."""
    for answer in ("n\n", ""):
        code, told = ask("conversations", "clear", "trip", answer=answer)
        assert code == 1
        assert "Clear conversation history?" in told
        assert "nothing was cleared" in told
    assert len(looked()[1]) == len(trip)
    (line,) = run("clear", "trip", code=1, stdin="y\n").stderr.splitlines()
    assert "--yes" in line
    assert len(looked()[1]) == len(trip)
    assert ask("conversations", "clear", "trip", answer="y\n")[0] == 0
    assert looked()[1] == ()


def test_a_pin_keeps_a_message_in_view(run, told, trip):
    """A pinned message is in every view, until it is unpinned."""
    assert told("pin", "trip", "0")["pinned"] is True
    assert told("show", "trip", "--budget", "520")["lines"][0]["state"] == "pinned"
    assert "[pinned] Split parser.py" in run("show", "trip").stdout
    assert told("pin", "trip", trip[0].id, "--off")["pinned"] is False
    assert told("show", "trip", "--budget", "520")["lines"][0]["state"] == "out"


@pytest.mark.usefixtures("trip")
def test_a_pin_that_cannot_work_says_so(run, told):
    """A message that is not in view though it is pinned leaves a warning."""
    run("prune", "trip", "--to", "650")
    result = run("pin", "trip", "#0")
    seen = told("show", "trip")["lines"][0]["state"] == "pinned"
    assert seen != ("warning: #0 is not in view all the same" in result.stderr)


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "tripp"),
        ("show", "trip", "--user", "bruno"),
        ("show", "trip", "--budget", "0"),
        ("show", "trip", "--strategy", "newest"),
        ("show", "\x1b[2J\nx"),
        ("show", ""),
        ("prune", "tripp"),
        ("prune", "trip", "--to", "0"),
        ("prune", "trip", "--to", "20"),
        ("clear", "tripp", "--yes"),
        ("pin", "tripp", "1"),
        ("pin", "trip", "999"),
        ("pin", "trip", "msg_none"),
        ("expand", "trip", "the start"),
        ("expand", "trip", "cut_90-99"),
        ("receipts", "tripp"),
    ],
)
def test_bad_input_is_one_line_and_exit_1(run, looked, arguments):
    """What cannot be used ends with one line on stderr, nothing on stdout, and no change."""
    before = looked()
    result = run(*arguments, code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert "\x1b" not in line
    assert result.stdout == ""
    assert looked() == before


def test_stored_text_cannot_drive_the_terminal(run, tmp_path, monkeypatch):
    """Names, texts, calls and titles are shown as they are; control characters never raw."""
    monkeypatch.setenv("COLUMNS", "300")
    with Memory(tmp_path / "agent.db") as memory:
        chat = memory.conversation(f"id {HOSTILE}", system=HOSTILE, model=f"m {HOSTILE}")
        chat.add("user", HOSTILE, task=HOSTILE)
        chat.add("assistant", HOSTILE, tool_calls=[ToolCall("\x1bid", f"f{HOSTILE}", HOSTILE)])
        chat.add("tool", HOSTILE, tool_result="\x1bid")
        chat.add("user", HOSTILE, task=f"{HOSTILE} again")
    for command in ((), ("show", f"id {HOSTILE}", "--explain"), ("expand", f"id {HOSTILE}", "0-2")):
        out = run(*command).output
        assert not any(sign in out for sign in ("\x1b", "\x07", "\x9b"))
        assert "[red]x[/] :smile: ␛[31mred" in out


@pytest.mark.usefixtures("trip")
def test_ids_are_completed(monkeypatch):
    """The shell completes the ids that are stored, of the file and the user on the line."""
    monkeypatch.setenv("_MEMORANDA_COMPLETE", "complete_bash")

    def completed(*words):
        monkeypatch.setenv("COMP_WORDS", " ".join(("memoranda", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return CliRunner().invoke(app, prog_name="memoranda").stdout.split()

    assert completed("conversations", "show", "tr") == ["trip"]
    assert completed("conversations", "pin", "x") == []
    assert completed("--user", "bruno", "conversations", "show", "tr") == []
    assert completed("--db", "absent.db", "conversations", "show", "tr") == []
    assert completed("conversations", "show", "trip", "--strategy", "re") == ["recency"]
    assert not os.path.exists("absent.db")  # noqa: PTH110 - as the shell would ask


def test_what_expired_is_counted_and_not_shown(run, told, tmp_path, monkeypatch):
    """Neither with ``--all`` nor in JSON is any of its text."""
    monkeypatch.setenv("MEMORANDA_RETENTION__EPISODE", "30d")
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=31))
    with Memory(tmp_path / "agent.db", clock=clock) as memory:
        chat = memory.conversation("old")
        chat.add("user", "Meet me at the harbour.")
        clock.advance(timedelta(days=30))
        chat.add("user", "Are you there?")
    shown = run("show", "old", "--all").stdout
    assert "2 messages, 1 expired" in shown
    assert "Are you there?" in shown
    assert "harbour" not in shown
    assert told("show", "old", "--all")["expired"] == 1
    assert "harbour" not in run("show", "old", "--all", "--json").stdout
