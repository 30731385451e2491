"""What subscribers are told, when and in which order; and that they can do no harm (R2.4)."""

import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talks import EVENTS, PATIENCE, alone, chatter, chosen, fill, heard, remembering, sized, used

from memoranda import errors

WINDOW = 1_000


@pytest.fixture(params=["alone", "stored"])
def chat(request, tmp_path):
    """A conversation in memory alone, and one in a file, with a window of 1,000 tokens."""
    if request.param == "alone":
        yield alone(context_limit=WINDOW, keep_recent=2)
        return
    with remembering(tmp_path / "m.db") as memory:
        yield memory.conversation("c", context_limit=WINDOW, keep_recent=2, max_messages=10_000)


def everything(chat):
    """Make each event happen at least once."""
    fill(chat, [90] * 10)
    chat.add("user", "Go on.", task="Tests")
    chat.prune(300)
    chat.add("user", "Never mind.")
    chat.pop()
    chat.clear()
    chat.end()


@given(
    sizes=st.lists(st.integers(6, 150), min_size=8, max_size=40),
    warn=st.sampled_from([0.3, 0.5, 0.8]),
    together=st.integers(1, 3),
)
def test_the_limit_is_told_once_each_time_it_is_crossed(sizes, warn, together):
    """R2.4: with the messages that cross the threshold upwards, and with no other."""
    chat = alone(context_limit=WINDOW, keep_recent=2, settings=chosen(warn_at=warn))
    events = heard(chat, "approaching_limit")
    while sizes:
        before = used(chat)
        now, sizes = sizes[:together], sizes[together:]
        said = chat.extend([{"role": "user", "content": sized(size)} for size in now])
        after = before + sum(message.tokens for message in said)
        told = [(each.subject.tokens, each.subject.limit, each.subject.percent) for each in events]
        crossed = before < warn * WINDOW <= after
        assert told == ([(after, WINDOW, round(after / 10, 1))] if crossed else [])
        events.clear()


def test_what_happened_is_told_in_order_with_its_subject(chat):
    """Each event has its subject; the message comes first, then what came of it."""
    events = heard(chat)
    while not chat.prunings:
        [newest] = fill(chat, [90])
    told, names = events[-3:], [event.name for event in events]
    assert names == ["added"] * (len(names) - 2) + ["approaching_limit", "pruned"]
    assert told[0].subject == newest
    assert told[2].subject == chat.prunings[0]
    events.clear()
    said = chat.add("user", "Go on.", task="Tests")
    assert [event.name for event in events] == ["added", "task_boundary"]
    assert events[1].subject == said
    events.clear()
    receipt = chat.prune(chat.view().messages[-1].tokens + 40)
    session = chat.start_session()
    chat.clear()
    chat.end()
    assert [(event.name, event.subject) for event in events] == [
        *(("pruned", done) for done in (receipt, session) if done)
    ]


def test_what_does_nothing_tells_nothing(chat):
    """No event without its happening: a pruning that takes nothing out, a message refused."""
    chatter(chat, 4)
    events = heard(chat)
    assert chat.prune() is None
    chat.extend([])
    with pytest.raises(errors.InvalidInput):
        chat.add("user", "")
    with pytest.raises(errors.InvalidInput):
        chat.extend([{"role": "user", "content": "fine"}, {"no": "role"}])
    assert events == []
    assert len(chat) == 4


def test_a_failing_subscriber_hurts_nobody(chat, caplog):
    """Each failure is logged; the message is kept, and the other subscribers are told."""

    def fail(event):
        message = f"no {event.name}"
        raise RuntimeError(message)

    for name in EVENTS:
        chat.on(name, fail)
    events = heard(chat)
    with caplog.at_level(logging.ERROR, logger="memoranda.events"):
        everything(chat)
    assert {event.name for event in events} == set(EVENTS)
    assert len(caplog.records) == len(events)
    assert {record.args[0] for record in caplog.records} == set(EVENTS)
    assert all(record.exc_info[0] is RuntimeError for record in caplog.records)
    assert chat.stats().total_messages == 11
    chat.add("user", "All goes on.")
    assert [message.content for message in chat.messages] == ["All goes on."]


def test_a_subscriber_may_wait_for_another_thread(tmp_path):
    """No lock is held while subscribers are told, and the conversation is as the event says."""
    with remembering(tmp_path / "m.db") as memory:
        stored = memory.conversation("c", context_limit=WINDOW, keep_recent=2, max_messages=10_000)
        for chat in (alone(context_limit=WINDOW, keep_recent=2), stored):
            finished, seen = [], []

            def wait(_event, chat=chat, finished=finished):
                other = threading.Thread(target=chat.stats, daemon=True)
                other.start()
                other.join(PATIENCE)
                finished.append(not other.is_alive())

            for name in EVENTS:
                chat.on(name, wait)
            memory.on("remembered", wait)
            chat.on("added", lambda event, c=chat, s=seen: s.append(event.subject in c.messages))
            chat.on("pruned", lambda event, c=chat, s=seen: s.append(event.subject in c.prunings))
            everything(chat)
            assert len(finished) > len(EVENTS)
            assert len(seen) >= 12
            assert all(finished + seen)
