"""Session files (seed 002): nothing that is in one is lost, and its creation never changes."""

import json
import os
import stat
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_samples import (
    CREATED,
    SEED,
    any_info,
    any_message,
    begun,
    cut,
    loaded,
    message,
    pruning,
    texts,
    values,
)

from memoranda.conversation.session_file import FileTranscript
from memoranda.errors import InvalidInput, NotFound, StoreFull, StoreReadOnly
from memoranda.model.checks import require_aware
from memoranda.model.models import ConversationInfo, Image, ToolCall, ToolResult

CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
laws = settings(suppress_health_check=CHECKS)


@laws
@given(any_info, st.lists(st.lists(any_message, max_size=3), max_size=4))
def test_everything_comes_back(tmp_path, info, batches):
    """Any Unicode, tool calls, images and settings are read as they were written."""
    path = tmp_path / "s.jsonl"
    path.unlink(missing_ok=True)
    file = FileTranscript(path)
    assert file.begin(info)
    for batch in batches:
        file.append(batch)
    session = loaded(path)
    assert session.problems == ()
    said = [item for batch in batches for item in batch]
    assert session.messages() == [
        replace(item, timestamp=require_aware(item.timestamp, "t"), position=place)
        for place, item in enumerate(said)
    ]
    meta = session.info()
    assert (meta.id, meta.system, meta.model) == (info.id, info.system, info.model)
    assert (meta.context_limit, meta.calibration) == (info.context_limit, info.calibration)
    assert meta.created_at == require_aware(info.created_at, "t")


def test_a_file_looks_as_the_specification_says(tmp_path):
    """Metadata with createdAt come first, then one line for each message, in camel case."""
    file = begun(
        tmp_path,
        message("hi", timestamp=CREATED),
        message(
            "",
            role="assistant",
            tool_calls=(ToolCall("c1", "find", "{}"), ToolCall("c2", "find")),
            images=(Image("https://example.org/a.png", "low"),),
        ),
        message("42", role="tool", tool_result=ToolResult("c1", is_error=True)),
    )
    head, first, second, third = values(file)
    assert head == {
        "_type": "metadata",
        "key": "trip",
        "createdAt": "2026-02-27T14:30:00.000Z",
        "lastConsolidated": 0,
    }
    assert list(first)[:3] == ["role", "content", "timestamp"]
    assert first["timestamp"] == "2026-02-27T14:30:00.000Z"
    assert second["toolsUsed"] == ["find"]
    assert second["toolCalls"][0] == {"id": "c1", "name": "find", "arguments": "{}"}
    assert second["images"] == [{"url": "https://example.org/a.png", "detail": "low"}]
    assert third["toolResult"] == {"callId": "c1", "isError": True}


def test_a_file_of_the_specification_can_be_read(tmp_path):
    """Lines with role, content and time alone are messages; tokens are counted when asked."""

    class Meter:
        counter, reply = None, 0

        def message(self, content, calls=(), images=()):
            return len(content) + len(calls) + len(images)

    path = tmp_path / "telegram.jsonl"
    path.write_text(SEED, encoding="utf-8")
    session = loaded(path, meters=lambda _: Meter())
    assert [(item.role, item.content, item.tokens) for item in session.messages()] == [
        ("user", "Hi", 2),
        ("assistant", "Done", 4),
    ]
    assert len({item.id for item in session.messages()}) == 2
    assert session.info().id == "telegram:42"


@laws
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 3)),
            st.tuples(st.just("clear"), st.just(0)),
            st.tuples(st.just("end"), st.integers(0, 20)),
            st.tuples(st.just("prune"), st.integers(0, 3)),
            st.tuples(st.just("pin"), st.integers(0, 20)),
        ),
        max_size=12,
    )
)
def test_creation_survives_everything(tmp_path, steps):
    """Whatever is done to a session, createdAt stays to the letter, and unknown keys, too."""
    path = tmp_path / "s.jsonl"
    created = "2026-02-27T15:30:00.123456+01:00"
    path.write_text(
        f'{{"_type":"metadata","createdAt":"{created}","lastConsolidated":1,'
        '"channel":{"ü":[1.5,null]}}\n'
        '{"role":"user","content":"a","mood":"☂"}\n',
        encoding="utf-8",
    )
    said = 1
    for verb, number in steps:
        file = FileTranscript(path)
        match verb:
            case "append":
                file.append([message(str(said + index)) for index in range(number)])
                said += number
            case "clear":
                file.clear()
            case "end":
                file.end(CREATED + timedelta(hours=number))
            case "prune":
                file.prune(pruning(cut(0, number)))
            case "pin" if number < said:
                file.pin(file.messages(cleared=True)[number].id, pinned=True)
    head = values(FileTranscript(path))[0]
    assert (head["createdAt"], head["channel"]) == (created, {"ü": [1.5, None]})
    assert head["lastConsolidated"] == 1
    kept = FileTranscript(path).messages(cleared=True)
    assert texts(kept) == ["a", *map(str, range(1, said))]
    assert [item.position for item in kept] == list(range(said))
    assert path.read_text(encoding="utf-8").count('"mood":"☂"') == 1


