"""Processes that keep notes, at once, or each to be killed at a step of it.

Without a role it forks children: for each line of input, ``[path, job, step]`` as JSON, a child
of its own does the job. Steps are the calls to the operating system by which files change, and the
transactions of the store. The answer is ``killed``, or ``done N …`` with the number of steps, and
which of them are transactions.
"""

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

CALLS = ("write", "fsync", "replace", "unlink", "mkdir", "ftruncate")
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ROUNDS = 8
TALK = "I live in Porto. I have a dog named Rex, work for Acme and am allergic to peanuts."


class ProgressCounter:
    """Counts steps, and is killed before the one that is to be the last."""

    def __init__(self, last):
        """Live until step number ``last``, from 0; for ever, if it is below 0."""
        self.last, self.made, self.transactions = last, 0, []

    def step(self):
        """Go one step on, or be killed."""
        if self.made == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.made += 1

    def told(self):
        """Return how many there were, and which of them were transactions."""
        return " ".join(map(str, [self.made, *self.transactions]))

    def watching(self, call):
        """Return a call that is a step."""

        def stepped(*arguments, **options):
            self.step()
            return call(*arguments, **options)

        return stepped


def watch_store(store, steps):
    """Make each transaction of ``store`` a step, and what comes right after it another."""
    write = store.write

    @contextmanager
    def write_in_steps(scope, **how):
        steps.transactions.append(steps.made)
        steps.step()
        with write(scope, **how) as tx:
            yield tx

    store.write = write_in_steps


def opened(path):
    """Return Ana's memory of a file, at a moment that stands still."""
    chosen = Settings(
        timezone="UTC", embedding={"background": False}, consolidation={"automatic": False}
    )
    clock = FrozenClock(START)
    return Memory(path, user="ana", settings=chosen, embedder=HashEmbedder(), clock=clock)


def work(memory, job):
    """Do a job."""
    if job == "sync":
        memory.notes.sync()
    elif job == "consolidate":
        memory.consolidate()
    elif job == "write":
        memory.notes.write_memory("# Memory\n\n- Ana sails.\n- Zoe paints.\n")
    else:
        found = [r for r in memory.records(kind="episode", limit=10_000) if "Porto" in r.content]
        for record in found:
            memory.forget(record.id, erase=True)


def run(path, job, last):
    """Do the job in this process, up to a step; return what the steps were."""
    memory = opened(path)
    steps = ProgressCounter(last)
    watch_store(memory._services.store, steps)
    kept = {name: getattr(os, name) for name in CALLS}
    for name, call in kept.items():
        setattr(os, name, steps.watching(call))
    work(memory, job)
    for name, call in kept.items():
        setattr(os, name, call)
    memory.close()
    return steps.told()


def tell(text):
    """Tell the test."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def warm_up():
    """Learn once, so that the children that are forked need not load what reads a language."""
    memory = opened(":memory:")
    chat = memory.conversation("first")
    chat.add("user", TALK)
    memory.consolidate()
    memory.close()
    assert threading.active_count() == 1


def serve():
    """Fork a child for each line of input."""
    warm_up()
    for line in sys.stdin:
        path, job, last = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            made = run(path, job, last)
            os.write(writing, made.encode())
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading) as pipe:
            told = pipe.read()
        tell("killed" if os.WIFSIGNALED(status) else f"done {told}")


def wait_for_start():
    """Say that all is imported, and wait until the others are ready, too."""
    tell("ready")
    sys.stdin.readline()


def keeper(path, name):
    """Remember, consolidate and sync, again and again."""
    wait_for_start()
    memory = opened(path)
    for turn in range(ROUNDS):
        memory.remember(f"{name} has seen {turn}.")
        memory.consolidate(f"s{turn % 6}")
        memory.notes.sync()
    memory.consolidate()
    memory.close()


if __name__ == "__main__":
    os.environ["MEMORANDA_CONFIG"] = os.devnull + ".toml"
    if sys.argv[1:]:
        keeper(*sys.argv[2:])
    else:
        serve()
