"""Files that cannot be imported: each is refused with its place, and nothing is written."""

import re

import pytest
from file_samples import CHAT, every, opened, written

from memoranda.errors import InvalidInput

HEADER = {"format": "memoranda", "version": 4, "user": "noa", "exported_at": "2026-03-02T17:05:00Z"}
RECORD = {
    "type": "record",
    "id": "fact_1",
    "kind": "fact",
    "content": "x",
    "reason": "heard",
    "event_time": "2026-03-02T17:05:00Z",
    "created_at": "2026-03-02T17:05:00Z",
}
CONVERSATION = {"type": "conversation", "id": "c", "created_at": "2026-03-02T17:05:00Z"}
SAID = {
    "type": "message",
    "conversation": "c",
    "id": "msg_1",
    "role": "user",
    "content": "x",
    "timestamp": "2026-03-02T17:05:00Z",
    "tokens": 1,
}
PRUNED = {
    "type": "pruning",
    "conversation": "c",
    "id": "prn_1",
    "at": "2026-03-02T17:05:00Z",
    "trigger": "manual",
    "why": "asked",
    "strategy": "recency",
    "before": 9,
    "after": 5,
}
CUT = {
    "first": "msg_1",
    "last": "msg_1",
    "messages": 1,
    "tokens": 1,
    "since": "2026-03-02T17:05:00Z",
    "until": "2026-03-02T17:05:00Z",
    "why": "oldest",
}
HEAD = {"_type": "metadata", "key": "telegram:42", "createdAt": "2026-02-27T14:30:00.123Z"}
HI = {"role": "user", "content": "Hi", "timestamp": "2026-02-27T14:31:00.000Z"}
DONE = {"role": "assistant", "content": "Quay 4."}
# What stands in a file, and what is told of it.
BROKEN = [
    ([""], "holds nothing"),
    (["[]"], "holds nothing"),
    (["hello"], r"line 1: not valid JSON .*name another format"),
    (['{"colour": "red"}'], r"line 1: the format is unknown.*import --help"),
    (["[3]"], r"item 1: the format is unknown"),
    ([{"content": "x"}, '{"content": "y"'], r"bad\.jsonl, line 2: not valid JSON"),
    ([{"content": "x"}, "", {"contents": "y"}], "line 3: the line must be a text or a dict"),
    ([{"content": "x"}, {"content": "y", "kin": 1}], r"argument=.kin. is unknown; did you mean"),
    ([{"content": "x"}, {"content": " "}], "line 2: content is empty"),
    ([{"content": "x"}, {"content": "y", "event_time": "2026-03-02"}], "no time zone"),
    ([{"content": "x"}, {"content": "y", "event_time": 3}], "line 2: event_time=3 is not a time"),
    ([{"content": "x"}, {"content": "y", "event_time": "0001-01-01T00:00+09:00"}], "outside"),
    ([{"content": "x"}, '{"content": "y", "confidence": NaN}'], "line 2: not valid JSON"),
    ([{"content": "x"}, "[" * 100_000], "line 2: not valid JSON"),
    ([{**HEADER, "version": 5}], "version 5 .* upgrade"),
    ([{**HEADER, "version": None}], "version None .* upgrade"),
    ([{**HEADER, "version": 3}], r"one by one with that version"),
    ([{**HEADER, "format": "recollect", "version": 1}], r"one by one with that version"),
    ([HEADER, 3], "line 2: expected an object"),
    ([HEADER, {**RECORD, "type": "recrod"}], "line 2: type='recrod' is unknown"),
    ([HEADER, RECORD, {**RECORD, "kind": "fax"}], "line 3: kind='fax' cannot be used"),
    ([HEADER, RECORD, {**RECORD, "created_at": "x"}], "line 3: created_at='x' cannot be used"),
    ([HEADER, RECORD, {**RECORD, "created_at": "2026-03-02T17:05:00"}], "has no time zone"),
    ([HEADER, RECORD, {**RECORD, "access_count": 2**63}], "line 3: access_count="),
    ([HEADER, RECORD, {**RECORD, "tags": "home"}], "line 3: tags='home' cannot be used"),
    ([HEADER, {**RECORD, "changes": [{"action": "x"}]}], "line 2: the key changes.0.at is missing"),
    ([HEADER, {"type": "decision", "name": "Bob"}], "line 2: the key target is missing"),
    ([HEADER, {"type": "erased", "id": "fact_1"}], "line 2: the key at is missing"),
    (
        [HEADER, {"type": "notes", "lines": [], "files": {"../x.md": "x"}}],
        "is not a file of the notes",
    ),
    ([HEADER, CONVERSATION, {**SAID, "tool_calls": [3]}], "line 3: tool_calls.0=3 cannot be used"),
    ([HEADER, CONVERSATION, {**PRUNED, "cuts": [CUT]}, SAID], "line 3: first and last of a cut"),
    ([HEADER, CONVERSATION, SAID, {**PRUNED, "cuts": [3]}], "line 4: expected an object"),
    ([{"messages": CHAT}, {"messages": []}], "line 2: expected an object with a list"),
    ([{"messages": CHAT}, {"messages": [{"role": 7}]}], "line 2, message 1: role=7"),
    ([{"messages": CHAT}, {"messages": ["hi"]}], "line 2, message 1: expected an object"),
    ([HEAD, HI, '{"role":"us'], "line 3: not valid JSON"),
    ([HEAD, HI, {"role": "cat", "content": "x"}], "line 3: role='cat' is unknown"),
    ([HEAD, HI, {**DONE, "timestamp": "2026-02-27T14:31:00"}], "line 3: .*no time zone"),
    ([HEAD, HI, {**DONE, "images": [{"url": "ftp://x"}]}], "line 3: the image"),
    ([HEAD, HI, {**HI, "toolResult": {"call_id": "c"}}], "line 3: role='user' cannot"),
    ([{**HEAD, "createdAt": "today"}, HI], "line 1: created_at='today' cannot be used"),
    ([{"_type": "metadata", "created_at": "x"}, HI], "the key created_at is missing"),
]


