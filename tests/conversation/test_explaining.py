"""Why each message is in view or not: it is as the view does, and to look changes nothing."""

from dataclasses import replace

import pytest
from dialogues import dialogues
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row
from talks import REPLY, STRATEGIES, after, alone, chatter, chosen, exchange, fill, remembering

from memoranda.conversation.explain import SHOWN, MessageState
from memoranda.conversation.live import LiveMessages
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import NewMessage, ToolCall

# Views are filled as far as it goes.
WHOLE = chosen(at_task_boundary="keep", prune_to=1.0, prune_at=1.0, aggressive_at=1.0)


def by_position(found):
    """Return the lines by the positions of their messages."""
    return {line.message.position: line for line in found.lines}


def states(found):
    """Return the states of the lines, in order."""
    return [str(line.state) for line in found.lines]


@pytest.fixture
def memory(tmp_path):
    """Ana's memory in a file, where a session that begins would prune."""
    with remembering(tmp_path / "agent.db", at_session_start="prune") as found:
        yield found


@given(
    said=dialogues(),
    strategy=st.sampled_from(STRATEGIES),
    budget=st.integers(1, 3_000),
    pruned=st.integers(0, 3_000),
)
def test_every_message_has_one_line_that_tells_the_truth(said, strategy, budget, pruned):
    """Each message has one line, in order: in view as the view says, else under its marker."""
    chat = after(said, strategy=strategy, keep_recent=3, settings=WHOLE)
    must = sum(message.tokens for message in chat.by_role("user")[-1:])
    units = LiveMessages((), chat.messages).group().units
    budget += REPLY + must + sum(unit.tokens for unit in units if unit.fixed)
    chat.prune(budget + pruned)
    found = chat.explain(budget=budget)
    shown = chat.view(budget - REPLY)
    assert [line.message for line in found.lines] == list(chat.messages)
    inside = [line.message.id for line in found.lines if line.state in SHOWN]
    assert sorted(inside) == sorted(message.id for message in shown.messages)
    assert all(line.why for line in found.lines)
    out = [line for line in found.lines if line.state is MessageState.PRUNED]
    assert all("pruned: " in line.why for line in out)
    markers = {marker.id: marker for marker in found.markers}
    for line in found.lines:
        marker = markers.get(line.marker)
        away = line.state not in SHOWN and line.state is not MessageState.WAITING
        assert (marker is not None) == away
        assert marker is None or marker.first <= line.message.position <= marker.last
    held = [line.marker for line in found.lines if line.marker]
    assert {name: held.count(name) for name in held} == {
        name: marker.messages for name, marker in markers.items()
    }


def test_what_must_stay_is_told_as_such():
    """System messages, pins and what goes with them, the last request and the newest say why."""
    chat = alone(keep_recent=2)
    chat.add("system", "Be brief.")
    (pinned,) = fill(chat, [20])
    call, result = exchange(chat, "c1")
    fill(chat, [200, 200, 200])
    chat.add("user", "What is the last request?")
    fill(chat, [10, 10, 10], roles=("assistant",))
    for message in (pinned, call):
        chat.pin(message.id)
    lines = by_position(chat.explain(budget=400))
    assert lines[0].why == "always in"
    assert (lines[1].state, lines[1].why) == (MessageState.PINNED, "always in")
    assert lines[result.position].why in {
        "always in",
        f"belongs to #{call.position}, which is pinned",
    }
    assert lines[7].why == "the last request"
    assert lines[10].why == lines[9].why == "among the 2 newest"
    assert lines[4].state is MessageState.OUT


def test_each_state_is_told():
    """Of what fits; of halves of calls, the newest waited for; of a result that is shortened."""
    for strategy in STRATEGIES:
        chat = alone(strategy=strategy, keep_recent=4)
        chatter(chat, 2)
        chat.add("tool", "nobody asked", tool_result="c0")
        chat.add("user", "Look it up.")
        _, result = exchange(chat, "c1", "word " * 2_000)
        chat.add("assistant", "", tool_calls=[ToolCall("c2", "look_up", "{}")])
        found = chat.explain()
        assert states(found) == ["in", "in", "out", "in", "in", "in", "waiting"]
        assert by_position(found)[0].why == "everything fits"
        line = by_position(chat.explain(budget=500))[result.position]
        assert line.state is MessageState.SHORTENED
        assert line.tokens < 500 < line.message.tokens


