"""One conversation in several hands: threads, memories and holders at once; nothing is lost."""

import dataclasses
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from provider_rules import problems_openai
from tables import each_row
from talks import (
    ALL,
    PATIENCE,
    PICTURE,
    alone,
    chosen,
    exchange,
    fill,
    heard,
    lawful,
    places,
    remembering,
    sized,
)

from memoranda import Conversation, errors
from memoranda.conversation.pruning import ConversationServices, check_limits
from memoranda.conversation.transcript import Transcript
from memoranda.model.clock import SystemClock
from memoranda.testing.embedders import HashEmbedder

WINDOW = 1_000


@pytest.fixture(params=["alone", "stored"])
def chat(request, tmp_path):
    """A conversation in memory alone, and one in a file, that is pruned often."""
    arguments = {"context_limit": WINDOW, "keep_recent": 3, "max_messages": 30, "system": "Go."}
    if request.param == "alone":
        yield alone(**arguments)
        return
    with remembering(tmp_path / "m.db") as memory:
        yield memory.conversation("c", **arguments)


def at_once(*works):
    """Run functions in threads that start together; return what they return, or raise."""
    barrier = threading.Barrier(len(works))

    def run(work):
        barrier.wait(PATIENCE)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(run, work) for work in works]
        return [future.result(PATIENCE) for future in futures]


def ending(done, *works):
    """Return the functions; when the last of them ends, or fails, ``done`` is set."""
    left = list(works)

    def run(work):
        try:
            work()
        finally:
            left.remove(work)
            if not left:
                done.set()

    return [partial(run, work) for work in works]


def until(done, act):
    """Return a function that does ``act`` again and again, at least once, until ``done``."""

    def run():
        act()
        while not done.is_set():
            act()

    return run


def turns(name, number):
    """Return what a writer adds together: a pair, an exchange with a tool, or a picture."""
    said = f"{name} {number}"
    if number % 3 == 0:
        return [
            {"role": "user", "content": f"{said} asks"},
            {"role": "assistant", "content": f"{said} answers"},
        ]
    if number % 3 == 1:
        call = {"id": f"{name}_{number}", "function": {"name": "look_up", "arguments": "{}"}}
        return [
            {"role": "assistant", "content": f"{said} calls", "tool_calls": [call]},
            {"role": "tool", "content": f"{said} finds", "tool_call_id": call["id"]},
        ]
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    text = {"type": "text", "text": f"{said} shows {sized(20)}"}
    return [{"role": "user", "content": [text, picture]}]


def look(chat):
    """Read in every way, and check what was read as far as others let it be seen."""
    shown = chat.view(700)
    assert shown.tokens <= 700
    for found in (places(shown), [message.position for message in chat.messages]):
        assert found == list(range(found[0], found[0] + len(found))) if found else True
    context = chat.context("And now?", budget=700)
    assert context.tokens <= 700
    assert context.tokens == sum(item.tokens for item in context.receipt.included)
    assert problems_openai(context.messages) == []
    assert chat.stats().messages_in_context <= 30 + 3
    assert len(chat.recent(5)) <= 5
    assert {message.role for message in chat.by_role("user")} <= {"user"}
    assert len(chat.window(2)) <= 3 * 40
    for marker in shown.markers[:2]:
        found = chat.expand(marker)
        assert len(found) == marker.messages
        assert (found[0].position, found[-1].position) == (marker.first, marker.last)


@pytest.mark.timeout(60)
def test_readers_writers_and_prunings_at_once(chat):
    """No exception, no lost message, each writer's order, and every view lawful meanwhile.

    So it is while messages are pinned, and the conversation is cleared now and then.
    """
    done, count, heard, turn = threading.Event(), 24, [], itertools.count(1)

    def write(name):
        for number in range(count):
            first = chat.extend(turns(name, number))[0]
            if number % 6 == 0:  # Never a picture, which no budget of these has room for.
                chat.pin(first.id)
                chat.pin(first.id, pinned=False)

    def prune():
        with suppress(errors.BudgetTooSmall):
            chat.prune(400)
        chat.start_session()
        if next(turn) % 4 == 0:
            chat.clear()

    chat.on("added", lambda event: heard.append(event.subject.id) or chat.stats())
    chat.on("pruned", lambda _: chat.view(500))
    reading = until(done, partial(look, chat))
    writers = ending(done, *(partial(write, name) for name in "abc"))
    at_once(*writers, reading, reading, until(done, prune))
    everything = chat.expand("cut_0-1000")
    for name in "abc":
        own = [m.content.split()[1:3] for m in everything if m.content.split()[0] == name]
        assert own == [
            [str(number), word]
            for number in range(count)
            for word in [("asks", "answers"), ("calls", "finds"), ("shows",)][number % 3]
        ]
    assert sorted(heard) == sorted(message.id for message in everything)
    assert [message.position for message in everything] == list(range(3 * 40))
    assert chat.stats().total_messages == 3 * 40
    lawful(chat, ALL)


