"""A folder of Chroma: what stands in it for others, what erasing leaves, crashes, old folders."""

import json
import os
import shutil
import signal
import subprocess
import sys
from base64 import b64encode
from contextlib import contextmanager
from datetime import UTC, datetime

import chromadb
import numpy as np
import pytest
from analyzers import PlainNames, WordAnalyzer
from chromadb.config import Settings as ChromaSettings
from samples import ANA, BEN, DIMENSIONS, MODEL, User, cut, moment, pruning, vector
from steps import carry_out, do

from memoranda import Memory, Settings
from memoranda.errors import (
    InvalidInput,
    NotADatabase,
    SchemaTooNew,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreReadOnly,
)
from memoranda.model.changes import Close
from memoranda.model.query import EmbeddedText, IndexVersion
from memoranda.store.chroma import folder as folders
from memoranda.store.chroma import store as stores
from memoranda.store.chroma.folder import JOURNAL
from memoranda.store.chroma.store import ChromaStore
from memoranda.store.sql.database import schema_steps

ERASED = "Xylophonquark säuft 東京-tee"


@pytest.fixture
def folder(tmp_path):
    """Where the test's store is."""
    return tmp_path / "memory"


@pytest.fixture
def opened(folder):
    """Open stores in the folder of the test, closed after it."""
    stores = []

    def open_one(path=folder, analyzer=None):
        analyzer = analyzer or WordAnalyzer()
        stores.append(ChromaStore(path, analyzer=analyzer, names=PlainNames()))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@contextmanager
def bare(folder):
    """Give the client of Chroma alone, as another program has it."""
    settings = ChromaSettings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(folder), settings=settings)
    try:
        yield client
    finally:
        client.close()


def collection(client, name="memories"):
    """Return a collection."""
    return client.get_collection(name, embedding_function=None)


def memories(folder):
    """Return text and metadata of what is in the collection, by text."""
    with bare(folder) as client:
        found = collection(client).get()
    return dict(zip(found["documents"], found["metadatas"], strict=True))


def vectors(store, scope=ANA):
    """Return the vectors of a user's records."""
    ((_, found),) = store.index_changes(scope, IndexVersion()).vectors
    return np.asarray(found)


# What stands there for others


def test_other_programs_read_active_records_with_every_field(opened, folder):
    """S1.09: text, type, times, whose it is and who said it; nothing that was ended is there."""
    store = opened()
    store.reset_vectors(MODEL, DIMENSIONS)
    ana = User(store)
    own = {"cup": 1, "type": "mine", "deep": {"a": [1]}, "$odd": 2}
    (said,) = ana.remember("Zoe drinks tea", metadata=own, source_role="user", session_id="s")
    old, new = ana.remember("milk", "more milk")
    ana.embed([said], vector(4, 3, 2, 1))
    carry_out(store, ANA, [Close(old.id, moment(2), "corrected", superseded_by=new.id)])
    store.close()
    found = memories(folder)
    assert found.keys() == {"Zoe drinks tea", "more milk"}
    told = found["Zoe drinks tea"]
    assert json.loads(told.pop("own")) == {"type": "mine", "deep": {"a": [1]}, "$odd": 2}
    assert told == {
        "user": "ana",
        "type": "fact",
        "role": "user",
        "session_id": "s",
        "cup": 1,
        "created_at": said.created_at.astimezone(UTC).replace(tzinfo=None).isoformat(),
        "event_time": said.event_time.astimezone(UTC).replace(tzinfo=None).isoformat(),
        "closed": False,
        "embedded": True,
        "stored_by": "memoranda",
    }
    with bare(folder) as client:
        near = collection(client).query(query_embeddings=[vector(4, 3, 2, 1)], n_results=1)
    assert near["ids"] == [[said.id]]
    assert near["distances"][0][0] == pytest.approx(0, abs=1e-3)


def test_a_replaced_context_is_not_what_the_document_reads(folder):
    """S1.21: ``get_context`` as the document has it returns the newest value, and none that ended.

    Metadata follow each change of a record, and names that it loses are gone.
    """
    settings = Settings(embedding={"model": "none"})
    with Memory(f"chroma://{folder}", settings=settings) as memory:
        memory.set_context("task", "water the plants")
        memory.set_context("task", "feed the cat")
        fact = memory.remember("Ana likes tea", metadata={"cup": 1, "pot": 2})
        memory.update(fact.id, metadata={"cup": 3}, valid_until=datetime(2999, 1, 1, tzinfo=UTC))
        memory.forget(memory.remember("Ana likes coffee").id)
        assert memory.verify() == []
    with bare(folder) as client:
        assert (
            collection(client).get(where={"context_key": "task"})["documents"][0] == "feed the cat"
        )
    found = memories(folder)
    assert found.keys() == {"feed the cat", "Ana likes tea"}
    told = found["Ana likes tea"]
    assert (told["cup"], told["valid_until"]) == (3, "2999-01-01T00:00:00")
    assert "pot" not in told