def test_broken_files_are_refused_with_their_place(tmp_path):
    """Where a person wants all or nothing, the error names file, line and what is wrong."""
    failures = []
    with opened() as memory:
        for lines, complaint in BROKEN:
            path = written(tmp_path, "bad.jsonl", *lines)
            try:
                memory.import_(path, strict=True)
                told = "nothing"
            except InvalidInput as error:
                told = str(error)
            if not re.search(complaint, told, re.DOTALL) or "bad.jsonl" not in told:
                failures.append((complaint, told))
        assert failures == [], failures
        assert every(memory) == []
        assert memory.conversations() == []


def test_files_that_cannot_be_read_are_refused(tmp_path):
    """No file, a folder, no UTF-8, a wrong format name: our own error with the remedy."""
    (tmp_path / "none").mkdir()
    (tmp_path / "x.jsonl").write_text('{"content": "x"}\n')
    cases = {
        "nothing.jsonl": "cannot be read .*No such file.*check the path",
        "none": "holds nothing that can be imported",
        "a\0b": "cannot be used",
    }
    with opened() as memory:
        for name, complaint in cases.items():
            with pytest.raises(InvalidInput, match=complaint):
                memory.import_(tmp_path / name)
        with pytest.raises(
            InvalidInput, match=r"holds nothing of openai .*x\.jsonl is not a file of openai"
        ):
            memory.import_(tmp_path, "openai")
        with pytest.raises(InvalidInput, match="format='csv' is unknown; use one of memoranda"):
            memory.import_(tmp_path / "x.jsonl", "csv")
        with pytest.raises(InvalidInput, match="cannot be used"):
            memory.export(tmp_path / "a\0b")
        assert every(memory) == []


def test_the_named_format_wins(tmp_path):
    """With a format, a file is read as that: messages with a role can be plain records."""
    path = written(tmp_path, "x.jsonl", {"role": "user", "content": "hello"})
    with opened() as memory:
        assert memory.import_(path, "memoranda").records == 1
        with pytest.raises(InvalidInput, match=r"memory must be text.*leave out the format mem0"):
            memory.import_(path, "mem0")
