"""A transcript in a file does what one in memory does, and goes on after a restart."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_samples import CREATED, begun, cut, message, pruning, texts, values

from memoranda.conversation.session_file import FileTranscript, MemoryTranscript
from memoranda.conversation.session_format import parse_line
from memoranda.errors import NotFound
from memoranda.model.models import Calibration, ConversationInfo

laws = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
VERBS = ["append", "pin", "unpin", "prune", "summarize", "recount", "calibrate", "clear", "end"]


def act(transcript, verb, number, said):
    """Do something to a transcript."""
    chosen = said[number % len(said)].id if said else "none"
    match verb:
        case "append":
            transcript.append(said[-(number % 3) :] if number % 3 else [])
        case "pin" | "unpin":
            transcript.pin(chosen, pinned=verb == "pin")
        case "prune":
            cuts = cut(number, number + 1, score=0.25, summary="in ☂ short"), cut(20, 20)
            transcript.prune(pruning(*cuts, id=f"prn_{number}"))
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


FOREIGN = '"createdAt":"2026-02-27T15:30:00.000000+01:00","channel":{"ü":[1.5,null]}'


@laws
@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 8)), max_size=14))
def test_a_file_is_as_good_as_memory(tmp_path, steps):
    """Whatever is done, the file and any reader of it say what memory says; foreign keys stay."""
    path = tmp_path / "trip.jsonl"
    path.unlink(missing_ok=True)
    info = ConversationInfo(id="trip", created_at=CREATED, system="Plan.", context_limit=9)
    memory, writer, watcher = MemoryTranscript(info), FileTranscript(path), FileTranscript(path)
    writer.begin(info)
    said = [message("first")]
    for transcript in (memory, writer):
        transcript.append(said)
    text = path.read_text().replace('"createdAt":"2026-02-27T14:30:00.000Z"', FOREIGN)
    path.write_text(text.replace('"content":"first"', '"content":"first","mood":"☂"'))
    for verb, number in steps:
        if verb == "append":
            said += [message(f"{number}") for _ in range(number % 3)]
        before = writer.info().revision, watcher.info().revision, state(memory)[1:]
        for transcript in (memory, writer):
            act(transcript, verb, number, said)
        assert state(watcher) == state(writer) == state(memory)
        after = writer.info().revision, watcher.info().revision
        if state(memory)[1:] != before[2] and verb != "append":
            assert after[0] > before[0]
            assert after[1] > before[1]
        if verb == "append":
            assert after == before[:2]
    assert state(FileTranscript(path)) == state(memory)
    head = values(writer)[0]
    assert head["createdAt"] == "2026-02-27T15:30:00.000000+01:00"
    assert head["channel"] == {"ü": [1.5, None]}
    assert path.read_text(encoding="utf-8").count('"mood":"☂"') == 1


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
    assert (now.st_ino, now.st_size) == (stamp.st_ino, stamp.st_size)
    assert watcher.messages()[0].tokens == 7


def test_two_changes_are_not_taken_for_one(tmp_path):
    """A pruning raises the revision by one: what another changed just before it shows."""
    one = begun(tmp_path, message("a"), message("b"))
    two = FileTranscript(one.path)
    before = one.info().revision
    one.prune(pruning(cut(0, 0)))
    assert one.info().revision == before + 1
    two.pin(two.messages()[0].id, pinned=True)
    one.prune(pruning(cut(1, 1), id="prn_2"))
    assert one.info().revision == before + 3
    assert one.messages()[0].pinned


def test_what_a_person_changes_in_the_file_is_seen(tmp_path):
    """A line that was edited or taken out while the file is open raises the revision.

    Where the file is gone, that is told, and no half file takes its place.
    """
    transcript = begun(tmp_path, message("first"), message("second"))
    path, before = transcript.path, transcript.info().revision
    path.write_text(path.read_text().replace("first", "third"))
    assert texts(transcript.messages()) == ["third", "second"]
    assert transcript.info().revision > before
    before = transcript.info().revision
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    assert texts(transcript.messages()) == ["third"]
    assert transcript.info().revision > before
    path.unlink()
    for verb in (transcript.messages, lambda: transcript.append([message("b")])):
        with pytest.raises(NotFound):
            verb()
    assert not path.exists()


def test_opening_begins_and_goes_on(tmp_path):
    """Settings that are given replace those of the file; createdAt stays."""

    def opened(**settings):
        file = FileTranscript(tmp_path / "trip.jsonl", created_at=CREATED + timedelta(days=1))
        is_other, info = file.open(settings), file.info()
        return file, (info.system, info.model, info.context_limit, is_other)

    file, told = opened(system="Plan.", model="m")
    created = file.info().created_at
    assert (file.info().id, told) == ("trip", ("Plan.", "m", None, False))
    file.append([message("a")])
    assert opened()[1] == ("Plan.", "m", None, False)
    file, told = opened(system="Other.", model="n", context_limit=7)
    assert told == ("Other.", "n", 7, True)
    assert (file.info().created_at, texts(file.messages())) == (created, ["a"])


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
