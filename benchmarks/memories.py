"""The memory that a process takes with many open memories that share the local model."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from benchmarks.measure import show

OPEN = """
import gc, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from memoranda import Memory

def resident(name="VmRSS"):
    return int(Path("/proc/self/status").read_text().partition(name + ":")[2].split()[0]) / 1024

folder, count = Path(sys.argv[1]), int(sys.argv[2])

def use(number):
    memory = Memory(folder / f"{number}.db", user=f"user{number}")
    for day in range(10):
        memory.remember(f"On day {day} user {number} paid {day} euros for lunch.")
    assert memory.search("What did lunch cost?")
    return memory

print(resident())
memories = [use(0)]
print(resident())
with ThreadPoolExecutor(8) as pool:
    memories += pool.map(use, range(1, count))
print(resident())
for memory in memories:
    memory.close()
del memories, memory
gc.collect()
print(resident())
print(resident("VmHWM"))
"""
STATES = ("imported", "one memory open", "{count} open", "all closed", "most at any time")


def run(*, quick: bool) -> None:
    """Print the table. Reads Linux's own figures of the process."""
    count = 10 if quick else 50
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", OPEN, folder, str(count)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    sizes = [float(line) for line in done.stdout.split()]
    rows = [
        (state.format(count=count), f"{size:,.0f} MB")
        for state, size in zip(STATES, sizes, strict=True)
    ]
    show("Open memories with the local model in one process", ("", "resident"), rows)


if __name__ == "__main__":
    run(quick="--quick" in sys.argv[1:])
