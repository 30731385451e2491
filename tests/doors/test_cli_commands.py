"""The commands of the CLI, one process for all of them, on real files."""

import json
import os
import stat
import subprocess
import sys
from importlib import import_module

import pytest
import typer
from rich.cells import cell_len
from tables import each_row
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app, read_commands

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x9b1m \x07bell [link=http://x]y[/link]"
COMMANDS = [
    "demo",
    "remember",
    "search",
    "recall",
    "show",
    "list",
    "correct",
    "confirm",
    "forget",
    "history",
    "context",
    "entity",
    "entities",
    "conversations",
    "stats",
    "import",
    "export",
    "backup",
    "doctor",
    "config",
    "users",
    "facts",
    "notes",
    "audit",
    "consolidate",
    "maintain",
    *(
        f"conversations {name}"
        for name in ["list", "show", "prune", "clear", "pin", "expand", "receipts"]
    ),
    *(f"config {name}" for name in ["show", "explain", "set", "unset", "path"]),
    *(f"notes {name}" for name in ["show", "edit", "sync", "search", "history", "add"]),
    *("facts show", "entities list", "entities merge"),
]


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone, a folder of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "Europe/Lisbon")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def test_an_item_is_named_by_namespace_and_key(run):
    """It is written, replaced, shown, listed, found and forgotten by these, without an id."""
    place = ("--namespace", "app/settings", "--key", "theme")
    first = run("remember", "dark", *place).stdout
    assert run("remember", "light", *place).stdout == first
    shown = json.loads(run("show", *place, "--json").stdout)
    assert (shown["content"], shown["namespace"]) == ("light", ["app", "settings"])
    assert "app / settings / theme" in run("list", "--namespace", "app").stdout
    found = run("search", "light", "--kind", "item", "--namespace", "app").stdout
    assert shown["id"] in found
    assert shown["id"] in run("forget", *place).stdout
    assert "no records" in run("list", "--namespace", "app").stdout
    assert "no item 'theme' in ('app', 'settings')" in run("show", *place, code=1).stderr


def test_what_is_remembered_is_found(run):
    """A search prints rank, score, date, speaker and text of what remember stored."""
    run("remember", "We ate cod in Lisbon", "--role", "user", "--event-time", "2025-03-31T23:30")
    line = run("search", "who ate cod?").stdout.splitlines()[2]
    rank, score, when, who, *text = line.split()
    assert (rank, when, who) == ("1", "2025-03-31", "user")
    assert 0 < float(score) <= 1
    assert " ".join(text).startswith("We ate cod in Lisbon · fact_")


def test_shared_options_stand_on_either_side(told, tmp_path):
    """--db, --user and --json mean the same before and after the command."""
    other = str(tmp_path / "other.db")
    told("remember", "one", "--db", other, "--user", "ana")
    found = told("--db", other, "--user", "ana", "list")
    assert [record["content"] for record in found] == ["one"]
    assert told("--user", "bruno", "list", "--db", other, "--user", "ana") == found


@each_row(
    "command",
    [
        ("search", "bell red"),
        ("search", "bell red", "--why"),
        ("list",),
        ("recall", "bell red"),
        ("context", "bell red"),
    ],
)
def test_stored_text_cannot_drive_the_terminal(run, command):
    """Markup is shown as it is, and control characters never raw."""
    run("remember", HOSTILE, "--role", "\x1b[1mmallory")
    out = " ".join(run(*command).output.split())
    assert "[red]x[/] :smile: ␛[31mred␛[0m" in out
    assert not any(sign in out for sign in ("\x1b", "\x07", "\x9b"))


def test_stored_text_survives_json(run, told):
    """In JSON the text is the same to the letter, yet no control character is raw."""
    record = told("remember", HOSTILE)
    raw = run("show", record["id"], "--json").stdout
    assert json.loads(raw)["content"] == HOSTILE
    assert not any(sign in raw for sign in ("\x1b", "\x07", "\x9b"))


