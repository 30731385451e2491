"""The files of the notes: every byte kept, every write whole, and only inside the folder."""

import os
import stat
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput, StoreBusy, StoreError
from memoranda.model.notes import MEMORY_BYTES
from memoranda.notes import Notes
from memoranda.notes.files import LOCK, NotesFolder
from memoranda.testing.clocks import FrozenClock

storable = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
texts = st.lists(storable | st.sampled_from(["\r\n", "\r", "\n", "\ufeff", "\x1a", "\u2028"]))


@pytest.fixture
def notes(tmp_path):
    """Notes in a folder that does not exist yet, in a month that does not end."""
    return Notes(tmp_path / "deep" / "notes", clock=FrozenClock())


def mode(path):
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def visible(folder):
    """Return the names in a folder, without the lock."""
    return sorted(path.name for path in folder.iterdir() if path.name != LOCK)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts.map("".join))
def test_every_text_comes_back(tmp_path, text):
    """Any storable text is in the file byte by byte, and is read back the same."""
    notes = Notes(tmp_path)
    (tmp_path / "MEMORY.md").write_bytes(b"old")
    notes.write_memory(text)
    assert (tmp_path / "MEMORY.md").read_bytes() == text.encode()
    assert notes.read_memory() == text
    assert notes.write_memory(text) is False


def test_the_first_write_makes_the_folder(notes):
    """Reading makes nothing; the first write makes folders and files that are the owner's alone."""
    assert notes.read_memory() == ""
    assert notes.history() == notes.search("a") == []
    assert notes.write_memory("") is False
    assert notes.rewrite(lambda lines: (lines, 0)) == 0
    assert not notes.folder.exists()
    assert notes.write_memory("# Ana\n") is True
    notes.append_history_rotated("met Ana")
    assert mode(notes.folder) == mode(notes.folder.parent) == 0o700
    assert {mode(path) for path in notes.folder.iterdir()} == {0o600}
    assert len(visible(notes.folder)) == 3


def test_an_unchanged_text_is_not_written(notes):
    """The file of an unchanged text is not touched; a changed one is another file."""
    notes.write_memory("a")
    before = notes._files.stamp("MEMORY.md")
    assert notes.write_memory("a") is False
    assert notes._files.stamp("MEMORY.md") == before
    assert notes.write_memory("b") is True
    assert notes._files.stamp("MEMORY.md") != before
    assert notes._files.stamp("NONE.md") is None


def test_a_file_that_is_not_utf8(notes):
    """What cannot be read as UTF-8 is named with its place, and stays; entries come after it."""
    notes.write_memory("a")
    path = notes.folder / "MEMORY.md"
    for data in (b"caf\xe9\n", "\ufeffAna".encode("utf-16-le")):
        path.write_bytes(data)
        for call in (notes.read_memory, lambda: notes.write_memory("b")):
            with pytest.raises(StoreError, match=r"MEMORY.md is not UTF-8 .* save it as UTF-8"):
                call()
        assert path.read_bytes() == data
    history = notes.folder / "HISTORY.md"
    history.write_bytes(b"caf\xe9")
    notes.append_history("b")
    assert history.read_bytes().startswith(b"caf\xe9\n## ")
    with pytest.raises(StoreError, match=r"HISTORY.md is not UTF-8"):
        notes.search("b")


def test_names_are_plain(tmp_path):
    """No name reaches a file outside the folder."""
    files = NotesFolder(tmp_path)
    for name in ("", ".", "..", "../up.md", "a/b.md", "/etc/passwd", "a\\b", "\0"):
        for call in (files.read, files.stamp, lambda name: files.write(name, "a")):
            with pytest.raises(InvalidInput, match="not a name of a file"):
                call(name)


def test_arguments_that_cannot_be_used(notes, tmp_path):
    """What is no folder, no size in whole bytes, or no text that a file can hold."""
    for folder in ("", "  ", None, 3, b"notes", "a\0b", "~no-such-user-here/x"):
        with pytest.raises(InvalidInput, match=r"folder|path"):
            Notes(folder)
    for size in (0, -1, 1.5, True, "8192"):
        with pytest.raises(InvalidInput, match=r"max_memory_size=.* must be a whole number"):
            Notes(tmp_path, max_memory_size=size)
    for content in ("a\x00", "\ud800", b"a", None):
        with pytest.raises(InvalidInput, match="content"):
            notes.write_memory(content)
    assert not notes.folder.exists()


