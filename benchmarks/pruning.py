"""What a conversation costs as it grows: adding, viewing, memory, and what stays as it was."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from benchmarks.measure import Step, interleaved, micro, show, timed
from benchmarks.workload import talk
from memoranda import Conversation
from memoranda.conversation.pruning import Pruner
from memoranda.conversation.strategies import STRATEGIES

LENGTHS = (100, 10_000, 100_000)
BUDGET = 8_000
SESSION_WINDOW = 5_000
STABLE_BUDGET = 4_000
STABLE_TURNS = 400


def run(*, quick: bool) -> None:
    """Print the tables."""
    rounds = 100 if quick else 400
    lengths = LENGTHS[:2] if quick else LENGTHS
    _growing(lengths, rounds)
    _session(rounds)
    _bytes(lengths)
    _prefixes()


def dicts(count: int, seed: int = 0) -> list[dict[str, str]]:
    """Return made-up messages, user and assistant in turn."""
    roles = ("user", "assistant")
    said = talk(count, questions=1, seed=seed).texts
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(said)]


def _growing(lengths: Sequence[int], rounds: int) -> None:
    # N1.1 to N1.5: the same at any length, with every strategy.
    said = dicts(lengths[-1])
    rows = []
    for strategy in STRATEGIES:
        chats = {length: Conversation(strategy=strategy) for length in lengths}
        for length, chat in chats.items():
            chat.extend(said[:length])
        adds: dict[str, Step] = {
            f"{length}": lambda i, chat=chat: chat.add("user", said[i]["content"])  # type: ignore[misc]
            for length, chat in chats.items()
        }
        views: dict[str, Step] = {
            f"{length}": lambda _, chat=chat: chat.view(BUDGET)  # type: ignore[misc]
            for length, chat in chats.items()
        }
        for verb, subjects in (("add", adds), (f"view of {BUDGET:,} tokens", views)):
            times = interleaved(subjects, rounds, warm=5)
            first = times[f"{lengths[0]}"].median
            rows += [
                (strategy, verb, f"{int(name):,}", micro(each.median), f"{each.median / first:.2f}")
                for name, each in times.items()
            ]
    show(
        "A conversation in memory, by its length",
        ("strategy", "verb", "messages", "p50", "times the shortest"),
        rows,
        "Counting the tokens of the message and scoring it are part of add.",
    )


def _session(turns: int) -> None:
    # SM6: all that pruning does in a session that is always near the limit.
    said = dicts(2 * turns, seed=5)
    chat, spent = Conversation(context_limit=SESSION_WINDOW), 0.0
    after_adding = Pruner.after_adding

    def measured(*given: Any) -> Any:
        nonlocal spent
        start = time.perf_counter()
        try:
            return after_adding(*given)
        finally:
            spent += time.perf_counter() - start

    with patch.object(Pruner, "after_adding", measured):
        for item in said:
            chat.add(**item)
    views = timed(lambda _: [chat.view() for _ in range(turns)])
    turn = (spent + views) / turns
    show(
        f"Pruning in a session of {turns:,} turns, window {SESSION_WINDOW:,} tokens (SM6)",
        ("prunings", "a turn", "is 5 % of a turn of"),
        [(f"{len(chat.prunings)}", micro(turn), f"{1_000 * turn / 0.05:.0f} ms")],
        "Deciding after each message, pruning, and choosing one view a turn.",
    )


def _bytes(lengths: Sequence[int]) -> None:
    rows = []
    for length in lengths:
        said = dicts(length, seed=3)
        text = sum(len(item["content"]) for item in said)
        tracemalloc.start()
        chat = Conversation()
        chat.extend(said)
        chat.view()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append((f"{length:,}", f"{held / length:,.0f}", f"{text / length:,.0f}"))
        del chat
    show(
        "Memory of a conversation, its texts held elsewhere (N3.1)",
        ("messages", "bytes a message", "characters a message"),
        rows,
    )


def _prefixes() -> None:
    # How much of each context a provider's prompt cache holds from the call before.
    rows = []
    for strategy in STRATEGIES:
        chat = Conversation(
            system="You help.", strategy=strategy, max_messages=10**6, context_limit=10**6
        )
        shared, whole = _shared_prefixes(chat)
        rows.append((strategy, f"{100 * shared / whole:.1f} %"))
    show(
        f"Characters of a context that were the start of the one before, {STABLE_TURNS} turns",
        ("strategy", "unchanged"),
        rows,
        f"Contexts of {STABLE_BUDGET:,} tokens, the answer added after each.",
    )


def _shared_prefixes(chat: Conversation) -> tuple[int, int]:
    shared = whole = 0
    before: list[str] = []
    said = dicts(2 * STABLE_TURNS, seed=4)
    for asked, answer in zip(said[::2], said[1::2], strict=True):
        chat.add("user", asked["content"])
        now = [str(item["content"]) for item in chat.context(budget=STABLE_BUDGET).messages]
        for old, new in zip(before, now, strict=False):
            if old != new:
                break
            shared += len(new)
        whole += sum(map(len, now))
        before = now
        chat.add("assistant", answer["content"])
    return shared, whole
