"""What other processes do in the tests of faults: each role is a function at the end.

Each line of output is an acknowledgement, written after the store has returned.
"""

import signal
import sys

from analyzers import PlainNames, WordAnalyzer
from samples import ALL, ANA, User, insert_with_message, moment, record
from steps import carry_out, do

from memoranda.errors import UserDeleted
from memoranda.model.query import IndexVersion
from memoranda.store.sqlite import SqliteStore


def open_store(place):
    """Open the store of the test: a file or a PostgreSQL database."""
    parts = {"analyzer": WordAnalyzer(), "names": PlainNames()}
    if place.startswith("postgresql://"):
        from memoranda.store.postgres import PostgresStore  # noqa: PLC0415 - others start faster

        return PostgresStore(place, **parts)
    return SqliteStore(place, **parts)


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
        carry_out(store, ANA, insert_with_message(item, name))
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
    carry_out(store, ANA, [do.erase((first.id,), at=moment(1), reason="asked")])
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


def pop(path, name, number):
    """Take messages off the end of a conversation, one by one; tell the tombstone of each."""
    wait_for_start()
    store = open_store(path)
    for turn in range(int(number)):
        tombstone = f"tmb_{name}_{turn:03d}"
        carry_out(store, ANA, [do.replace_messages("trip", tombstone, at=moment(turn), newest=1)])
        acknowledge(tombstone)
    store.close()


def outlive(path, name, number):
    """Hold a user open while another process deletes them; tell what each use of it comes to."""
    del number
    store = open_store(path)
    user = User(store).opened()
    user.page()
    wait_for_start()
    uses = {
        "read": user.page,
        "list": user.conversations,
        "write": lambda: user.remember(f"{name} goes on"),
        "put": lambda: user.put("key", name, "app"),
        "say": lambda: user.say("trip", name),
    }
    for use, call in uses.items():
        try:
            call()
        except UserDeleted:
            acknowledge(use)
    store.close()


ROLES = {
    "writer": write,
    "reader": read,
    "eraser": erase,
    "keeper": keep,
    "popper": pop,
    "holder": outlive,
}

if __name__ == "__main__":
    role, place, *rest = sys.argv[1:]
    ROLES[role](place, *rest)
