"""Time an integration beside what its framework has: ``python -m suites NAME``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memoranda import Memory, Settings

TIMES = 300


def milliseconds(operation: Callable[[int], Any]) -> float:
    """Return how long an operation takes, on average of many."""
    started = time.perf_counter()
    for number in range(TIMES):
        operation(number)
    return (time.perf_counter() - started) / TIMES * 1_000


name = sys.argv[1]
with TemporaryDirectory() as place:
    wordless = Settings(embedding={"model": "none"})
    with Memory(Path(place) / "memory.db", settings=wordless) as memory:
        for step, (ours, theirs) in import_module(f"suites.{name}").speeds(memory).items():
            own, default = milliseconds(ours), milliseconds(theirs)
            print(f"{name}: {step} {own:.2f} ms, the default {default:.2f} ms")
