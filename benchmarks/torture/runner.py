"""Runs the parts, one after another, and prints one table of what they found."""

from __future__ import annotations

import os
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.measure import show
from benchmarks.torture import crossing, failing, fuzzing, kills, long_texts, pumping
from benchmarks.torture.figures import Figure, Task, sandbox


@dataclass(frozen=True, slots=True)
class Part:
    """A part: what it does, and its share of the time."""

    run: Callable[[Task], list[Figure]]
    share: float


# A new part is one more line here: a function from a task to figures.
PARTS: dict[str, Part] = {
    "kills": Part(kills.run, 8),
    "failing": Part(failing.run, 3),
    "crossing": Part(crossing.run, 3),
    "fuzzing": Part(fuzzing.run, 3),
    "patterns": Part(pumping.run, 2),
    "texts": Part(long_texts.run, 2),
}


def run(minutes: float, chosen: Sequence[str] = (), seed: int | None = None) -> bool:
    """Run all parts, or some, for about so many minutes; return whether every law held."""
    seed = random.SystemRandom().randrange(10_000) if seed is None else seed
    names = [name for name in PARTS if not chosen or name in chosen]
    print(
        f"{platform.system()}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, seed {seed}, {minutes:g} minutes"
    )
    figures: list[Figure] = []
    began = time.monotonic()
    for number, name in enumerate(names):
        rest = sum(PARTS[each].share for each in names[number:])
        left = 60 * minutes - (time.monotonic() - began)
        figures += run_part(name, max(1.0, left * PARTS[name].share / rest), seed)
    rows = [(each.what, each.goal, each.found, _verdict(each)) for each in figures]
    show("Torture", ("what", "goal", "found", ""), rows)
    for each in figures:
        for line in each.details:
            print(f"- {each.what}: {line}")
    return all(each.held for each in figures)


def run_part(name: str, seconds: float, seed: int) -> list[Figure]:
    """Run one part for about so many seconds, in a temporary folder."""
    print(f"{name}: {seconds:.0f} s …", file=sys.stderr, flush=True)
    with sandbox() as folder:
        return PARTS[name].run(Task(folder, seed, time.monotonic() + seconds))


def _verdict(figure: Figure) -> str:
    if not figure.held:
        return "**broken**"
    return "reached" if figure.reached else "missed"
