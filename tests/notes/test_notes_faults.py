"""Notes under faults: killed writers, full disks, missing permissions, several processes."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoranda.errors import StoreError, StoreFull, StoreReadOnly
from memoranda.notes import Notes
from memoranda.notes.files import LOCK, PART
from memoranda.notes.notes import parse_history

resource = pytest.importorskip("resource", reason="limits of files are those of Unix")

CHILDREN = Path(__file__).parent / "notes_children.py"
NEW = "new " * 5_000
NOBODY = 65534
MANY = 300


def started(*arguments):
    """Start another process of Python, and wait until it has imported what it needs."""
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture(scope="module")
def dying():
    """Another process, whose children are killed while they write."""
    process = started(CHILDREN)
    yield process
    process.communicate()


def tell(process, line):
    """Give a process a line."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def contents(folder):
    """Return what is in the files of a folder, without the lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


def texts_in(path):
    """Return what the entries of a file say."""
    return [entry.text for entry in parse_history(path.read_bytes().decode())]


# Several processes


APPEND = """
import sys
from memoranda.notes import Notes
notes, name = Notes(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
for turn in range(int(sys.stdin.readline())):
    tell = notes.append_history if turn % 10 else notes.append_history_rotated
    tell(f"{name} {turn}\\n\\nwith a second paragraph of {name} {turn}")
"""


def test_two_processes_lose_no_entry(tmp_path):
    """Of the entries of each of two processes, none is missing, torn or mixed with another."""
    names = ("ana", "ben")
    processes = [started("-c", APPEND, tmp_path, name) for name in names]
    for process in processes:
        tell(process, MANY)
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    text = (tmp_path / "HISTORY.md").read_text("utf-8")
    told = re.findall(
        r"## [0-9T:.-]{23}Z\n\n(\w+) (\d+)\n\nwith a second paragraph of \1 \2\n\n", text
    )
    for name in names:
        assert [int(turn) for who, turn in told if who == name] == list(range(MANY))
    assert len(Notes(tmp_path).history()) == 2 * MANY
    assert text.count("\n") == 2 * MANY * 6


# Killed


def steps(process, action, folder):
    """Kill a writer at each of its steps; give control back after each, and after the whole."""
    for step in range(1_000):
        tell(process, f"{step} {action} {folder}")
        answer = process.stdout.readline()
        if answer != "killed\n":
            assert answer == "done 0\n"
            assert step > 5
            return
        yield
    pytest.fail("the writer never comes to its end")


def test_a_killed_write_leaves_the_old_text_or_the_new(tmp_path, dying):
    """Killed at any step, a write has happened or not, and the next one works and cleans up."""
    notes = Notes(tmp_path)
    memory, old = tmp_path / "MEMORY.md", b"old\r\ntext"
    memory.write_bytes(old)
    seen = set()
    for _ in steps(dying, "write", tmp_path):
        seen.add(memory.read_bytes())
        assert notes.write_memory("next") is True
        assert contents(tmp_path) == {"MEMORY.md": b"next"}
        memory.write_bytes(old)
    assert seen == {old, NEW.encode()}
    assert notes.read_memory() == NEW


def test_a_killed_append_harms_no_entry(tmp_path, dying):
    """Killed at any step, an entry is there or not, or at the worst its first part is.

    The next one is whole, and on lines of its own.
    """
    notes = Notes(tmp_path)
    seen = set()
    for _ in steps(dying, "append", tmp_path):
        told = notes.append_history_rotated("next")
        for name in ("HISTORY.md", f"HISTORY-{told.at:%Y-%m}.md"):
            *before, after = texts_in(tmp_path / name)
            assert after == "next"
            seen.update(before or [None])
            (tmp_path / name).unlink()
    torn = seen - {None, NEW}
    assert all(NEW.startswith(text) for text in torn)
    assert len(torn) == 1
    assert None in seen


def test_a_leftover_is_cleaned_up(tmp_path):
    """What a crash left of a write is removed by whoever writes next, whatever that is."""
    notes = Notes(tmp_path)
    for write in (
        lambda: notes.append_history("a"),
        lambda: notes.write_memory("a"),
        lambda: notes.rewrite(lambda lines: (lines, 0)),
    ):
        (tmp_path / PART).write_text("secret", "utf-8")
        write()
        assert PART not in contents(tmp_path)


# Full disk


@contextmanager
def room(size):
    """Let no file grow beyond ``size`` bytes: writes end short, then fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_room_for_a_new_text(tmp_path):
    """Wherever the room ends, the old text stays and no part of the new one; later it works."""
    notes = Notes(tmp_path)
    for name, size, write in (
        ("MEMORY.md", 0, lambda: notes.write_memory("new " * 25)),
        ("MEMORY.md", 99, lambda: notes.write_memory("newer" * 20)),
        ("HISTORY.md", 20, lambda: notes.rewrite(lambda lines: (["b", *lines], 1))),
    ):
        before = contents(tmp_path)
        with room(size), pytest.raises(StoreFull, match=rf"no space left to write .*{name}"):
            write()
        assert contents(tmp_path) == before
        assert write()
        notes.append_history("a " * 50)


@pytest.mark.parametrize("long", ["HISTORY.md", "HISTORY-2026-02.md"])
@pytest.mark.parametrize("space", [0, 40])
def test_no_room_for_an_entry_in_one_of_two_files(tmp_path, long, space):
    """An entry is added to HISTORY.md and to the month, or to neither."""
    notes = Notes(tmp_path)
    at = notes.append_history_rotated("first").at.replace(year=2026, month=2, day=1)
    notes.append_history_rotated("second", at=at)
    with (tmp_path / long).open("ab") as file:
        file.write(b"by hand, without an end" * 100)
    before = contents(tmp_path)
    with room(len(before[long]) + space), pytest.raises(StoreFull, match=long.replace(".", r"\.")):
        notes.append_history_rotated("third " * 20, at=at)
    assert contents(tmp_path) == before
    notes.append_history_rotated("third " * 20, at=at)
    assert len(notes.history()) == len(notes.search("second")) + 2


# Permissions


@pytest.fixture
def foreign():
    """A folder that its user may enter, and a way to become somebody who may not write there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)

        @contextmanager
        def unprivileged(mode=0o555):
            root = os.geteuid() == 0  # Root may do everything, so another user takes its place.
            path.chmod(mode)
            if root:
                os.seteuid(NOBODY)
            try:
                yield
            finally:
                if root:
                    os.seteuid(0)
                path.chmod(0o755)

        yield path, unprivileged


def test_a_folder_that_may_only_be_read(foreign):
    """Everything can be read and searched, nothing is written, and the message says why."""
    folder, unprivileged = foreign
    notes = Notes(folder)
    notes.write_memory("old")
    notes.append_history_rotated("entry")
    for path in folder.iterdir():
        path.chmod(0o444 if path.name != LOCK else 0o400)
    before = contents(folder)
    with unprivileged():
        assert notes.read_memory() == "old"
        assert [entry.text for entry in notes.search("entry")] == ["entry"]
        assert notes.write_memory("old") is False
        for call in (
            lambda: notes.write_memory("new"),
            lambda: notes.append_history("new"),
            lambda: notes.append_history_rotated("new"),
            lambda: notes.rewrite(lambda lines: (lines[1:], 1)),
        ):
            with pytest.raises(StoreReadOnly, match=r"cannot be written.*Check the permissions"):
                call()
    assert contents(folder) == before


def test_a_file_that_may_not_be_written(foreign):
    """A file that is protected is not replaced, though its folder would allow it."""
    folder, unprivileged = foreign
    notes = Notes(folder)
    for name in ("MEMORY.md", "HISTORY.md"):
        (folder / name).write_text("old", "utf-8")
        (folder / name).chmod(0o444)
    before = contents(folder)
    with unprivileged(0o777):
        for call in (lambda: notes.write_memory("new"), lambda: notes.append_history("new")):
            with pytest.raises(StoreReadOnly, match=r"\.md cannot be written"):
                call()
    assert contents(folder) == before


@pytest.mark.parametrize("hidden", ["file", "folder"])
def test_what_may_not_be_read(foreign, hidden):
    """A file or a folder without permission to read is named; it is not taken for empty."""
    folder, unprivileged = foreign
    notes = Notes(folder)
    notes.write_memory("old")
    notes.append_history("entry")
    for path in folder.iterdir():
        path.chmod(0o000)
    with unprivileged(0o755 if hidden == "file" else 0o000):
        for call in (notes.read_memory, notes.history):
            with pytest.raises(StoreError, match=r"cannot be read.*Check the permissions"):
                call()
        with pytest.raises(StoreError, match=r"permissions"):
            notes.write_memory("new")
    assert contents(folder)["MEMORY.md"] == b"old"


def test_a_file_that_nobody_wrote_is_not_read(tmp_path):
    """One of gigabytes (sparse here) is named and left as it is; the memory goes on."""
    notes = Notes(tmp_path)
    with (notes.folder / "MEMORY.md").open("wb") as file:
        file.truncate(10_000_000_000)
    for read in (notes.read_memory, lambda: notes.write_memory("tea")):
        with pytest.raises(StoreError, match=r"MEMORY\.md has more than 100,000,000 bytes"):
            read()
    assert notes.append_history("They spoke of tea.")
