"""Session files (seed 002): nothing that is in one is lost, and its creation never changes."""

import os
import stat
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_samples import (
    CREATED,
    SEED,
    CharacterMeter,
    any_info,
    any_message,
    begun,
    loaded,
    message,
    texts,
    values,
)
from tables import each_row

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
    """Metadata with createdAt come first, then one line for each message, in camel case.

    Text stands in the file as it is, so that grep finds it.
    """
    picture, calls = Image("https://example.org/a.png", "low"), ("c1", "c2")
    file = begun(
        tmp_path,
        message("Grüße ☂ 東京", timestamp=CREATED),
        message(
            "",
            role="assistant",
            tool_calls=tuple(ToolCall(name, "find") for name in calls),
            images=(picture,),
        ),
        message("42", role="tool", tool_result=ToolResult("c1", is_error=True)),
    )
    assert "Grüße ☂ 東京" in file.path.read_text(encoding="utf-8")
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
    assert second["images"] == [{"url": picture.url, "detail": "low"}]
    assert third["toolResult"] == {"callId": "c1", "isError": True}


def test_a_file_of_the_specification_can_be_read(tmp_path):
    """Lines with role, content and time alone are messages; what is added stands behind them."""
    path = tmp_path / "telegram.jsonl"
    path.write_text(SEED, encoding="utf-8")
    session = loaded(path, meters=lambda _: CharacterMeter())
    assert len({item.id for item in session.messages()}) == 2
    assert session.info().id == "telegram:42"
    session.append([message("next", tokens=9)])
    session.pin(session.messages()[0].id, pinned=True)
    assert [(item.role, item.content, item.tokens, item.pinned) for item in session.messages()] == [
        ("user", "Hi", 2, True),
        ("assistant", "Done", 4, False),
        ("user", "next", 9, False),
    ]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert '"createdAt":"2026-02-27T14:30:00.123Z"' in lines[0]
    assert lines[2] == SEED.splitlines()[2]


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


@each_row("line", BROKEN)
def test_a_broken_line_is_passed_over_told_and_kept(tmp_path, line):
    """A line that is no message hides no other, moves none, and survives to the byte."""
    (tmp_path / "trip.jsonl").unlink(missing_ok=True)
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
    file.path.write_bytes(file.path.read_bytes().replace(line, first.replace(b'"a"', b'"new"')))
    assert [(item.content, item.position) for item in file.messages()][1:3] == [
        ("new", 1),
        ("b", 3),
    ]


HEAD = '{"_type":"metadata"'


@each_row(
    "text",
    [
        "hello",
        "hello\n",
        '{"role":"user","content":"x"}\n',
        HEAD + "}\n",
        HEAD + ',"created_at":"2026-02-27T14:30:00Z"}\n',
        HEAD + ',"createdAt":"2026-02-27T14:30:00"}\n',
        HEAD + ',"createdAt":"2026-02-27T14:30:00Z","clearedBefore":"x"}\n',
        HEAD + ',"createdAt":"2026-02-27T14:30:00Z","prunings":[{}]}\n',
        '{"format":"memoranda","version":1}\n{"role":"user","content":"torn',
        HEAD + ',"createdAt":"2026-',
    ],
)
def test_what_is_no_session_is_refused_and_left_alone(tmp_path, text):
    """The error names the file; not even an unfinished end is touched."""
    path = tmp_path / "other.jsonl"
    path.write_text(text, encoding="utf-8")
    file = FileTranscript(path, created_at=CREATED)
    assert not file.begin(ConversationInfo(id="x", created_at=CREATED))
    for verb in (
        file.repair,
        file.info,
        file.clear,
        lambda: file.append([message()]),
        lambda: file.open({}),
    ):
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
    """All files are their owner's alone; what the owner allows on top stays allowed.

    A session that is reached by a link is written where it is.
    """
    file = begun(tmp_path, *(message(text) for text in "abc"))
    file.path.write_bytes(file.path.read_bytes() + b'{"torn')
    file.clear()
    names = ["trip.jsonl", "trip.jsonl.lock", "trip.jsonl.torn"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    file.path.chmod(0o640)
    link = tmp_path / "link.jsonl"
    link.symlink_to(file.path)
    FileTranscript(link).end(CREATED)
    assert link.is_symlink()
    assert file.info().ended_at == CREATED
    file.append([message("d")])
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


def test_nothing_is_written_where_nothing_changes(tmp_path):
    """An update that says what is there leaves the file untouched; so does beginning anew."""
    (tmp_path / "trip.jsonl").touch()
    file = begun(tmp_path, message("a"))
    file.end(CREATED)
    before = file.path.stat()
    file.end(CREATED)
    file.recount({})
    file.pin(file.messages()[0].id, pinned=False)
    file.append([])
    assert not file.begin(ConversationInfo(id="other", created_at=CREATED))
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
