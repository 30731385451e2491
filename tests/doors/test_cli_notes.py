"""``memoranda notes``: MEMORY.md and the history, on real files."""

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


def note(*texts):
    """Add entries to the history."""
    with Memory() as memory:
        for text in texts:
            memory.notes.append_history_rotated(text)


def test_alone_it_prints_the_file_and_where_it_is(run, told, file, monkeypatch):
    """In a pipe the very bytes of it; a file that is too long is told."""
    remember("Ana is vegetarian")
    printed = run()
    assert printed.stdout_bytes == file.read_bytes()
    assert str(file) in printed.stderr
    assert "too long" not in printed.stderr
    assert told("show") == {"path": str(file), "text": file.read_text()}
    monkeypatch.setenv("MEMORANDA_NOTES__MAX_MEMORY_SIZE", "256")
    file.write_text(f"{file.read_text()}\n{'My own words. ' * 30}\n")
    assert "too long" in run().stderr


def test_what_is_written_again_is_told(run, file):
    """Many lines that are gone at once are written again, until it was meant."""
    remember(*(f"Ana owns a {thing}" for thing in THINGS))
    text = run("show").stdout
    left = "\n".join(line for line in text.splitlines() if not line.startswith("- "))
    file.write_text(left)
    assert run().stderr.count("--accept-removals") == 1
    assert len(facts()) == len(THINGS)
    assert file.read_text() == text
    file.write_text(
        ""
    )  # A file that was lost, rather than everything it knows: so says the advice.
    lost = run("sync", "--accept-removals")
    assert "not the heading" in lost.stderr + lost.stdout
    assert len(facts()) == len(THINGS)
    file.write_text(left)
    assert f"{len(THINGS)} forgotten" in run("sync", "--accept-removals").stdout
    assert facts() == []


def test_what_was_changed_by_hand_is_read_and_told(run, told, file):
    """By sync, which reports each deed; by whatever else reads, once, as a note."""
    remember("Ana is vegetarian")
    assert told("sync")["written"] is True
    file.write_text(f"{file.read_text()}- Ana likes tea\n")
    out = run("sync").stdout
    assert "Ana likes tea" in out
    assert "1 added" in out
    for number, command in enumerate(((), ("show",))):
        file.write_text(f"{file.read_text()}- Ana plays cello number {number}\n")
        err = run(*command).stderr
        (line,) = [each for each in err.splitlines() if "from MEMORY.md" in each]
        assert line.startswith("note: read 1 changed line from MEMORY.md")
        assert "from MEMORY.md" not in run(*command).stderr
    assert len(facts()) == 4
    assert "nothing to do" in run("sync").stdout


def test_what_is_in_the_way_of_the_files_is_named(run, file, monkeypatch):
    """A damaged file keeps nothing from being found; a folder that cannot be is told."""
    note("We met in Porto")
    file.write_bytes(b"- \xff\n")
    assert "We met in Porto" in run("history", "Porto").stdout
    assert f"{file} is not UTF-8" in run(code=1).stderr
    for folder in ("", " "):
        monkeypatch.setenv("MEMORANDA_NOTES__FOLDER", folder)
        (line,) = run("show", code=1).stderr.splitlines()
        assert f"notes.folder: {folder!r}" in line


def test_the_history_is_listed_and_searched(run, told):
    """The entries that have the words, in any case, come newest first."""
    note("Chose Lisbon", "Went home", "Booked LISBON")
    assert [entry["text"] for entry in told("history", "-n", "2")] == ["Booked LISBON", "Went home"]
    found = [entry["text"] for entry in told("history", "lisbon")]
    assert found == ["Booked LISBON", "Chose Lisbon"]
    assert [entry["text"] for entry in told("history", "lisbon", "-n", "1")] == found[:1]
    assert "no such entry" in run("history", "Porto").stderr
