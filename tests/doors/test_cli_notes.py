"""``memoranda notes``: MEMORY.md, the history, and an editor, on real files."""

import os
import sys

import pytest

from memoranda import Memory

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m"
THINGS = ["boat", "cat", "house", "piano", "car", "garden", "lamp", "ladder", "kettle", "drum"]


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    for name in ("VISUAL", "EDITOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", str(tmp_path / "notes"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda notes``."""
    return ("notes",)


@pytest.fixture
def file(tmp_path):
    """Where MEMORY.md is."""
    return tmp_path / "notes" / "MEMORY.md"


@pytest.fixture
def facts():
    """Return what is believed."""

    def look():
        with Memory() as memory:
            return sorted(record.content for record in memory.records(kind="fact"))

    return look


@pytest.fixture
def remember():
    """Remember facts."""

    def tell(*contents):
        with Memory() as memory:
            return memory.remember_many(contents)

    return tell


@pytest.fixture
def editing(tmp_path, monkeypatch):
    """Make an editor that replaces one text in the file by another, or fails."""

    def make(old, new, code=0):
        script = tmp_path / "an editor.py"
        script.write_text(
            "import sys, pathlib\n"
            "file = pathlib.Path(sys.argv[-1])\n"
            f"file.write_text(file.read_text().replace({old!r}, {new!r}))\n"
            f"sys.exit({code})\n"
        )
        monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{script}'")

    return make


def test_alone_it_sums_up(run, told, file, remember):
    """The group alone says where the file is, how long, and of how many entries."""
    remember("Ana is vegetarian")
    run("add", "Chose Lisbon")
    found = told()
    assert (found["path"], found["size"]) == (str(file), file.stat().st_size)
    assert (found["limit"], found["entries"]) == (8_192, 1)
    out = run().stdout
    assert str(file).replace("\n", "") in out.replace("\n", "").replace(" ", "")
    assert "1 entry" in out


def test_alone_without_notes(run, told):
    """Before there are notes it says so, and makes none."""
    Memory().close()
    assert told()["size"] == 0
    assert "there is none yet" in run().stdout
    assert "nothing is noted yet" in run("show").stderr


def test_what_is_written_again_is_told(run, told, file, remember, facts):
    """Many lines that are gone at once are written again, until it was meant."""
    remember(*(f"Ana owns a {thing}" for thing in THINGS))
    text = run("show").stdout
    left = "\n".join(line for line in text.splitlines() if not line.startswith("- "))
    file.write_text(left)
    out = run().stdout
    assert "written again" in out
    assert "--accept-removals" in " ".join(out.split())
    assert len(facts()) == len(THINGS)
    assert file.read_text() == text
    file.write_text(left)
    result = run("sync", "--accept-removals")
    assert f"{len(THINGS)} forgotten" in result.stdout
    assert facts() == []
    assert told()["report"]["restored"] == []


def test_show_prints_the_file(run, told, file, remember):
    """In a pipe show prints the very bytes of the file; --path its path alone."""
    remember(f"Ana wrote {HOSTILE}")
    run("sync")
    assert run("show").stdout_bytes == file.read_bytes()
    assert run("show", "--path").stdout == f"{file}\n"
    assert told("show") == {"path": str(file), "text": file.read_text()}


def test_a_terminal_gets_no_codes(run, monkeypatch, remember):
    """On a terminal what is stored is shown as it is, and never obeyed."""
    remember(f"Ana wrote {HOSTILE}")
    run("add", HOSTILE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    for command in (("show",), ("history",), ("search", "smile")):
        out = run(*command).stdout
        assert "\x1b[31mred" not in out
        assert "[red]x[/]" in out


def test_edit_reads_back(run, editing, facts, remember):
    """What was changed in the editor is read back, and the report says what it was."""
    remember("Ana is vegetarian")
    editing("vegetarian", "vegan")
    out = run("edit").stdout
    assert "1 corrected" in out
    assert facts() == ["Ana is vegan"]


def test_edit_starts_a_file(run, editing, facts):
    """Where there are no notes yet, there is a file to write the first into."""
    editing("# Memory\n", "# Memory\n\n- Ana likes tea\n")
    assert "1 added" in run("edit").stdout
    assert facts() == ["Ana likes tea"]


def test_an_editor_that_fails_says_so(run, editing, facts, remember, monkeypatch):
    """An editor that fails, is missing or is no command is one line; nothing is lost."""
    remember("Ana is vegetarian")
    editing("x", "y", code=3)
    assert "failed with 3" in run("edit", code=1).stderr
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "cannot be started" in run("edit", code=1).stderr
    monkeypatch.setenv("EDITOR", "'unclosed")
    assert "is no command" in run("edit", code=1).stderr
    assert facts() == ["Ana is vegetarian"]


def test_sync_reports(run, told, file, remember, facts):
    """Sync reads what was changed by hand, and reports each deed."""
    remember("Ana is vegetarian")
    assert told("sync")["written"] is True
    file.write_text(f"{file.read_text()}- Ana likes tea\n")
    out = run("sync").stdout
    assert "Ana likes tea" in out
    assert "1 added" in out
    assert facts() == ["Ana is vegetarian", "Ana likes tea"]
    assert "nothing to do" in run("sync").stdout


@pytest.mark.parametrize("command", [(), ("show",), ("search", "Porto"), ("edit",)])
def test_what_is_read_by_the_way_is_told(run, file, remember, editing, command):
    """A command that reads edits says which, once; sync has nothing left to do then."""
    remember("Ana lives in Porto")
    run("sync")
    editing("nothing", "nothing")
    file.write_text(file.read_text() + "- Ana plays the cello\n")
    err = run(*command).stderr
    (line,) = [each for each in err.splitlines() if "from MEMORY.md" in each]
    assert line.startswith("note: read 1 changed line from MEMORY.md: + fact_")
    assert line.endswith(": Ana plays the cello")
    assert "from MEMORY.md" not in run(*command).stderr


def test_a_damaged_file_keeps_nothing_from_being_found(run, file):
    """Where MEMORY.md cannot be read, that is said, and the history is searched all the same."""
    run("add", "We met in Porto")
    file.write_bytes(b"- \xff\n")
    found = run("search", "Porto")
    assert "We met in Porto" in found.stdout
    assert f"warning: {file} is not UTF-8" in found.stderr


@pytest.mark.parametrize("value", ["", " "])
def test_a_folder_that_is_none_is_refused(run, monkeypatch, value):
    """notes.folder must be a name."""
    monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", value)
    err = run("show", code=1).stderr
    assert f"notes.folder: {value!r}" in err
    assert len(err.splitlines()) == 1


def test_a_folder_in_place_of_the_lock_is_named(run, file):
    """The message names the lock."""
    lock = file.with_name(".memoranda.lock")
    lock.mkdir(parents=True)
    assert str(lock) in run("add", "We met", code=1).stderr


def test_the_history_is_searched(run, told):
    """Search gives the entries that have the words in any case, the newest first, with dates."""
    for text in ("Chose Lisbon", "Went home", "Booked LISBON"):
        run("add", text)
    assert [entry["text"] for entry in told("search", "lisbon")] == [
        "Booked LISBON",
        "Chose Lisbon",
    ]
    assert [entry["text"] for entry in told("search", "lisbon", "-n", "1")] == ["Booked LISBON"]
    out = run("search", "lisbon").stdout
    assert out.index("Booked") < out.index("Chose")
    assert "Went" not in out
    assert "no entry has" in run("search", "Porto").stderr


def test_found_words_stand_out(run, monkeypatch):
    """On a terminal the keyword is coloured where it was found."""
    run("add", "Chose Lisbon")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "Chose \x1b[1;33mLisbon\x1b[0m" in run("search", "lisBON").stdout


def test_add_reads_standard_input(run, told, file):
    """A dash reads the entry; it is in the file of its month, too."""
    run("add", "-", stdin="# A heading\n\nand text\n")
    assert told("history")[0]["text"] == "# A heading\n\nand text"
    assert len(list(file.parent.glob("HISTORY-*.md"))) == 1
    assert "error: " in run("add", " ", code=1).stderr
