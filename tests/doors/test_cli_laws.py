"""Laws that all commands keep: help, errors, questions, terminals, pipes, what is not there."""

import json
from importlib import import_module

import pytest
import typer
from bare_environment import run_python
from rich.cells import cell_len
from tables import each_row
from talk_of_two_tasks import tell
from terminal_codes import CODES
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app, read_commands
from memoranda.model.models import ToolCall

SIGNS = ("\x1b", "\x07", "\x9b")
HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x9b1m \x07bell [link=http://x]y[/link]"
LONG = " ".join(["word"] * 500)


@pytest.fixture
def full():
    """A memory of all there is to show, much of it wide or hostile; return the id of a fact."""
    with Memory() as memory:
        memory.conversation("talk").add("user", "I live in Porto. My friend Cid lives in Oslo.")
        memory.consolidate()
        tell(memory.conversation("trip", system="You are careful.", context_limit=8_000))
        chat = memory.conversation(f"id {HOSTILE}", system=HOSTILE, model=f"m {HOSTILE}")
        chat.add("user", HOSTILE, task=HOSTILE)
        chat.add("assistant", HOSTILE, tool_calls=[ToolCall("\x1bid", f"f{HOSTILE}", HOSTILE)])
        chat.add("tool", HOSTILE, tool_result="\x1bid")
        memory.notes.append_history(HOSTILE)
        memory.remember("記憶は大切です。" * 50, session="s" * 200, tags=["t" * 200])
        return memory.remember(f"I say {HOSTILE}.", role="\x1b[1mmallory").id


def everything():
    """Return all that a memory holds."""
    with Memory() as memory:
        ids = [record.id for record in memory.records(limit=1_000)]
        return (
            memory.records(limit=1_000), memory.conversations(), memory.entities(),
            [memory.history(each) for each in ids],
            [memory.conversation(each.id).prunings for each in memory.conversations()],
        )  # fmt: skip


# help


def every_command():
    """Yield the words of each command that is listed, what it is, and what the list says of it."""
    for name, (module, listed) in read_commands().items():
        command = typer.main.get_group(import_module(f"memoranda.cli.{module}").commands)
        command = command.commands[name]
        yield (name,), command, listed.help
        for inner, each in getattr(command, "commands", {}).items():
            if not each.hidden:
                yield (name, inner), each, each.help


def test_every_command_explains_itself(run):
    """A line that the list repeats, the shared options, examples; no type of what has no value."""
    for words, command, listed in every_command():
        assert command.help.partition("\n")[0].startswith(listed.partition("\n")[0][:-1]), words
        out = run(*words, "--help").stdout
        assert "bool" not in out, words
        if not hasattr(command, "commands"):
            assert all(option in out for option in ("--db", "--user", "--json")), words
            assert f"memoranda {' '.join(words).removesuffix(' list')}" in out.split("Examples:")[1]
    assert "Usage: memoranda" in run(code=2).output
    assert run("--version").stdout.startswith("memoranda 0.")


def test_help_and_a_server_load_nothing_of_the_memory(tmp_path):
    """Who asks what there is, or waits for a server's first answer, waits for no store.

    And who opens one waits for no arrays and no model: the first search or vector does.
    """
    program = (
        "import sys; from memoranda.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: print('|', *sys.modules)\n"
        "import memoranda.mcp.run; print('|', *sys.modules)\n"
        "from memoranda import Memory; Memory(sys.argv[1]); print('|', *sys.modules)"
    )
    done = run_python("-c", program, tmp_path / "m.db")
    helped, served, opened = (set(each.split()) for each in done.stdout.split("|")[-3:])
    heavy = {"memoranda.memory", "memoranda.cli.chat", "numpy", "apsw"}
    assert "memoranda.cli.command" in helped
    assert not helped & {*heavy, "pydantic"}
    assert "memoranda.serving.late" in served
    assert not served & heavy
    assert "memoranda.memory" in opened
    assert not opened & {"numpy", "onnxruntime", "tokenizers"}


def test_a_shell_completes_commands_and_options():
    """With what begins so; nothing is loaded or made."""
    for typed, offered in (
        ("memoranda se", {"search", "serve"}),
        ("memoranda list --off", {"--offset"}),
        ("memoranda conversations pr", {"prune"}),
    ):
        words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        asked = {**words, "_MEMORANDA_COMPLETE": "complete_bash"}
        done = CliRunner().invoke(app, [], env=asked, prog_name="memoranda")
        assert set(done.stdout.split()) == offered, typed


# errors


def test_a_model_that_cannot_be_used_stops_only_what_needs_it(run, monkeypatch):
    """To set one without its key is told at once; a look goes on with a warning, a chat fails."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    run("remember", "Ana likes tea")
    for words, code, told in (
        (("config", "set", "llm.model", "anthropic:claude-haiku-4-5"), 0, "warning: "),
        (("list",), 0, "warning: "),
        (("chat",), 1, "error: "),
    ):
        error = run(*words, code=code).stderr
        assert error.startswith(told)
        assert "needs a" in error
        assert code or "config unset llm.model" in error
    assert run("config", "unset", "llm.model").stderr == ""


# questions

FINAL = [
    (("forget", "ID", "--erase"), "Erase this for good?", "nothing was erased"),
    (("users", "delete", "default"), "Delete user default", "nobody was deleted"),
    (("conversations", "delete", "trip", "--erase"), "trip", "nothing was"),
    (("conversations", "clear", "trip"), "Clear conversation history?", "nothing was cleared"),
]


@each_row(("command", "question", "refused"), FINAL)
def test_what_is_final_is_done_after_a_yes_alone(run, ask, command, question, refused):
    """A no, no answer and no terminal leave all as it was; --yes does without a question."""
    for confirmed in (False, True):
        with Memory() as memory:
            memory.conversation("trip").add("user", "We leave on Friday.")
            id_ = memory.remember("the password is swordfish").id
        words = [id_ if word == "ID" else word for word in command]
        before = everything()
        for answer in ("n\n", ""):
            code, said = ask(*words, answer=answer)
            assert (code, question in said) == (1, True)
        (line,) = run(*words, code=1, stdin="y\n").stderr.splitlines()
        assert line.startswith(f"error: {refused}")
        assert "--yes" in line
        assert everything() == before
        if confirmed:
            run(*words, "--yes")
        else:
            assert ask(*words, answer="y\n")[0] == 0
        assert everything() != before


# terminals and pipes

TABLES = [
    ("list",),
    ("search", "word"),
    ("search", "bell red 記憶", "--why"),
    ("facts", "--all"),
    ("facts", "show", "ID"),
    ("audit",),
    ("entities",),
    ("stats",),
    ("maintain", "--dry-run"),
    *(("conversations", "show", "trip", *each) for each in ((), ("--explain",))),
    ("conversations", "show", "trip", "--all", "--explain"),
]
TEXTS = [
    ("conversations",),
    ("recall", "bell red"),
    ("context", "bell red"),
    ("conversations", "show", f"id {HOSTILE}", "--explain"),
    ("conversations", "expand", f"id {HOSTILE}", "0-2"),
    ("notes", "history"),
    ("notes", "history", "smile"),
    ("notes", "show"),
]


@pytest.mark.usefixtures("full")
def test_no_line_is_wider_than_the_terminal(run, drawn, told):
    """Whatever is in a table: long names, wide characters, what was pruned."""
    run("conversations", "prune", "trip", "--to", "650")
    ids = [each["record"]["id"] for each in told("facts") if "Porto" in each["record"]["content"]]
    for command in TABLES:
        words = [ids[0] if word == "ID" else word for word in command]
        for columns in (40, 80, 120):
            lines = drawn(*words, columns=columns)
            assert max(cell_len(line.rstrip()) for line in lines) <= columns, command


def test_stored_text_drives_no_terminal(run, coloured, full):
    """Markup is shown as it is, and control characters never raw; a pipe gets no code at all."""
    shown = 0
    for command in [*TABLES, *TEXTS]:
        words = [full if word == "ID" else word for word in command]
        if command != ("notes", "show"):  # In a pipe it prints the very bytes of the file.
            assert not any(sign in run(*words).output for sign in SIGNS), command
        out = coloured(*words, columns=300)
        assert not any(each in out for each in ("\x1b[31mred\x1b[0m ", "\x07", "\x9b")), command
        shown += "[red]x[/] :smile:" in " ".join(CODES.sub("", out).split())
    assert shown > len(TEXTS)
    raw = run("show", full, "--json").stdout
    assert json.loads(raw)["content"] == f"I say {HOSTILE}."
    assert not any(sign in raw for sign in SIGNS)


def test_in_a_pipe_nothing_is_wrapped_or_cut(run, drawn, told, monkeypatch):
    """Where there is no terminal to fit into, each text is whole and on one line."""
    tag = "t" * 90
    id_ = told("remember", LONG, "--tag", tag, "--session", "s" * 90)["id"]
    with Memory() as memory:
        memory.conversation("trip").add("user", LONG)
    for columns in ("80", None):
        if columns is None:
            monkeypatch.delenv("COLUMNS")
        for command in (
            ("list",), ("search", "word"), ("facts",), ("show", id_),
            ("conversations", "show", "trip"),
        ):  # fmt: skip
            out = run(*command).stdout
            assert LONG in out, command
            assert not any(line.endswith(" ") for line in out.splitlines()), command
            assert LONG not in "\n".join(drawn(*command)), command
        assert f"#{tag}" in run("list").stdout


# what is not there

READING = [
    ("list",), ("search", "x"), ("recall", "x"), ("context", "x"), ("show", "fact_1"),
    ("correct", "fact_1", "x"), ("forget", "fact_1"), ("history", "fact_1"), ("stats",),
    ("facts",), ("entities",), ("entity", "x"), ("conversations",), ("notes",), ("audit",),
    ("consolidate",), ("maintain",), ("export", "out.jsonl"),
]  # fmt: skip


def test_a_store_that_is_not_there_is_named_and_not_made(run, tmp_path):
    """A command that reads names the files that are near, and leaves nothing behind."""
    run("remember", "x", "--db", "agent-ana.db")
    before = sorted(tmp_path.iterdir())
    for command in (*READING, ("doctor",), ("doctor", "--rebuild"), ("backup", "copy.db")):
        (line,) = run(*command, "--db", "agnet-ana.db", code=1).stderr.splitlines()
        assert line.startswith("error: there is no memory at "), command
        assert line.endswith("agnet-ana.db; beside it: agent-ana.db"), command
    error = run("copy", "agnet-ana.db", "b.db", code=1).stderr
    assert "agnet-ana.db; beside it: agent-ana.db" in error
    assert "nor a folder" in run("list", "--db", "no/such/agent.db", code=1).stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_user_who_is_not_there_is_named_with_those_who_are(run, tmp_path):
    """A command that reads names the users of the store, the most like first."""
    for user in ("ana", "bruno", "carla"):
        run("remember", "x", "--user", user)
    for command in READING:
        result = run(*command, "--user", "Bruna", code=1)
        (line,) = result.stderr.splitlines()
        known = "--user takes bruno, ana, carla"
        assert line == f"error: there is no user 'Bruna' in this memory; {known}"
        assert result.stdout == ""
    assert not (tmp_path / "out.jsonl").exists()


def test_where_nothing_is_it_says_how_to_begin(run, told, tmp_path):
    """Without a memory, a file or note is made by no look; an empty one is no error."""
    assert "memoranda remember" in run("list", code=1).stderr
    checks = {check["name"]: check["ok"] for check in told("doctor")}
    assert checks["lexical arm"] is True
    assert f"there is no memory at {tmp_path / 'agent.db'} yet" in run("doctor").stderr
    run("audit", code=1)
    assert list(tmp_path.iterdir()) == []
    Memory().close()
    for command in (("list",), ("search", "tea"), ("facts",), ("entities",)):
        assert "begin with memoranda remember" in run(*command).stderr
        assert "begin with memoranda remember" in run(*command, "--user", "zed").stderr
        assert told(*command) == []
    assert "nothing is noted yet" in run("notes").stderr


COUNTED = {"search", "recall", "context"}  # Who finds a record leaves a count on it.


def test_looking_and_dry_runs_change_nothing(run, full, monkeypatch):
    """No look writes, also where the settings prune when a session starts."""
    before = everything()
    monkeypatch.setenv("MEMORANDA_CONVERSATION__AT_SESSION_START", "prune")
    for command in (
        *(each for each in TABLES + TEXTS if each[0] not in COUNTED),
        ("conversations", "show", "trip", "--budget", "500"),
        ("conversations", "prune", "trip", "--to", "500", "--dry-run"),
        ("consolidate", "--dry-run"),
    ):
        run(*(full if word == "ID" else word for word in command))
    monkeypatch.delenv("MEMORANDA_CONVERSATION__AT_SESSION_START")
    assert everything() == before
