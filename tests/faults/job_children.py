"""Processes that run one job of upkeep on a file, and tell of every transaction of it.

A parent that has imported everything forks a child for each job it is asked for, so that a kill
costs no new start. What is told: ``pid N``, then ``begin`` and ``end`` of each transaction, and
last, by the parent, ``over``.
"""

import json
import os
import sys
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from memoranda import Memory, Settings
from memoranda.entities.rules import RuleExtractor
from memoranda.model.models import Mention
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder


class SlowNames:
    """An accurate provider: every word in capitals is a project."""

    def extract(self, text):
        """Return the words in capitals."""
        return [
            Mention(word, "project", text.index(word), text.index(word) + len(word), 0.9)
            for word in text.split()
            if word.isupper()
        ]


def tell(text):
    """Tell the test, which may be waiting for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Telling:
    """A store that tells when a transaction begins and when it has ended."""

    def __init__(self, store):
        """Pass all on to ``store``."""
        self._store = store

    def __getattr__(self, name):
        """Return what the store has."""
        return getattr(self._store, name)

    @contextmanager
    def write(self, scope, **how):
        """Open a unit of work, and tell."""
        tell("begin")
        with self._store.write(scope, **how) as tx:
            yield tx
        tell("end")

    def apply(self, scope, changes, **how):
        """Carry out changes in a unit of work of their own."""
        with self.write(scope, **how) as tx:
            return tx.carry_out(changes)

    def claim(self, name, holder, **times):
        """Take a claim, and tell."""
        tell("begin")
        taken = self._store.claim(name, holder, **times)
        tell("end")
        return taken


def opened(path, moment):
    """Return Ana's memory of a file at a moment that stands still."""
    settings = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        retention={"episode": "5d"},
    )
    clock = FrozenClock(datetime.fromisoformat(moment))
    memory = Memory(path, user="ana", settings=settings, embedder=HashEmbedder(), clock=clock)
    providers = {"regex": RuleExtractor(), "spacy": SlowNames()}
    memory._services.providers = providers
    return memory


def work(memory, job):
    """Do the job until there is nothing more to do; return the last report."""
    report = memory.maintain([job]).stages[0]
    while job == "enrich" and report.count:
        report = memory.maintain([job]).stages[0]
    return report


def run(path, job, moment):
    """Do a job in a process of its own."""
    tell(f"pid {os.getpid()}")
    memory = opened(path, moment)
    memory._services.store = Telling(memory._services.store)
    work(memory, job)
    memory.close()


def serve():
    """Fork a child for each line of input."""
    for line in sys.stdin:
        path, *how = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                run(Path(path), *how)
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.waitpid(child, 0)
        tell("over")


if __name__ == "__main__":
    os.environ["MEMORANDA_CONFIG"] = os.devnull + ".toml"
    serve()
