"""Laws 1 to 3: what a model sees fits its budget, is never broken, and is a pure function."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Conversation, errors
from memoranda.model.models import ToolCall

WORDS = st.lists(st.sampled_from(["tea", "Lisbon", "yes", "and", "2026", "茶", "\n"]), max_size=25)
CALL_IDS = st.sampled_from(["a", "b", "c", ""])
PLAIN = st.tuples(st.sampled_from(["user", "assistant", "system"]), WORDS)
CALLS = st.tuples(st.just("call"), WORDS, st.lists(CALL_IDS, min_size=1, max_size=3))
RESULTS = st.tuples(st.just("tool"), WORDS, CALL_IDS)
TURNS = st.lists(st.one_of(PLAIN, PLAIN, CALLS, RESULTS), max_size=25)
STRATEGIES = st.sampled_from(["recency", "rolling_window", "importance", "hybrid"])


def said(chat, turns):
    """Add generated turns to a conversation."""
    for role, words, *rest in turns:
        text = " ".join(words)
        if role == "call":
            calls = [ToolCall(name, "look_up", '{"q": "tea"}') for name in rest[0]]
            chat.add("assistant", text, tool_calls=calls)
        elif role == "tool":
            chat.add("tool", text, tool_result=rest[0])
        else:
            chat.add(role, text if text.strip() else "hello")


def needed(chat, prompt, budget):
    """Return the budget, or what the error says is needed, checked."""
    try:
        chat.context(prompt, budget=budget)
    except errors.BudgetTooSmall as error:
        told = error
    else:
        return budget
    assert told.needed > told.budget == budget
    assert str(told.needed - budget) in str(told)
    return told.needed


def least(chat, budget):
    """Return the budget, or what the error says that the view needs."""
    try:
        chat.view(budget)
    except errors.BudgetTooSmall as error:
        return error.needed
    return budget


def assert_sendable(messages):
    """Law 2: each call is answered once, right after it, and each result has its call."""
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls", ())]
            assert len(waiting) == len(set(waiting))
    assert waiting == []


@given(
    turns=TURNS,
    strategy=STRATEGIES,
    budget=st.integers(1, 400),
    system=st.sampled_from([None, "You plan trips."]),
    prompt=st.sampled_from([None, "Book me something to Lisbon."]),
    pins=st.sets(st.integers(0, 24), max_size=3),
)
def test_a_context_fits_holds_what_it_must_and_is_whole(  # noqa: PLR0917 - drawn by hypothesis
    turns, strategy, budget, system, prompt, pins
):
    """Laws 1 and 2, for any transcript and any budget."""
    chat = Conversation(system=system, strategy=strategy, keep_recent=3, max_messages=12)
    said(chat, turns)
    messages = chat.messages
    for number in pins:
        if number < len(messages):
            chat.pin(messages[number].id)
    budget = needed(chat, prompt, budget)
    context = chat.context(prompt, budget=budget)
    assert context.tokens <= budget
    assert context.tokens == sum(item.tokens for item in context.receipt.included)
    assert_sendable(context.messages)
    contents = [message["content"] for message in context.messages]
    if system:
        assert contents[0] == system
    if prompt:
        assert (context.messages[-1]["role"], contents[-1]) == ("user", prompt)
    included = [item.id for item in context.receipt.included if item.id]
    left_out = {item.id: item.why for item in context.receipt.left_out}
    order = [message.id for message in messages]
    # A result stands behind its call, also where something was said between the two.
    answers = {message.id for message in messages if message.tool_result}
    heads = [name for name in included if name not in answers]
    assert heads == sorted(heads, key=order.index)
    cuts = [marker for marker in left_out if marker.startswith("cut_")]
    out = {item.id for marker in cuts for item in chat.expand(marker)}
    out |= set(left_out) - set(cuts)
    assert set(included) | out == set(order)
    assert not set(included) & out
    for message in chat.messages:
        if message.role == "system" or message.pinned:
            assert message.id in included or re.search("counterpart|to come", left_out[message.id])


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=20),
    systems=st.sets(st.integers(0, 19)),
    budget=st.integers(1, 500),
)
def test_recency_is_s3_to_the_letter(lengths, systems, budget):
    """System messages always; then, from the newest back, messages until the budget is used up."""
    chat = Conversation(strategy="recency")
    for number, length in enumerate(lengths):
        chat.add("system" if number in systems else "user", "tea " * length)
    messages = list(chat.messages)
    remaining = budget - sum(m.tokens for m in messages if m.role == "system")
    kept = []
    for message in reversed([m for m in messages if m.role != "system"]):
        remaining -= message.tokens
        if remaining < 0:
            break
        kept.append(message.id)
    expected = [m for m in messages if m.role == "system" or m.id in kept]
    assert list(chat.view(least(chat, budget)).messages) == expected


def test_an_orphan_never_blocks():
    """Law 2: a call without a result, or a result without a call, stays out and harms nobody."""
    chat = Conversation()
    chat.add("user", "look it up")
    chat.add("assistant", "", tool_calls=[ToolCall("a", "look_up"), ToolCall("b", "look_up")])
    chat.add("tool", "first", tool_result="a")
    chat.add("tool", "nobody asked", tool_result="z")
    chat.add("user", "and?")
    context = chat.context()
    assert [message["content"] for message in context.messages] == ["look it up", "and?"]
    assert {item.why for item in context.receipt.left_out} == {
        "tool call or result without its counterpart"
    }
    chat = Conversation()
    chat.add("assistant", "", tool_calls=[ToolCall("a", "look_up")])
    assert chat.context("so?").messages == [{"role": "user", "content": "so?"}]
    chat.add("tool", "found", tool_result="a")
    assert len(chat.context("so?").messages) == 3


def test_what_must_be_in_and_does_not_fit_says_by_how_much():
    """Law 1: the error names what is needed, the budget and the way out."""
    chat = Conversation(system="You are a very careful planner of long trips.")
    with pytest.raises(errors.BudgetTooSmall, match=r"more than the budget of 5; raise") as raised:
        chat.context("Book it.", budget=5)
    assert chat.context("Book it.", budget=raised.value.needed).tokens == raised.value.needed


def test_stats_tell_what_a_context_holds():
    """R2: the figures are those of a context without a prompt."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    chat = Conversation(system="You plan trips.", context_limit=200)
    for n in range(20):
        role = "user" if n % 2 == 0 else "assistant"
        chat.add(role, f"message number {n} of this talk", timestamp=start + timedelta(hours=n))
    stats, context = chat.stats(), chat.context()
    assert stats.total_messages == 20
    assert stats.messages_in_context == len(context.messages) - 2  # beside system and marker
    assert stats.messages_in_context + stats.pruned_messages == 20
    assert stats.total_tokens == sum(stats.tokens_by_role.values()) == context.tokens
    assert set(stats.tokens_by_role) == {"system", "user", "assistant"}
    assert stats.token_limit == 200
    assert stats.percent_used == round(stats.total_tokens / 2, 1)
    assert stats.percent_used <= 80
    assert stats.oldest_message == chat.view(160 - 3).messages[0].timestamp
    assert not stats.exact


def test_last_prune_is_when_the_view_last_lost_a_message():
    """``last_prune`` is the time of the last receipt, and nothing before the first."""
    chat = Conversation(max_tokens=60, strategy="recency")
    for n in range(30):
        chat.add("user", "word " * (1 + 7 * (n % 3)))
        stats = chat.stats()
        assert (stats.last_prune is None) == (stats.pruned_messages == 0)
        if chat.prunings:
            assert stats.last_prune >= chat.prunings[-1].at
    assert chat.prunings


def test_a_budget_is_eighty_percent_of_the_window():
    """R8.2: without a budget of its own a context takes 80 % of the model's window."""
    chat = Conversation(context_limit=1_000)
    assert chat.context("hello").receipt.budget == 800
    assert Conversation().context("hello").receipt.budget == 102_400
    assert Conversation(max_tokens=77).context("hello").receipt.budget == 77
