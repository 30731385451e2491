"""What is past its retention is seen by no model and no reader, and is still kept (S1.04)."""

from datetime import timedelta

import pytest
from effort import examples
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from talks import affordable

from memoranda import Memory, Settings
from memoranda.memory import scope_of, services_of
from memoranda.model.models import ToolCall
from memoranda.testing.clocks import FrozenClock

MONTH = timedelta(days=30)
OLD = "the old secret of the lighthouse"


def settings(**more):
    """Return settings under which messages last for thirty days, and nothing runs by itself."""
    return Settings(
        timezone="UTC",
        embedding={"model": "none"},
        retention={"episode": "30d"},
        consolidation={"automatic": False},
        notes={"automatic": False},
        **more,
    )


@pytest.fixture
def clock():
    """A clock at noon of a Thursday."""
    return FrozenClock()


@pytest.fixture
def memory(clock):
    """A memory that keeps messages for thirty days."""
    with Memory(":memory:", user="ana", settings=settings(), clock=clock) as opened:
        yield opened


def seen(chat):
    """Return all that anybody is shown of a conversation."""
    explained = chat.explain()
    return repr(
        [
            chat.context("and now?").messages,
            chat.context("and now?").receipt,
            chat.view().entries,
            [[each.content, each.raw] for each in (*chat.messages, *chat.window(9))],
            [chat.recent(99), chat.by_role("user"), chat.dump("openai"), chat.expand("cut_0-999")],
            [line.message.content for line in explained.lines],
            [cut.summary for each in chat.prunings for cut in each.cuts],
            explained.markers,
        ]
    )


def stored(memory, name):
    """Return the texts of all messages that the store keeps of a conversation."""
    store, scope = services_of(memory).store, scope_of(memory)
    return [each.content for each in store.messages(scope, name, cleared=True)]


@pytest.mark.parametrize("cleans", [False, True])
def test_what_expired_is_shown_nowhere_and_kept(memory, clock, cleans):
    """Neither before nor after the clean-up; the system prompt stays, and so does what is young."""
    chat = memory.conversation("trip", system="Be kind.")
    chat.add("system", "Speak slowly.")
    chat.add("user", OLD)
    chat.add("assistant", "I shall remember it.")
    clock.advance(timedelta(days=20))
    chat.add("user", "young")
    assert OLD in seen(chat)
    clock.advance(timedelta(days=10))
    if cleans:
        assert memory.expire().counts == {"episode": 2}
    for each in (chat, memory.stored_conversations.open_existing("trip")):
        assert OLD not in seen(each)
        assert [item.content for item in each.view().messages] == ["Speak slowly.", "young"]
        assert each.system == "Be kind."
        assert each.context().receipt.left_out[0].what == "expired messages"
    assert memory.search("lighthouse") == []
    assert OLD not in memory.recall("the secret of the lighthouse").text
    assert stored(memory, "trip")[1] == OLD


def test_a_marker_tells_nothing_that_expired(clock):
    """A marker goes with all that it stands for, and its summary with the first part of that.

    One that stands for old and younger messages names nothing any more.
    """
    made = settings(conversation={"prune_from": 0.0})
    with Memory(":memory:", user="ana", settings=made, clock=clock) as memory:
        chat = memory.conversation("trip", max_messages=4, keep_recent=1)
        for number in range(12):
            chat.add("user", f"Never paint HAT08{number} red.")
            clock.advance(timedelta(days=1))
        told = [marker.text for marker in chat.view().markers]
        assert any("HAT081" in text for text in told)
        clock.advance(timedelta(days=19))
        assert chat.view().markers
        assert "HAT081 " not in str([chat.view().markers, *(each.cuts for each in chat.prunings)])
        assert "HAT0811" in seen(chat)
        clock.advance(MONTH)
        assert (chat.view().markers, chat.context().messages) == ((), [])
        assert len(chat.prunings) > 0
        assert not any(cut.summary or cut.named for each in chat.prunings for cut in each.cuts)


def test_a_call_goes_with_its_result(memory, clock):
    """A call without words has no episode of its own, and is not left behind."""
    chat = memory.conversation("trip")
    chat.add("user", "How warm is it?")
    chat.add("assistant", "", tool_calls=[ToolCall("c1", "weather", '{"city": "Porto"}')])
    chat.add("tool", "21 degrees", tool_result="c1")
    clock.advance(MONTH)
    chat.add("user", "Thanks")
    assert [each.content for each in chat.view().messages] == ["Thanks"]
    assert chat.context().messages == [{"role": "user", "content": "Thanks"}]


def test_what_is_given_more_time_stays(memory, clock):
    """The end of a record decides: one that was made to last is in view still."""
    chat = memory.conversation("trip")
    kept, lost = chat.add("user", "keep this"), chat.add("user", "drop this")
    memory.update(kept.record_id, valid_until=None)
    memory.update(lost.record_id, valid_until=clock.now() + timedelta(days=2))
    clock.advance(timedelta(days=3))
    assert [each.content for each in chat.view().messages] == ["keep this"]
    clock.advance(timedelta(days=300))
    assert [each.content for each in chat.view().messages] == ["keep this"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["user", "assistant", "system", "call"])),
        st.tuples(st.just("wait"), st.integers(1, 20)),
        st.tuples(st.sampled_from(["expire", "clear", "prune", "session", "pin"]), st.just(0)),
    ),
    max_size=25,
)


@hypothesis_settings(max_examples=examples(10))
@given(steps=STEPS, budget=st.integers(60, 400))
def test_a_view_follows_from_transcript_budget_and_now(steps, budget):
    """However long a process has held the conversation; each call is there with its results."""
    clock = FrozenClock()
    with Memory(":memory:", user="ana", settings=settings(), clock=clock) as memory:
        chat = memory.conversation("trip", max_tokens=400, keep_recent=2)
        for number, (step, value) in enumerate(steps):
            if step == "wait":
                clock.advance(timedelta(days=value))
            elif step == "expire":
                memory.expire()
            else:
                take(chat, step, value, f"text {number}")
            fresh = memory.stored_conversations.open_existing("trip")
            shown, again = (affordable(each.view, budget).messages for each in (chat, fresh))
            assert shown == again
            calls = {call.id for message in shown for call in message.tool_calls}
            assert calls == {each.tool_result.call_id for each in shown if each.tool_result}
            for message in shown:
                old = message.role != "system" and message.record_id is not None
                assert not (old and clock.now() >= message.timestamp + MONTH)


def take(chat, step, value, text):
    """Take one step of a conversation."""
    if step == "say" and value == "call":
        chat.add("assistant", "", tool_calls=[ToolCall(f"c {text}", "f")])
        chat.add("tool", text, tool_result=f"c {text}")
    elif step == "say":
        chat.add(value, text)
    elif step == "pin":
        for message in chat.recent(1):
            chat.pin(message.id)
    elif step == "session":
        chat.start_session()
    else:
        getattr(chat, step)()
