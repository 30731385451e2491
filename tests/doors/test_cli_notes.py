"""``memoranda notes``: MEMORY.md, the history, and an editor, on real files."""

import sys

import pytest

from memoranda import Memory

THINGS = ["boat", "cat", "house", "piano", "car", "garden", "lamp", "ladder", "kettle", "drum"]


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda notes``."""
    return ("notes",)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Where MEMORY.md is."""
    monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", str(tmp_path / "notes"))
    return tmp_path / "notes" / "MEMORY.md"


def facts():
    """Return what is believed."""
    with Memory() as memory:
        return sorted(record.content for record in memory.records(kind="fact"))


def remember(*contents):
    """Remember facts."""
    with Memory() as memory:
        memory.remember_many(contents)


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


def test_alone_it_sums_up_and_show_prints_the_file(run, told, file):
    """Where the file is, how long, and of how many entries; in a pipe show gives its very bytes."""
    remember("Ana is vegetarian")
    run("add", "Chose Lisbon")
    run("sync")
    assert told()["size"] == file.stat().st_size
    out = run().stdout
    assert str(file) in out.replace("\n", "").replace(" ", "")
    assert "1 entry" in out
    assert run("show").stdout_bytes == file.read_bytes()
    assert run("show", "--path").stdout == f"{file}\n"
    assert told("show") == {"path": str(file), "text": file.read_text()}


def test_what_is_written_again_is_told(run, told, file):
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
    assert f"{len(THINGS)} forgotten" in run("sync", "--accept-removals").stdout
    assert facts() == []
    assert told()["report"]["restored"] == []


def test_what_was_edited_is_read_back(run, editing):
    """The report says what was changed; where there are no notes yet, there is a file to begin."""
    editing("# Memory\n", "# Memory\n\n- Ana is vegetarian\n")
    assert "1 added" in run("edit").stdout
    editing("vegetarian", "vegan")
    assert "1 corrected" in run("edit").stdout
    assert facts() == ["Ana is vegan"]


def test_an_editor_that_fails_says_so(run, editing, monkeypatch):
    """An editor that fails, is missing or is no command is one line; nothing is lost."""
    remember("Ana is vegetarian")
    editing("x", "y", code=3)
    assert "failed with 3" in run("edit", code=1).stderr
    for editor, told in (
        ("/no/such/editor", "cannot be started"),
        ("'unclosed", "cannot be started"),
    ):
        monkeypatch.setenv("EDITOR", editor)
        assert told in run("edit", code=1).stderr
    assert facts() == ["Ana is vegetarian"]


def test_what_was_changed_by_hand_is_read_and_told(run, told, file, editing):
    """By sync, which reports each deed; by whatever else reads, once, as a note."""
    remember("Ana is vegetarian")
    assert told("sync")["written"] is True
    editing("nothing", "nothing")
    file.write_text(f"{file.read_text()}- Ana likes tea\n")
    out = run("sync").stdout
    assert "Ana likes tea" in out
    assert "1 added" in out
    for number, command in enumerate(((), ("show",), ("search", "Porto"), ("edit",))):
        file.write_text(f"{file.read_text()}- Ana plays cello number {number}\n")
        err = run(*command).stderr
        (line,) = [each for each in err.splitlines() if "from MEMORY.md" in each]
        assert line.startswith("note: read 1 changed line from MEMORY.md: + fact_")
        assert line.endswith(f": Ana plays cello number {number}")
        assert "from MEMORY.md" not in run(*command).stderr
    assert len(facts()) == 6
    assert "nothing to do" in run("sync").stdout


def test_what_is_in_the_way_of_the_files_is_named(run, file, monkeypatch):
    """A damaged file keeps nothing from being found; a lock or a folder that cannot be is told."""
    run("add", "We met in Porto")
    file.write_bytes(b"- \xff\n")
    found = run("search", "Porto")
    assert "We met in Porto" in found.stdout
    assert f"warning: {file} is not UTF-8" in found.stderr
    lock = file.with_name(".memoranda.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert str(lock) in run("add", "We met", code=1).stderr
    for folder in ("", " "):
        monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", folder)
        (line,) = run("show", code=1).stderr.splitlines()
        assert f"notes.folder: {folder!r}" in line


def test_the_history_is_added_to_and_searched(run, told, coloured, file):
    """A dash reads an entry; those that have the words, in any case, come newest first."""
    run("add", "-", stdin="# A heading\n\nand text\n")
    assert told("history")[0]["text"] == "# A heading\n\nand text"
    assert len(list(file.parent.glob("HISTORY-*.md"))) == 1
    for text in ("Chose Lisbon", "Went home", "Booked LISBON"):
        run("add", text)
    found = [entry["text"] for entry in told("search", "lisbon")]
    assert found == ["Booked LISBON", "Chose Lisbon"]
    assert [entry["text"] for entry in told("search", "lisbon", "-n", "1")] == found[:1]
    assert "Chose \x1b[1;33mLisbon\x1b[0m" in coloured("search", "lisBON")
    assert "no entry has" in run("search", "Porto").stderr