@pytest.mark.timeout(30)
def test_adding_does_not_wait_for_a_model(tmp_path):
    """While a context waits for an embedding, messages can be added and views taken."""
    asked, go = threading.Event(), threading.Event()

    class Slow(HashEmbedder):
        def embed(self, texts):
            if any("favourite" in text for text in texts):
                asked.set()
                assert go.wait(PATIENCE)
            return super().embed(texts)

    with remembering(tmp_path / "m.db", embedder=Slow()) as memory, ThreadPoolExecutor(2) as pool:
        chat = memory.conversation("c", context_limit=WINDOW)
        memory.remember("The tea is jasmine.")
        try:
            context = pool.submit(chat.context, "Which tea is the favourite?")
            assert asked.wait(PATIENCE)
            added = pool.submit(chat.add, "user", "Meanwhile I go on.")
            assert added.result(PATIENCE / 2).content == "Meanwhile I go on."
            assert len(chat.view().messages) == 1
        finally:
            go.set()
        assert context.result(PATIENCE).messages


def test_what_is_returned_is_immutable():
    """Values are frozen, collections are tuples, and a context's list is the caller's own."""
    chat = alone(system="Go.", keep_recent=2, context_limit=WINDOW)
    fill(chat, [60] * 16)
    exchange(chat, "call")
    shown, [receipt] = chat.view(), chat.prunings
    values = [chat.messages[0], shown, shown.markers[0], receipt, receipt.cuts[0], chat.stats()]
    for value in values:
        field = dataclasses.fields(value)[0].name
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(value, field, None)
    collections = [
        chat.messages,
        chat.prunings,
        chat.recent(3),
        chat.by_role("user"),
        chat.window(1),
        chat.expand(shown.markers[0]),
        chat.extend([{"role": "user", "content": "one more"}]),
        shown.entries,
        shown.messages,
        shown.markers,
        receipt.cuts,
        chat.messages[-2].tool_calls,
        chat.context().receipt.included,
        chat.context().receipt.left_out,
    ]
    assert {type(collection) for collection in collections} == {tuple}


def spoil(value):
    """Change every part of a nested value."""
    if isinstance(value, dict):
        for part in value.values():
            spoil(part)
        value.clear()
    elif isinstance(value, list):
        for part in value:
            spoil(part)
        value.clear()


def test_a_callers_own_lists_can_change_afterwards():
    """What was handed in was copied, and so is what a context hands out, however deep."""
    chat, images = alone(system="Go.", keep_recent=2), [PICTURE]
    calls = [{"id": "c", "function": {"name": "look_up", "arguments": {"q": {"a": [1]}}}}]
    chat.add("user", "Look at this.", images=images)
    chat.add("assistant", "", tool_calls=calls)
    chat.add("tool", "found", tool_result="c")
    known = chat.messages
    spoil([calls, images])
    assert chat.messages == known
    assert chat.messages[1].tool_calls[0].arguments == '{"q": {"a": [1]}}'
    for form in ("openai", "responses", "anthropic"):
        before = chat.context("And?", form=form)
        spoil(chat.context("And?", form=form).messages)
        assert chat.context("And?", form=form) == before


def test_a_hand_hears_of_its_own_prunings_alone(tmp_path):
    """Events are of the object that did it; receipts are of the conversation."""
    with remembering(tmp_path / "m.db") as memory:
        one, two = (
            memory.conversation("c", context_limit=WINDOW, max_messages=99) for _ in range(2)
        )
        first, second = heard(one, "pruned"), heard(two, "pruned")
        fill(one, [60] * 14)
        fill(two, [60] * 8)
        assert [event.subject for event in (*first, *second)] == list(one.prunings)
        assert first
        assert second


class Interrupted(Transcript):
    """A transcript on which another hand acts right after a message, or before a pruning."""

    then = None

    def append(self, messages):
        """Add messages, and let the other hand act, once."""
        episodes = super().append(messages)
        self.act()
        return episodes

    def prune(self, pruning):
        """Keep a receipt, after what the other hand does, once."""
        self.act()
        super().prune(pruning)

    def act(self):
        """Let the other hand act."""
        act, self.then = self.then, None
        if act is not None:
            act()


@pytest.mark.slow
@each_row("pinned", [0, 8])
@each_row(("mine", "other"), [(400, 250), (250, 400), (300, 300)])
def test_two_prunings_at_one_instant_are_one_gap(mine, other, pinned):
    """Two hands that cut the same messages count them once, and expand to them."""
    limits = check_limits(chosen().conversation, context_limit=WINDOW, keep_recent=1)
    transcript = Interrupted.alone("c", SystemClock().now(), {})
    one, two = (Conversation.over(transcript, limits, ConversationServices()) for _ in range(2))
    said = fill(one, [30] * 20)
    one.pin(said[pinned].id)
    transcript.then = lambda: two.prune(other)
    one.prune(mine)
    assert len(one.prunings) == 2
    for chat in (one, two):
        shown = lawful(chat, 800)
        assert [len(chat.expand(marker)) for marker in shown.markers] == [
            marker.messages for marker in shown.markers
        ]
        assert [sum(m.tokens for m in chat.expand(marker)) for marker in shown.markers] == [
            marker.tokens for marker in shown.markers
        ]
    assert one.view() == two.view()
