"""Workers on one PostgreSQL server divide the work, and what one leaves undone others do."""

import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from postgres_server import new_database

from memoranda import Memory, Settings
from memoranda.derivations import BATCH
from memoranda.memory import services_of
from memoranda.model.ports import VECTORS
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

CHILDREN = Path(__file__).with_name("worker_children.py")
TOWNS = ("Porto", "Lisbon", "Rome", "Oslo", "Paris", "Vienna")
PATIENCE = 60
pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture
def memory(postgres):
    """Give a memory in a new database, in which nothing is done by itself."""
    quiet = {"embedding": {"background": False}, "consolidation": {"automatic": False}}
    location = new_database(postgres)
    with closing(Memory(location, settings=Settings(**quiet), embedder=HashEmbedder())) as memory:
        memory.location = location
        yield memory


@pytest.fixture
def begin(memory):
    """Start workers in a role; return those that run."""
    started = []

    def start(role, count=1, lease=60):
        for _ in range(count):
            command = [sys.executable, "-W", "error", CHILDREN, role, memory.location, str(lease)]
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            started.append(process)
        return started[-count:]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def told(process):
    """Return the words of the next line of a worker, which waits there."""
    return process.stdout.readline().removesuffix("\n").split("\t")


def let_go(process):
    """Let a worker go on, here and wherever it would wait next."""
    process.stdin.close()


def until(reached):
    """Wait until something is so."""
    since = monotonic()
    while not reached():
        assert monotonic() - since < PATIENCE
        Event().wait(0.05)


def ended(processes):
    """Tell workers to end; return what they still told."""
    for each in processes:
        each.send_signal(signal.SIGTERM)
    return rest_of(processes)


def rest_of(processes):
    """Return what workers still tell who were told to end."""
    rest = [each.stdout.read().splitlines() for each in processes]
    assert [each.wait(PATIENCE) for each in processes] == [0] * len(processes)
    lines = [line.split("\t") for line in chain.from_iterable(rest)]
    return [line for line in lines if line != ["ends"]]  # What they say at the signal.


def store(memory, users, each):
    """Store so many records for so many users; return their texts."""
    texts = [[f"{user} knows of {number}" for number in range(each)] for user in range(users)]
    for user, own in enumerate(texts):
        memory.as_user(f"user {user}").remember_many(own)
    return list(chain.from_iterable(texts))


def test_each_record_is_derived_by_one_worker(memory, begin):
    """Three hold batches of their own at once, and all together embed each text once."""
    texts = store(memory, users=7, each=20)
    workers = begin("derives", 3)
    batches = [told(each) for each in workers]
    assert [len(each) for each in batches] == [BATCH[VECTORS]] * 3
    for each in workers:
        let_go(each)
    waiting = services_of(memory).derivations.waiting
    until(lambda: not waiting(None))
    batches += ended(workers)
    assert Counter(chain.from_iterable(batches)) == Counter(texts)
    assert memory.verify() == []
    assert memory.as_user("user 3").search("3 knows of 7")[0].record.content == "3 knows of 7"


def test_the_batch_of_a_killed_worker_is_taken_over(memory, begin):
    """Once its claim has ended, and nothing else is derived twice."""
    texts = store(memory, users=2, each=20)
    (other,) = begin("derives")
    kept = told(other)
    (killed,) = begin("derives", lease=1)  # What its claim leaves out is there, however slow it is.
    lost = told(killed)
    killed.kill()
    let_go(other)
    waiting = services_of(memory).derivations.waiting
    until(lambda: not waiting(None))
    rest = chain.from_iterable(ended([other]))
    assert Counter(chain(kept, rest)) == Counter(texts)
    assert not {*lost} & {*kept}


@pytest.fixture
def talks(memory):
    """A session of each of six users that has waited for a day; return the users."""
    yesterday = FrozenClock(datetime.now(UTC) - timedelta(days=1))
    with Memory(memory.location, settings=memory.settings, clock=yesterday) as past:
        for town in TOWNS:
            past.as_user(town).conversation("trip").add("user", f"I live in {town}.")
    return list(TOWNS)


def learned(memory):
    """Return what the users live in."""
    found = [memory.as_user(town).records(kind="fact") for town in TOWNS]
    return [fact.content for facts in found for fact in facts]


def last_run(memory):
    """Return the last run of the stage, once there is one."""
    runs = services_of(memory).store.job_runs
    until(runs)
    return runs()[0]


def test_the_users_of_a_killed_worker_are_taken_over(memory, begin, talks):
    """Its user is done by another; what it had learned stays one fact."""
    (killed,) = begin("consolidates", lease=1)
    lost, _ = told(killed)
    killed.kill()
    (other,) = begin("consolidates", lease=1)
    let_go(other)
    until(lambda: len(services_of(memory).store.stage_leases("consolidate")) == 6)
    until(
        lambda: all(
            each.done for each in services_of(memory).store.stage_leases("consolidate").values()
        )
    )
    assert last_run(memory).counts["facts"] == 5
    reports = dict(ended([other]))
    assert reports == {user: "0" if user == lost else "1" for user in talks}
    assert sorted(learned(memory)) == sorted(f"The user lives in {town}." for town in TOWNS)
    assert memory.verify() == []


def test_a_worker_ends_after_its_batch(memory, begin):
    """Told to end, it stores the batch at hand, and has claimed nothing of the rest."""
    store(memory, users=1, each=70)
    (worker,) = begin("derives")
    told(worker)
    worker.send_signal(signal.SIGTERM)
    assert told(worker) == ["ends"]  # The signal arrives when the main thread wakes.
    let_go(worker)
    assert rest_of([worker]) == []
    left = 70 - BATCH[VECTORS]
    assert services_of(memory).derivations.waiting(None) == left
    now = datetime.now(UTC)
    times = {"now": now, "until": now + timedelta(hours=1)}
    assert len(services_of(memory).store.claim_records(VECTORS, **times, limit=99)) == left
