"""Stable prefixes: a provider's prompt cache stays warm, as the view changes rarely, in steps."""

from itertools import pairwise

import pytest
from tables import each_row
from talks import STRATEGIES, alone, chosen, fill, remembering, sized

WINDOW = 1_000
LIMITS = {
    "tokens": {"context_limit": WINDOW, "keep_recent": 4},
    "messages": {"max_messages": 20, "keep_recent": 4},
}
SIZES = [20 + n * 7 % 40 for n in range(160)]


def grown(before, after):
    """Return whether a context begins with all that the one before it held."""
    return after[: len(before)] == before


def warm(contexts):
    """Return which share of the characters sent is an unchanged prefix of the context before."""
    kept = every = 0
    for before, after in pairwise(contexts):
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        kept += sum(len(message["content"]) for message in after[:same])
        every += sum(len(message["content"]) for message in after)
    return kept / every


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
@each_row("limits", LIMITS)
@each_row("strategy", ["rolling_window", "hybrid"])
def test_most_contexts_only_grow(strategy, limits):
    """Nine of ten contexts begin with the whole of the one before; without it far fewer do."""
    shares = {}
    for stable in (True, False):
        _, contexts, _ = run(stable=stable, strategy=strategy, **LIMITS[limits])
        changes = [not grown(*pair) for pair in pairwise(contexts)]
        shares[stable] = (1 - sum(changes) / len(changes), warm(contexts))
    assert shares[True][0] > 0.9
    assert shares[True][1] > 0.85
    assert shares[True][1] > shares[False][1] + 0.05


@pytest.mark.slow
@each_row("summaries", ["off", "extractive"])
@each_row("strategy", STRATEGIES)
def test_a_context_changes_only_where_a_pruning_is_told(strategy, summaries):
    """The steps are those of the receipts: between two of them nothing in view changes."""
    limits = LIMITS["tokens"]
    chat, contexts, pruned = run(stable=True, strategy=strategy, summaries=summaries, **limits)
    changes = [not grown(*pair) for pair in pairwise(contexts)]
    assert changes == pruned[1:]
    assert 4 < sum(changes) < (16 if summaries == "off" else 24)
    assert {receipt.trigger for receipt in chat.prunings} == {"automatic"}
    assert all(receipt.after <= WINDOW * 0.4 for receipt in chat.prunings)


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
        memory.remember("The favourite tea of Ana is jasmine.")
        memory.remember("The favourite city of Ana is Lisbon.")
        chat = memory.conversation("c", system="Go.", context_limit=WINDOW, keep_recent=4)
        before = None
        for index, size in enumerate(SIZES[:40]):
            fill(chat, [size], roles=[("user", "assistant")[index % 2]])
            thing = ("tea", "city")[index % 2]
            context = chat.context(f"What is the favourite {thing} of Ana?")
            assert ("jasmine", "Lisbon")[index % 2] in context.recall.text
            first, *conversation, recalled, prompt = context.messages
            assert first == {"role": "system", "content": "Go."}
            assert recalled["content"] == context.recall.text
            assert prompt["content"].startswith("What is the favourite")
            assert [item.what for item in context.receipt.included][-3:] == [
                "memory",
                "prompt",
                "reply",
            ]
            assert not any("jasmine" in message["content"] for message in conversation)
            grew = before is None or grown(before, conversation)
            assert grew or index > 10
            before = conversation
