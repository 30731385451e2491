"""A conversation as JSON Lines (seed 002): all of it goes out and comes in, or nothing does."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each_row
from talks import PICTURE, chosen, exchange, texts

from memoranda import Conversation
from memoranda.conversation import jsonl
from memoranda.errors import InvalidInput
from memoranda.model.checks import require_aware
from memoranda.model.models import ConversationInfo, Image, Message, ToolCall, ToolResult

CREATED = datetime(2026, 2, 27, 14, 30, tzinfo=UTC)
HEAD = '{"_type":"metadata","key":"telegram:42","createdAt":"2026-02-27T14:30:00.123Z"'
SEED = (
    f'{HEAD},"lastConsolidated":1}}\n'
    '{"role":"user","content":"Hi","timestamp":"2026-02-27T14:31:00.000Z"}\n'
    '{"role":"assistant","content":"Done","toolsUsed":["bash"]}\n'
)
"""A file as the system of seed 002 writes it."""
laws = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
any_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
some_text = any_text.filter(str.strip)
moments = st.builds(
    lambda at, hours: CREATED.astimezone(timezone(timedelta(hours=hours))) + at,
    st.timedeltas(timedelta(-20_000), timedelta(20_000)),
    st.integers(-12, 14),
)
calls = st.builds(ToolCall, any_text, any_text, any_text)
images = st.builds(Image, any_text, st.sampled_from(["auto", "low", "high"]))
any_message = st.builds(
    Message,
    id=some_text,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=any_text,
    timestamp=moments,
    tokens=st.integers(1, 2**40),
    importance=st.none() | st.floats(0, 1),
    pinned=st.booleans(),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_result=st.none() | st.builds(ToolResult, any_text, st.booleans()),
    images=st.lists(images, max_size=2).map(tuple),
    task=st.none() | some_text,
)
any_info = st.builds(
    ConversationInfo,
    id=some_text,
    created_at=moments,
    system=st.none() | some_text,
    model=st.none() | some_text,
    context_limit=st.none() | st.integers(1, 2**30),
    ended_at=st.none() | moments,
)


@laws
@given(any_info, st.lists(any_message, max_size=6, unique_by=lambda each: each.id), st.data())
def test_everything_comes_back(tmp_path, info, said, data):
    """Any Unicode, tool calls, images and settings, and what was cleared; S2.35: createdAt.

    What is read is written to the same bytes again.
    """
    path = tmp_path / "s.jsonl"
    info = replace(info, start=data.draw(st.integers(0, len(said))))
    places = [replace(item, position=place) for place, item in enumerate(said)]
    gone = {item.id for item in places if data.draw(st.booleans())}
    path.write_bytes(b"".join(jsonl.dump(info, places, gone)))
    known, found, forgotten = jsonl.read(path)
    assert forgotten == gone
    assert found == [
        replace(item, timestamp=require_aware(item.timestamp, "timestamp")) for item in places
    ]
    ended = info.ended_at and require_aware(info.ended_at, "ended_at")
    created = require_aware(info.created_at, "created_at")
    assert known == replace(info, created_at=created, ended_at=ended)
    assert b"".join(jsonl.dump(known, found, forgotten)) == path.read_bytes()


def test_a_file_looks_as_the_specification_says():
    """S2.24: metadata with createdAt first, then a line for each message, in camel case.

    Text stands in the file as it is, so that grep finds it.
    """
    chat = Conversation(system="Plan.", settings=chosen())
    chat.add("user", "Grüße ☂ 東京", timestamp=CREATED, images=[Image(PICTURE, "low")])
    exchange(chat, "c1", "42")
    chat.remove(chat.add("user", "Never mind").id)
    text = b"".join(jsonl.dump(chat._transcript.info(), chat.messages)).decode()
    assert "Grüße ☂ 東京" in text
    assert "Never mind" not in text
    head, first, second, third = map(json.loads, text.splitlines())
    assert list(head) == ["_type", "key", "createdAt", "system"]
    assert head["_type"] == "metadata"
    assert list(first)[:3] == ["role", "content", "timestamp"]
    assert first["timestamp"] == "2026-02-27T14:30:00.000Z"
    assert first["images"] == [{"url": PICTURE, "detail": "low"}]
    assert second["toolsUsed"] == ["look_up"]
    assert second["toolCalls"][0]["id"] == "c1"
    assert third["toolResult"] == {"call_id": "c1", "is_error": False}


@each_row(
    "data",
    [
        SEED.encode(),
        SEED.encode().removesuffix(b"\n"),
        b"\xef\xbb\xbf" + SEED.encode().replace(b"\n", b"\r\n"),
    ],
)
def test_a_file_of_the_specification_can_be_read(tmp_path, data):
    """S2.36: createdAt is that of the metadata; a line with role and content alone is a message.

    An editor's byte order mark and line ends are passed over, and the file stays as it is.
    """
    path = tmp_path / "telegram.jsonl"
    path.write_bytes(data)
    info, found, _ = jsonl.read(path)
    assert (info.id, texts(found)) == ("telegram:42", ["Hi", "Done"])
    assert info.created_at == CREATED + timedelta(milliseconds=123)
    assert found[0].timestamp == found[1].timestamp
    assert path.read_bytes() == data


BROKEN = (
    b'{"role":"us{"role":"user","content":"two in one"}',
    b'{"role":"user","con',
    b'{"role":"cat","content":"x"}',
    b'{"role":"user"}',
    b'["role"]',
    b'{"role":"user","content":"caf\xe9"}',
    b'{"role":"user","content":"\\ud83d"}',
    b'{"role":"user","content":"x","timestamp":"2026-02-27T14:31:00"}',
    b'{"role":"user","content":"x","importance":NaN}',
    b'{"role":"user","content":"x","toolCalls":[{"id":1}]}',
    b'{"role":"user","content":"x","id":"msg_000000000000"}',
    b"[" * 100_000,
)


@each_row(
    "data, line",
    [
        *((SEED.encode() + line + rest, 4) for line in BROKEN for rest in (b"", b"\n{}\n")),
        (b"hello\n", 1),
        (b"", 1),
        (b'{"role":"user","content":"x"}\n', 1),
        (b'{"_type":"metadata"}\n', 1),
        (b'{"_type":"metadata","createdAt":"2026-02-27T14:30:00"}\n', 1),
        (HEAD.encode() + b',"clearedBefore":"x"}\n', 1),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, data, line):
    """Also the last one that a crash cut off: the error says file and line; nothing is taken."""
    path = tmp_path / "trip.jsonl"
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=rf"trip\.jsonl, line {line}: "):
        jsonl.read(path)
    assert path.read_bytes() == data


def test_places_that_cannot_be(tmp_path):
    """No file, a folder, no name: our own errors, with the remedy."""
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InvalidInput, match="choose another"):
            jsonl.read(path)
    for wrong in ("a\x00b", 3):
        with pytest.raises(InvalidInput, match="path"):
            jsonl.read(wrong)
