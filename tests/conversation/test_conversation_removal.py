"""What is popped, removed or replaced is out of a conversation; all else stays as it was."""

import pytest
from talks import alone, fill, heard, remembering, texts, tombstones

from memoranda import errors


@pytest.fixture(params=["alone", "stored"])
def chat(request, tmp_path):
    """An empty conversation in memory alone, and in a store."""
    limits = {"context_limit": 1_000, "keep_recent": 2, "max_messages": 12}
    if request.param == "stored":
        with remembering(tmp_path / "m.db") as memory:
            yield memory.conversation("c", **limits)
    else:
        yield alone(**limits)


def test_what_is_removed_is_not_learned_from(tmp_path):
    """Nor recalled, nor in any later context; erased, it is in no tombstone and in no file."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        chat = memory.conversation("c")
        first = chat.add("user", "My cat is called Waffle.")
        chat.add("user", "My dog is called Biscuit.")
        assert chat.remove(first.id) == first
        chat.end()
        memory.consolidate()
        facts = str(texts(memory.records(kind="fact")))
        assert ("Biscuit" in facts, "Waffle" in facts) == (True, False)
        assert "Waffle" not in memory.recall("What is the cat called?").text
        context = str(chat.context("What are they called?").messages)
        assert ("Biscuit" in context, "Waffle" in context) == (True, False)
        memory.forget(first.record_id, erase=True)
        (left,) = tombstones(chat)
        assert (left.count, left.messages) == (1, ())
        assert memory.verify() == []
    assert b"Waffle" not in path.read_bytes()


def test_subscribers_are_told(tmp_path):
    """Of the tombstone, then of what came instead; the memory's of episodes that are forgotten."""
    with remembering(tmp_path / "m.db") as memory:
        forgotten = []
        memory.on("forgotten", forgotten.append)
        chat = memory.conversation("c")
        first, _ = fill(chat, [20, 20])
        events = heard(chat)
        chat.pop()
        (new,) = chat.replace([first.id], [{"role": "user", "content": "new"}])
        assert [event.name for event in events] == ["removed", "removed", "added"]
        assert [each.subject for each in events] == [*tombstones(chat), new]
        gone = [message.record_id for left in tombstones(chat) for message in left.messages]
        assert [event.subject.id for event in forgotten] == gone


def test_bad_input_changes_nothing(chat):
    """A message that is not there, nothing to replace, no message, no number."""
    (first,) = fill(chat, [20])
    for failing in (
        lambda: chat.remove("msg_nothing"),
        lambda: chat.pin("msg_nothing"),
        lambda: chat.replace([first.id, "msg_nothing"], [{"role": "user", "content": "new"}]),
    ):
        with pytest.raises(errors.NotFound, match="there is no message 'msg_nothing'"):
            failing()
    for failing in (
        lambda: chat.pop(0),
        lambda: chat.replace([], []),
        lambda: chat.replace(first.id, []),
        lambda: chat.replace([first.id], ["no message"]),
    ):
        with pytest.raises(errors.InvalidInput):
            failing()
    assert chat.messages == (first,)
    assert tombstones(chat) == []
    chat.clear()
    assert chat.pop() == ()
    with pytest.raises(errors.InvalidInput, match="left behind by clear"):
        chat.replace([first.id], [{"role": "user", "content": "new"}])
    assert chat.remove(first.id) == first


def test_what_was_removed_stays_removed(tmp_path):
    """It does not come back with an older archive, and an export leaves it behind."""
    with remembering(tmp_path / "one.db") as one, remembering(tmp_path / "two.db") as two:
        chat = one.conversation("c")
        fill(chat, [20, 30, 40])
        one.export(tmp_path / "old.jsonl")
        chat.pop()
        one.import_(tmp_path / "old.jsonl")
        assert len(chat) == 2
        one.export(tmp_path / "new.jsonl")
        two.import_(tmp_path / "new.jsonl")
        again = two.conversation("c")
        assert (texts(again.messages), tombstones(again)) == (texts(chat.messages), [])
