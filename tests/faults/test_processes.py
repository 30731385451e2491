"""Law 4: what was acknowledged survives, whoever is killed and however many write."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from samples import ALL, ANA, User

from .running import finish, go, ready

ROUNDS = 3
WRITERS = 4
EACH = 60


def stored_ids(store):
    """Return the ids of all records, as they were recorded."""
    return [item.id for item in store.records(ANA, ALL)]


def test_acknowledged_writes_survive_a_kill(start, open_store):
    """Killed at any instant, a writer loses nothing acknowledged, and writes nothing by half."""
    dice = random.Random(7)  # noqa: S311 - no secret
    acknowledged = []
    for turn in range(ROUNDS):
        writer = start("writer", f"w{turn}", 100_000)
        ready(writer)
        go(writer)
        lines = dice.randrange(1, 60)
        acknowledged += [writer.stdout.readline().strip() for _ in range(lines)]
        writer.kill()
        # What it wrote between the last line read here and its end.
        rest = writer.stdout.read().split("\n")[:-1]
        acknowledged += rest
        writer.wait()
        store = open_store()
        assert set(acknowledged) <= set(stored_ids(store))
        assert store.verify() == []
        messages = sum(info.messages for info in store.conversations(ANA).values())
        assert messages == len(stored_ids(store))
        store.close()
    store = open_store()
    assert len(acknowledged) <= len(stored_ids(store)) <= len(acknowledged) + ROUNDS
    assert store.rebuild() == []


def test_processes_share_a_file_from_the_start(start, open_store):
    """Processes that create and write one file at once lose nothing and see no error.

    Others read it and check it all the while, opening and closing it again and again.
    """
    writers = [start("writer", f"w{number}", EACH) for number in range(WRITERS)]
    readers = [start("reader", f"r{number}", 15) for number in range(2)]
    for process in writers + readers:
        ready(process)
    for process in writers + readers:
        go(process)
    with ThreadPoolExecutor(WRITERS + 2) as pool:
        results = list(pool.map(finish, writers + readers))
    assert [code for code, _ in results] == [0] * (WRITERS + 2)
    acknowledged = [line for _, lines in results[:WRITERS] for line in lines]
    assert len(acknowledged) == WRITERS * EACH
    store = open_store()
    assert sorted(stored_ids(store)) == sorted(acknowledged)
    positions = [item.position for item in store.records(ANA, ALL)]
    assert positions == list(range(WRITERS * EACH))
    assert store.verify() == []


LONG_STAGE = """
import atexit, threading
from memoranda.model.processes import BackgroundThread

told = threading.Event()

def run_long_stage():
    upkeep.ending.wait()
    told.wait()  # As long as it reads a long talk.
    threading.Event().wait(0.5)

atexit.register(lambda: print([each.name for each in threading.enumerate()]))  # It runs last.
upkeep = BackgroundThread("memoranda-schedule")
upkeep.start(run_long_stage)
upkeep.ending.set()
upkeep.wait(1.5)
print(len(threading.enumerate()))
told.set()
"""


def test_a_process_ends_when_its_upkeep_has():
    """No thread is left that Python would kill in the middle of C++, which aborts the process."""
    command = [sys.executable, "-c", LONG_STAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    assert done.stdout.splitlines() == ["2", "['MainThread']"]


def test_a_crash_between_erasing_and_purging(path, start, open_store):
    """The next process is told that erased text may remain, and can finish the work."""
    store = open_store()
    User(store).remember("xylophonquark", "tea")
    store.close()
    eraser = start("eraser", "e", 0)
    code, lines = finish(eraser)
    assert (code, len(lines)) == (-9, 1)
    store = open_store()
    assert User(store).page() == ["tea"]
    assert any("erased text may remain" in line for line in store.verify())
    assert store.purge() is None
    assert store.verify() == []
    store.close()
    assert b"xylophonquark" not in path.read_bytes()
