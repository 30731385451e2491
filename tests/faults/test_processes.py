"""Law 4: what was acknowledged survives, whoever is killed and however many write."""

import random
import signal
from functools import partial

from analyzers import PlainNames, WordAnalyzer
from bare_environment import run_python
from effort import examples
from samples import ALL, ANA, User, insert_with_message, moment, record
from steps import carry_out, do

from memoranda.model.query import IndexVersion
from memoranda.store.sqlite import SqliteStore

ROUNDS = examples(2)
WRITERS = 3
EACH = 40


def write(path, name, number, tell, _):
    """Write records with their messages, each pair in one transaction; tell the id of each."""
    store = SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames())
    User(store).open_conversation(name)
    for turn in range(number):
        item = record(f"{name} said {turn} to Zoe", id=f"fact_{name}_{turn:06d}", session_id="s")
        carry_out(store, ANA, insert_with_message(item, name))
        tell(item.id)
    store.close()


def read(path, number, *_):
    """Read again and again: what was there never goes, and each read is whole."""
    seen = 0
    for _ in range(number):
        store = SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames())
        with store.snapshot():
            records = store.records(ANA, ALL)
            rows = store.index_changes(ANA, IndexVersion()).rows
            found = store.postings(ANA, ["said"])["said"].keys
            messages = sum(info.messages for info in store.conversations(ANA).values())
        assert len(records) >= seen, "records are gone"
        assert len(records) == len(rows) == len(found) == messages, "half a write"
        assert store.verify() == [], "not sound"
        seen = len(records)
        store.close()


def stored_ids(store):
    """Return the ids of all records, as they were recorded."""
    return [item.id for item in store.records(ANA, ALL)]


def test_acknowledged_writes_survive_a_kill(start, path, open_store):
    """Killed at any instant, a writer loses nothing acknowledged, and writes nothing by half."""
    dice = random.Random(7)  # noqa: S311 - no secret
    acknowledged = []
    for turn in range(ROUNDS):
        writer = start(partial(write, path, f"w{turn}", 100_000))
        acknowledged += [writer.hear() for _ in range(dice.randrange(1, 60))]
        acknowledged += writer.kill()
        store = open_store()
        assert set(acknowledged) <= set(stored_ids(store))
        assert store.verify() == []
        messages = sum(info.messages for info in store.conversations(ANA).values())
        assert messages == len(stored_ids(store))
        store.close()
    store = open_store()
    assert len(acknowledged) <= len(stored_ids(store)) <= len(acknowledged) + ROUNDS
    assert store.rebuild() == []


def test_processes_share_a_file_from_the_start(start, path, open_store):
    """Processes that create and write one file at once lose nothing and see no error.

    Another reads it and checks it all the while, opening and closing it again and again.
    """
    writers = [start(partial(write, path, f"w{number}", EACH)) for number in range(WRITERS)]
    reader = start(partial(read, path, 10))
    results = [each.finish() for each in writers]
    assert reader.finish() == (0, [])
    assert [code for code, _ in results] == [0] * WRITERS
    acknowledged = [stored for _, told in results for stored in told]
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
upkeep.wait(0.5)
print(len(threading.enumerate()))
told.set()
"""


def test_a_process_ends_when_its_upkeep_has():
    """No thread is left that Python would kill in the middle of C++, which aborts the process."""
    done = run_python("-c", LONG_STAGE)
    assert done.stdout.splitlines() == ["2", "['MainThread']"]


def test_a_crash_between_erasing_and_purging(path, start, open_store):
    """The next process is told that erased text may remain, and can finish the work."""
    store = open_store()
    gone, _ = User(store).remember("xylophonquark", "tea")
    store.close()

    def erase(*_):
        store = open_store()
        carry_out(store, ANA, [do.erase((gone.id,), at=moment(1), reason="asked")])
        signal.raise_signal(signal.SIGKILL)

    assert start(erase).finish() == (-signal.SIGKILL, [])
    store = open_store()
    assert User(store).page() == ["tea"]
    assert any("erased text may remain" in line for line in store.verify())
    assert store.purge() is None
    assert store.verify() == []
    store.close()
    assert b"xylophonquark" not in path.read_bytes()
