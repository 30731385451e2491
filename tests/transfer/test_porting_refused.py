"""Files that cannot be imported: each is refused with its place, and nothing is written."""

import json

import pytest
from file_samples import CHAT, TALK, every, opened, written

from memoranda.errors import InvalidInput

HEADER = {"format": "memoranda", "version": 3, "user": "noa", "exported_at": "2026-03-02T17:05:00Z"}
NEW = {**HEADER, "version": 4}
RECORD = {
    "type": "record",
    "id": "fact_1",
    "kind": "fact",
    "content": "x",
    "event_time": "2026-03-02T17:05:00Z",
    "created_at": "2026-03-02T17:05:00Z",
}
DECISION = {"type": "decision", "name": "bob", "target": "robert"}
READ = {"type": "session", "id": "s", "consolidated_at": None, "through": None}
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
    "cuts": [],
}
CUT = {
    "first": "msg_1",
    "last": "msg_1",
    "since": "2026-03-02T17:05:00Z",
    "until": "2026-03-02T17:05:00Z",
    "why": "oldest",
}
BACK = {**CUT, "first": "msg_2"}


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([""], "is empty"),
        (["[]"], "holds nothing"),
        (["hello"], r"line 1: not valid JSON .*known are memoranda"),
        (['{"colour": "red"}'], r"line 1: the format is unknown.*known are memoranda"),
        (["[3]"], r"item 1: the format is unknown"),
        ([{"content": "x"}, '{"content": "y"'], r"bad\.jsonl, line 2: not valid JSON"),
        ([{"content": "x"}, "", {"contents": "y"}], r"line 3 must be a text or a dict"),
        (
            [{"content": "x"}, {"content": "y", "kin": 1}],
            r"line 2: argument=.kin. is unknown; did you mean kind",
        ),
        ([{"content": "x"}, {"content": " "}], "line 2: content is empty"),
        ([{"content": "x"}, {"content": "a\x00"}], "line 2: content holds a NUL"),
        ([{"content": "x"}, '{"content": "\\ud800"}'], "line 2: content holds a lone surrogate"),
        ([{"content": "x"}, {"content": "y", "event_time": "2026-03-02"}], "no time zone"),
        ([{"content": "x"}, {"content": "y", "event_time": 3}], "line 2: event_time=3 is no time"),
        ([{"content": "x"}, {"content": "y", "event_time": "0001-01-01T00:00+09:00"}], "outside"),
        ([{"content": "x"}, '{"content": "y", "confidence": NaN}'], "line 2: not valid JSON"),
        ([{"content": "x"}, "[" * 100_000], "line 2: not valid JSON"),
        ([{**HEADER, "version": 5}], "version=5 .* upgrade"),
        ([{**HEADER, "version": 0}], "version=0 .* upgrade"),
        ([HEADER, {**RECORD, "type": "recrod"}], "line 2: type='recrod' is unknown"),
        ([HEADER, RECORD, {**RECORD, "id": "ep_1"}], "line 3: id='ep_1' must begin with fact_"),
        ([HEADER, RECORD, {**RECORD, "kind": "fax"}], "line 3: kind='fax' is unknown"),
        ([HEADER, RECORD, {**RECORD, "created_at": "x"}], "line 3: created_at='x' is no time"),
        ([HEADER, RECORD, {**RECORD, "confidence": 2}], "line 3: confidence=2 must be"),
        ([HEADER, RECORD, {**RECORD, "access_count": 2**63}], "line 3: access_count="),
        ([HEADER, RECORD, {**RECORD, "trust": "full"}], "line 3: trust='full' is unknown"),
        ([HEADER, RECORD, {**RECORD, "trust": []}], r"line 3: trust=\[\] is unknown"),
        ([HEADER, RECORD, {**RECORD, "tags": "home"}], "line 3: tags must be a list"),
        ([HEADER, RECORD, {**RECORD, "color": 1}], "line 3: unknown keys color"),
        ([HEADER, RECORD, {**RECORD, "strength": 1.5}], "line 3: strength=1.5 must be"),
        ([HEADER, RECORD, {**RECORD, "closed_at": "x"}], "line 3: closed_at='x' is no time"),
        ([HEADER, {"type": "decision", "name": "Bob"}], "line 2: the key target is missing"),
        ([HEADER, {**DECISION, "since": 1}], "line 2: unknown keys since"),
        ([HEADER, {**READ, "first": 1}], "line 2: unknown keys first"),
        ([HEADER, {**READ, "consolidated_at": 3}], "line 2: consolidated_at=3 is no time"),
        ([{**HEADER, "version": 2, "exported_at": "x"}, RECORD], "line 1: exported_at='x' is no"),
        ([HEADER, RECORD, {"type": "record"}], "line 3: kind=None is unknown"),
        ([HEADER, RECORD, SAID], "line 3: a message must follow"),
        ([HEADER, CONVERSATION, RECORD, SAID], "line 4: a message must follow"),
        ([HEADER, CONVERSATION, SAID, SAID], "line 4: two messages .* have the same id"),
        ([HEADER, {**CONVERSATION, "cleared_through": "msg_9"}, SAID], "line 2: cleared_through"),
        ([HEADER, CONVERSATION, {**SAID, "tool_calls": [3]}], "line 3: expected an object"),
        ([HEADER, CONVERSATION, {**SAID, "pinned": 1}], "line 3: pinned=1 must be true or false"),
        ([HEADER, CONVERSATION, {**SAID, "position": 0}], "line 3: unknown keys position"),
        ([HEADER, CONVERSATION, {**SAID, "images": [{"detail": "low"}]}], "line 3: the key url is"),
        ([HEADER, {**CONVERSATION, "revision": 3}], "line 2: unknown keys revision"),
        ([HEADER, {**CONVERSATION, "calibration": 2}], "line 2: expected an object"),
        ([HEADER, {**CONVERSATION, "calibration": {"scale": -1}}], "line 2: scale=-1 must be"),
        ([NEW, {**READ, "through": -2}], "line 2: the key first_seen_at is missing|through=-2"),
        (
            [NEW, RECORD, {"type": "usage", "stage": "x", "model": "m", "usage": 3}],
            "line 3: expect",
        ),
        ([NEW, {**RECORD, "changes": [{"action": "x"}]}], "line 2: action='x' is unknown"),
        ([NEW, {**RECORD, "recalls": [{"session": "s"}]}], "line 2: the key at is missing"),
        ([NEW, {"type": "erased", "id": "fact_1"}], "line 2: the key at is missing"),
        ([NEW, {"type": "notes", "files": {"../x.md": "x"}}], "'../x.md' is no file of the notes"),
        ([NEW, {"type": "notes", "files": {"MEMORY.md": 3}}], "line 2: MEMORY.md must be text"),
        ([NEW, {"type": "trail"}], "line 2: type='trail' is unknown"),
        ([HEADER, PRUNED], "line 2: a pruning must follow"),
        ([HEADER, CONVERSATION, {**PRUNED, "conversation": "d"}], "line 3: a pruning must follow"),
        ([HEADER, CONVERSATION, PRUNED, PRUNED], "line 4: two prunings .* have the same id"),
        ([HEADER, CONVERSATION, {**PRUNED, "id": "msg_1"}], "line 3: id='msg_1' must begin with"),
        ([HEADER, CONVERSATION, {**PRUNED, "kept": 1}], "line 3: unknown keys kept"),
        ([HEADER, CONVERSATION, {**PRUNED, "cuts": [CUT]}, SAID], "line 3: first='msg_1' is no"),
        (
            [HEADER, CONVERSATION, SAID, {**PRUNED, "cuts": [{**CUT, "last": "msg_9"}]}],
            "line 4: last='msg_9' is no message before it",
        ),
        (
            [HEADER, CONVERSATION, SAID, {**SAID, "id": "msg_2"}, {**PRUNED, "cuts": [BACK]}],
            "line 5: first='msg_2' comes after last='msg_1'",
        ),
        (
            [HEADER, CONVERSATION, SAID, {**PRUNED, "cuts": [{**CUT, "score": 1.5}]}],
            "line 4: score=1.5 must be",
        ),
        ([{"messages": CHAT}, {"messages": []}], "line 2: expected an object with a list"),
        ([{"messages": CHAT}, {"messages": [{"role": 7}]}], "line 2, message 1: role=7"),
        ([{"messages": CHAT}, {"messages": ["hi"]}], "line 2, message 1: a message must be"),
        ([json.dumps([*CHAT, {"role": "user", "content": 3}])], "item 7: content must be text"),
        ([json.dumps([TALK, {"sample_id": "x"}])], "item 2: expected an object"),
    ],
)
def test_broken_files_are_refused_with_their_place(tmp_path, lines, complaint):
    """The error names file, line and what is wrong, and nothing of the file was written."""
    path = written(tmp_path, "bad.jsonl", *lines)
    with opened() as memory:
        with pytest.raises(InvalidInput, match=complaint) as caught:
            memory.import_(path)
        assert "bad.jsonl" in str(caught.value)
        assert every(memory) == []
        assert memory.conversations() == []
        assert memory.admin.users() == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"text": 3}, "session_1, turn 1: text=3 must be text"),
        ({"speaker": None}, "session_1, turn 1: the key speaker is missing"),
        ({"dia_id": ""}, "session_1, turn 1: dia_id is empty"),
    ],
)
def test_broken_locomo_files_are_refused_with_their_place(tmp_path, change, complaint):
    """A broken turn is named by session and number, and no user was made."""
    turns = [{**TALK["conversation"]["session_1"][0], **change}]
    bad = {"sample_id": "x", "conversation": {**TALK["conversation"], "session_1": turns}}
    with opened() as memory:
        with pytest.raises(InvalidInput, match=complaint):
            memory.import_(written(tmp_path, "l.json", json.dumps([TALK, bad])))
        assert memory.admin.users() == []