def test_receipts_are_part_of_the_metadata(tmp_path):
    """A receipt comes back with all its cuts."""
    receipt = pruning(cut(0, 2, score=0.25, summary="in ☂ short"), cut(4, 4))
    file = begun(tmp_path, message())
    file.prune(receipt)
    assert FileTranscript(file.path).prunings() == [receipt]


# Lines that are no messages


BROKEN = (
    b'{"role":"us{"role":"user","content":"two in one"}',
    b'{"role":"cat","content":"x"}',
    b'{"role":"user"}',
    b'["role"]',
    b'{"role":"user","content":"caf\xe9"}',
    b'{"role":"user","content":"\\ud83d"}',
    b'{"role":"user","content":"x","timestamp":"2026-02-27T14:31:00"}',
    b'{"role":"user","content":"x","tokens":-1}',
    b'{"role":"user","content":"x","importance":NaN}',
    b'{"role":"user","content":"x","toolCalls":[{"id":1}]}',
    b"[" * 100_000,
)


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line.decode("latin-1")[:40])
def test_a_broken_line_is_passed_over_told_and_kept(tmp_path, line):
    """A line in the middle that is no message hides no other and survives to the byte."""
    file = begun(tmp_path, message("a"), message("b"))
    head, first, second, _ = file.path.read_bytes().split(b"\n")
    file.path.write_bytes(b"\n".join([head, first, line, b"", second, b""]))
    assert [(item.content, item.position) for item in file.messages()] == [("a", 0), ("b", 3)]
    assert [problem.split(":")[0] for problem in file.problems] == ["line 3"]
    file.pin(file.messages()[1].id, pinned=True)
    file.append([message("c")])
    again = FileTranscript(file.path)
    assert texts(again.messages()) == texts(file.messages()) == ["a", "b", "c"]
    assert [item.pinned for item in again.messages()] == [False, True, False]
    assert file.path.read_bytes().split(b"\n")[2] == line


def test_a_line_that_was_corrected_is_back_in_its_place(tmp_path):
    """Positions after a broken line do not move when a person repairs it."""
    file = begun(tmp_path, message("a"), message("b"), message("c"))
    sound = file.path.read_bytes()
    file.path.write_bytes(sound.replace(b'"content":"b"', b'"content":b'))
    assert [item.position for item in file.messages()] == [0, 2]
    file.path.write_bytes(sound)
    assert [item.position for item in file.messages()] == [0, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "hello\n",
        '{"role":"user","content":"x"}\n',
        '{"_type":"metadata"}\n',
        '{"_type":"metadata","created_at":"2026-02-27T14:30:00Z"}\n',
        '{"_type":"metadata","createdAt":"2026-02-27T14:30:00"}\n',
        '{"_type":"metadata","createdAt":"2026-02-27T14:30:00Z","clearedBefore":"x"}\n',
        '{"_type":"metadata","createdAt":"2026-02-27T14:30:00Z","prunings":[{}]}\n',
        '{"format":"memoranda","version":1}\n{"role":"user","content":"torn',
        '{"_type":"metadata","createdAt":"2026-',
    ],
)
def test_what_is_no_session_is_refused_and_left_alone(tmp_path, text):
    """The error names the file; not even an unfinished end is touched."""
    path = tmp_path / "other.jsonl"
    path.write_text(text, encoding="utf-8")
    file = FileTranscript(path)
    info = ConversationInfo(id="x", created_at=CREATED)
    assert not file.begin(info)
    for verb in (file.repair, file.info, lambda: file.append([message()]), file.clear):
        with pytest.raises(InvalidInput, match=r"other\.jsonl is no session file"):
            verb()
    assert path.read_text(encoding="utf-8") == text
    assert not (tmp_path / "other.jsonl.torn").exists()


def test_messages_that_could_not_be_read_back_are_refused(tmp_path):
    """A lone surrogate, a NUL or a naive time is not written; the batch it is in neither."""
    file = begun(tmp_path)
    before = file.path.read_bytes()
    for bad in (
        message("\ud800"),
        message("a\x00"),
        message("x", timestamp=CREATED.replace(tzinfo=None)),
        message("x", tool_calls=(ToolCall("c", "n", "\udfff"),)),
        message("x", importance=float("nan")),
        message("x", tokens=-1),
        message("x", id=" "),
    ):
        with pytest.raises(InvalidInput):
            file.append([message("good"), bad])
    assert file.path.read_bytes() == before