def test_another_model_makes_the_collection_anew(opened, folder):
    """Embeddings of another length take the place of all that were there."""
    store = opened()
    store.reset_vectors(MODEL, DIMENSIONS)
    ana = User(store)
    items = ana.remember("tea", "milk")
    ana.embed(items)
    store.reset_vectors("wider", 7)
    carry_out(
        store,
        ANA,
        [do.put_vectors("wider", [(items[0], EmbeddedText(vector(3, 4, 0, 0, 0, 0, 0)))])],
    )
    assert store.verify() == []
    store.close()
    with bare(folder) as client:
        found = collection(client).get(include=["embeddings"])
    assert found["embeddings"].shape == (2, 7)


def test_rows_that_others_changed_are_found_and_put_right(opened, folder):
    """The journal has what is true; rows of other programs stay as they are."""
    store = opened()
    one, two, three = User(store).remember("tea", "milk", "cake", metadata={"cup": 1})
    with store._lend_writer() as connection:  # What is older is compared by its ids at opening.
        store._journal.append(*store._everything(connection))
    store.close()
    with bare(folder) as client:
        rows = collection(client)
        rows.update(ids=[one.id], metadatas=[{"cup": 2}])
        rows.update(ids=[two.id], documents=["Zoe"], embeddings=[vector(*range(1, 385))])
        rows.delete(ids=[three.id])
        rows.add(ids=["x"], embeddings=[vector(*range(1, 385))], documents=["theirs"])
    store = opened()
    store.rebuild()
    assert store.verify() == []
    store.close()
    found = memories(folder)
    assert found.keys() == {"tea", "milk", "cake", "theirs"}
    assert found["tea"]["cup"] == 1


def forms(text):
    """Return the bytes as which a text may be written: also in a patch, in base64."""
    escaped = json.dumps(text)[1:-1]
    return (
        *(b64encode(bytes(shift) + text.encode())[2 * bool(shift) + 2 : -4] for shift in range(3)),
        text.encode(),
        escaped.encode(),
        json.dumps(escaped)[1:-1].encode(),
    )


def remains(folder, *texts):
    """Return the files that hold one of the texts in any form."""
    wanted = [form for text in texts for form in forms(text)]
    held = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [name for name, data in held.items() if any(form in data for form in wanted)]


@pytest.mark.parametrize("others", [3, 150], ids=["few", "more than an index is saved with"])
def test_what_is_erased_is_in_no_file(opened, folder, others):
    """Law 7: after a purge no byte of the folder tells of it, and what stays is as it was."""
    store = opened()
    store.reset_vectors(MODEL, DIMENSIONS)
    ana, ben = User(store), User(store, BEN)
    kept = ana.remember(*(f"note {number} of Zoe" for number in range(others)))
    ana.embed(kept, vector(4, 3, 2, 1))
    metadata = {"said": ERASED}
    (secret,) = ana.remember(ERASED, metadata=metadata, tags=(ERASED,))
    ana.embed([secret])
    ana.open_conversation("talk")
    ana.say("talk", ERASED, record_id=secret.id)
    ana.say("talk", "harmless")
    carry_out(store, ANA, [do.add_pruning("talk", pruning(cut(0, 0, summary=ERASED)))])
    (other,) = ben.remember(ERASED[:13])
    assert remains(folder, ERASED)
    carry_out(store, ANA, [do.erase((secret.id,), at=moment(9), reason="asked")])
    carry_out(store, BEN, [do.erase((other.id,), at=moment(9), reason="asked")])
    before, rows = ana.everything(), vectors(store)
    assert any("erased" in line for line in store.verify())
    assert store.purge() is None
    assert remains(folder, ERASED, ERASED[:13]) == []
    assert (ana.everything(), store.verify()) == (before, [])
    store.close()
    assert remains(folder, ERASED, ERASED[:13]) == []
    again = opened()
    assert (User(again).everything(), again.verify()) == (before, [])
    assert (vectors(again) == rows).all()
    again.close()
    with bare(folder) as client:  # What its queue still had to tell its index is there, too.
        found = collection(client).get(include=["embeddings"])
    assert set(found["ids"]) == {item.id for item in kept}
    assert found["embeddings"] == pytest.approx(np.array([vector(4, 3, 2, 1)] * others), abs=1e-3)


# Erasing


