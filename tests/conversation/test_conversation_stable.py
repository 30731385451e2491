"""Stable prefixes: a provider's prompt cache stays warm, as the view changes rarely, in steps."""

from itertools import pairwise

import pytest
from tables import each_row
from talks import alone, chosen, fill, remembering, sized

WINDOW = 1_000
LIMITS = {
    "tokens": {"context_limit": WINDOW, "keep_recent": 4},
    "messages": {"max_messages": 20, "keep_recent": 4},
}
SIZES = [20 + n * 7 % 40 for n in range(160)]


def grown(before, after):
    """Return whether a context begins with all that the one before it held."""
    return after[: len(before)] == before


def run(*, stable, sizes=SIZES, summaries="off", **arguments):
    """Add messages; return the conversation, its contexts, and after which a pruning came."""
    options = chosen(stable_prefix=stable, summaries=summaries)
    chat = alone(system="Go.", settings=options, **arguments)
    contexts, pruned = [], []
    for index, size in enumerate(sizes):
        known = len(chat.prunings)
        fill(chat, [size], roles=[("user", "assistant")[index % 2]])
        contexts.append(chat.context().messages)
        pruned.append(len(chat.prunings) > known)
    return chat, contexts, pruned


@pytest.mark.slow
@each_row(
    ("limits", "strategy", "summaries"),
    [
        ("tokens", "rolling_window", "off"),
        ("tokens", "recency", "extractive"),
        ("tokens", "importance", "off"),
        ("tokens", "hybrid", "extractive"),
        ("messages", "hybrid", "off"),
    ],
)
def test_a_context_changes_only_where_a_pruning_is_told(limits, strategy, summaries):
    """Nine of ten contexts begin with the whole of the one before; the others come of prunings."""
    options = {"strategy": strategy, "summaries": summaries}
    chat, contexts, pruned = run(stable=True, **options, **LIMITS[limits])
    changes = [not grown(*pair) for pair in pairwise(contexts)]
    assert limits == "messages" or changes == pruned[1:]
    assert 4 < sum(changes) < (16 if summaries == "off" else 24)
    assert {receipt.trigger for receipt in chat.prunings} == {"automatic"}
    assert limits != "tokens" or all(each.after <= WINDOW * 0.4 for each in chat.prunings)


def test_without_a_memory_the_budget_is_the_conversations():
    """What fits is in: no room is kept for a memory that there is not."""
    chat, contexts, _ = run(stable=True, sizes=[39] * 20, context_limit=WINDOW)
    assert chat.prunings == ()
    assert [len(context) for context in contexts] == list(range(2, 22))


def test_a_stable_pruning_goes_further():
    """One large step, to 40 % of the window, instead of several small ones."""
    stable, usual = (run(stable=stable, **LIMITS["tokens"])[0].prunings for stable in (True, False))
    assert len(usual) >= 1.7 * len(stable)
    assert usual[0].before == stable[0].before
    assert usual[0].after > WINDOW * 0.4 >= stable[0].after


def test_a_prompt_changes_nothing_before_it():
    """Where a small budget leaves messages out, a longer prompt does not leave out others."""
    chat = alone(system="Go.", keep_recent=2, settings=chosen(stable_prefix=True))
    fill(chat, [31] * 60)
    before = []
    for length in range(6, 29):
        *messages, prompt = chat.context(sized(length), budget=520).messages
        assert prompt["content"] == sized(length)
        before.append(messages)
    assert len(before[0]) > 5
    assert all(messages == before[0] for messages in before)


def test_memory_stands_at_the_end(tmp_path):
    """What is recalled differs with each prompt, and so it comes after what can be cached."""
    with remembering(tmp_path / "m.db", stable_prefix=True) as memory:
        chat = memory.conversation("c", system="Go.", context_limit=WINDOW, keep_recent=4)
        before = []
        for thing, name in (("tea", "jasmine"), ("city", "Lisbon")):
            memory.remember(f"The favourite {thing} of Ana is {name}.")
            fill(chat, [30, 30])
            context = chat.context(f"What is the favourite {thing} of Ana?")
            first, *conversation, recalled, prompt = context.messages
            assert first == {"role": "system", "content": "Go."}
            assert recalled["content"] == context.recall.text
            assert name in context.recall.text
            assert name not in str(conversation)
            assert prompt["content"].startswith("What is the favourite")
            told = [item.what for item in context.receipt.included]
            assert told[-3:] == ["memory", "prompt", "reply"]
            assert grown(before, conversation)
            before = conversation
