"""Session files under crashes and several writers: torn lines, kills, failed replacements."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock
from session_samples import CREATED, begun, loaded, message, texts

from memoranda.conversation.session_file import FileTranscript
from memoranda.errors import StoreBusy, StoreFull
from memoranda.model.models import ConversationInfo, ToolCall

CHILDREN = Path(__file__).parent / "session_children.py"


@pytest.fixture
def start(tmp_path):
    """Start another process on the test's file: ``start(role, name, number)``."""
    running = []

    def run(role, name="x", number=1):
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, CHILDREN, role, tmp_path / "trip.jsonl", name, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def go(*processes):
    """Let processes begin together, when all have imported what they need."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()


def acknowledged(process):
    """Return what a process acknowledged until its end, which was good."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.split("\n")[:-1]


# Torn ends


CALL = (ToolCall("c", "n", '{"q":"x"}'),)


@pytest.mark.parametrize(
    "added",
    [
        [message("ü☂", role="assistant", tool_calls=CALL)],
        [message("one"), message("two"), message("three")],
    ],
    ids=["one", "several"],
)
def test_what_is_torn_at_any_byte_hides_no_other(tmp_path, added):
    """Every earlier message is there, the rest is beside the file, and adding goes on.

    Of messages that were added at once a crash leaves all or none.
    """
    file, torn = begun(tmp_path, message("a"), message("b")), tmp_path / "trip.jsonl.torn"
    sound = file.path.read_bytes()
    file.append(added)
    whole = file.path.read_bytes()
    for end in range(len(sound) + 1, len(whole)):
        file.path.write_bytes(whole[:end])
        torn.unlink(missing_ok=True)
        again, rest = FileTranscript(file.path), whole[len(sound) : end]
        again.repair()
        complete = end == len(whole) - 1  # Its line end alone is missing.
        expected = ["a", "b", *(texts(added) if complete else ())]
        assert (texts(again.messages()), again.problems, again.torn) == (expected, (), False)
        assert complete or torn.read_bytes() == rest.removesuffix(b"\n") + b"\n"
        again.append([message("next")])
        reader = FileTranscript(file.path)
        assert (texts(reader.messages()), reader.problems) == ([*expected, "next"], ())


def test_a_write_repairs_before_it_adds(tmp_path):
    """Also a program that held the file when another one crashed does not write into its line."""
    for verb, write, more in (
        ("append", lambda file: file.append([message("c")]), ["c"]),
        ("pin", lambda file: file.pin(file.messages()[0].id, pinned=True), []),
        ("update", lambda file: file.end(CREATED), []),
    ):
        file = begun(tmp_path, message("a"), message("b"), name=f"{verb}.jsonl")
        with file.path.open("ab") as other:
            other.write(b'{"role":"user","conte')
        assert texts(file.messages()) == ["a", "b"]
        write(file)
        again = FileTranscript(file.path)
        assert (file.torn, again.problems) == (False, ())
        assert texts(again.messages()) == ["a", "b", *more]


def test_every_torn_end_is_kept(tmp_path):
    """A second repair does not overwrite what the first put aside; zeros of a power cut, too."""
    file = begun(tmp_path, message("a"))
    for text in (b"first", b"second", bytes(5_000)):
        with file.path.open("ab") as other:
            other.write(text)
        file.repair()
        assert (texts(file.messages()), file.torn) == (["a"], False)
    kept = (tmp_path / "trip.jsonl.torn").read_bytes()
    assert kept == b"first\nsecond\n" + bytes(5_000) + b"\n"


# Replacement


def test_a_replacement_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    """Whatever fails on the way, the file is as it was, and what a kill left is in nobody's way."""
    file, part = begun(tmp_path, message("a"), message("b")), tmp_path / "trip.jsonl.part"
    before = file.path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((Path, "replace"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            for change in (lambda: file.end(CREATED), file.clear):
                with pytest.raises(StoreFull):
                    change()
        assert file.path.read_bytes() == before
        assert not part.exists()
        assert (texts(file.messages()), file.info().ended_at) == (["a", "b"], None)
    part.write_bytes(before[:-9])
    file.clear()
    file.append([message("c")])
    again = FileTranscript(file.path)
    assert (texts(again.messages()), texts(again.messages(cleared=True))) == (["c"], [*"abc"])
    assert not part.exists()


# Several writers


def test_nothing_is_lost_while_another_process_writes_the_file_anew(tmp_path, start):
    """Adding and replacing take turns; a reader without a lock always sees a sound file.

    Each writer's messages are in its own order, and those added together stay together.
    """
    file = begun(tmp_path, message("first"))
    reader = FileTranscript(file.path)
    changer, *writers = (
        start("changer", "c", 12),
        start("writer", "l", 24),
        start("writer", "r", 24),
    )
    go(changer, *writers)
    seen = 0
    while any(process.poll() is None for process in (changer, *writers)):
        found = reader.messages(cleared=True)
        assert len(found) >= seen
        assert reader.problems == ()
        seen = len(found)
    changes, *told = map(acknowledged, (changer, *writers))
    said = [item.id.removeprefix("msg_") for item in reader.messages()[1:]]
    for name, its in zip("lr", told, strict=True):
        assert [text for text in said if text.startswith(name)] == its
    assert len(said) == sum(map(len, told))
    pairs = [index for index, text in enumerate(said) if text.endswith(" a")]
    assert [said[index + 1] for index in pairs] == [said[index][:-1] + "b" for index in pairs]
    assert len(reader.prunings()) == len(changes) == 12
    again = FileTranscript(file.path)
    assert texts(again.messages()) == texts(reader.messages())
    assert again.info().ended_at == CREATED + timedelta(days=11)
    assert not (tmp_path / "trip.jsonl.torn").exists()


def test_what_was_acknowledged_survives_a_kill(tmp_path, start):
    """A killed writer loses nothing acknowledged, tears nothing, and leaves no lock behind."""
    file = begun(tmp_path)
    told = []
    for turn in range(2):
        process = start("writer", f"w{turn}", 100_000)
        go(process)
        told += [process.stdout.readline().strip() for _ in range(20)]
        process.kill()
        told += process.stdout.read().split("\n")[:-1]
        process.wait()
        again = loaded(file.path, busy_timeout=5)
        assert set(told) <= {item.id.removeprefix("msg_") for item in again.messages()}
        assert again.problems == ()
    file.append([message("after")])


def test_a_writer_waits_no_longer_than_it_was_told(tmp_path):
    """While another one keeps the lock, reading works and writing raises StoreBusy."""
    file = begun(tmp_path, message("a"))
    other = FileTranscript(file.path, busy_timeout=0.05)
    with FileLock(tmp_path / "trip.jsonl.lock"):
        with pytest.raises(StoreBusy):
            other.append([message("b")])
        assert texts(other.messages()) == ["a"]
    other.append([message("b")])
    assert texts(file.messages()) == ["a", "b"]


def test_two_processes_may_begin_a_session_at_once(tmp_path):
    """Only one of several beginnings counts."""

    def begin(name):
        info = ConversationInfo(id=name, created_at=CREATED)
        return FileTranscript(tmp_path / "trip.jsonl").begin(info) and name

    with ThreadPoolExecutor(4) as pool:
        begun_by = [name for name in pool.map(begin, "abcd") if name]
    assert begun_by == [FileTranscript(tmp_path / "trip.jsonl").info().id]
