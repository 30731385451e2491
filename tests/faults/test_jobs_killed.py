"""Each job of upkeep, stopped at any transaction: nothing is lost, and nothing done twice."""

from __future__ import annotations

import random
import shutil
from collections import Counter, defaultdict
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory, Settings
from memoranda.entities.rules import RuleExtractor
from memoranda.model.models import Mention
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

pytestmark = pytest.mark.usefixtures("no_settings")
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
STOPS = 2
JOBS = ("consolidate", "decay", "expire", "enrich", "reflect")
TOWNS = ("Porto", "Lisbon", "Rome", "Oslo", "Paris", "Vienna", "Madrid", "Berlin", "Bern", "Riga")
BESIDE = {"since", "until"}  # metadata that hold ids and times
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
    settings = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        retention={"episode": "5d"},
    )
    clock = FrozenClock(moment)
    memory = Memory(path, user="ana", settings=settings, embedder=HashEmbedder(), clock=clock)
    memory._services.providers = {"regex": RuleExtractor(), "spacy": CapitalNames()}
    return memory


def work(memory, job):
    """Do the job until there is nothing more to do; return the last report."""
    report = memory.maintain([job]).stages[0]
    while job == "enrich" and report.count:
        report = memory.maintain([job]).stages[0]
    return report


def said(number, session):
    """Return what is said in one turn."""
    town = TOWNS[number % 10]
    if number % 15 == 4:
        return "user", f"My friend {town}a{number} lives in {town}."
    if number == 30:
        return "user", f"I live in {TOWNS[session]}."
    if number == 32:
        return "user", "I have a dog named Rex."
    return "assistant", f"Turn {number} of {session} is noted."


def filled(memory, job, clock):
    """Put into a memory what the job has to do with."""
    if job == "consolidate":
        for session in range(2):
            chat = memory.conversation(f"s{session}")
            chat.extend(
                [
                    {"role": role, "content": text}
                    for role, text in (said(number, session) for number in range(35))
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
        whole = state(memory)
        assert work(memory, job).count == 0
        assert state(memory) == whole
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
            assert state(memory) == whole
            assert work(memory, job).count == 0
            assert memory.verify() == []
