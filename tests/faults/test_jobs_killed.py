"""Each job of upkeep, stopped at any transaction: nothing is lost, and nothing done twice."""

from __future__ import annotations

import json
import random
import re
import shutil
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from goldens import number_ids
from noting import by_hand, clock_of
from session_script import export_lines

from memoranda.entities.rules import RuleExtractor
from memoranda.model.models import Mention

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
STOPS = 2
JOBS = ("consolidate", "decay", "expire", "enrich", "reflect")
TOWNS = ("Porto", "Lisbon", "Rome", "Oslo", "Paris", "Vienna", "Madrid", "Berlin", "Bern", "Riga")
TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*"')
LEASE = timedelta(minutes=11)


class ProcessKilledError(BaseException):
    """The end of a process, which no handler of errors catches."""


class CapitalNames:
    """An accurate provider: every word in capitals is a project."""

    def extract(self, text):
        """Return the words in capitals."""
        return [
            Mention(word, "project", text.index(word), text.index(word) + len(word), 0.9)
            for word in text.split()
            if word.isupper()
        ]


def count_transactions(store, last=None):
    """Return the list that gets each transaction of ``store``; stop before number ``last``."""
    write, begun = store.write, []

    @contextmanager
    def write_or_stop(scope, **how):
        begun.append(scope)
        if len(begun) - 1 == last:
            raise ProcessKilledError
        with write(scope, **how) as tx:
            yield tx

    store.write = write_or_stop
    return begun


def opened(path, moment):
    """Return Ana's memory of a file at a moment that stands still."""
    memory = by_hand(path, retention={"episode": "5d"})
    clock_of(memory).set(moment)
    memory._services.providers = {"regex": RuleExtractor(), "spacy": CapitalNames()}
    return memory


def work(memory, job):
    """Do the job until there is nothing more to do; return the last report."""
    report = memory.maintain([job]).stages[0]
    while job == "enrich" and report.count:
        report = memory.maintain([job]).stages[0]
    return report


def filled(memory, job, clock):
    """Put into a memory what the job has to do with."""
    if job == "consolidate":
        for session in range(2):
            chat = memory.conversation(f"s{session}")
            turns = [f"Turn {number} of {session} is noted." for number in range(35)]
            for number, town in enumerate(TOWNS):
                turns[3 * number] = f"My friend {town}a lives in {town}."
            turns[33:] = [f"I live in {TOWNS[session]}.", "I have a dog named Rex."]
            chat.extend([{"role": "user", "content": turn} for turn in turns])
            clock.advance(DAY)
    elif job in {"decay", "expire"}:
        rates = {"decay_rate": 0.1} if job == "decay" else {"kind": "episode", "session": "s"}
        for part in range(2):
            memory.remember_many(
                {"content": f"note {part} {number} on tea", **rates} for number in range(260)
            )
            clock.advance(20 * DAY)
    elif job == "enrich":
        memory.remember_many(f"note {number} is about ALPHA and beta" for number in range(170))
    else:
        memory.remember_many(f"Marta has read chapter {number} of it." for number in range(5))


def state(memory, folder):
    """Return all that a memory holds with its history, ids and moments apart."""
    lines = json.dumps(export_lines(memory, folder / "export"), sort_keys=True)
    entities = {item.name: (item.type, item.mention_count) for item in memory.entities(limit=9_999)}
    return TIME.sub('"…"', number_ids(lines)), entities


@pytest.mark.parametrize("job", JOBS)
def test_a_killed_job_is_finished_by_the_next_run(tmp_path, job):
    """Stopped before any of its transactions: after the next run all is as after a quiet one."""
    full, quiet = tmp_path / "full.db", tmp_path / "quiet.db"
    with closing(opened(full, NOW)) as memory:
        filled(memory, job, memory._services.clock.source)
        memory.backup(quiet)
        moment = memory._services.clock.source.now()
    shutil.copy(quiet, full)
    with closing(opened(quiet, moment)) as memory:
        begun = count_transactions(memory._services.store)
        work(memory, job)
        count = len(begun)
        whole = state(memory, tmp_path)
        assert work(memory, job).count == 0
        assert state(memory, tmp_path) == whole
    dice = random.Random(f"{job} 7")  # noqa: S311 - no secret
    for place in sorted(dice.sample(range(count), min(STOPS, count))):
        path = tmp_path / f"stopped{place}.db"
        shutil.copy(full, path)
        with closing(opened(path, moment)) as memory:
            count_transactions(memory._services.store, place)
            with pytest.raises(ProcessKilledError):
                work(memory, job)
        with closing(opened(path, moment + (LEASE if job == "reflect" else timedelta()))) as memory:
            assert memory.verify() == []
            work(memory, job)
            assert state(memory, tmp_path) == whole
            assert work(memory, job).count == 0
            assert memory.verify() == []
