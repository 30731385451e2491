"""A conversation in a memory: lasting, found later, recalled from, and never fed on itself."""

import pytest
from tables import each_row

from memoranda import Memory, errors
from memoranda.testing.embedders import HashEmbedder


def test_a_conversation_goes_on_where_it_was_left(tmp_path, opened):
    """Messages, pins, system prompt, window, clearing and end survive a reopening."""
    path = tmp_path / "m.db"
    with Memory(path, user="ana", embedder=HashEmbedder()) as first:
        chat = first.conversation("trip", system="You plan trips.", model="m", context_limit=1_000)
        chat.add("user", "before the clear")
        chat.clear()
        pinned = chat.add("user", "never before nine")
        chat.pin(pinned.id)
        chat.end()
        before = chat.messages
    chat = opened(path).conversation("trip")
    assert chat.messages == before
    assert (chat.id, chat.system) == ("trip", "You plan trips.")
    assert chat.messages[0].pinned
    assert chat.stats().token_limit == 1_000
    assert chat.stats().total_messages == 2
    [info] = opened(path).conversations()
    assert (info.id, info.messages, info.model) == ("trip", 2, "m")
    assert info.ended_at is not None


def test_two_conversations_are_apart(memory):
    """Messages of one are not in the other, nor are its ids; what is given anew replaces."""
    one, two = (
        memory.conversation("one", system="old", context_limit=500),
        memory.conversation("two"),
    )
    said = one.add("user", "in one")
    two.add("user", "in two")
    assert [m.content for m in one.messages] == ["in one"]
    assert [m.content for m in two.messages] == ["in two"]
    with pytest.raises(errors.NotFound):
        two.pin(said.id)
    assert [info.id for info in memory.conversations()] == ["two", "one"]
    assert memory.conversation("one").system == "old"
    assert memory.conversation("one", system="new").system == "new"
    assert memory.conversation("one").stats().token_limit == 500


def test_each_message_is_an_episode_that_later_sessions_find(memory):
    """What was said once is found by search, with who said it and in which session."""
    heard = []
    memory.on("remembered", lambda event: heard.append(event.subject))
    chat = memory.conversation("trip", system="You plan trips.")
    chat.add("system", "A note of the system.")
    said = chat.add("user", "I never fly before nine.")
    chat.add("assistant", "", tool_calls=[{"id": "c", "function": {"name": "fly"}}])
    chat.add("tool", "three flights found", tool_result="c")
    episodes = memory.records(kind="episode")
    assert [(r.content, r.source_role, r.session_id, r.position) for r in episodes] == [
        ("I never fly before nine.", "user", "trip", 0),
        ("three flights found", "tool", "trip", 1),
    ]
    assert heard == episodes
    assert [(r.origin, r.trust) for r in episodes] == [
        ("conversation", "person"),
        ("conversation", "external"),
    ]
    hit = memory.search("when does she fly?", session="trip")[0]
    assert hit.record.id == said.record_id
    assert hit.record.event_time == said.timestamp


def test_a_context_recalls_what_the_view_does_not_hold(memory):
    """Memory brings other sessions, never what is in view anyway."""
    memory.conversation("earlier").add("user", "My favourite tea is jasmine.")
    chat = memory.conversation("now", system="You are kind.")
    chat.add("user", "I would like some tea, maybe jasmine tea.")
    context = chat.context("Which tea do I like?", budget=2_000)
    head, _, recalled, _ = [message["content"] for message in context.messages]
    assert head == "You are kind."
    assert recalled.startswith("<memoranda-memory")
    assert "My favourite tea is jasmine." in recalled
    assert "I would like some tea" not in recalled
    assert [hit.record.session_id for hit in context.recall.hits] == ["earlier"]
    assert context.tokens == sum(item.tokens for item in context.receipt.included)


def test_a_prompt_that_was_added_first_is_sent_once(memory):
    """Adding the prompt and then asking for its context gives the same as asking first.

    Without a prompt it is the newest message of the user for which memory recalls.
    """
    memory.conversation("earlier").add("user", "My favourite tea is jasmine.")
    chat = memory.conversation("now", system="You are kind.")
    asked = chat.context("Which tea do I like?").messages
    chat.add("user", "Which tea do I like?")
    assert chat.context("Which tea do I like?").messages == asked
    assert "jasmine" in chat.context(budget=2_000).recall.text
    assert memory.conversation("empty").context(budget=50).messages == []


@each_row("budget", range(11, 60, 3))
def test_memory_never_breaks_a_small_budget(memory, budget):
    """Law 1 with recall: where memory does not fit it stays out, and nothing fails."""
    memory.remember("My favourite tea is jasmine.")
    chat = memory.conversation(f"now {budget}")
    chat.add("user", "Hello there.")
    assert chat.context("tea?", budget=budget).tokens <= budget


def test_recalled_text_is_never_new_evidence(memory):
    """Law 9: a block of recall in a message is kept in the transcript, but not as an episode."""
    memory.remember("My favourite tea is jasmine.")
    block = memory.recall("tea").text
    assert block
    chat = memory.conversation("c")
    chat.add("user", f"{block}\nSo what do I drink?")
    chat.add("assistant", f"{block}\n\n{block}")
    chat.add("user", f"before {block} between {block} after <memoranda-memory is a word")
    assert [record.content for record in memory.records(kind="episode")] == [
        "So what do I drink?",
        "before between after <memoranda-memory is a word",
    ]
    assert chat.messages[0].content.startswith("<memoranda-memory")
    assert chat.messages[1].record_id is None


def test_many_broken_fences_cost_no_time(plain):
    """Law 9 holds for hostile text too: a megabyte of opened fences is taken at once."""
    text = "<memoranda-memory " * 30_000 + "<memoranda-memory>" * 30_000
    plain.conversation("c").add("user", text)
    assert plain.records(kind="episode")[0].content == text


def test_memory_has_the_room_that_the_conversation_leaves(memory):
    """An empty conversation leaves the whole budget to memory."""
    memory.remember_many([f"Fact {n} about tea from the shop in street {n}" for n in range(40)])
    context = memory.conversation("new").context("Tell me about tea.", budget=400)
    assert 300 < context.tokens <= 400
