"""Session files under crashes and several writers: torn lines, kills, failed replacements."""

import errno
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from filelock import FileLock
from session_samples import CREATED, begun, loaded, message, texts

from memoranda.conversation.session_file import FileTranscript
from memoranda.errors import StoreBusy, StoreError, StoreFull
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


def torn_at_every_byte(tmp_path, added):
    """Cut a file within what was added last, at each byte; give the number of bytes and it."""
    file = begun(tmp_path, message("a"), message("b"))
    sound = file.path.read_bytes()
    file.append(added)
    whole = file.path.read_bytes()
    for end in range(len(sound) + 1, len(whole)):
        file.path.write_bytes(whole[:end])
        (tmp_path / "trip.jsonl.torn").unlink(missing_ok=True)
        yield len(whole) - end, whole[len(sound) : end], FileTranscript(file.path)


def test_a_line_torn_at_any_byte_hides_no_other(tmp_path):
    """Every earlier message is there, the rest is beside the file, and adding goes on."""
    last = message("ü☂", role="assistant", tool_calls=(ToolCall("c", "n", '{"q":"x"}'),))
    for missing, rest, file in torn_at_every_byte(tmp_path, [last]):
        file.repair()
        expected = ["a", "b", "ü☂"] if missing == 1 else ["a", "b"]
        assert texts(file.messages()) == expected
        assert file.problems == ()
        assert not file.torn
        if missing > 1:
            assert (tmp_path / "trip.jsonl.torn").read_bytes() == rest.removesuffix(b"\n") + b"\n"
        file.append([message("next")])
        again = FileTranscript(file.path)
        assert texts(again.messages()) == [*expected, "next"]
        assert again.problems == ()


@pytest.mark.parametrize("verb", ["append", "pin", "update"])
def test_a_write_repairs_before_it_adds(tmp_path, verb):
    """Also a program that held the file when another one crashed does not write into its line."""
    file = begun(tmp_path, message("a"), message("b"))
    with file.path.open("ab") as other:
        other.write(b'{"role":"user","conte')
    assert texts(file.messages()) == ["a", "b"]
    match verb:
        case "append":
            file.append([message("c")])
        case "pin":
            file.pin(file.messages()[0].id, pinned=True)
        case "update":
            file.end(CREATED)
    assert not file.torn
    again = FileTranscript(file.path)
    assert again.problems == ()
    assert texts(again.messages()) == (["a", "b", "c"] if verb == "append" else ["a", "b"])


def test_zeros_of_a_power_cut_are_cut_off(tmp_path):
    """Blocks that a file system never filled are no message, and are kept aside."""
    file = begun(tmp_path, message("a"))
    with file.path.open("ab") as other:
        other.write(bytes(5_000))
    file.repair()
    assert texts(file.messages()) == ["a"]
    assert (tmp_path / "trip.jsonl.torn").stat().st_size == 5_001


def test_every_torn_end_is_kept(tmp_path):
    """A second repair does not overwrite what the first one put aside."""
    file = begun(tmp_path, message("a"))
    for text in (b"first", b"second"):
        with file.path.open("ab") as other:
            other.write(text)
        file.repair()
    assert (tmp_path / "trip.jsonl.torn").read_bytes() == b"first\nsecond\n"
    assert not file.torn


# Replacement


