"""A transcript in a file does what one in memory does, and goes on after a restart."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_samples import CREATED, SEED, begun, cut, message, pruning, texts

from memoranda.conversation.session_file import FileTranscript
from memoranda.conversation.session_format import parse_line
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import Calibration, ConversationInfo

laws = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
VERBS = ["append", "pin", "unpin", "prune", "summarize", "recount", "calibrate", "clear", "end"]


class Meter:
    """Counts characters."""

    counter, reply = None, 0

    def message(self, content, calls=(), images=()):
        """Return the length of the text."""
        return len(content) + len(calls) + len(images)


def act(transcript, verb, number, said):
    """Do something to a transcript."""
    chosen = said[number % len(said)].id if said else "none"
    match verb:
        case "append":
            transcript.append(said[-(number % 3) :] if number % 3 else [])
        case "pin" | "unpin":
            transcript.pin(chosen, pinned=verb == "pin")
        case "prune":
            transcript.prune(pruning(cut(number, number + 1), id=f"prn_{number}"))
        case "summarize":
            transcript.summarize(f"prn_{number}", {number: f"told {number}"})
        case "recount":
            transcript.recount({chosen: number, "msg_unknown": 1})
        case "calibrate":
            transcript.calibrate(Calibration(1 + number / 10, number))
        case "clear":
            transcript.clear()
        case "end":
            transcript.end(CREATED + timedelta(hours=number))


def state(transcript):
    """All that a transcript says, but for its revision."""
    return (
        replace(transcript.info(), revision=0),
        transcript.messages(),
        transcript.messages(cleared=True),
        transcript.messages(last=2),
        transcript.messages(after=1, cleared=True),
        transcript.messages(after=1, last=3),
        transcript.prunings(),
    )


@laws
@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 8)), max_size=14))
def test_a_file_is_as_good_as_memory(tmp_path, steps):
    """Whatever is done, the file, a second reader of it and a new one say what memory says."""
    path = tmp_path / "trip.jsonl"
    path.unlink(missing_ok=True)
    info = ConversationInfo(id="trip", created_at=CREATED, system="Plan.", context_limit=9)
    memory, writer, watcher = MemoryTranscript(info), FileTranscript(path), FileTranscript(path)
    writer.begin(info)
    said = []
    for verb, number in steps:
        if verb == "append":
            said += [message(f"{number}") for _ in range(number % 3)]
        known = [item for item in said if verb != "pin" or item]
        if verb in ("pin", "unpin") and not known:
            continue
        revisions = writer.info().revision, watcher.info().revision
        before = memory.info().revision, revisions, state(memory)[1:]
        for transcript in (memory, writer):
            act(transcript, verb, number, said)
        assert state(watcher) == state(writer) == state(memory)
        after = writer.info().revision, watcher.info().revision
        if state(memory)[1:] != before[2] and verb != "append":
            assert after[0] > before[1][0]
            assert after[1] > before[1][1]
        if verb == "append":
            assert after == before[1]
    assert state(FileTranscript(path)) == state(memory)


def test_a_change_that_leaves_size_and_time_is_seen(tmp_path):
    """Whatever the file system gives a new file: another reader sees what changed in it."""
    writer = begun(tmp_path, message("3"), message("a" * 100))
    watcher = FileTranscript(tmp_path / writer.path.name)
    first = watcher.messages()[0]
    stamp = writer.path.stat()
    for count in (5, 7):
        writer.recount({first.id: count})
        os.utime(writer.path, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
        assert watcher.messages()[0].tokens == count
    data = writer.path.read_bytes()
    writer.path.write_bytes(data.replace(b'"content":"3"', b'"content":"4"'))
    assert watcher.messages()[0].content == "4"


def test_a_file_with_the_number_of_an_older_one_is_read_anew(tmp_path):
    """A rewritten file is known by its first line, also where its number, size and time are old."""
    writer = begun(tmp_path, message("3"), message("a" * 100))
    first = writer.messages()[0]
    writer.recount({first.id: 5})
    watcher = FileTranscript(writer.path)
    assert watcher.messages()[0].tokens == 5
    stamp, data = writer.path.stat(), writer.path.read_bytes()
    copy = FileTranscript(tmp_path / "copy.jsonl")
    copy.path.write_bytes(data)
    copy.recount({first.id: 7})
    writer.path.write_bytes(copy.path.read_bytes())  # Into the same file, as no rewriting does.
    os.utime(writer.path, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
    now = writer.path.stat()
    assert (now.st_ino, now.st_size, now.st_mtime_ns) == (
        stamp.st_ino,
        stamp.st_size,
        stamp.st_mtime_ns,
    )
    assert watcher.messages()[0].tokens == 7


def test_an_unknown_message_cannot_be_pinned(tmp_path):
    """NotFound, as of any transcript."""
    transcript = begun(tmp_path, message())
    with pytest.raises(NotFound, match="msg_9"):
        transcript.pin("msg_9", pinned=True)


def test_one_pruning_raises_the_revision_by_one(tmp_path):
    """A reader that knows what it pruned itself need not read again."""
    transcript = begun(tmp_path, message(), message())
    before = transcript.info().revision
    transcript.prune(pruning(cut(0, 0)))
    assert transcript.info().revision == before + 1


def test_two_changes_are_not_taken_for_one(tmp_path):
    """What another process changed just before one's own pruning shows in the revision."""
    one = begun(tmp_path, message("a"), message("b"))
    two = FileTranscript(one.path)
    before = one.info().revision
    two.pin(two.messages()[0].id, pinned=True)
    one.prune(pruning(cut(1, 1)))
    assert one.info().revision == before + 2
    assert one.messages()[0].pinned


