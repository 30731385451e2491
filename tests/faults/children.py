"""What other processes do in the tests of faults. Roles: writer, reader, eraser, keeper.

Each line of output is an acknowledgement, written after the store has returned.
"""

import signal
import sys

from memoranda.model.actions import Append, Erase
from memoranda.model.models import Message
from memoranda.model.query import IndexVersion
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.samples import ALL, ANA, User, insert, moment, record


def open_store(path):
    """Open the database of the test."""
    return SqliteStore(path, analyzer=WordAnalyzer(), names=PlainNames())


def acknowledge(text):
    """Tell the test, which may be waiting for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def wait_for_start():
    """Say that all is imported, and wait until the others are ready, too."""
    acknowledge("ready")
    sys.stdin.readline()


def write(path, name, number):
    """Write records with their messages, each pair in one transaction."""
    wait_for_start()
    store = open_store(path)
    User(store).open_conversation(name)
    for turn in range(int(number)):
        item = record(f"{name} said {turn} to Zoe", id=f"fact_{name}_{turn:06d}", session_id="s")
        message = Message(
            id=f"msg_{name}_{turn}",
            role="user",
            content=item.content,
            timestamp=moment(turn),
            tokens=1,
            record_id=item.id,
        )
        store.apply(ANA, [insert(item), Append(name, message)])
        acknowledge(item.id)
    store.close()


def read(path, name, number):
    """Read until told to stop: what was there never goes, and each read is whole."""
    wait_for_start()
    del name
    seen = 0
    store = open_store(path)
    for turn in range(int(number)):
        with store.snapshot():
            records = store.records(ANA, ALL)
            rows = store.index_changes(ANA, IndexVersion()).rows
            matches = store.match_terms(ANA, ["said"], limit=10_000)
            messages = sum(info.messages for info in store.conversations(ANA).values())
        assert len(records) >= seen, "records are gone"
        assert len(records) == len(rows) == len(matches.ordinals) == messages, "half a write"
        assert store.verify() == [], "not sound"
        seen = len(records)
        if turn % 5 == 4:
            store.close()
            store = open_store(path)
    acknowledge(f"done {seen}")


def erase(path, name, number):
    """Erase a record and die before the purge."""
    del name, number
    store = open_store(path)
    (first, *_) = store.records(ANA, ALL, limit=1)
    store.apply(ANA, [Erase((first.id,), moment(1), "asked")])
    acknowledge(first.id)
    signal.raise_signal(signal.SIGKILL)


def keep(path, name, number):
    """Write items, all under one key; tell what is stored of each but its content."""
    wait_for_start()
    store = open_store(path)
    for turn in range(int(number)):
        item = User(store).put("key", f"{name}-{turn}", "app", "state")
        acknowledge(f"{item.id}@{item.created_at.timestamp()}")
    store.close()


if __name__ == "__main__":
    role, place, *rest = sys.argv[1:]
    {"writer": write, "reader": read, "eraser": erase, "keeper": keep}[role](place, *rest)
