"""Laws 1 to 3: what a model sees fits its budget, is never broken, and is a pure function."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from dialogues import dialogues
from hypothesis import given
from hypothesis import strategies as st
from provider_rules import problems_openai
from talks import STRATEGIES, affordable, after

from memoranda import Conversation, errors


@given(
    said=dialogues(),
    strategy=st.sampled_from(STRATEGIES),
    budget=st.integers(1, 2_000),
    system=st.sampled_from([None, "You plan trips."]),
    prompt=st.sampled_from([None, "Book me something to Lisbon."]),
)
def test_a_context_fits_holds_what_it_must_and_is_whole(said, strategy, budget, system, prompt):
    """Laws 1 and 2, for any transcript and any budget."""
    chat = after(said, system=system, strategy=strategy, keep_recent=3, max_messages=12)
    context = affordable(lambda most: chat.context(prompt, budget=most), budget)
    assert context.tokens <= context.receipt.budget
    assert context.tokens == sum(item.tokens for item in context.receipt.included)
    assert problems_openai(context.messages) == []
    contents = [message["content"] for message in context.messages]
    if system:
        assert contents[0] == system
    if prompt:
        assert (context.messages[-1]["role"], contents[-1]) == ("user", prompt)
    included = [item.id for item in context.receipt.included if item.id]
    left_out = {item.id: item.why for item in context.receipt.left_out}
    order = [message.id for message in chat.messages]
    # A result stands behind its call, also where something was said between the two.
    answers = {message.id for message in chat.messages if message.tool_result}
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
    assert list(affordable(chat.view, budget).messages) == expected


def test_what_must_be_in_and_does_not_fit_says_by_how_much():
    """Law 1: the error names what is needed, the budget and the way out."""
    chat = Conversation(system="You are a very careful planner of long trips.")
    with pytest.raises(errors.BudgetTooSmall, match=r"more than the budget of 5; raise") as raised:
        chat.context("Book it.", budget=5)
    assert chat.context("Book it.", budget=raised.value.needed).tokens == raised.value.needed


def test_stats_tell_what_a_context_holds():
    """R2: the figures are those of a context without a prompt."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    chat = Conversation(system="You plan trips.", context_limit=250)
    for n in range(20):
        role = "user" if n % 2 == 0 else "assistant"
        chat.add(role, f"message number {n} of this talk", timestamp=start + timedelta(hours=n))
    stats, context = chat.stats(), chat.context()
    assert stats.total_messages == 20
    assert stats.messages_in_context == len(context.messages) - 2  # beside system and marker
    assert stats.messages_in_context + stats.pruned_messages == 20
    assert stats.total_tokens == sum(stats.tokens_by_role.values()) == context.tokens
    assert set(stats.tokens_by_role) == {"system", "user", "assistant"}
    assert stats.token_limit == 250
    assert stats.percent_used == round(stats.total_tokens / 2.5, 1)
    assert stats.percent_used <= 80
    assert stats.oldest_message == chat.view().messages[0].timestamp
    assert not stats.exact


def test_a_budget_is_eighty_percent_of_the_window():
    """R8.2: without a budget of its own a context takes 80 % of the model's window."""
    chat = Conversation(context_limit=1_000)
    assert chat.context("hello").receipt.budget == 800
    assert Conversation().context("hello").receipt.budget == 102_400
    assert Conversation(max_tokens=77).context("hello").receipt.budget == 77