def test_an_error_message_cannot_drive_the_terminal(run):
    """An id full of escapes comes back harmless, on one line."""
    run("remember", "something")
    result = run("show", "\x1b[2J\nx", code=1)
    assert "\x1b" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: there is no record")


def test_a_narrow_terminal_is_never_exceeded(run, drawn):
    """No line of a table is wider than 80 columns, whatever is in it."""
    run("remember", "word " * 200, "--session", "s" * 200, "--tag", "t" * 200, "--role", "r" * 99)
    run("remember", "記憶は大切です。" * 50)
    for command in (("list",), ("search", "word", "--why"), ("search", "記憶"), ("stats",)):
        for columns in (40, 80):
            assert max(map(cell_len, drawn(*command, columns=columns))) <= columns


@pytest.mark.parametrize("columns", ["80", None])
def test_in_a_pipe_nothing_is_wrapped_or_cut(run, drawn, told, monkeypatch, columns):
    """Where there is no terminal to fit into, each text is whole and on one line."""
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    text, tag = " ".join(["word"] * 500), "t" * 90
    id_ = told("remember", text, "--tag", tag, "--session", "s" * 90)["id"]
    for command in (("list",), ("search", "word"), ("facts",), ("show", id_)):
        out = run(*command).stdout
        assert text in out
        assert not any(line.endswith(" ") for line in out.splitlines())
        assert text not in "\n".join(drawn(*command))
    assert f"#{tag}" in run("list").stdout


def test_correct_and_history_and_as_of(run, told):
    """A correction replaces; the old text is in history and in --as-of."""
    old = told("remember", "Ana lives in Porto")
    new = told("correct", old["id"], "Ana lives in Lisbon")
    assert [hit["id"] for hit in told("search", "Ana lives")] == [new["id"]]
    (before,) = told("search", "Ana lives", "--as-of", old["created_at"])
    assert before["content"] == "Ana lives in Porto"
    assert [change["reason"] for change in told("history", old["id"])] == [
        "remembered", "corrected", f"corrects {old['id']}",
    ]  # fmt: skip
    assert "corrected" in run("history", old["id"]).stdout
    assert new["id"] in run("show", old["id"]).stdout


def test_erase_without_a_terminal_wants_a_yes(told, run, tmp_path):
    """In a script, forget --erase --yes leaves nothing of the text in the file."""
    record = told("remember", "the password is swordfish")
    (line,) = run("forget", record["id"], "--erase", code=1, stdin="y\n").stderr.splitlines()
    assert line.startswith("error: nothing was erased")
    assert "--yes" in line
    assert told("show", record["id"])["content"] == "the password is swordfish"
    assert told("forget", record["id"], "--erase", "--yes") == {
        "success": True, "id": record["id"], "erased": True, "records": 1, "versions": [],
        "derived": [], "copies": [], "independent": [],
        "likely": [],
        "places": [], "messages": 0, "conversations": 0,
        "purged": True, "unpurged": None, "notes": 0,
    }  # fmt: skip
    assert b"swordfish" not in (tmp_path / "agent.db").read_bytes()
    run("show", record["id"], code=1)


def test_erase_asks_at_a_terminal(ask, told):
    """A no, or no answer, leaves the record as it was; a yes erases it."""
    record = told("remember", "keep me")
    for answer in ("n\n", ""):
        code, said = ask("forget", record["id"], "--erase", answer=answer)
        assert (code, "Erase this for good?" in said) == (1, True)
        assert [each["id"] for each in told("list")] == [record["id"]]
    assert ask("forget", record["id"], "--erase", answer="y\n")[0] == 0
    assert told("list") == []


@each_row(
    "command",
    [
        ("users", "delete", "default"),
        ("conversations", "delete", "trip", "--erase"),
        ("conversations", "clear", "trip"),
    ],
)
def test_what_is_final_wants_a_yes_where_nobody_can_be_asked(run, told, command):
    """Off a terminal it is refused on one line, whatever comes on standard input; --yes does it."""
    with Memory() as memory:
        memory.conversation("trip").add("user", "We leave on Friday.")
    before = told("conversations")
    (line,) = run(*command, code=1, stdin="y\n").stderr.splitlines()
    assert line.startswith("error: nobody was" if command[0] == "users" else "error: nothing was")
    assert "--yes" in line
    assert told("conversations") == before
    run(*command, "--yes")
    assert told("conversations") != before