def test_what_a_person_changes_in_the_file_is_seen(tmp_path):
    """A line that was edited or taken out while the file is open raises the revision."""
    transcript = begun(tmp_path, message("first"), message("second"))
    path, before = transcript.path, transcript.info().revision
    path.write_text(path.read_text().replace("first", "corrected"))
    assert texts(transcript.messages()) == ["corrected", "second"]
    assert transcript.info().revision > before
    before = transcript.info().revision
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    assert texts(transcript.messages()) == ["corrected"]
    assert transcript.info().revision > before


def test_a_file_that_is_gone_is_told(tmp_path):
    """NotFound, and no half file in its place."""
    transcript = begun(tmp_path, message("a"))
    transcript.path.unlink()
    with pytest.raises(NotFound):
        transcript.messages()
    with pytest.raises(NotFound):
        transcript.append([message("b")])
    assert not transcript.path.exists()


def open_file(path, **settings):
    """Open or begin the conversation of a file, a day after it was created."""
    now = CREATED + timedelta(days=1)
    transcript = FileTranscript(path, created_at=now, meters=lambda _: Meter())
    return transcript, transcript.open(settings)


def test_opening_begins_and_goes_on(tmp_path):
    """Settings that are given replace those of the file; createdAt stays."""
    path = tmp_path / "trip.jsonl"
    transcript, other = open_file(path, system="Plan.", model="m")
    begun_at = transcript.info().created_at
    assert (transcript.info().id, transcript.info().system, other) == ("trip", "Plan.", False)
    transcript.append([message("a")])
    again, other = open_file(path)
    assert (again.info().system, again.info().model, other) == ("Plan.", "m", False)
    again, other = open_file(path, system="Other.", model="n", context_limit=7)
    info = again.info()
    assert (info.system, info.model, info.context_limit, other) == ("Other.", "n", 7, True)
    assert info.created_at == begun_at
    assert texts(again.messages()) == ["a"]


def test_a_file_of_the_specification_goes_on_as_a_conversation(tmp_path):
    """Its messages have ids, tokens and times; what is added stands behind them."""
    path = tmp_path / "telegram.jsonl"
    path.write_text(SEED, encoding="utf-8")
    transcript, _ = open_file(path)
    assert transcript.info().id == "telegram:42"
    transcript.append([message("next", tokens=9)])
    transcript.pin(transcript.messages()[0].id, pinned=True)
    assert [(item.content, item.tokens, item.pinned) for item in transcript.messages()] == [
        ("Hi", 2, True),
        ("Done", 4, False),
        ("next", 9, False),
    ]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert '"createdAt":"2026-02-27T14:30:00.123Z"' in lines[0]
    assert lines[2] == SEED.splitlines()[2]


def test_adding_costs_the_same_at_any_length(tmp_path, monkeypatch):
    """A message more reads the new line, not the file."""
    transcript = begun(tmp_path)
    transcript.append([message("x" * 1_000) for _ in range(300)])
    transcript.messages()
    read = []

    def counted(line):
        read.append(line)
        return parse_line(line)

    monkeypatch.setattr("memoranda.conversation.session_file.parse_line", counted)
    transcript.append([message("y")])
    assert texts(transcript.messages(last=1)) == ["y"]
    assert len(read) == 1
    transcript.calibrate(Calibration(2.0, 0))
    assert transcript.info().calibration.scale == 2.0
    assert len(read) == 1


def test_a_foreign_file_is_not_opened(tmp_path):
    """The error names it, and it stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(InvalidInput, match=r"notes\.txt is no session file"):
        open_file(path)
    assert path.read_text() == "my notes"
