"""The exports of ChatGPT and claude.ai, imported into a memory."""

import json
import zipfile

import pytest
from import_samples import START, at, chatgpt, claude, node, text, written, wrote

from memoranda.errors import InvalidInput

TRIP = chatgpt(
    node("root", None),
    node("hidden", "root", "Be brief.", metadata={"is_visually_hidden_from_conversation": True}),
    node("system", "hidden", "You are …", role="system"),
    node("q", "system", "I moved to Lisbon.", create_time=START.timestamp() + 5),
    node("given-up", "q", "An answer nobody kept", role="assistant"),
    node("thoughts", "q", {"content_type": "thoughts", "thoughts": []}, role="assistant"),
    node("call", "thoughts", "search(…)", role="assistant", recipient="web"),
    node("tool", "call", "A page", role="tool"),
    node(
        "a",
        "tool",
        {
            "content_type": "multimodal_text",
            "parts": [
                "How nice\ue200cite\ue202turn0\ue201!",
                {"content_type": "image_asset_pointer"},
            ],
        },
        role="assistant",
    ),
    current="a",
)
GARDEN = claude(
    # What a person pasted is what they said, if that is all.
    wrote(1, "human", "", attachments=[{"extracted_content": "I moved to Porto."}]),
    wrote(
        2,
        "assistant",
        "placeholder",
        content=[{"type": "thinking", "thinking": "hm"}, {"type": "tool_use"}, text("How nice!")],
    ),
    wrote(3, "human", "From before the blocks", content=[]),
    wrote(4, "human", " "),
)


def said(memory, name):
    """Roles and texts of a conversation."""
    return [(each.role, each.content) for each in memory.conversation(name).messages]


def zipped(path, name, value):
    """Write an export as it is sent."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/user.json", "{}")
        archive.writestr(name, json.dumps(value))
    return path


def test_the_current_branch_of_chatgpt_comes_in(plain, tmp_path):
    """What was on the screen last is a conversation; all else is counted; times are kept."""
    report = plain.import_(written(tmp_path / "conversations.json", [TRIP]))
    assert (report.format, report.messages) == ("chatgpt", 2)
    assert said(plain, "c1") == [("user", "I moved to Lisbon."), ("assistant", "How nice!")]
    first, last = plain.conversation("c1").messages
    assert (first.timestamp - START).seconds == (last.timestamp - START).seconds == 5
    assert (first.task, last.task) == ("A trip", None)
    assert set(report.left_out) == {
        "messages of system (text): 1",
        "messages of tool (text): 1",
        "messages of user (text): 1",
        "messages of assistant (thoughts): 1",
        "messages of assistant (text): 1",
        "parts of the type image_asset_pointer: 1",
    }


def test_what_was_written_with_claude_comes_in(plain, tmp_path):
    """The words of the person and of Claude, with their times; thoughts and files stay out."""
    report = plain.import_(written(tmp_path / "conversations.json", [GARDEN]))
    assert (report.format, report.messages) == ("claude", 3)
    assert said(plain, "k1") == [
        ("user", "I moved to Porto."),
        ("assistant", "How nice!"),
        ("user", "From before the blocks"),
    ]
    assert plain.conversation("k1").messages[1].timestamp.isoformat().startswith(at(2)[:19])
    assert set(report.left_out) == {
        "parts of the type thinking: 1",
        "parts of the type tool_use: 1",
    }


def test_the_archive_of_an_export_is_read(opened, tmp_path, wordless):
    """The ZIP file is imported as it came; again, or unpacked, it adds nothing."""
    for name, value, form in (
        ("conversations.json", TRIP, "chatgpt"),
        ("data/conversations-001.json", GARDEN, "claude"),
    ):
        memory = opened(embedder=None, settings=wordless)
        path = zipped(tmp_path / f"{form}.zip", name, [value])
        report = memory.import_(path)
        assert (report.format, report.messages > 1) == (form, True)
        assert memory.import_(path).messages == 0
        folder = tmp_path / form / "2026-08-24"
        folder.mkdir(parents=True)
        (folder / "user.json").write_text("{}")
        written(folder / "conversations-000.json", [value])
        for unpacked in (folder, folder.parent, folder / "conversations-000.json"):
            assert memory.import_(unpacked).format == form
            assert memory.import_(unpacked, form).messages == 0


def test_a_conversation_that_went_on_adds_the_rest(plain, tmp_path):
    """A later export, with longer, changed and new conversations, adds what it has more."""
    path = tmp_path / "conversations.json"
    begun = [node("r", None), node("1", "r", "One"), node("2", "1", "Two", role="assistant")]
    plain.import_(written(path, [chatgpt(*begun, current="2")]))
    longer = [*begun, node("3", "2", "Three"), node("2b", "1", "Two again", role="assistant")]
    plain.import_(written(path, [chatgpt(*longer, current="3"), TRIP | {"conversation_id": "c2"}]))
    assert [words for _, words in said(plain, "c1")] == ["One", "Two", "Three"]
    report = plain.import_(written(path, [chatgpt(*longer, current="2b")]))
    assert (report.messages, report.skipped) == (1, 1)
    assert [words for _, words in said(plain, "c1")] == ["One", "Two", "Three", "Two again"]


def test_what_cannot_be_read_of_an_export_is_named_and_passed_over(plain, tmp_path):
    """The report says which conversation and why; the others come in."""
    bad_time = chatgpt(node("q", None, "Hi", create_time="soon"), current="q", conversation_id="c2")
    cases = [
        ([TRIP, bad_time], "item 2: message q: create_time='soon' is not a time"),
        ([TRIP, {"mapping": {}}], "item 2: id must be text"),
        ([GARDEN, {"chat_messages": []}], "item 2: uuid must be text"),
        ([GARDEN, claude({"sender": "human"})], "item 2: message 1: uuid must be text"),
    ]
    for value, complaint in cases:
        report = plain.import_(written(tmp_path / "c.json", value))
        assert any(complaint in line and "passed over" in line for line in report.left_out)
        assert "lines that cannot be read: 1" in report.left_out
    assert sorted(info.id for info in plain.conversations()) == ["c1", "k1"]


def test_a_file_that_is_no_export_is_refused(plain, tmp_path):
    """Where nothing can be read, the error names the first thing."""
    with pytest.raises(InvalidInput, match="item 1: id must be text"):
        plain.import_(written(tmp_path / "c.json", [{"mapping": {}}]))
    (tmp_path / "bad.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(InvalidInput, match=r"bad\.zip holds no conversations\.json"):
        plain.import_(tmp_path / "bad.zip")
    with pytest.raises(InvalidInput, match="the format is unknown"):
        plain.import_(zipped(tmp_path / "x.zip", "conversations.json", [{"a": 1}]))
    assert plain.conversations() == []
