"""Conversations in and out of files: memoranda's own, and those of others."""

import json

import pytest
from file_samples import CHAT, every, exported, opened, prune, receipts, talk, written

from memoranda.errors import InvalidInput


def test_receipts_follow_their_messages_over_what_was_erased(tmp_path):
    """Erased messages leave no gap in a file, and the cuts still name the messages they named.

    Nor a hole that would bring cleared messages back into view.
    """
    with opened() as one, opened() as two:
        chat = one.conversation("trip")
        said = [chat.add("user", f"line {number}") for number in range(5)]
        chat.clear()
        said += [chat.add("user", f"line {number}") for number in (5, 6)]
        prune(one, "trip", (0, 0, "gone"), (1, 3, "secret"), (5, 6, "five and six"))
        records = {item.content: item.id for item in every(one)}
        for number in (0, 2, 4):
            one.forget(records[f"line {number}"], erase=True)
        lines = exported(one, tmp_path / "one")
        one.export(tmp_path / "noa.jsonl")
        two.import_(tmp_path / "noa.jsonl")
        assert "line 4" not in (tmp_path / "noa.jsonl").read_text()
        assert [item.content for item in talk(two, "trip")] == [f"line {n}" for n in (1, 3, 5, 6)]
        assert [item.content for item in two.conversation("trip").messages] == ["line 5", "line 6"]
        (receipt,) = receipts(two, "trip")
        assert [(cut.first, cut.last, cut.messages, cut.summary) for cut in receipt.cuts] == [
            (0, 0, 1, None),
            (1, 1, 1, None),
            (2, 3, 2, "five and six"),
        ]
        (line,) = (line for line in lines if line.get("type") == "pruning")
        assert [(cut["first"], cut["last"]) for cut in line["cuts"]] == [
            (said[1].id, said[1].id),
            (said[3].id, said[3].id),
            (said[5].id, said[6].id),
        ]
        again = [line for line in exported(two, tmp_path / "two") if "conversation" in line]
        assert again == [line for line in lines if "conversation" in line]


def test_a_conversation_that_is_there_keeps_its_prunings(tmp_path):
    """Importing a longer file adds its messages to a conversation, and leaves its view alone."""
    with opened() as one, opened() as two:
        chat = one.conversation("trip")
        chat.extend({"role": "user", "content": f"line {number}"} for number in range(3))
        one.export(tmp_path / "short.jsonl")
        chat.add("user", "line 3")
        prune(one, "trip", (0, 2, None))
        one.export(tmp_path / "long.jsonl")
        two.import_(tmp_path / "short.jsonl")
        report = two.import_(tmp_path / "long.jsonl")
        assert (report.messages, report.skipped) == (1, 6)
        assert talk(two, "trip") == talk(one, "trip")
        assert receipts(two, "trip") == []


def test_what_was_erased_or_deleted_since_does_not_come_back(tmp_path):
    """An older export brings back no erased text, and no conversation that was deleted."""
    path = tmp_path / "noa.jsonl"
    with opened() as memory:
        for name in ("trip", "gone", "kept"):
            chat = memory.conversation(name)
            chat.extend({"role": "user", "content": f"{name} line {n}"} for n in range(2))
        memory.export(path)
        (first, *_) = (item for item in every(memory) if item.content == "trip line 0")
        memory.forget(first.id, erase=True)
        memory.delete_conversation("gone", erase=True)
        memory.delete_conversation("kept")
        report = memory.import_(path)
        assert (report.records, report.messages) == (0, 0)
        assert [info.id for info in memory.conversations()] == ["trip"]
        assert [item.content for item in talk(memory, "trip")] == ["trip line 1"]


def test_openai_messages_in_every_shape(tmp_path):
    """Array, object, lines of objects and lines of messages give the same conversation."""
    path = tmp_path / "ghent.json"
    for text in (
        json.dumps(CHAT),
        json.dumps(CHAT, indent=2),
        json.dumps({"messages": CHAT}, indent=1),
        json.dumps([{"messages": CHAT}]),
        json.dumps({"messages": CHAT, "tools": []}) + "\n",
        "\n".join(json.dumps(message) for message in CHAT),
        "\ufeff\r\n" + json.dumps({"messages": CHAT}) + "\r\n\r\n",
    ):
        path.write_bytes(text.encode())
        with opened() as memory:
            report = memory.import_(path)
            messages = memory.conversation("ghent").messages
            assert (report.format, report.messages) == ("openai", 5), text
            assert memory.import_(path).messages == 0
        roles = [item.role for item in messages]
        assert roles == ["system", "user", "assistant", "tool", "assistant"]
        assert messages[2].tool_calls[0].id == messages[3].tool_result.call_id == "c1"


# OpenAI


def test_each_line_is_a_conversation_and_only_missing_ends_are_added(tmp_path):
    """Files of several conversations number them; a longer file adds its new messages."""
    hello, reply = {"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}
    path = written(tmp_path, "chat.jsonl", {"messages": [hello]}, {"messages": [hello, reply]})
    with opened() as memory:
        memory.import_(path)
        assert sorted(info.id for info in memory.conversations()) == ["chat", "chat-2"]
        written(tmp_path, "chat.jsonl", {"messages": [hello, reply]}, {"messages": [hello]})
        report = memory.import_(path)
        assert (report.messages, report.skipped) == (1, 2)
        assert [len(memory.conversation(name)) for name in ("chat", "chat-2")] == [2, 2]
        written(tmp_path, "chat.jsonl", {"messages": [reply, hello]})
        with pytest.raises(InvalidInput, match="another conversation 'chat' is stored already"):
            memory.import_(path)
        assert len(memory.conversation("chat")) == 2
