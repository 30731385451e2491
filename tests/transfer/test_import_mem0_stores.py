"""The files in which mem0 keeps its memories without a server, imported without mem0."""

import json
import os
import pickle
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from memoranda.errors import InvalidInput

AT = "2026-02-01T08:00:00+00:00"
PAYLOADS = {
    "i1": {
        "data": "Likes tea",
        "hash": "h",
        "text_lemmatized": "like tea",
        "created_at": AT,
        "updated_at": AT,
        "user_id": "bob",
        "run_id": "r1",
        "role": "user",
        "expiration_date": "2026-12-31",
        "n": 1,
        "share": 0.5,
        "ok": True,
    },
    "i2": {"data": "Books tables", "hash": "h", "created_at": AT, "agent_id": "bot"},
    "i3": {"data": "Porto", "entity_type": "place", "linked_memory_ids": ["i1"], "user_id": "bob"},
}


class PointStruct:
    """A point, as a pickle of Qdrant has it: all of it is its state."""

    def __init__(self, key, payload):
        """Keep what a point has."""
        self.state = {"__dict__": {"id": key, "vector": {"": [0.1]}, "payload": payload}}

    def __getstate__(self):
        """Return all of it."""
        return self.state


class Trap:
    """An object that makes a file when its pickle is loaded."""

    def __init__(self, path):
        """Take the file."""
        self.path = str(path)

    def __reduce__(self):
        """Return what makes it."""
        return os.mkdir, (self.path,)


def as_qdrant(folder, payloads):
    """Write a collection of Qdrant's local mode."""
    place = folder / "collection" / "mem0"
    place.mkdir(parents=True)
    (folder / "meta.json").write_text('{"collections": {}}')
    with closing(sqlite3.connect(place / "storage.sqlite")) as database, database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        points = [(key, pickle.dumps(PointStruct(key, each))) for key, each in payloads.items()]
        database.executemany("INSERT INTO points VALUES (?, ?)", points)
    return place / "storage.sqlite"


def as_chroma(folder, payloads):
    """Write the tables of a folder of Chroma that hold metadata."""
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database, database:
        database.execute("CREATE TABLE embeddings (id INTEGER PRIMARY KEY, embedding_id TEXT)")
        kinds = "string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER"
        database.execute(f"CREATE TABLE embedding_metadata (id INTEGER, key TEXT, {kinds})")
        for number, (key, payload) in enumerate(payloads.items()):
            database.execute("INSERT INTO embeddings VALUES (?, ?)", (number, key))
            for name, value in payload.items():
                column = [str, int, float, bool, list].index(type(value))
                row = [value if column == each else None for each in range(4)]
                database.execute(
                    "INSERT INTO embedding_metadata VALUES (?, ?, ?, ?, ?, ?)", (number, name, *row)
                )


def as_faiss(folder, payloads):
    """Write what stands beside an index of FAISS."""
    beside = {"docstore": payloads, "index_to_id": {"0": "i1"}}
    (folder / "mem0.json").write_text(json.dumps(beside))
    (folder / "old.pkl").write_bytes(pickle.dumps(Trap(folder / "trap")))


def records_of(memory, users):
    """Return what each user has, with agents and all that is kept beside."""
    return [
        (user, each.agent, each.content, each.source_role, each.valid_until, dict(each.metadata))
        for user in users
        for each in memory.as_user(user).records()
    ]


@pytest.mark.parametrize("write", [as_qdrant, as_chroma, as_faiss])
def test_a_store_of_mem0_is_read_from_its_files(plain, tmp_path, write):
    """As its export: users, agents, ends and metadata; the second time adds nothing."""
    folder = tmp_path / "store"
    folder.mkdir()
    write(folder, PAYLOADS)
    report = plain.import_(folder)
    assert (report.format, report.records, report.users) == ("mem0", 2, ("bob", "ana"))
    kept = {"mem0_updated_at": AT, "mem0_run_id": "r1", "mem0_expiration_date": "2026-12-31"}
    metadata = {"n": 1, "share": 0.5, "ok": True, "mem0_id": "i1", **kept}
    assert records_of(plain, report.users) == [
        ("bob", None, "Likes tea", "user", datetime(2027, 1, 1, tzinfo=UTC), metadata),
        ("ana", "bot", "Books tables", None, None, {"mem0_id": "i2"}),
    ]
    (fact,) = plain.as_user("bob").records()
    assert fact.event_time == datetime.fromisoformat(AT)
    assert "names that mem0 found in memories: 1" in report.left_out
    again = plain.import_(folder)
    assert (again.records, again.skipped) == (0, 2)
    assert not (folder / "trap").exists()


def test_the_history_of_mem0_has_what_is_left(plain, tmp_path):
    """The last text of each memory that was not deleted, of the user who imports."""
    names = "memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted"
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE history (id TEXT PRIMARY KEY, {names}, actor_id, role)")
        for number, row in enumerate(
            (
                ("i1", None, "Old", "ADD", AT, AT, 0, "Ana", "user"),
                ("i2", None, "Gone", "ADD", AT, AT, 0, None, "user"),
                ("i1", "Old", "New", "UPDATE", AT, AT, 0, "Ana", "user"),
                ("i2", "Gone", None, "DELETE", AT, AT, 1, None, "user"),
            )
        ):
            values = (number, *row)
            database.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    report = plain.import_(path)
    assert (report.format, report.records) == ("mem0", 1)
    (fact,) = plain.records()
    kept = {"mem0_id": "i1", "mem0_actor_id": "Ana", "mem0_updated_at": AT}
    assert (fact.content, fact.source_role, dict(fact.metadata)) == ("New", "user", kept)
    assert plain.import_(path).skipped == 1


def test_no_pickle_runs_what_it_names(plain, tmp_path):
    """A point that would make a folder makes none, and keeps the others from nothing."""
    file = as_qdrant(tmp_path / "store", {"i2": PAYLOADS["i2"]})
    traps = [pickle.dumps(Trap(tmp_path / "trap")), b"\x80\x04damaged"]
    inside = {**PAYLOADS["i1"], "n": Trap(tmp_path / "trap")}
    traps.append(pickle.dumps(PointStruct("i1", inside)))
    with closing(sqlite3.connect(file)) as database, database:
        rows = [(str(number), each) for number, each in enumerate(traps)]
        database.executemany("INSERT INTO points VALUES (?, ?)", rows)
    report = plain.import_(file)
    assert (report.records, len([*tmp_path.glob("trap")])) == (1, 0)
    assert "lines that cannot be read: 3" in report.left_out
    with pytest.raises(InvalidInput, match="row 2: not a point of Qdrant"):
        plain.import_(file, strict=True)
