"""Time an integration beside what its framework has: ``python -m suites NAME``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

TIMES = 300


def milliseconds(operation: Callable[[int], Any], number: int) -> float:
    """Return how long an operation takes."""
    started = time.perf_counter()
    operation(number)
    return (time.perf_counter() - started) * 1_000


name = sys.argv[1]
with TemporaryDirectory(ignore_cleanup_errors=True) as place:
    timed = import_module(f"suites.{name}").speeds(Path(place) / "memory.db")
    for step, operations in timed.items():
        # In turn, so that what else the machine does slows both.
        took = [[milliseconds(each, number) for each in operations] for number in range(TIMES)]
        own, default = map(median, zip(*took, strict=True))
        print(f"{name}: {step} {own:.3f} ms, the default {default:.3f} ms, {own / default:.2f}x")
