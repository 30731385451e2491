"""Receipts and markers: what left the view, why, and that it comes back exactly (R3.6, R7.2)."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row
from talks import (
    ALL,
    FINISHED,
    NEXT,
    PICTURE,
    STRATEGIES,
    alone,
    chatter,
    exchange,
    fill,
    lawful,
    live,
    remembering,
    sized,
    used,
)

from memoranda.model.models import ToolCall

WINDOW = 1_000


def pruned_by(chat, act):
    """Return the receipts that ``act()`` led to, after checking what they say."""
    before, known, count = live(chat), len(chat.prunings), len(chat)
    act()
    fresh, new = chat.prunings[known:], {message.id for message in chat.messages[count:]}
    for receipt in fresh:
        accountable(chat, receipt)
    out = [item.id for receipt in fresh for cut in receipt.cuts for item in span(chat, cut)]
    assert len(out) == len(set(out))
    assert set(out) == (before | new) - live(chat)
    if fresh:
        assert fresh[-1].after == used(chat)
        assert all(one.after == two.before for one, two in pairwise(fresh))
    return fresh


def span(chat, cut):
    """Return the messages of a cut."""
    return chat.expand(f"cut_{cut.first}-{cut.last}")


def accountable(chat, receipt):
    """What a receipt says is what its messages are."""
    assert receipt.id.startswith("prn_")
    assert receipt.why
    assert receipt.cuts
    # Tool messages without counterpart are in a cut, but were in no context.
    assert 0 < receipt.before - receipt.after <= receipt.tokens
    for cut in receipt.cuts:
        messages = span(chat, cut)
        assert (cut.messages, cut.tokens) == (len(messages), sum(m.tokens for m in messages))
        assert (messages[0].position, messages[-1].position) == (cut.first, cut.last)
        assert (cut.since, cut.until) == (messages[0].timestamp, messages[-1].timestamp)
        assert 0 <= cut.score <= 1
        assert cut.why


@each_row("strategy", STRATEGIES)
def test_receipts_of_every_trigger_say_what_left(strategy):
    """Each of the five triggers leaves a receipt that covers exactly what left the view."""
    chat = alone(context_limit=WINDOW, strategy=strategy, keep_recent=2, system="You plan.")
    triggers = []

    def done(act):
        triggers.extend(receipt.trigger for receipt in pruned_by(chat, act))

    done(lambda: fill(chat, [60] * 14))
    done(lambda: exchange(chat, "first", sized(40)))
    done(lambda: chat.add("user", sized(420)))
    done(lambda: fill(chat, [30] * 6))
    done(lambda: chat.prune(200))
    done(lambda: fill(chat, [30] * 6))
    done(lambda: chat.add("assistant", FINISHED))
    done(lambda: chat.add("user", NEXT, task="Tests"))
    done(lambda: chatter(chat, 4))
    done(chat.start_session)
    assert triggers == ["automatic", "aggressive", "manual", "task_boundary", "session_start"]
    assert {receipt.strategy for receipt in chat.prunings} == {strategy}
    assert [r.id for r in chat.prunings] == sorted(r.id for r in chat.prunings)
    assert chat.stats().last_prune == chat.prunings[-1].at


def test_a_score_is_that_of_the_most_important_message():
    """A receipt says how much the best of what left is worth (R4.1)."""
    chat = alone(keep_recent=1)
    chat.add("user", "haha, nice one")
    chat.add("user", "Always answer in French, never in English.")
    chat.add("user", "ok")
    chat.add("user", "the last one")
    [cut] = chat.prune(chat.recent(1)[0].tokens).cuts
    assert cut.messages == 3
    assert cut.score == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_everything_of_a_pruning_survives_a_restart(tmp_path, strategy):
    """The view, its markers, the receipts and the figures are the same in a new process."""
    path, arguments = tmp_path / "m.db", {"strategy": strategy, "keep_recent": 3}
    with remembering(path) as memory:
        chat = memory.conversation("c", system="You plan.", context_limit=WINDOW, **arguments)
        for number in range(12):
            fill(chat, [40, 50])
            exchange(chat, f"call_{number}", sized(40))
        chat.pin(chat.messages[-3].id)
        chat.prune(400)
        chat.clear()
        fill(chat, [60] * 15)
        chat.pin(chat.recent(2)[0].id)
        before = [chat.prunings, chat.view(), chat.view(200), chat.stats(), chat.messages]
        context = chat.context("And now?")
    with remembering(path) as memory:
        chat = memory.conversation("c", **arguments)
        assert [chat.prunings, chat.view(), chat.view(200), chat.stats(), chat.messages] == before
        again = chat.context("And now?")
        assert (again.messages, again.receipt.markers) == (
            context.messages,
            context.receipt.markers,
        )
        known = len(chat.prunings)
        fill(chat, [60] * 6)
        assert len(chat.prunings) == known + 1
        lawful(chat)


def rich(chat, number):
    """Add a picture, a call with two results, and their answer."""
    chat.add("user", f"What is in picture {number}?", images=[PICTURE])
    names = [f"call_{number}_{half}" for half in "ab"]
    calls = [ToolCall(name, "look", f'{{"number": {number}}}') for name in names]
    chat.add("assistant", "I look.", tool_calls=calls)
    for name in reversed(names):
        chat.add("tool", sized(30), tool_result=name)
    chat.add("assistant", f"A plan, number {number}. 日本語 \u200f 🧭")


def test_markers_expand_to_exactly_what_was_there(tmp_path):
    """Whatever comes later: more prunings, a clear, a restart; with tools and pictures."""
    path, seen = tmp_path / "m.db", {}

    def check(chat):
        known = {message.id: message for message in seen.setdefault("all", ())}
        seen["all"] = (*known.values(), *(m for m in chat.messages if m.id not in known))
        for marker in chat.view().markers:
            seen.setdefault(marker.id, chat.expand(marker))
        for name, messages in seen.items():
            if name != "all":
                assert chat.expand(name) == messages
                assert messages == tuple(m for m in seen["all"] if m in messages)

    with remembering(path) as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=4)
        for number in range(14):
            rich(chat, number)
            check(chat)
        assert len(seen) > 4
        chat.clear()
        check(chat)
        for number in range(14, 20):
            rich(chat, number)
            check(chat)
        chat.prune(300)
        check(chat)
    with remembering(path) as memory:
        check(memory.conversation("c", keep_recent=4))
        text = memory.conversation("c", keep_recent=4).view().markers[-1].text
        assert memory.conversation("c").expand(f"please expand: {text}")


def test_a_shortened_result_expands_to_the_whole():
    """Law 1: where only head and tail are shown, the text names where the rest is."""
    chat = alone(context_limit=WINDOW, keep_recent=10)
    chat.add("user", "Look it up.")
    _, result = exchange(chat, "call", "tea " * 2_000)
    [shown] = [m for m in chat.view().messages if m.role == "tool"]
    assert shown.tokens < 800 < result.tokens
    assert chat.expand(shown.content) == (result,)


@pytest.mark.parametrize("pinned_later", [False, True])
def test_a_message_pinned_after_it_left_comes_back(tmp_path, pinned_later):
    """``pin`` keeps a message in every context, also one that a pruning took out before."""
    with remembering(tmp_path / "m.db") as memory:
        for chat in (alone(keep_recent=1), memory.conversation("c", keep_recent=1)):
            said = chatter(chat, 9)
            if not pinned_later:
                chat.pin(said[4].id)
            chat.prune(40)
            if pinned_later:
                chat.pin(said[4].id)
            shown = lawful(chat)
            assert [m.id for m in shown.messages] == [said[4].id, said[8].id]
            assert [marker.id for marker in shown.markers] == ["cut_0-3", "cut_5-7"]
            chatter(chat, 6)
            chat.prune(50)
            shown = lawful(chat)
            assert [m.position for m in shown.messages] == [4, 13, 14]
            assert [marker.id for marker in shown.markers] == ["cut_0-3", "cut_5-12"]
            assert [marker.messages for marker in shown.markers] == [4, 8]
        assert chat.view() == memory.conversation("c", keep_recent=1).view()


def test_a_marker_expands_to_what_was_not_erased(tmp_path):
    """Law 7: what was erased is not under its marker any more; the rest is, down to nothing."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2)
        said = [chat.add("user", f"{number} " + sized(50)) for number in range(20)]
        gone = [message for message in said if message.id not in live(chat)]
        left = list(gone)
        for message in (gone[1], gone[-1], *gone[2:-1], gone[0]):
            memory.forget(message.record_id, erase=True)
            left.remove(message)
            for holder in (chat, memory.conversation("c", keep_recent=2)):
                found = [item for marker in holder.view().markers for item in holder.expand(marker)]
                assert found == left
        assert memory.verify() == []


