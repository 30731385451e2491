"""Seed 003: readers, writers, prunings, clears and events at once; nothing lost, nothing stuck."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from provider_rules import problems_openai
from talks import (
    ALL,
    PATIENCE,
    PICTURE,
    alone,
    chosen,
    exchange,
    fill,
    lawful,
    places,
    remembering,
    sized,
)

from memoranda import errors
from memoranda.model.models import ToolCall
from memoranda.testing.embedders import HashEmbedder

WINDOW = 1_000


@pytest.fixture(params=["alone", "stored"])
def chat(request, tmp_path):
    """A conversation in memory alone, and one in a file, that is pruned often."""
    arguments = {"context_limit": WINDOW, "keep_recent": 3, "max_messages": 30, "system": "Go."}
    if request.param == "alone":
        yield alone(settings=chosen(summaries="extractive"), **arguments)
        return
    with remembering(tmp_path / "m.db", summaries="extractive") as memory:
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


def write(chat, name, count):
    """Add so many turns, alone and in lists."""
    for number in range(count):
        chat.extend(turns(name, number))


def consistent(shown, budget):
    """Laws 1 to 3 of a view, as far as they can be seen while others write."""
    assert shown.tokens <= budget
    found = places(shown)
    assert found == list(range(found[0], found[0] + len(found))) if found else True
    assert [m.position for m in shown.messages if not m.tool_result] == sorted(
        m.position for m in shown.messages if not m.tool_result
    )


def look(chat):
    """Read in every way, and check what was read."""
    shown = chat.view(700)
    consistent(shown, 700)
    context = chat.context("And now?", budget=700)
    assert context.tokens <= 700
    assert context.tokens == sum(item.tokens for item in context.receipt.included)
    assert problems_openai(context.messages) == []
    assert chat.stats().messages_in_context <= 30 + 3
    assert len(chat.recent(5)) <= 5
    assert {message.role for message in chat.by_role("user")} <= {"user"}
    messages = chat.messages
    assert [m.position for m in messages] == list(range(len(messages)))
    assert len(chat.window(2)) <= len(chat)
    for marker in shown.markers[:2]:
        found = chat.expand(marker)
        assert len(found) == marker.messages
        assert (found[0].position, found[-1].position) == (marker.first, marker.last)


@pytest.mark.timeout(60)
def test_readers_writers_and_prunings_at_once(chat):
    """No exception, no lost message, each writer's order, and every view lawful meanwhile."""
    done, count, heard = threading.Event(), 24, []

    def prune():
        with suppress(errors.BudgetTooSmall):
            chat.prune(400)
        chat.start_session()

    chat.on("added", lambda event: heard.append(event.subject.id) or chat.stats())
    chat.on("pruned", lambda _: chat.view(500))
    reading = until(done, partial(look, chat))
    writers = ending(done, *(partial(write, chat, name, count) for name in "abc"))
    at_once(*writers, reading, reading, until(done, prune))
    contents = [message.content for message in chat.messages]
    for name in "abc":
        own = [text.split()[1:3] for text in contents if text.split()[0] == name]
        assert own == [
            [str(number), word]
            for number in range(count)
            for word in [("asks", "answers"), ("calls", "finds"), ("shows",)][number % 3]
        ]
    assert sorted(heard) == sorted(message.id for message in chat.messages)
    assert [message.position for message in chat.messages] == list(range(3 * 40))
    lawful(chat, ALL)


@pytest.mark.timeout(60)
def test_clears_pins_and_prunings_at_once(chat):
    """Whatever the order, every message is in the transcript and no view is torn."""
    done = threading.Event()

    def write_and_pin(name):
        for number in range(30):
            message = chat.add("user", f"{name} {number} " + sized(25))
            if number % 7 == 0:
                chat.pin(message.id)
                chat.pin(message.id, pinned=False)

    def read():
        consistent(chat.view(ALL), ALL)
        chat.stats()
        with suppress(errors.BudgetTooSmall):
            chat.prune(300)

    writers = ending(done, partial(write_and_pin, "a"), partial(write_and_pin, "b"))
    at_once(*writers, until(done, chat.clear), until(done, read), until(done, read))
    everything = chat.expand("cut_0-1000")
    assert len(everything) == 60 == chat.stats().total_messages
    for name in "ab":
        own = [int(m.content.split()[1]) for m in everything if m.content.startswith(name)]
        assert own == list(range(30))
    chat.clear()
    fill(chat, [40] * 10)
    assert len(lawful(chat, 800).messages) == 10


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


def test_what_a_caller_does_to_a_context_stays_with_the_caller():
    """Changing the messages of a context, however deep, changes nothing inside."""
    chat = alone(system="Go.", keep_recent=2)
    chat.add("user", "Look at this.", images=[PICTURE])
    chat.add("assistant", "", tool_calls=[ToolCall("c", "look_up", '{"q": {"a": [1]}}')])
    chat.add("tool", "found", tool_result="c")
    for form in ("openai", "responses", "anthropic"):
        before = chat.context("And?", form=form)
        spoiled = chat.context("And?", form=form)
        spoil(spoiled.messages)
        assert chat.context("And?", form=form) == before
        assert chat.messages[0].images[0].url == PICTURE


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
    """What was handed in was copied: later changes to it are not seen."""
    chat = alone()
    calls = [{"id": "c", "function": {"name": "look_up", "arguments": {"q": [1]}}}]
    images = [PICTURE]
    chat.add("assistant", "", tool_calls=calls)
    chat.add("tool", "found", tool_result="c")
    chat.add("user", "And this?", images=images)
    before = chat.messages
    spoil(calls)
    images.clear()
    assert chat.messages == before
    assert chat.messages[0].tool_calls[0].arguments == '{"q": [1]}'
