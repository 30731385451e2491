"""``kill -9`` in the middle of each job of upkeep: nothing is lost, and nothing done twice."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter, defaultdict
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

CHILDREN = Path(__file__).parent / "job_children.py"
pytestmark = pytest.mark.usefixtures("no_settings")
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
KILLS = 2
JOBS = ("consolidate", "decay", "expire", "enrich", "reflect")
TOWNS = ("Porto", "Lisbon", "Rome", "Oslo", "Paris", "Vienna", "Madrid", "Berlin", "Bern", "Riga")
BESIDE = {"since", "until"}  # metadata that hold ids and times
LEASE = timedelta(minutes=11)


def told(parent, path, job, moment, *, kill_after=None):
    """Have a job done, killing it after so many lines; return the lines."""
    parent.stdin.write(json.dumps([str(path), job, moment.isoformat()]) + "\n")
    parent.stdin.flush()
    pid = int(parent.stdout.readline().removeprefix("pid "))
    lines = []
    while (line := parent.stdout.readline().strip()) != "over":
        assert line, "the children are gone"
        lines.append(line)
        if len(lines) == kill_after:
            with suppress(ProcessLookupError):  # After its last line it may have ended by itself.
                os.kill(pid, signal.SIGKILL)
    return lines


def said(number, session):
    """Return what is said in one turn."""
    town = TOWNS[number % 10]
    if number % 15 == 4:
        return "user", f"My friend {town}a{number} lives in {town}."
    if number == 30:
        return "user", f"I live in {TOWNS[session]}."
    if number == 50:
        return "user", "I have a dog named Rex."
    return "assistant", f"Turn {number} of {session} is noted."


def filled(memory, job, clock):
    """Put into a memory what the job has to do with."""
    if job == "consolidate":
        for session in range(3):
            chat = memory.conversation(f"s{session}")
            chat.extend(
                [
                    {"role": role, "content": text}
                    for role, text in (said(number, session) for number in range(65))
                ]
            )
            clock.advance(DAY)
    elif job in {"decay", "expire"}:
        rates = {"decay_rate": 0.1} if job == "decay" else {"kind": "episode", "session": "s"}
        for part in range(4):
            memory.remember_many(
                {"content": f"note {part} {number} on tea", **rates} for number in range(260)
            )
            clock.advance(10 * DAY)
    elif job == "enrich":
        memory.remember_many(f"note {number} is about ALPHA and beta" for number in range(170))
    else:
        memory.remember_many(f"Marta has read chapter {number} of it." for number in range(5))


@pytest.fixture(scope="module")
def files(children, tmp_path_factory):
    """Return for each job a file with work for it, and the moment at which that is due."""
    folder, found = tmp_path_factory.mktemp("jobs"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMORANDA_CONFIG", str(folder / "no-config.toml"))
        for job in JOBS:
            with closing(children.opened(folder / f"{job}.db", NOW.isoformat())) as memory:
                clock = memory._services.clock.source
                filled(memory, job, clock)
                memory.backup(folder / f"{job}-full.db")
                found[job] = folder / f"{job}-full.db", clock.now()
    return found


def copied(files, job, path):
    """Copy the file with work for a job; return the moment."""
    full, moment = files[job]
    path.write_bytes(full.read_bytes())
    return moment


def state(memory):
    """Return all that a memory holds, ids and moments apart."""
    records, history = everything(memory)
    text = {id_: f"{item.kind}:{item.content}" for id_, item in records.items()}
    rows = Counter(
        (
            text[item.id],
            item.session_id,
            item.position,
            round(item.confidence, 9),
            item.decay_rate,
            item.access_count,
            item.valid_until is None,
            item.superseded_by and text[item.superseded_by],
            tuple(sorted(text[source] for source in item.source_ids)),
            item.tags,
            tuple(sorted((k, str(v)) for k, v in item.metadata.items() if k not in BESIDE)),
            tuple(sorted(BESIDE & item.metadata.keys())),
            tuple(history[item.id]),
        )
        for item in records.values()
    )
    entities = {item.name: (item.type, item.mention_count) for item in memory.entities(limit=9_999)}
    sessions = [(s.id, s.through, s.consolidated_at is None) for s in memory.sessions()]
    return rows, entities, sessions


def everything(memory):
    """Return all records by id, also those that are no longer believed, and what was done."""
    store, scope = memory._services.store, memory._scope
    history = defaultdict(list)
    with store.read() as connection:
        for record, reason in connection.all("SELECT id, reason FROM records ORDER BY key"):
            history[record].append(("insert", reason))
        changes = "SELECT record_id, action, reason FROM history ORDER BY key"
        for record, action, reason in connection.all(changes):
            history[record].append((action, reason))
    return store.get(scope, list(history)), history


@pytest.mark.parametrize("job", JOBS)
def test_a_killed_job_is_finished_by_the_next_run(children, parent, files, tmp_path, job):
    """Killed after any of its transactions, or within one: the end is that of a quiet run."""
    quiet = tmp_path / "quiet.db"
    moment = copied(files, job, quiet)
    lines = told(parent, quiet, job, moment)
    with closing(children.opened(quiet, moment.isoformat())) as memory:
        whole = state(memory)
        assert memory.verify() == []
        assert children.work(memory, job).count == 0
        assert state(memory) == whole
    assert lines.count("begin") == lines.count("end") >= 3
    dice = random.Random(f"{job} 7")  # noqa: S311 - no secret
    moments = sorted(dice.sample(range(1, len(lines) + 1), min(KILLS, len(lines))))
    for place in moments:
        path = tmp_path / f"killed{place}.db"
        copied(files, job, path)
        done = told(parent, path, job, moment, kill_after=place)
        assert place <= len(done) <= len(lines)
        later = moment + (LEASE if job == "reflect" else timedelta())
        with closing(children.opened(path, later.isoformat())) as memory:
            assert memory.verify() == []
            children.work(memory, job)
            assert state(memory) == whole
            assert children.work(memory, job).count == 0
            assert state(memory) == whole
            assert memory.verify() == []
            if place == moments[-1]:
                assert memory.rebuild() == []
