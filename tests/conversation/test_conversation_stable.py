"""Law 17: a request begins with what the one before it began with, so that it is paid for once."""

from itertools import pairwise

import pytest
from tables import each_row
from talks import STRATEGIES, alone, fill, remembering, sized

WINDOW = 1_000
SIZES = [20 + n * 7 % 40 for n in range(160)]


def grown(before, after):
    """Return whether a context begins with all that the one before it held."""
    return after[: len(before)] == before


@pytest.mark.slow
@each_row("strategy", STRATEGIES)
def test_a_context_changes_only_where_a_pruning_is_told(strategy):
    """Nine of ten contexts begin with the whole of the one before; the others come of prunings."""
    chat = alone(system="Go.", strategy=strategy, context_limit=WINDOW, keep_recent=4)
    contexts, pruned = [], []
    for index, size in enumerate(SIZES):
        known = len(chat.prunings)
        fill(chat, [size], roles=[("user", "assistant")[index % 2]])
        contexts.append(chat.context().messages)
        pruned.append(len(chat.prunings) > known)
    changes = [not grown(*pair) for pair in pairwise(contexts)]
    assert changes == pruned[1:]
    assert 4 < sum(changes) < 24
    assert {receipt.trigger for receipt in chat.prunings} == {"automatic"}


def test_without_a_memory_the_budget_is_the_conversations():
    """What fits is in: no room is kept for a memory that there is not."""
    chat = alone(system="Go.", context_limit=WINDOW)
    fill(chat, [39] * 20)
    assert chat.prunings == ()
    assert len(chat.context().messages) == 21


def test_a_smaller_budget_leaves_out_blocks():
    """Of contexts with a budget of their own nine of ten begin with the one before, too."""
    chat = alone(system="Go.", keep_recent=4)
    contexts = []
    for index, size in enumerate(SIZES):
        fill(chat, [size], roles=[("user", "assistant")[index % 2]])
        contexts.append(chat.context(budget=800).messages)
    changes = [not grown(*pair) for pair in pairwise(contexts)]
    assert chat.prunings == ()
    assert 4 < sum(changes) < 24


def test_a_prompt_changes_nothing_before_it():
    """Where a small budget leaves messages out, a longer prompt does not leave out others."""
    chat = alone(system="Go.", keep_recent=2)
    fill(chat, [31] * 60)
    before = []
    for length in range(6, 29):
        *messages, prompt = chat.context(sized(length), budget=520).messages
        assert prompt["content"] == sized(length)
        before.append(messages)
    assert len(before[0]) > 5
    assert all(messages == before[0] for messages in before)


def test_what_changes_stands_at_the_end(tmp_path):
    """What is recalled and the date differ with each prompt: they come after what is cached."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", system="Go.", context_limit=WINDOW, keep_recent=4)
        before = []
        for thing, name in (("tea", "jasmine"), ("city", "Lisbon")):
            memory.remember(f"The favourite {thing} of Ana is {name}.")
            fill(chat, [30, 30])
            prompt = f"What is the favourite {thing} of Ana?"
            context = chat.context(prompt, beside=f"It is the day of {thing}.")
            first, *conversation, recalled, asked = context.messages
            assert first == {"role": "system", "content": "Go."}
            assert context.recall.text in recalled["content"]
            assert f"It is the day of {thing}." in recalled["content"]
            assert name in context.recall.text
            assert name not in str(conversation)
            assert asked["content"] == prompt
            told = [item.what for item in context.receipt.included]
            assert told[-4:] == ["memory", "beside", "prompt", "reply"]
            assert grown(before, conversation)
            before = conversation