def test_pages_of_a_list_join(told):
    """--after goes on where the page before ended."""
    for number in range(5):
        told("remember", f"note {number}")
    first = told("list", "--limit", "3")
    rest = told("list", "--after", first[-1]["id"], "--kind", "fact")
    assert [record["content"] for record in first + rest] == [f"note {n}" for n in range(5)]


def test_context_of_a_conversation(told, run, tmp_path):
    """--conversation brings its messages; one that does not exist is an error, not made."""
    with Memory(tmp_path / "agent.db") as memory:
        memory.conversation("trip").add("user", "I never fly before nine.")
    built = told("context", "Book a flight", "--conversation", "trip")
    assert "I never fly before nine." in [message["content"] for message in built["messages"]]
    assert (
        "there is no conversation"
        in run("context", "Book", "--conversation", "tripp", code=1).stderr
    )
    assert [info["id"] for info in told("conversations")] == ["trip"]
    assert "trip" in run("conversations").stdout


def test_recall_is_a_fenced_block(run, told):
    """Recall prints the block alone on stdout, and its size on stderr."""
    run("remember", "Ana plays the oboe")
    result = run("recall", "what does Ana play?", "--budget", "300")
    assert result.stdout.startswith("<memoranda-memory")
    assert "tokens" in result.stderr
    assert told("recall", "what does Ana play?")["text"] + "\n" == result.stdout


def test_an_import_embeds_all_it_brought(run, told, monkeypatch, tmp_path):
    """With a model, every record of an import has its vector when the command ends."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "auto")
    with Memory(tmp_path / "agent.db") as memory:
        if memory.stats().vectors.startswith("off"):
            pytest.skip("the files of the local model are not here")
        memory.remember_many(f"note {number}" for number in range(40))
    run("export", "out.jsonl")
    there = str(tmp_path / "there.db")
    assert told("import", "out.jsonl", "--db", there)["embedded"] == 40
    assert told("stats", "--db", there)["pending_vectors"] == 0


def test_export_import_backup(run, told, tmp_path):
    """What is exported can be imported, once; a backup is a whole memory, mode 0600."""
    run("remember", "carry me over")
    assert told("export", "out.jsonl")["records"] == 1
    there = str(tmp_path / "there.db")
    first = told("import", "out.jsonl", "--db", there)
    again = told("import", "out.jsonl", "--db", there)
    assert (first["records"], again["records"], again["skipped"]) == (1, 0, 1)
    assert told("backup", "copy.db")["size"] > 0
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert told("list", "--db", "copy.db")[0]["content"] == "carry me over"
    assert "exists" in run("backup", "copy.db", code=1).stderr


@each_row(
    "arguments",
    [
        ("show", "fact_none"),
        ("history", "fact_none"),
        ("correct", "fact_none", "text"),
        ("confirm", "fact_none"),
        ("forget", "fact_none"),
        ("remember", "  "),
        ("remember", "x", "--kind", "opinion"),
        ("remember", "x", "--metadata", "[1]"),
        ("remember", "x", "--metadata", "{"),
        ("remember", "x", "--event-time", "yesterday"),
        ("remember", "x", "--confidence", "7"),
        ("search", ""),
        ("search", "x", "--limit", "0"),
        ("search", "x", "--since", "0000"),
        ("search", "x", "--as-of", "0001-01-01T00:00+14:00"),
        ("list", "--after", "fact_none"),
        ("context", "a long prompt that cannot fit", "--budget", "3"),
        ("import", "absent.json"),
        ("export", "no/such/folder/out.jsonl"),
        ("backup", "no/such/folder/copy.db"),
        ("stats", "--db", "no/such/folder/agent.db"),
        ("stats", "--db", "postgresql://localhost/x?nothing=1"),
        ("stats", "--user", ""),
        ("stats", "--db", "."),
    ],
)
def test_bad_input_is_one_line_and_exit_1(run, arguments):
    """Whatever cannot be used ends with one line on stderr and nothing on stdout."""
    result = run(*arguments, code=1)
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert result.stdout == ""
    assert len([line for line in result.stderr.splitlines() if not line.startswith("note:")]) == 1


def test_a_file_of_something_else_is_left_alone(run, tmp_path):
    """A file that is no database is refused, and keeps its bytes."""
    (tmp_path / "poem.txt").write_text("roses are red " * 100)
    run("list", "--db", "poem.txt", code=1)
    assert (tmp_path / "poem.txt").read_text() == "roses are red " * 100


@each_row("arguments", [("search",), ("serach", "x"), ("list", "--limit", "x")])
def test_wrong_usage_is_exit_2(run, arguments):
    """Wrong usage is told as such, and apart from failures."""
    assert "Error" in run(*arguments, code=2).stderr


@each_row("name", COMMANDS)
def test_every_command_explains_itself(run, name):
    """Each command has a help with a one-line summary and examples, and the shared options."""
    out = run(*name.split(), "--help").stdout
    assert all(option in out for option in ("--db", "--user", "--json"))
    if name != "config":
        assert f"memoranda {name.removesuffix(' list')}" in out.split("Examples:")[1]


def test_the_list_of_commands_says_what_each_of_them_says():
    """What stands in the list, which loads no command, is the first line of the command's help."""
    for name, (module, listed) in read_commands().items():
        known = typer.main.get_group(import_module(f"memoranda.cli.{module}").commands).commands
        first = known[name].help.partition("\n")[0]
        assert first.startswith(listed.help.removesuffix(".")), name


