"""What is popped, removed or replaced is out of a conversation; all else stays as it was."""

from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from talks import ALL, alone, chosen, exchange, fill, heard, remembering, sized

from memoranda import Conversation, errors

KINDS = ("alone", "file", "stored")
PLACE = st.integers(0, 30)
STEP = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 5), st.just(0)),
    st.tuples(st.just("add"), st.integers(1, 5), st.just(0)),
    st.tuples(st.just("pop"), st.integers(1, 4), st.just(0)),
    st.tuples(st.just("remove"), PLACE, st.just(0)),
    st.tuples(st.just("replace"), st.lists(PLACE, min_size=1, max_size=4), st.integers(0, 4)),
    st.tuples(st.just("clear"), st.just(0), st.just(0)),
    st.tuples(st.just("prune"), st.integers(20, 200), st.just(0)),
    st.tuples(st.just("pin"), PLACE, st.just(0)),
)


@contextmanager
def opened(kind):
    """Give what opens the same conversation each time it is called, of one of ``KINDS``."""
    limits = {"context_limit": 1_000, "keep_recent": 2, "max_messages": 12}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        if kind == "alone":
            chat = alone(**limits)
            yield lambda: chat
        elif kind == "file":
            path = Path(folder) / "c.jsonl"
            yield lambda: Conversation.open(path, settings=chosen(), **limits)
        else:
            path = Path(folder) / "m.db"
            yield lambda: stack.enter_context(remembering(path)).conversation("c", **limits)


@pytest.fixture(params=KINDS)
def chat(request):
    """An empty conversation of each kind."""
    with opened(request.param) as again:
        yield again()


def texts(messages):
    """Return what messages say."""
    return [message.content for message in messages]


def accounted(chat):
    """Check that each message is in view, waiting, or under one marker, which expands to it."""
    shown = chat.view(ALL)
    found = [message.id for message in (*shown.messages, *shown.waiting)]
    for marker in shown.markers:
        hidden = chat.expand(marker)
        assert len(hidden) == marker.messages
        found += [message.id for message in hidden]
    assert sorted(found) == sorted(message.id for message in chat.messages)
    return shown


class Model:
    """A conversation as a plain list."""

    def __init__(self, chat):
        """Begin empty."""
        self.chat, self.texts, self.removed, self.highest, self.said = chat, [], [], -1, 0

    def new(self, count):
        """Return so many messages that were never said."""
        first, self.said = self.said, self.said + count
        return [{"role": "user", "content": f"message {n}"} for n in range(first, self.said)]

    def step(self, verb, one, two):
        """Do the same to both."""
        there = self.chat.messages
        asked = one if isinstance(one, list) else [one]
        pick = [each % len(there) for each in asked] if there else []
        match verb:
            case "add":
                added = self.chat.extend(self.new(one))
                self.texts += texts(added)
                assert min(message.position for message in added) > self.highest
            case "pop":
                gone = texts(self.chat.pop(one))
                assert gone == self.texts[-one:]
                self.take(gone)
            case "remove" if there:
                gone = self.chat.remove(there[pick[0]].id)
                assert gone == there[pick[0]]
                self.take([gone.content])
            case "replace" if there:
                new = self.chat.replace([there[each].id for each in pick], self.new(two))
                at = min(pick)
                self.texts[at:at] = texts(new)
                self.take([there[each].content for each in sorted(set(pick))])
            case "clear":
                self.chat.clear()
                self.texts = []
            case "prune":
                pinned = sum(message.tokens for message in there if message.pinned)
                self.chat.prune(one + pinned)
            case "pin" if there:
                message = there[pick[0]]
                self.chat.pin(message.id, pinned=not message.pinned)

    def take(self, gone):
        """Take these messages off the list."""
        self.removed += gone
        self.texts = [text for text in self.texts if text not in gone]

    def check(self):
        """Compare the conversation with the list."""
        messages = self.chat.messages
        assert texts(messages) == self.texts
        assert len(self.chat) == len(self.texts)
        assert texts(self.chat.recent(3)) == self.texts[-3:]
        positions = [message.position for message in messages]
        assert positions == sorted(set(positions))
        self.highest = max([self.highest, *positions])
        left = [message for one in self.chat.tombstones for message in one.messages]
        assert texts(left) == self.removed
        assert sum(one.count for one in self.chat.tombstones) == len(self.removed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(steps=st.lists(STEP, max_size=20))
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.differing_executors])
def test_a_conversation_is_a_list(kind, steps):
    """After any steps it holds what a plain list would, and so does one that is opened then.

    No position is used again, and each message is in view or under one marker.
    """
    with opened(kind) as again:
        model = Model(again())
        for step in steps:
            model.step(*step)
            model.check()
        shown = accounted(model.chat)
        other = again()
        assert other.messages == model.chat.messages
        assert other.tombstones == model.chat.tombstones
        assert other.view(ALL) == shown
        assert other.stats() == model.chat.stats()