def test_files_that_cannot_be_read_are_refused(tmp_path):
    """No file, a folder, no UTF-8, a wrong format name: our own error with the remedy."""
    (tmp_path / "latin.jsonl").write_bytes(b'{"content": "x"}\n{"content": "caf\xe9"}\n')
    cases = {
        "nothing.jsonl": "there is no file .* check the path",
        ".": "holds no memory to import; looked for MEMORY.md",
        "latin.jsonl": r"line 2: not UTF-8 text \(byte 0xe9 at position 16\).*iconv",
        "a\0b": "cannot be used",
    }
    with opened() as memory:
        for name, complaint in cases.items():
            with pytest.raises(InvalidInput, match=complaint):
                memory.import_(tmp_path / name)
        with pytest.raises(InvalidInput, match="is a folder; name a file in it"):
            memory.import_(tmp_path, "openai")
        with pytest.raises(InvalidInput, match="format='csv' is unknown; use one of memoranda"):
            memory.import_(tmp_path / "latin.jsonl", "csv")
        with pytest.raises(InvalidInput, match="cannot be used"):
            memory.export(tmp_path / "a\0b")
        assert every(memory) == []


def test_the_named_format_wins(tmp_path):
    """With a format, a file is read as that: messages with a role can be plain records."""
    path = written(tmp_path, "x.jsonl", {"role": "user", "content": "hello"})
    with opened() as memory:
        assert memory.import_(path, "memoranda").records == 1
        with pytest.raises(InvalidInput, match="the key sample_id is missing"):
            memory.import_(path, "locomo")
