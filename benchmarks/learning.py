"""What it costs to learn from a session without a model, beside the storing of its messages."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.measure import AGAINST, Step, against, interleaved, micro, show
from benchmarks.workload import KnownVectors, talk
from memoranda import Memory, Settings

MESSAGES = 100
# Seconds that a session may take, once what reads it is loaded.
BOUND = 0.5
PLACES = ("Delft", "Bremen", "Porto", "Leeds", "Ghent", "Oslo", "Turin", "Lyon", "Bern", "Graz")
# Messages that state something, one in four; the others are made-up talk.
STATING = (
    "By the way, I moved to {place} last month and the boxes are everywhere.",
    "My sister {name} works at {name} Labs now, she likes it so far.",
    "I'm allergic to {word}, and the {word} soup was a bad idea.",
    "They pushed the {word} review back to the {day}th of March.",
    "We adopted a dog called {name}, he sleeps on my {word}.",
    "Remember that the {word} meeting is on {day} April.",
)
STORED, RULES, VECTORS = "floor: storing the messages", "learning", "learning, with vectors"


def sessions(count: int) -> list[list[str]]:
    """Return the messages of so many sessions, all different."""
    said = talk(MESSAGES * count, 0).texts
    return [
        _with_statements(said[MESSAGES * number :][:MESSAGES], number) for number in range(count)
    ]


def _with_statements(texts: list[str], number: int) -> list[str]:
    """Return the messages of a session, with statements among what the user says."""
    for place in range(0, MESSAGES, 4):
        words = [word.strip(".,?!") for word in texts[place].split()]
        texts[place] = STATING[(number + place // 4) % len(STATING)].format(
            place=PLACES[(number + place) % len(PLACES)],
            name=words[-1].title(),
            word=max(words, key=len).lower(),
            day=1 + (number + place) % 28,
        )
    return texts


def run(*, quick: bool) -> None:
    """Print the table."""
    rounds = 5 if quick else 20
    loading, *said = sessions(rounds + 2)
    started = time.perf_counter()
    _learn(loading, vectors=False)
    first = time.perf_counter() - started
    subjects: dict[str, Step] = {
        STORED: lambda number: _learn(said[number], vectors=False, end=False),
        RULES: lambda number: _learn(said[number], vectors=False),
        VECTORS: lambda number: _learn(said[number], vectors=True),
    }
    times = interleaved(subjects, rounds, warm=1)
    show(
        f"Learning from a session of {MESSAGES} messages, without a model",
        AGAINST,
        against(times[STORED], times),
        f"The first session of a process takes {micro(first)}: it loads what reads a language. "
        f"The bound of the others is {micro(BOUND)}. Each side also stores the messages.",
    )


def _learn(texts: Sequence[str], *, vectors: bool, end: bool = True) -> None:
    """Store the messages of a session, and learn from it, if that is wanted."""
    settings = Settings(embedding={"model": "none"}, notes={"in_context": False}, timezone="UTC")
    embedder = KnownVectors() if vectors else None
    with Memory(":memory:", settings=settings, embedder=embedder) as memory:
        chat = memory.conversation("session")
        for number, text in enumerate(texts):
            chat.add(("user", "assistant")[number % 2], text)
        if end:
            chat.end()
            assert memory.count(kind="fact")