def test_messages_added_together_part(tmp_path):
    """What is left of several that were added at once is whole, wherever it moves in the file."""
    path = tmp_path / "c.jsonl"
    chat = Conversation.open(path, settings=chosen())
    first, *_ = chat.extend([{"role": "user", "content": text} for text in "abc"])
    chat.pop()
    chat.replace([first.id], [{"role": "user", "content": text} for text in "xy"])
    assert texts(Conversation.open(path, settings=chosen()).messages) == ["x", "y", "b"]
    assert not path.with_name("c.jsonl.torn").exists()


def test_what_is_removed_is_not_learned_from(tmp_path):
    """Nor recalled, nor in any later context."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c")
        chat.add("user", "My cat is called Waffle.")
        chat.add("user", "My dog is called Biscuit.")
        chat.remove(chat.messages[0].id)
        chat.end()
        memory.consolidate()
        facts = texts(memory.records(kind="fact"))
        assert any("Biscuit" in text for text in facts)
        assert not any("Waffle" in text for text in facts)
        assert "Waffle" not in memory.recall("What is the cat called?").text
        context = chat.context("What are they called?")
        assert "Waffle" not in str(context.messages)
        assert "Biscuit" in str(context.messages)


def test_erasing_takes_the_text_out_of_the_tombstone(tmp_path):
    """What is left tells how many there were, and when."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        chat = memory.conversation("c")
        chat.add("user", "My password is Schnurrwolke.")
        chat.add("user", "And my cat is called Waffle.")
        first, second = chat.pop(2)
        memory.forget(first.record_id, erase=True)
        (left,) = chat.tombstones
        assert (left.count, left.messages) == (2, (second,))
        assert memory.verify() == []
    assert b"Schnurrwolke" not in path.read_bytes()


def test_calls_and_results_stay_in_order(chat):
    """What loses its counterpart is left out of contexts until it has one again."""
    chat.add("user", "Look it up.")
    exchange(chat, "c1")
    chat.add("assistant", "Found.")
    chat.pop(2)
    shown = accounted(chat)
    assert len(shown.waiting) == 1
    chat.add("tool", "found again", tool_result="c1")
    assert texts(accounted(chat).messages) == ["Look it up.", "", "found again"]
    call = chat.messages[1]
    chat.remove(call.id)
    assert texts(accounted(chat).orphans) == ["found again"]
    chat.replace([chat.messages[-1].id], [])
    assert texts(accounted(chat).messages) == ["Look it up."]


def test_a_pruned_message_that_is_edited_stays_out_of_view(chat):
    """Its marker expands to what stands there now, and loses the summary of what stood there."""
    said = fill(chat, [30] * 10)
    chat.prune(120)
    (marker,) = chat.view().markers
    chat.replace([said[1].id], [{"role": "assistant", "content": "edited"}])
    chat.remove(said[2].id)
    (after,) = accounted(chat).markers
    assert after.id == marker.id
    assert after.messages == marker.messages - 1
    assert texts(chat.expand(marker))[:2] == [said[0].content, "edited"]


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
        assert [each.subject for each in events] == [*chat.tombstones, new]
        gone = [message.record_id for left in chat.tombstones for message in left.messages]
        assert [event.subject.id for event in forgotten] == gone


def test_bad_input_changes_nothing(chat):
    """A message that is not there, nothing to replace, no message, no number."""
    (first,) = fill(chat, [20])
    for failing in (
        lambda: chat.remove("msg_nothing"),
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
    assert chat.tombstones == ()
    chat.clear()
    assert chat.pop() == ()
    with pytest.raises(errors.InvalidInput, match="left behind by clear"):
        chat.replace([first.id], [{"role": "user", "content": "new"}])
    assert chat.remove(first.id) == first


def test_exports_carry_tombstones(tmp_path):
    """An archive and a session file; what was removed does not come back with an older archive."""
    with remembering(tmp_path / "one.db") as one, remembering(tmp_path / "two.db") as two:
        chat = one.conversation("c")
        fill(chat, [20, 30, 40])
        two.import_(one.export(tmp_path / "old.jsonl") and tmp_path / "old.jsonl")
        theirs = two.conversation("c")
        theirs.pop()
        two.import_(tmp_path / "old.jsonl")
        assert len(theirs) == 2
        chat.pop(2)
        chat.add("user", sized(50))
        one.export(tmp_path / "new.jsonl")
        with remembering(tmp_path / "three.db") as three:
            three.import_(tmp_path / "new.jsonl")
            again = three.conversation("c")
            assert texts(again.messages) == texts(chat.messages)
            ((left,), (kept,)) = (again.tombstones, chat.tombstones)
            assert (left.id, left.at, left.count) == (kept.id, kept.at, kept.count)
            assert texts(left.messages) == texts(kept.messages)
