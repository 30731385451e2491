"""A small measurement of this machine: adding, embedding, searching, in a temporary store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from memoranda.cli.command import foreground
from memoranda.errors import InvalidInput
from memoranda.memory import Memory
from memoranda.model.ports import Progress
from memoranda.settings.settings import Settings
from memoranda.store.locations import folder_place, is_folder, is_server, place

PEOPLE = ("Ana", "Bruno", "Chen", "Dalia", "Emeka", "Freja", "Goran", "Hana")
ACTS = ("likes", "bought", "lost", "recommends", "cooked", "painted", "repaired", "forgot")
THINGS = ("a blue bicycle", "lentil soup", "the old camera", "a map of Lisbon", "jazz records",
          "mountain boots", "the kitchen clock", "a tall bookshelf", "green tea")  # fmt: skip
TIMES = ("last Monday", "in April", "on a rainy day", "before the exam", "after the concert")
SINGLE = 100
TALK = 50
SEARCHES = 50
MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured.

    Attributes:
        what: what was done.
        figure: how fast.
        unit: of ``figure``.
    """

    what: str
    figure: float
    unit: str


def sentence(number: int) -> str:
    """Return the text of record ``number``: the same on every run, and no two alike."""
    return (
        f"{PEOPLE[number % 8]} {ACTS[number // 8 % 8]} {THINGS[number // 3 % 9]} "
        f"{TIMES[number // 7 % 5]}, note {number}."
    )


def measure(
    settings: Settings, records: int, progress: Progress, location: str | None = None
) -> list[Figure]:
    """Store ``records`` texts, embed them with the configured model, and search them.

    In a new store of the kind that ``location`` is.

    Raises:
        InvalidInput: that is on a server, which would keep what is stored.
    """
    where = place(location, settings)
    if is_server(where):
        message = f"{where} is a server, which is not filled to measure it; give a file or a folder"
        raise InvalidInput(message)
    kind = "folder of Chroma" if is_folder(where) else "file"
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-") as folder:
        made = folder_place(f"{folder}/bench") if is_folder(where) else Path(folder) / "bench.db"
        start = perf_counter()
        with Memory(made, user="bench", settings=foreground(settings)) as memory:
            opened = Figure(f"open a new {kind}", (perf_counter() - start) * MILLISECONDS, "ms")
            return [
                opened,
                *_adding(memory, records),
                *_embedding(memory, progress),
                *_searching(memory),
            ]


def _adding(memory: Memory, records: int) -> list[Figure]:
    texts = [sentence(number) for number in range(records)]
    singles, rest = texts[:SINGLE], texts[SINGLE:]
    one = _timed([partial(memory.remember, text) for text in singles])
    start = perf_counter()
    if rest:
        memory.remember_many(rest)
    together = perf_counter() - start
    chat = memory.conversation("bench")
    said = _timed([partial(chat.add, "user", sentence(number)) for number in range(TALK)])
    found = [
        Figure("remember, one by one", len(one) / sum(one), "records/s"),
        Figure("add a message, p50", _middle(said), "ms"),
    ]
    if rest:
        found.insert(1, Figure("remember, all together", len(rest) / together, "records/s"))
    return found


def _embedding(memory: Memory, progress: Progress) -> list[Figure]:
    start = perf_counter()
    done = memory.embed_pending(progress)
    if not done:
        return []
    return [Figure("embed, model's start included", done / (perf_counter() - start), "records/s")]


def _searching(memory: Memory) -> list[Figure]:
    memory.search(sentence(0))  # The first one reads the index into memory.
    questions = [f"who {sentence(number)}" for number in range(1, SEARCHES + 1)]
    times = _timed([partial(memory.search, question) for question in questions])
    vectors = "words only" if memory.stats().vectors.startswith("off") else "words and vectors"
    return [
        Figure(f"search, p50 ({vectors})", _middle(times), "ms"),
        Figure("search, p95", quantiles(times, n=20)[-1] * MILLISECONDS, "ms"),
    ]


def _timed(calls: Sequence[Callable[[], object]]) -> list[float]:
    times = []
    for call in calls:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return times


def _middle(times: list[float]) -> float:
    return sorted(times)[len(times) // 2] * MILLISECONDS
