"""One conversation as a file of JSON Lines: into a memory, and out of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from file_samples import START, opened, written

from memoranda import Agent
from memoranda.errors import InvalidInput, NotFound

CREATED = "2026-02-27T14:30:00.123Z"
HEAD = {"_type": "metadata", "key": "telegram:42", "createdAt": CREATED, "lastConsolidated": 1}
HI = {"role": "user", "content": "Where is the ferry?", "timestamp": "2026-02-27T14:31:00.000Z"}
DONE = {"role": "assistant", "content": "Quay 4.", "toolsUsed": ["bash"]}
PNG = "data:image/png;base64,AAAA"


def export(memory, path, conversation="trip"):
    """Export one conversation of a memory."""
    return memory.export(path, conversation=conversation)


def trip(memory):
    """A conversation with one of everything that can be in it."""
    chat = memory.conversation("trip", system="Plan ☂.", model="gpt-4o", context_limit=9_000)
    chat.add("user", "an old thing", timestamp=START - timedelta(days=2))
    chat.clear()
    chat.add("user", "Where is the ferry?", images=[PNG], task="Find it")
    call = {"id": "c1", "function": {"name": "look", "arguments": '{"q": "ü"}'}}
    chat.add("assistant", "", tool_calls=[call])
    chat.add("tool", "Quay 4\u2028", tool_result="c1")
    for number in range(20):
        chat.add("user", f"question {number}")
        chat.add("assistant", f"answer {number}")
    chat.pin(chat.messages[9].id)
    chat.prune(max_tokens=250)
    chat.add("user", "thanks")
    return chat


def told(chat):
    """What a conversation says, but for ids, pins and weights."""
    messages = chat._transcript.messages(cleared=True)
    plain = {"id": "", "record_id": None, "pinned": False, "importance": None, "position": None}
    return [replace(item, **plain) for item in messages], chat.system


def test_a_conversation_goes_out_and_comes_in_the_same(tmp_path):
    """Store, file and another store: messages, settings and creation."""
    path = tmp_path / "out.jsonl"
    with opened() as one, opened(user="ana") as two:
        chat = trip(one)
        assert len(chat.prunings) == 1
        with pytest.raises(NotFound, match="no conversation 'nothing' for user 'noa'"):
            one.export(path, conversation="nothing")
        report = export(one, path)
        assert (report.format, report.messages, report.records) == ("session", 45, 0)
        back = two.import_(path)
        assert (back.format, back.messages, back.skipped) == ("session", 45, 0)
        assert told(two.conversation("trip")) == told(chat)
        (before,), (after,) = one.conversations(), two.conversations()
        assert after.created_at == before.created_at
        assert (after.model, after.context_limit) == ("gpt-4o", 9_000)
        assert two.search("ferry")[0].record.session_id == "trip"
        assert two.verify() == []


def test_what_memory_answered_by_itself_is_found_no_more_where_it_comes_in(tmp_path):
    """Law 9: an answer without a model stays in the transcript, and is no new evidence of it."""
    path, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    with opened() as one, opened(user="ana") as two:
        agent = Agent(one, session="trip")
        agent.process("I live in Porto.")
        agent.process("Where do I live?")
        one.export(path, conversation="trip")
        two.import_(path)
        said = [each.content for each in two.conversation("trip").messages]
        assert said == [each.content for each in one.conversation("trip").messages]
        assert len(said) == 4
        episodes = [each.content for each in two.records(kind="episode")]
        assert episodes == [said[0], said[2]]
        two.export(again, conversation="trip")
        assert again.read_text().count('"forgotten":true') == 2


def test_a_file_goes_on_by_itself(tmp_path):
    """What is added to the exported file is what the memory lacks at the next import."""
    path = tmp_path / "trip.jsonl"
    with opened() as memory:
        trip(memory).end()
        export(memory, path)
        with path.open("a", encoding="utf-8") as file:
            file.write('{"role": "user", "content": "one more thing"}\n')
        report = memory.import_(path, "session")
        assert (report.messages, report.skipped) == (1, 45)
        chat = memory.conversation("trip")
        assert chat.messages[-1].content == "one more thing"


def test_another_conversation_of_that_name_is_left_alone(tmp_path):
    """What went otherwise, or is another agent's, is refused; nothing was written."""
    path = written(tmp_path, "s.jsonl", HEAD, HI, DONE)
    with opened() as memory:
        memory.conversation("telegram:42").add("user", "Something else")
        with pytest.raises(InvalidInput, match=r"is stored already.*change it"):
            memory.import_(path)
        assert len(memory.conversation("telegram:42")) == 1
    with opened(agent="cook") as cook:
        cook.as_user("noa", agent="coach").conversation("telegram:42")
        with pytest.raises(InvalidInput, match="another agent's; choose"):
            cook.import_(path)
        assert cook.conversations() == []


def test_a_torn_session_is_read_up_to_its_end(tmp_path):
    """The line that a crash left is named and passed over; the file stays as it is."""
    path = written(tmp_path, "torn.jsonl", HEAD, HI)
    path.write_bytes(path.read_bytes() + b'{"role":"user","con')
    before = path.read_bytes()
    with opened() as memory:
        report = memory.import_(path)
        assert report.messages == 1
        assert "torn.jsonl, line 3: not valid JSON" in report.left_out[0]
    assert path.read_bytes() == before