# The file itself


def test_a_session_is_private_and_keeps_its_permissions(tmp_path):
    """All files are their owner's alone; what the owner allows on top stays allowed."""
    file = begun(tmp_path, *(message(text) for text in "abc"))
    file.path.write_bytes(file.path.read_bytes() + b'{"torn')
    file.clear()
    names = ["trip.jsonl", "trip.jsonl.lock", "trip.jsonl.torn"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    file.path.chmod(0o640)
    file.end(CREATED)
    file.append([message("d")])
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    """A session that is reached by a link is written where it is."""
    real = begun(tmp_path, message("a"))
    link = tmp_path / "link.jsonl"
    link.symlink_to(real.path)
    FileTranscript(link).end(CREATED)
    assert link.is_symlink()
    assert real.info().ended_at == CREATED


def test_beginning_twice_changes_nothing(tmp_path):
    """A session that has begun goes on; an empty file is where one can begin."""
    (tmp_path / "trip.jsonl").touch()
    file = begun(tmp_path, message("a"))
    before = file.path.read_bytes()
    assert not file.begin(ConversationInfo(id="other", created_at=CREATED))
    assert file.path.read_bytes() == before


def test_nothing_is_written_where_nothing_changes(tmp_path):
    """An update that says what is there already leaves the file untouched."""
    file = begun(tmp_path, message("a"))
    file.end(CREATED)
    before = file.path.stat()
    file.end(CREATED)
    file.recount({})
    file.pin(file.messages()[0].id, pinned=False)
    file.append([])
    after = file.path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_places_that_cannot_be(tmp_path):
    """No file, no folder, a folder, no name: our own errors, with the remedy."""
    info = ConversationInfo(id="x", created_at=CREATED)
    with pytest.raises(NotFound, match="no session file"):
        FileTranscript(tmp_path / "none.jsonl").info()
    with pytest.raises(NotFound):
        FileTranscript(tmp_path / "none.jsonl").append([message()])
    assert not (tmp_path / "none.jsonl").exists()
    with pytest.raises(InvalidInput, match="no folder"):
        FileTranscript(tmp_path / "no" / "where.jsonl").begin(info)
    with pytest.raises(InvalidInput, match="is a folder"):
        FileTranscript(tmp_path).info()
    with pytest.raises(InvalidInput, match="cannot be used"):
        FileTranscript("a\x00b")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")  # noqa: PTH110 - a device
def test_a_full_disk_adds_nothing(tmp_path, monkeypatch):
    """A write that was cut short by a full disk is taken back, whole."""
    file = begun(tmp_path, message("a"))
    before = file.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    with pytest.raises(StoreFull, match="nothing stored was lost"):
        file.append([message("b"), message("c")])
    monkeypatch.undo()
    assert file.path.read_bytes() == before
    file.append([message("b")])
    assert texts(file.messages()) == ["a", "b"]


def test_json_is_written_for_people(tmp_path):
    """Text stands in the file as it is, so that grep finds it."""
    file = begun(tmp_path, message("Grüße ☂ 東京"))
    assert "Grüße ☂ 東京" in file.path.read_text(encoding="utf-8")
    assert json.loads(file.path.read_bytes().split(b"\n")[1])["content"] == "Grüße ☂ 東京"


def test_a_file_that_an_editor_of_windows_saved(tmp_path):
    """A byte order mark and other line ends are passed over, and stay where nothing changes."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + SEED.encode().replace(b"\n", b"\r\n"))
    file = FileTranscript(path)
    assert texts(file.messages()) == ["Hi", "Done"]
    file.append([message("next")])
    file.end(CREATED)
    assert (texts(loaded(path).messages()), file.torn) == (["Hi", "Done", "next"], False)
    assert path.read_bytes().count(b"\r\n") == 2


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_can_be_read(tmp_path):
    """Reading needs no lock, also with an unfinished end; writing raises StoreReadOnly."""
    file = begun(tmp_path, message("a"))
    file.path.write_bytes(file.path.read_bytes() + b'{"torn')
    (tmp_path / "trip.jsonl.lock").unlink()
    tmp_path.chmod(0o500)
    try:
        file.repair()
        assert (texts(file.messages()), file.torn) == (["a"], True)
        for change in (lambda: file.append([message("b")]), file.clear):
            with pytest.raises(StoreReadOnly):
                change()
    finally:
        tmp_path.chmod(0o700)