def test_an_index_holds_nothing_of_the_memory_of_the_process(opened, folder):
    """Chroma saves an index with room that it never used; that is blank once it is closed."""
    store = opened()
    store.reset_vectors(MODEL, DIMENSIONS)
    User(store).embed(User(store).remember("tea", "milk"))
    store.close()
    heads = [each.read_bytes()[:52] for each in folder.glob("*/header.bin")]
    used = [folders.INDEX_HEADER.unpack(head)[3:5] for head in heads]
    assert len(used) == 2
    for (number, size), file in zip(used, folder.glob("*/data_level0.bin"), strict=True):
        rest = file.read_bytes()[number * size :]
        assert len(rest) == rest.count(0) > 0


# Crashes


WRITER = """
import sys
from memoranda import Memory, Settings
memory = Memory(sys.argv[1], settings=Settings(embedding={"model": "none"}))
chat = memory.conversation("talk")
for number in range(10_000):
    chat.add("user", str(number))
    print(number, flush=True)
"""


def test_acknowledged_writes_survive_a_kill(folder, opened, monkeypatch):
    """Law 4: killed at any instant, a writer loses nothing acknowledged, and no half is there."""
    monkeypatch.setattr(folders, "PATIENCE", 0.1)
    environment = {name: each for name, each in os.environ.items() if "MEMORANDA" not in name}
    with subprocess.Popen(  # noqa: S603 - this interpreter, on a program of this test
        [sys.executable, "-c", WRITER, f"chroma://{folder}"],
        stdout=subprocess.PIPE,
        env=environment | {"MEMORANDA_CONFIG": "none.toml"},
        text=True,
    ) as writer:
        told = [writer.stdout.readline() for _ in range(15)]
        with pytest.raises(StoreBusy, match="one at a time"):
            opened()
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.read().split()
    with Memory(f"chroma://{folder}", settings=Settings(embedding={"model": "none"})) as memory:
        texts = [each.content for each in memory.conversation("talk").messages]
        assert texts == [str(number) for number in range(len(texts))]
        assert len(texts) in {len(told), len(told) + 1}
        assert len(memory.records(session="talk", limit=1_000)) == len(texts)
        assert memory.verify() == []


def test_memories_that_were_not_written_are_written_later(opened, folder, monkeypatch, caplog):
    """After the journal has a change it is stored, whatever becomes of the collection.

    What that lacks is written with the next change, or at the next opening.
    """
    store = opened()
    (one, _) = User(store).remember("tea", "milk")

    def fail(name, method, **arguments):
        if name == "memories":
            message = "no answer"
            raise StoreError(message)
        return type(store.folder).call(store.folder, name, method, **arguments)

    monkeypatch.setattr(store.folder, "call", fail)
    User(store).remember("cake")
    carry_out(store, ANA, [Close(one.id, moment(2), "forgotten")])
    assert "written later" in caplog.text
    monkeypatch.undo()
    shutil.copytree(folder, folder.parent / "killed", ignore=shutil.ignore_patterns("*.lock"))
    store.close()
    assert memories(folder).keys() == {"tea", "milk"}
    for path in (folder, folder.parent / "killed"):
        again = opened(path)
        assert (User(again).page(), again.verify()) == (["tea", "milk", "cake"], [])
        again.close()
        assert memories(path).keys() == {"milk", "cake"}
    store = opened()
    with monkeypatch.context() as failing:
        failing.setattr(store.folder, "call", fail)
        User(store).remember("pie")
    User(store).remember("figs")
    store.close()
    assert memories(folder).keys() == {"milk", "cake", "pie", "figs"}


# The journal


def numbers(store):
    """Return the ids of the journal's entries."""
    return sorted(store.folder.call(JOURNAL, "get", include=[])["ids"])


def entries(store):
    """Return the rows of the journal's entries, without their further parts."""
    found = store.folder.call(JOURNAL, "get", include=["metadatas"])["metadatas"]
    return [each for each in found if "schema" in each]


def test_a_journal_that_outgrew_its_snapshot_begins_anew(opened, monkeypatch):
    """A snapshot takes the place of all before it, also where the process ended in between."""
    monkeypatch.setattr(folders, "SMALLEST", 4_000)
    monkeypatch.setattr(folders, "PIECE", 1_000)
    store = opened()
    for number in range(8):
        User(store).remember(f"note {number} {'x' * 3_000}")
    before = User(store).everything()
    first = int(numbers(store)[0][:12])
    assert first > 4
    call = store.folder.call
    monkeypatch.setattr(
        store.folder, "call", lambda *to, **given: to[1] == "delete" or call(*to, **given)
    )
    with store._lend_writer() as connection:
        store._journal.append(*store._everything(connection))
    monkeypatch.setattr(store.folder, "call", call)
    left = len(numbers(store))
    store.close()
    store = opened()
    assert (User(store).everything(), store.verify()) == (before, [])
    assert len(numbers(store)) == left
    with store._lend_writer() as connection:
        store._journal.append(*store._everything(connection))
    assert len(numbers(store)) < left


