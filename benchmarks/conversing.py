"""How long it takes to build a context, and to count, in a conversation of 1,000 messages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.adding import settings
from benchmarks.measure import Step, interleaved, micro, show
from benchmarks.workload import KnownVectors, talk
from memoranda import Conversation, Memory

MESSAGES = 1_000
BUDGET = 8_000
SYSTEM = "You help with whatever comes up."


def run(*, quick: bool) -> None:
    """Print the table."""
    rounds = 30 if quick else 100
    said = talk(MESSAGES)
    embedder = KnownVectors([*said.questions])
    count = len(said.questions)
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": text}
        for place, text in enumerate(said.texts)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder, "memory.db"), settings=settings(), embedder=embedder) as memory,
    ):
        stored = memory.conversation("long", system=SYSTEM)
        stored.extend(messages)
        memory.embed_pending()
        alone = Conversation(system=SYSTEM)
        alone.extend(messages)
        subjects: dict[str, Step] = {
            "context, with recall from memory": lambda i: stored.context(
                said.questions[i % count], budget=BUDGET
            ),
            "context, in memory alone": lambda i: alone.context(
                said.questions[i % count], budget=BUDGET
            ),
            "recall": lambda i: memory.recall(said.questions[i % count]),
            "Conversation.stats, stored": lambda _: stored.stats(),
            "Memory.stats": lambda _: memory.stats(),
        }
        times = interleaved(subjects, rounds, warm=5)
    show(
        f"A conversation of {MESSAGES:,} messages, budget {BUDGET:,} tokens",
        ("", "p50", "p95"),
        [(name, micro(each.median), micro(each.p95)) for name, each in times.items()],
    )