def test_help_loads_nothing_of_the_memory():
    """Whoever asks what there is waits neither for settings nor for a store."""
    program = (
        "import sys; from memoranda.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "memoranda.cli.command" in loaded
    assert not loaded & {"pydantic", "numpy", "apsw", "memoranda.memory", "memoranda.cli.chat"}


def test_version(run):
    """--version prints name and version alone."""
    assert run("--version").stdout.startswith("memoranda 0.")


READING = [
    ("list",), ("search", "x"), ("recall", "x"), ("context", "x"), ("show", "fact_1"),
    ("correct", "fact_1", "x"), ("forget", "fact_1"), ("history", "fact_1"), ("stats",),
    ("facts",), ("entities",), ("entity", "x"), ("conversations",), ("notes",), ("audit",),
    ("consolidate",), ("maintain",), ("export", "out.jsonl"),
]  # fmt: skip


@pytest.mark.parametrize("command", [*READING, ("doctor",), ("backup", "copy.db")])
def test_a_store_that_is_not_there_is_not_made(run, tmp_path, command):
    """A command that reads names the files that are near, and leaves nothing behind."""
    run("remember", "x", "--db", "agent-ana.db")
    before = sorted(tmp_path.iterdir())
    (line,) = run(*command, "--db", "agnet-ana.db", code=1).stderr.splitlines()
    assert line.startswith("error: there is no memory at ")
    assert line.endswith("agnet-ana.db; beside it: agent-ana.db")
    assert sorted(tmp_path.iterdir()) == before


@each_row("command", READING)
def test_a_user_who_is_not_there_is_named_with_those_who_are(run, tmp_path, command):
    """A command that reads names the users of the store, the most like first."""
    for user in ("ana", "bruno", "carla"):
        run("remember", "x", "--user", user)
    result = run(*command, "--user", "Bruna", code=1)
    (line,) = result.stderr.splitlines()
    assert line == "error: there is no user 'Bruna' in this memory; --user takes bruno, ana, carla"
    assert result.stdout == ""
    assert not (tmp_path / "out.jsonl").exists()


def test_without_any_memory_it_says_how_to_begin(run, told, tmp_path):
    """Where nothing is near, the commands that begin a memory are named; they do begin one."""
    assert "memoranda remember" in run("list", code=1).stderr
    assert "nor a folder" in run("list", "--db", "no/such/agent.db", code=1).stderr
    assert list(tmp_path.iterdir()) == []
    run("remember", "x", "--user", "ana")
    run("remember", "x", "--user", "bruno")
    assert told("stats", "--user", "bruno")["records"]["fact"] == 1


def test_looking_makes_no_file(run, told, tmp_path):
    """The doctor looks at a machine without a memory, and refuses to mend one; no file is made."""
    checks = {check["name"]: check["ok"] for check in told("doctor")}
    assert checks["lexical arm"] is True
    assert f"there is no memory at {tmp_path / 'agent.db'} yet" in run("doctor").stderr
    assert "there is no memory at" in run("doctor", "--rebuild", code=1).stderr
    run("audit", code=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [("list",), ("search", "tea"), ("facts",), ("entities",)])
def test_an_empty_memory_says_how_to_begin(run, told, command, tmp_path):
    """An empty one is no error, whoever asks: a note to people names what begins it."""
    Memory(tmp_path / "agent.db").close()
    assert "begin with memoranda remember" in run(*command).stderr
    assert "begin with memoranda remember" in run(*command, "--user", "zed").stderr
    assert told(*command) == []
    run("remember", "x", "--user", "ana")
    assert "--user takes ana" in run(*command, "--user", "zed", code=1).stderr


def test_pulling_a_model_from_nowhere_fails_clearly(run, tmp_path, monkeypatch):
    """Config models pull tells which address could not be reached."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__FOLDER", str(tmp_path / "models"))
    line = run("config", "models", "pull", "--from", "http://127.0.0.1:9/m", code=1).stderr
    assert line.startswith("error: cannot download http://127.0.0.1:9/m")


def test_doctor_is_well_and_can_rebuild(told, run):
    """The doctor of a sound memory exits with 0, and after each of its remedies."""
    run("remember", "something")
    checks = {check["name"]: check["ok"] for check in told("doctor")}
    assert checks["contents"] is True
    assert checks["lexical arm"] is True
    assert checks["vector arm"] is None
    assert "rebuilt" in run("doctor", "--rebuild", "--purge", "--reembed").stderr


def test_doctor_exits_1_if_something_is_wrong(run, tmp_path, monkeypatch):
    """A model that cannot be had though it was asked for is a failure."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "local")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__FOLDER", str(tmp_path))
    run("doctor", code=1)