def test_entries_of_an_earlier_schema_are_brought_to_the_newest(opened, monkeypatch):
    """They are applied to the tables of then, which are migrated as those of a file are."""
    earlier = len(schema_steps()) - 1
    monkeypatch.setattr(stores, "schema_steps", lambda: schema_steps()[:earlier])
    store = opened()
    with store.transact() as connection:  # Statements of today may need columns of today.
        connection.run("INSERT INTO users (key, name) VALUES (1, 'ana')")
        connection.run("INSERT INTO conversations (user_key, id, created_at) VALUES (1, 'trip', 5)")
    store.close()
    monkeypatch.undo()
    for _ in range(2):
        store = opened()
        assert [each["schema"] for each in entries(store)] == [earlier + 1]
        assert ([*User(store).conversations()], store.verify()) == (["trip"], [])
        store.close()


def test_a_journal_that_cannot_be_read_is_told_of(opened, folder):
    """An entry that is damaged, missing or of a newer program is named; nothing is overwritten."""
    for change, error, told in (
        (lambda rows: rows.update(ids=["000000000003"], metadatas=[{"patch": "?"}]), 0, "journal"),
        (lambda rows: rows.delete(ids=["000000000003"]), 0, "entry 3 is missing"),
        (lambda rows: rows.update(ids=["000000000003"], metadatas=[{"schema": 999}]), 1, "upgrade"),
    ):
        shutil.rmtree(folder, ignore_errors=True)
        store = opened()
        User(store).remember("tea")
        User(store).remember("milk")
        User(store).remember("cake")
        store.close()
        with bare(folder) as client:
            change(collection(client, JOURNAL))
        with pytest.raises((NotADatabase, SchemaTooNew)[error], match=told):
            opened()


# Folders


def test_a_folder_is_shared_inside_a_process(folder):
    """Opened twice in a process it is one store, until both have closed it."""
    parts = {"analyzer": WordAnalyzer(), "names": PlainNames()}
    one, two = (ChromaStore.share(folder, **parts) for _ in range(2))
    User(one).remember("tea")
    one.close()
    one.close()
    assert User(two).page() == ["tea"]
    two.close()
    two.close()
    for each in (one, two):
        with pytest.raises(StoreClosed, match="open it again"):
            User(each).page()


def test_a_copy_of_the_closed_folder_is_the_backup(opened, tmp_path):
    """The store says so, and makes none by itself."""
    with pytest.raises(InvalidInput, match=r"cp -r .*memory"):
        opened().backup(str(tmp_path / "copy"))


def test_what_another_program_has_is_read_also_while_the_folder_is_open(opened, folder):
    """Who imports from a folder that this process has open does not wait for itself."""
    theirs = {"ids": ["x"], "documents": ["theirs"], "metadatas": [{"type": "fact"}]}
    with bare(folder) as client:
        made = client.create_collection("memories", embedding_function=None)
        made.add(embeddings=[vector(*range(1, 385))], **theirs)
    before = stores.read_foreign(folder)
    store = opened()
    assert stores.read_foreign(folder) == before == [("x", "theirs", {"type": "fact"})]
    store.remove_foreign(["x"])
    assert stores.read_foreign(folder) == []


def test_places_that_are_no_chroma(opened, folder, tmp_path):
    """A file, a folder of others, and what is no database are refused and left as they are."""
    file, damaged = tmp_path / "file", tmp_path / "damaged"
    file.write_text("text")
    for place in (folder, damaged):
        place.mkdir()
    (folder / "letter.txt").write_text("text")
    (damaged / "chroma.sqlite3").write_bytes(b"no database at all" * 99)
    for place, told in ((file, "is a file"), (folder, "not Chroma's"), (damaged, "damaged")):
        with pytest.raises(NotADatabase, match=told):
            opened(place)
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    assert (damaged / "chroma.sqlite3").read_bytes() == b"no database at all" * 99


def test_a_folder_of_before_is_refused(folder, opened):
    """The error names what takes its memories out; nothing in it is changed."""
    with bare(folder) as client:
        client.create_collection("journal", embedding_function=None)
    with pytest.raises(NotADatabase, match="memoranda export"):
        opened()
    with bare(folder) as client:
        assert [each.name for each in client.list_collections()] == ["journal"]


def test_a_folder_that_may_only_be_read_is_read(folder, opened, monkeypatch):
    """Chroma writes to read: a copy is looked at, nothing is written, and the error says why."""
    store = opened()
    User(store).remember("tea")
    store.close()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    store = opened()
    assert User(store).page() == ["tea"]
    with pytest.raises(StoreReadOnly, match=f"this process may not write {folder}"):
        User(store).remember("cake")
    assert User(store).page() == ["tea"]
    copy = store.folder._at
    store.close()
    assert not copy.exists()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