@each_row("strategy", STRATEGIES)
def test_a_strategy_is_told_in_words(strategy):
    """Two sentences say what the strategy keeps, and what stays whatever it says (R7.5)."""
    chat = alone(strategy=strategy, keep_recent=7)
    chat.add("user", "Hello!")
    first, second = chat.explain(budget=5_000).told.splitlines()
    assert strategy in first
    assert "7 newest" in second
    assert "5,000 tokens" in second


def test_the_cleared_part_is_told():
    """Of what was cleared it is said that it was."""
    chat = alone()
    chatter(chat, 6)
    chat.clear()
    chatter(chat, 2)
    assert states(chat.explain()) == ["cleared"] * 6 + ["in"] * 2


def test_a_rehearsal_says_what_the_deed_does(memory):
    """What a rehearsed pruning returns is what the real one does; to look changes nothing."""
    chat, stored = memory.conversation("trip"), memory.stored_conversations
    chatter(chat, 30)

    def known():
        return memory.conversations(), chat.messages, chat.prunings, memory.records(limit=100)

    before = known()
    seen = stored.open_existing("trip", dry_run=True)
    seen.explain(budget=200)
    stored.overviews()
    assert seen.prune(200) is not None
    tried = stored.open_existing("trip", dry_run=True).prune(200)
    done = stored.open_existing("trip")
    assert known() == before
    assert replace(done.prune(200), id=tried.id, at=tried.at) == tried


def test_only_what_exists_is_opened(memory):
    """An unknown id is not made; the error names similar ones, and only the user's own."""
    memory.conversation("trip-to-lisbon")
    memory.as_user("bruno").conversation("trip-to-porto")
    for wrong in ("trip", "trip-to-lisboa", "zzz"):
        with pytest.raises(NotFound, match=r"there is 'trip-to-lisbon'$"):
            memory.stored_conversations.open_existing(wrong)
    with pytest.raises(NotFound, match="there are none yet"):
        memory.as_user("eva").stored_conversations.open_existing("trip-to-lisbon")
    assert [info.id for info in memory.conversations()] == ["trip-to-lisbon"]


def test_who_looks_at_a_conversation_sees_what_a_model_gets(memory):
    """Notes and recalled memory are part of the context of a conversation that is only opened."""
    memory.remember("The user lives in Porto.")
    memory.conversation("trip").add("user", "hello")
    built = memory.stored_conversations.open_existing("trip").context("Where do I live?")
    assert "lives in Porto" in str(built.messages)


def test_a_conversation_is_opened_by_its_title_if_no_other_has_it(memory):
    """A title is the task that a conversation begins with; its case does not matter."""
    for name, title in (("c1", "Sourdough"), ("c2", "A trip"), ("c3", "A trip"), ("c4", None)):
        memory.conversation(name).extend([NewMessage(role="user", content="Hi", task=title)])
    stored = memory.stored_conversations
    assert [each.title for each in stored.overviews()] == [None, "A trip", "A trip", "Sourdough"]
    assert stored.open_existing("sourdough").id == "c1"
    with pytest.raises(NotFound, match=r"2 conversations have the title 'a trip'.*: c"):
        stored.open_existing("a trip")
    with pytest.raises(NotFound, match="there is no conversation 'Sourdough' for user 'bruno'"):
        memory.as_user("bruno").stored_conversations.open_existing("Sourdough")


def test_messages_are_found_by_position(memory):
    """``cut_1-2``, ``1-2`` and ``#1-#2`` give the same messages; an error says which there are."""
    chat = memory.conversation("trip")
    chatter(chat, 4)
    for place in ("cut_1-2", "1-2", "#1-#2", "... [2 messages removed] ... (expand cut_1-2)"):
        assert chat.expand(place) == chat.messages[1:3]
    assert chat.expand("1") == chat.messages[1:2]
    with pytest.raises(InvalidInput, match="names no part"):
        chat.expand("the first")
    with pytest.raises(NotFound, match="no messages"):
        chat.expand("7-9")


def test_overviews_are_lines_of_figures(memory):
    """Each stored conversation has its counts and figures, the newest first."""
    chat = memory.conversation("trip")
    chatter(chat, 5)
    memory.conversation("empty")
    empty, trip = memory.stored_conversations.overviews()
    assert (trip.info.id, trip.info.messages) == ("trip", 5)
    assert trip.stats == chat.stats()
    assert (empty.info.id, empty.info.messages) == ("empty", 0)
    assert len(memory.stored_conversations.overviews(1)) == 1