def test_what_was_pruned_is_found_and_recalled(tmp_path):
    """Pruning is no loss: search finds the episode, and a context brings it back as memory."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2)
        said = chat.add("user", "My favourite tea is jasmine from Fuzhou.")
        fill(chat, [60] * 20)
        assert said.id not in live(chat)
        hit = memory.search("Which tea is the favourite?", limit=1)[0]
        assert hit.record.id == said.record_id
        assert hit.record.content == said.content
        context = chat.context("Which tea is my favourite?", budget=700)
        assert said.content in context.recall.text
        assert said.content in context.messages[0]["content"]
        again = chat.context("Which tea is my favourite?", budget=ALL)
        assert said.content in again.recall.text


def test_a_receipt_of_a_context_names_what_prunings_left_out():
    """R9: a pruned span is one line of what stayed out, with the id that expands it."""
    chat = alone(context_limit=WINDOW, keep_recent=2)
    fill(chat, [60] * 20)
    receipt = chat.context().receipt
    [gap] = [item for item in receipt.left_out if item.id.startswith("cut_")]
    assert gap.what == f"{sum(r.messages for r in chat.prunings)} messages"
    assert gap.tokens == sum(r.tokens for r in chat.prunings)
    assert gap.why.startswith("pruned: ")
    assert [marker.id for marker in receipt.markers] == [gap.id]
    assert len(chat.expand(gap.id)) + len(chat.view().messages) == 20


@given(data=st.data())
@settings(max_examples=examples(10))
def test_a_stored_conversation_prunes_as_one_in_memory(data):
    """The store changes nothing: same messages, same prunings, same views."""
    sizes = data.draw(st.lists(st.integers(6, 120), max_size=25))
    strategy = data.draw(st.sampled_from(STRATEGIES))
    arguments = {"context_limit": WINDOW, "strategy": strategy, "keep_recent": 3}
    with TemporaryDirectory() as folder, remembering(Path(folder) / "m.db") as memory:
        found = []
        for chat in (
            alone(**arguments),
            memory.conversation("c", max_messages=10_000, **arguments),
        ):
            fill(chat, sizes)
            chat.prune(500)
            figures = [(r.trigger, r.before, r.after, r.messages) for r in chat.prunings]
            found.append((figures, [m.position for m in chat.view().messages]))
        assert found[0] == found[1]
