"""Time an integration beside what its framework has: ``python -m suites NAME``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TIMES = 300


def milliseconds(operation: Callable[[int], Any]) -> float:
    """Return how long an operation takes, on average of many."""
    started = time.perf_counter()
    for number in range(TIMES):
        operation(number)
    return (time.perf_counter() - started) / TIMES * 1_000


name = sys.argv[1]
with TemporaryDirectory(ignore_cleanup_errors=True) as place:
    timed = import_module(f"suites.{name}").speeds(Path(place) / "memory.db")
    for step, (ours, theirs) in timed.items():
        own, default = milliseconds(ours), milliseconds(theirs)
        print(f"{name}: {step} {own:.2f} ms, the default {default:.2f} ms")
