"""How long it takes to add: one at a time, and in batches."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.floors import RawAdd
from benchmarks.measure import AGAINST, Step, Times, against, interleaved, show, show_rates
from benchmarks.workload import talk
from memoranda import Memory, Settings
from memoranda.errors import MemorandaError

BATCH = 500
FLOOR = "floor: row + FTS5 row"
SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
TARGETS = "Target: within 3 of the floor at the median."


def run(*, quick: bool) -> None:
    """Print the tables."""
    rounds = 300 if quick else 1_500
    texts = list(talk(3 * rounds).texts)
    for durability, synchronous in SYNCHRONOUS.items():
        times = _single(texts, rounds, durability)
        show(
            f'Single add, durability="{durability}" (synchronous = {synchronous})',
            AGAINST,
            against(times[FLOOR], times),
            f"One durable commit each. {TARGETS}",
        )
    _background(texts, rounds)
    _bulk(quick=quick)


def settings(*, model: str = "none", durability: str = "process") -> Settings:
    """Return settings that depend on no file and no environment."""
    return Settings(embedding={"model": model}, storage={"durability": durability}, timezone="UTC")


def _single(texts: list[str], rounds: int, durability: str) -> dict[str, Times]:
    with tempfile.TemporaryDirectory() as folder:
        raw = RawAdd(Path(folder, "raw.db"), synchronous=SYNCHRONOUS[durability])
        with Memory(Path(folder, "memory.db"), settings=settings(durability=durability)) as memory:
            chat = memory.conversation("chat")
            subjects: dict[str, Step] = {
                FLOOR: lambda i: raw.add(texts[i]),
                "Memory.remember": lambda i: memory.remember(texts[i]),
                "Conversation.add": lambda i: chat.add("user", texts[i]),
            }
            times = interleaved(subjects, rounds, warm=rounds // 5)
        raw.close()
        return times


def _background(texts: list[str], rounds: int) -> None:
    """Add while the local model embeds what came before, on the other core."""
    with tempfile.TemporaryDirectory() as folder:
        raw = RawAdd(Path(folder, "raw.db"), synchronous="NORMAL")
        try:
            memory = Memory(Path(folder, "memory.db"), settings=settings(model="local"))
        except MemorandaError as error:
            print(f"\nAdding with embedding in the background: left out, {error}\n")
            return
        memory.search("load the model")
        with memory:
            subjects: dict[str, Step] = {
                FLOOR: lambda i: raw.add(texts[i]),
                "Memory.remember": lambda i: memory.remember(texts[i]),
            }
            times = interleaved(subjects, rounds, warm=rounds // 5)
        raw.close()
    show(
        "Single add while a thread embeds in the background",
        AGAINST,
        against(times[FLOOR], times),
        "The floor in the same process is disturbed, too.",
    )


def _bulk(*, quick: bool) -> None:
    rounds = 4 if quick else 16
    texts = list(talk((rounds + 1) * BATCH, seed=1).texts)
    with tempfile.TemporaryDirectory() as folder:
        raw = RawAdd(Path(folder, "raw.db"), synchronous="NORMAL")
        with Memory(Path(folder, "memory.db"), settings=settings()) as memory:
            floor, ours = f"floor: executemany, {BATCH} rows", f"remember_many, {BATCH} records"
            times = interleaved(
                {
                    floor: lambda i: raw.add_many(texts[i * BATCH : (i + 1) * BATCH]),
                    ours: lambda i: memory.remember_many(texts[i * BATCH : (i + 1) * BATCH]),
                },
                rounds,
                warm=1,
            )
        raw.close()
    show_rates(
        "Bulk add, one transaction a batch",
        floor,
        times,
        BATCH,
        "Target: at least 0.5 of the floor's rate.",
    )
