"""Taking times so that two of them can be compared, and printing them as Markdown.

A shared machine is now fast, now slow. So what is compared takes turns in one process
(A B A B …), and of each the median counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Step = Callable[[int], object]
"""One run of what is measured; it is told which round this is."""


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of each run."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The time that half of the runs took at most (p50)."""
        return float(np.median(self.seconds))

    @property
    def p95(self) -> float:
        """The time that 95 of 100 runs took at most."""
        return float(np.percentile(self.seconds, 95))


def timed(step: Step, round_: int = 0) -> float:
    """Return the seconds of one run."""
    start = time.perf_counter()
    step(round_)
    return time.perf_counter() - start


def interleaved(subjects: Mapping[str, Step], rounds: int, *, warm: int = 0) -> dict[str, Times]:
    """Run every subject once a round, each round beginning with the next one.

    Args:
        subjects: what is measured, by name.
        rounds: how many runs of each are counted.
        warm: how many rounds before these are not. Rounds are numbered through from 0.
    """
    names = list(subjects)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warm + rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            seconds = timed(subjects[name], number)
            if number >= warm:
                taken[name].append(seconds)
    return {name: Times(tuple(seconds)) for name, seconds in taken.items()}


def micro(seconds: float) -> str:
    """Return a short time: microseconds, from ten milliseconds on milliseconds."""
    if seconds < 0.01:
        return f"{1e6 * seconds:,.0f} µs"
    return f"{1e3 * seconds:,.1f} ms"


def against(floor: Times, subjects: Mapping[str, Times]) -> list[tuple[str, ...]]:
    """Return a table row for each subject: name, p50, p95, p50 as a multiple of the floor's."""
    return [
        (name, micro(times.median), micro(times.p95), f"{times.median / floor.median:.2f}")
        for name, times in subjects.items()
    ]


def show_rates(title: str, floor: str, times: Mapping[str, Times], batch: int, note: str) -> None:
    """Print how many records a second were stored in batches, and as what share of a floor's."""
    show(
        title,
        ("", "p50 of a record", "records/s", "share of the floor's rate"),
        [
            (
                name,
                micro(each.median / batch),
                f"{batch / each.median:,.0f}",
                f"{times[floor].median / each.median:.2f}",
            )
            for name, each in times.items()
        ],
        note,
    )


AGAINST = ("", "p50", "p95", "p50 / floor")


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> None:
    """Print a Markdown table under a heading, at once, so that long runs can be followed."""
    print(f"\n### {title}\n")
    if note:
        print(f"{note}\n")
    print(f"| {' | '.join(header)} |")
    print(f"|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)