def test_a_replacement_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    """Whatever fails on the way, the file is as it was, and can be written afterwards."""
    file = begun(tmp_path, message("a"), message("b"))
    before = file.path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((Path, "replace"), ("os", "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(*((owner, name) if owner is Path else (f"{owner}.{name}",)), full)
            for change in (lambda: file.end(CREATED), file.clear):
                with pytest.raises(StoreFull):
                    change()
        assert file.path.read_bytes() == before
        assert not (tmp_path / "trip.jsonl.part").exists()
        assert (texts(file.messages()), file.info().ended_at) == (["a", "b"], None)
    file.clear()
    file.append([message("c")])
    assert texts(FileTranscript(file.path).messages()) == ["c"]


# Several writers


def test_processes_add_at_once(tmp_path, start):
    """No line is torn or lost, messages added together stay together, each in its own order."""
    file = begun(tmp_path)
    writers = [start("writer", name, 60) for name in ("left", "right")]
    go(*writers)
    told = {name: acknowledged(process) for name, process in zip("lr", writers, strict=True)}
    assert file.problems == ()
    assert not (tmp_path / "trip.jsonl.torn").exists()
    said = [item.id.removeprefix("msg_") for item in file.messages()]
    for name, its in told.items():
        assert [text for text in said if text.startswith(name)] == its
    assert len(said) == sum(map(len, told.values()))
    pairs = [index for index, text in enumerate(said) if text.endswith(" a")]
    assert [said[index + 1] for index in pairs] == [said[index][:-1] + "b" for index in pairs]


def test_nothing_is_lost_while_another_process_writes_the_file_anew(tmp_path, start):
    """Adding and replacing take turns; a reader without a lock always sees a sound file."""
    file = begun(tmp_path, message("first"))
    reader = FileTranscript(file.path)
    writer, changer = start("writer", "w", 80), start("changer", "c", 40)
    go(writer, changer)
    seen = 0
    while writer.poll() is None or changer.poll() is None:
        found = reader.messages(cleared=True)
        assert len(found) >= seen
        assert reader.problems == ()
        seen = len(found)
    told, changes = acknowledged(writer), acknowledged(changer)
    assert [item.id.removeprefix("msg_") for item in reader.messages()[1:]] == told
    assert len(reader.prunings()) == len(changes) == 40
    again = FileTranscript(file.path)
    assert texts(again.messages()) == texts(reader.messages())
    assert again.info().ended_at == CREATED + timedelta(days=39)


def test_what_was_acknowledged_survives_a_kill(tmp_path, start):
    """A killed writer loses nothing acknowledged, tears nothing, and leaves no lock behind."""
    file = begun(tmp_path)
    told = []
    for turn in range(3):
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
    errors = []

    def write():
        try:
            other.append([message("b")])
        except StoreError as error:
            errors.append(error)

    with FileLock(tmp_path / "trip.jsonl.lock"):
        thread = Thread(target=write)
        thread.start()
        thread.join()
        assert texts(other.messages()) == ["a"]
    assert [type(error) for error in errors] == [StoreBusy]
    other.append([message("b")])
    assert texts(file.messages()) == ["a", "b"]


def test_two_processes_may_begin_a_session_at_once(tmp_path):
    """Only one of several beginnings counts."""
    path = tmp_path / "trip.jsonl"
    begun_by = []

    def begin(name):
        if FileTranscript(path).begin(ConversationInfo(id=name, created_at=CREATED)):
            begun_by.append(name)

    threads = [Thread(target=begin, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert begun_by == [FileTranscript(path).info().id]


def test_several_messages_are_torn_together(tmp_path):
    """Of messages that were added at once a crash leaves all or none, at any byte."""
    added = [message("one"), message("two"), message("three")]
    for missing, rest, transcript in torn_at_every_byte(tmp_path, added):
        transcript.repair()
        if missing == 1:
            assert texts(transcript.messages()) == ["a", "b", "one", "two", "three"]
        else:
            assert texts(transcript.messages()) == ["a", "b"]
            assert (tmp_path / "trip.jsonl.torn").read_bytes() == rest.removesuffix(b"\n") + b"\n"
        transcript.append([message("next")])
        assert texts(transcript.messages())[-1] == "next"


def test_a_kill_before_the_replacement_changes_nothing(tmp_path, start):
    """What the kill left is in nobody's way."""
    file = begun(tmp_path, *(message(text) for text in "abcd"))
    before = file.path.read_bytes()
    process = start("dying")
    go(process)
    assert process.wait(60) < 0
    assert file.path.read_bytes() == before
    assert (tmp_path / "trip.jsonl.part").exists()
    file.clear()
    file.append([message("e")])
    assert (texts(file.messages()), texts(file.messages(cleared=True))) == (["e"], [*"abcde"])
    assert not (tmp_path / "trip.jsonl.part").exists()
