"""Writers that are killed with ``kill -9`` at random moments, on a file of SQLite.

Eight processes write for four users, and one more searches all the while. ``postgres_kills`` does
the same on PostgreSQL, whose server is killed, too.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from benchmarks.torture import writers
from benchmarks.torture.checking import (
    Explain,
    Findings,
    Line,
    check_user,
    problems,
    read_log,
    unexplained,
)
from benchmarks.torture.figures import Figure, Task
from benchmarks.torture.writers import Role, open_memory

USERS = ("ana", "ben", "cleo", "dan")
PROCESSES = 8
ROLES = [(f"w{number}", USERS[number % len(USERS)]) for number in range(PROCESSES)]
"""Name and user of each process that writes."""
GOAL_WRITES = 100_000
GOAL_P99 = 0.5
GOAL = "0 lost, 0 errors"
# Seconds from one kill to the next.
PAUSE = (0.1, 1.0)
SHOWN = 8
KILLED = (0, -9)


@dataclass(slots=True)
class _Running:
    """A writer as it is now, and how to start it anew."""

    start: Callable[[int], BaseProcess]
    process: BaseProcess
    lives: int = 1


def run(task: Task) -> list[Figure]:
    """Return what became of eight writers on one file, and how long searches took meanwhile."""
    file = str(task.folder / "memory.db")
    for user in USERS:  # The searching process opens a file that is there.
        open_memory(file, user).close()
    ended = kill_beside_searches(task, file, least=3.0)
    found = checked(file, task.folder, ROLES)
    searches = ended.join(found)
    return [
        figure_of(f"kill -9, {PROCESSES} processes on SQLite", ended.kills, found),
        search_figure(searches),
    ]


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of processes that were killed.

    Attributes:
        kills: how many there were.
        wrong: who ended in another way.
        searches: what the one that searched meanwhile logged.
    """

    kills: int
    wrong: Sequence[str]
    searches: Sequence[Line]

    def join(self, found: Findings, explain: Explain = unexplained) -> list[Line]:
        """Add what went wrong to what was found; return the searches that did not."""
        found.errors += self.wrong
        for line in self.searches:
            if "error" in line:
                found.add_error(line, explain)
        return [line for line in self.searches if "error" not in line]


def kill_beside_searches(
    task: Task,
    location: str,
    beside: AbstractContextManager[object] | None = None,
    least: float = 0.0,
) -> Ended:
    """Let eight processes write and be killed beside one that searches, for most of the time.

    Args:
        task: where they log, how long, and the seed of it all.
        location: of the store.
        beside: what is entered when the first of them runs, and left when all are killed.
        least: seconds that they have at least.
    """
    log = task.folder / "search.log"
    with forked() as context:
        role = Role(location, USERS[0], "searcher", 0, log, task.seed)
        searching = context.Process(target=writers.search, args=(role, list(USERS)), daemon=True)
        searching.start()  # It returns when all is loaded, which takes seconds.
        # To check it all takes about a fifth of the time that writing it took.
        until = time.monotonic() + max(least, 0.8 * task.left)
        with beside or nullcontext():
            kills, wrong = _kill(context, task, location, ROLES, until)
            if not searching.is_alive():
                wrong.append("the searching process died")
            searching.kill()
            searching.join()
    return Ended(kills, wrong, read_log(log))


@contextmanager
def forked() -> Iterator[ForkServerContext]:
    """Give what forks processes of one that has loaded everything, so that a start costs little."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.torture.warm"])
    try:
        yield context
    finally:  # It would run on for as long as this process. Nothing public stops it.
        forkserver._forkserver._stop()  # type: ignore[attr-defined]  # noqa: SLF001


def _kill(
    context: ForkServerContext,
    task: Task,
    location: str,
    roles: Sequence[tuple[str, str]],
    until: float,
) -> tuple[int, list[str]]:
    """Kill writers and start them anew until the time is up; return how often, and wrong ends.

    Args:
        context: forks them.
        task: where they log, and the seed of it all.
        location: of the store.
        roles: name and user of each.
        until: when all of them are killed.
    """
    rng = random.Random(task.seed)  # noqa: S311 - no secret

    def starter(name: str, user: str) -> Callable[[int], BaseProcess]:
        def start(life: int) -> BaseProcess:
            log = task.folder / f"{name}.log"
            role = Role(location, user, name, life, log, task.seed)
            process = context.Process(target=writers.write, args=(role,), daemon=True)
            process.start()
            return process

        return start

    running = []
    for name, user in roles:
        start = starter(name, user)
        running.append(_Running(start, start(0)))
    kills, wrong = 0, []
    while time.monotonic() < until:
        time.sleep(min(rng.uniform(*PAUSE), max(0.0, until - time.monotonic())))
        victim = rng.choice(running)
        wrong += _end(victim.process)
        kills += 1
        victim.process = victim.start(victim.lives)
        victim.lives += 1
    for each in running:
        wrong += _end(each.process)
    return kills + len(running), wrong


def _end(process: BaseProcess) -> list[str]:
    """Kill a process; say so if it had ended by itself."""
    code = process.exitcode
    with suppress(ProcessLookupError):
        process.kill()
    process.join()
    return [] if code is None else [f"a writer ended by itself with {code}"]


def checked(
    location: str, folder: Path, roles: Sequence[tuple[str, str]], explain: Explain = unexplained
) -> Findings:
    """Return what the logs of writers acknowledged, and what of it is lost."""
    found = Findings()
    with open_memory(location, roles[0][1]) as memory:
        found.errors += problems(memory)
        for user in sorted({user for _, user in roles}):
            logs = [read_log(folder / f"{name}.log") for name, of in roles if of == user]
            found.join(check_user(memory.as_user(user), logs, explain))
    return found


def figure_of(what: str, kills: int, found: Findings, least: int = GOAL_WRITES) -> Figure:
    """Return how many writes were acknowledged, ``least`` if all goes well, and their fate."""
    writes = found.acknowledged.total()
    verbs = ", ".join(f"{verb} {number:,}" for verb, number in found.acknowledged.most_common())
    causes = tuple(f"{number:,} x {why}" for why, number in found.explained.most_common())
    explained = f", {found.explained.total():,} explained" if causes else ""
    return Figure(
        what,
        f"{least:,} acknowledged, {GOAL}" if least else GOAL,
        f"{kills:,} kills, {writes:,} acknowledged, {len(found.lost):,} lost, "
        f"{len(found.errors):,} errors{explained}",
        held=not found.lost and not found.errors,
        reached=writes >= least,
        details=(verbs, *causes, *found.lost[:SHOWN], *found.errors[:SHOWN]),
    )


def search_figure(searches: Sequence[Line]) -> Figure:
    """Return how long searches took."""
    seconds = np.array([line["seconds"] for line in searches] or [0.0])
    cpu = np.array([line["cpu"] for line in searches] or [0.0])
    p50, p99, worst = np.percentile(1e3 * seconds, (50, 99, 100))
    own = np.percentile(1e3 * cpu, 99)
    return Figure(
        "a search meanwhile",
        f"p99 <= {GOAL_P99 * 1e3:.0f} ms",
        f"{len(searches):,} searches, p50 {p50:.0f} ms, p99 {p99:.0f} ms, worst {worst:,.0f} ms "
        f"(p99 of the processor's time: {own:.0f} ms)",
        held=bool(searches),
        reached=bool(searches) and bool(p99 <= GOAL_P99 * 1e3),
    )