def test_remember_reads_standard_input(run, told):
    """A dash as text reads standard input, whole."""
    run("remember", "-", stdin="two\nlines\n")
    assert told("list")[0]["content"] == "two\nlines"


def test_a_misspelt_command_or_option_is_told_the_right_one(run):
    """Wrong usage names the command or option that was probably meant."""
    assert "'search'" in run("serach", "x", code=2).stderr
    assert "--kind" in run("search", "x", "--kid", "fact", code=2).stderr


@each_row(
    ("typed", "offered"),
    [
        ("memoranda se", {"search"}),
        ("memoranda search --off", {"--offset"}),
        ("memoranda list --kind i", {"item"}),
        ("memoranda audit --kind near", {"near-duplicates"}),
    ],
)
def test_a_shell_completes_commands_options_and_names(typed, offered):
    """What the shell asks for is answered with what begins so, of commands not loaded as well."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    asked = {**words, "_MEMORANDA_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(app, [], env=asked, prog_name="memoranda")
    assert set(done.stdout.split()) == offered


def test_an_entity_that_is_nearly_named_is_suggested(run):
    """A name that no record has is answered with the nearest one, if there is any."""
    run("remember", "Ana Silva moved to Ghent")
    assert "did you mean Ghent?" in run("entity", "Gehnt", code=1).stderr
    assert "memoranda entities lists" in run("entity", "Qqqq", code=1).stderr


def test_help_names_no_type_of_a_switch(run):
    """An option that takes no value has none in help, as --help itself."""
    for command in ((), ("search",), ("users",), ("users", "delete")):
        assert "bool" not in run(*command, "--help").stdout
