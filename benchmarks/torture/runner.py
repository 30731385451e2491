"""Runs the parts, each in a process of its own, and prints one table of what they found."""

from __future__ import annotations

import os
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from benchmarks.measure import show
from benchmarks.torture import crossing, kills, postgres_kills
from benchmarks.torture.figures import Figure, Task, sandbox


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the torture.

    Attributes:
        run: what it does.
        minutes: of half an hour on two cores, how many it has.
        alone: whether nothing else may run meanwhile: it uses all cores, or measures time.
    """

    run: Callable[[Task], list[Figure]]
    minutes: float
    alone: bool = False


# A new part is one more line here: a function from a task to figures. The longest come first.
PARTS: dict[str, Part] = {
    "crossing": Part(crossing.run, 5),
    "postgres": Part(postgres_kills.run, 5, alone=True),
    "kills": Part(kills.run, 8, alone=True),
}


def run(minutes: float, chosen: Sequence[str] = (), seed: int | None = None) -> bool:
    """Run all parts, or some, for about so many minutes; return whether every law held."""
    seed = random.SystemRandom().randrange(10_000) if seed is None else seed
    names = [name for name in PARTS if not chosen or name in chosen]
    print(
        f"{platform.system()}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, seed {seed}, {minutes:g} minutes"
    )
    figures = _run_parts(names, 60 * minutes, seed)
    rows = [(each.what, each.goal, each.found, _verdict(each)) for each in figures]
    show("Torture", ("what", "goal", "found", ""), rows)
    for each in figures:
        for line in each.details:
            print(f"- {each.what}: {line}")
    return all(each.held for each in figures)


def _run_parts(names: Sequence[str], seconds: float, seed: int) -> list[Figure]:
    """Run parts for about so many seconds: as many at once as there are cores, then those alone.

    Who is last has the time that others left over.
    """
    until, workers = time.monotonic() + seconds, os.cpu_count() or 1
    beside = [name for name in names if not PARTS[name].alone]
    alone = [name for name in names if PARTS[name].alone]
    spent = sum(PARTS[name].minutes for name in beside) / workers
    seconds *= spent / (spent + sum(PARTS[name].minutes for name in alone))
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        shares = [seconds * min(1.0, PARTS[name].minutes / spent) for name in beside]
        figures = list(pool.map(run_part, beside, shares, [seed] * len(beside)))
        for place, name in enumerate(alone):
            share = PARTS[name].minutes / sum(PARTS[each].minutes for each in alone[place:])
            left = share * (until - time.monotonic())
            figures.append(pool.submit(run_part, name, left, seed).result())
    return [figure for each in figures for figure in each]


def run_part(name: str, seconds: float, seed: int) -> list[Figure]:
    """Run one part for about so many seconds, in a temporary folder."""
    print(f"{name}: {seconds:.0f} s …", file=sys.stderr, flush=True)
    with sandbox() as folder:
        return PARTS[name].run(Task(folder, seed, time.monotonic() + max(1.0, seconds)))


def _verdict(figure: Figure) -> str:
    if not figure.held:
        return "**broken**"
    return "reached" if figure.reached else "missed"