def test_the_size_is_counted_in_bytes(notes, tmp_path):
    """MEMORY.md is too large when it has more bytes than the limit, not more characters."""
    assert notes.max_memory_size == MEMORY_BYTES
    assert notes.is_over() is False
    small = Notes(tmp_path, max_memory_size=4)
    assert small.is_over("éé") is False
    assert small.is_over("ééa") is True
    small.write_memory("12345")
    assert small.is_over() is True
    assert small.is_over("1") is False
    with pytest.raises(InvalidInput, match="surrogate"):
        small.is_over("\ud800")


def test_the_folder_is_the_same_from_everywhere(tmp_path, monkeypatch):
    """A relative folder stays where it was when the process goes elsewhere; ~ is the home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    notes = Notes(Path("mine"))
    monkeypatch.chdir("/")
    notes.write_memory("a")
    assert notes.folder == tmp_path / "mine"
    assert (tmp_path / "mine" / "MEMORY.md").exists()
    assert Notes("~/mine").folder == tmp_path / "home" / "mine"


# Links


def test_what_is_no_file_of_the_folder_is_neither_read_nor_written(tmp_path):
    """A link, a folder, a pipe: it is named, and not waited for."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret", "utf-8")
    says = "is a link, or not a regular file; put a file in its place"
    for name, make in (
        ("link", lambda path: path.symlink_to(outside / "secret.md")),
        ("circle", lambda path: path.symlink_to(path.name)),
        ("folder", Path.mkdir),
        ("pipe", os.mkfifo),
    ):
        notes = Notes(tmp_path / name)
        told = notes.append_history("first")
        make(notes.folder / f"HISTORY-{told.at:%Y-%m}.md")
        with pytest.raises(StoreError, match=says):  # Of both files, or of none.
            notes.append_history_rotated("second", at=told.at)
        assert "second" not in (notes.folder / "HISTORY.md").read_text("utf-8")
        (notes.folder / "HISTORY.md").unlink()
        for file in ("MEMORY.md", "HISTORY.md"):
            make(notes.folder / file)
        for call in (
            notes.read_memory,
            notes.is_over,
            lambda notes=notes: notes.write_memory("new"),
            lambda notes=notes: notes.append_history("new"),
            lambda notes=notes: notes.search("secret"),
        ):
            with pytest.raises(StoreError, match=rf"(MEMORY|HISTORY)\S*\.md {says}"):
                call()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"secret.md": "secret"}


def test_a_link_in_the_place_of_the_part_file(tmp_path):
    """A link that waits where the new file is written first is not followed."""
    (tmp_path / "secret").write_text("secret", "utf-8")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / ".memoranda.part").symlink_to(tmp_path / "secret")
    Notes(folder).write_memory("new")
    assert (tmp_path / "secret").read_text("utf-8") == "secret"
    assert visible(folder) == ["MEMORY.md"]


def test_a_file_in_the_place_of_the_folder(tmp_path):
    """A file where the folder, or one above it, should be is named, and stays."""
    (tmp_path / "file").write_text("kept", "utf-8")
    for folder in ("file", "file/below"):
        with pytest.raises(StoreError, match=rf"{tmp_path}/file.*Check .* what is there"):
            Notes(tmp_path / folder).append_history("new")
    assert (tmp_path / "file").read_text("utf-8") == "kept"


# Several writers


def test_a_writer_waits_no_longer_than_it_should(tmp_path):
    """While another thread holds the lock, a writer gives up in time, and a later one goes on."""
    holding, done = Event(), Event()
    notes = Notes(tmp_path)

    def hold():
        with notes.locked():
            holding.set()
            done.wait(60)

    thread = Thread(target=hold)
    thread.start()
    holding.wait(60)
    hasty = Notes(tmp_path, busy_timeout=0.01)
    for call in (lambda: hasty.write_memory("a"), lambda: hasty.append_history("a"), hasty.history):
        with pytest.raises(StoreBusy, match="stayed locked by another writer"):
            call()
    done.set()
    thread.join()
    assert hasty.write_memory("a")


def test_who_holds_the_lock_goes_on(tmp_path):
    """The lock may be taken again in one thread, through another Notes of the same folder too."""
    first, second = Notes(tmp_path), Notes(tmp_path, busy_timeout=0.01)
    with first.locked(), second.locked():
        assert second.write_memory("a")
        assert first.append_history("b")
        assert len(second.history()) == 1
