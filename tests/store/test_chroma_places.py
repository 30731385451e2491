"""Folders and servers of Chroma: foreign, damaged, slow or gone; what erasing and copies leave."""

import json
import shutil
import socket
import sqlite3
import uuid
from base64 import b64encode
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import chromadb
import httpx
import numpy as np
import pytest
from analyzers import PlainNames, WordAnalyzer
from chroma_server import free_port, running, start, stop
from samples import ALL, ANA, BEN, DIMENSIONS, EXTRACTOR, MODEL, User, cut, moment, pruning, vector

from memoranda.errors import NotADatabase, StoreClosed, StoreError
from memoranda.model.actions import Erase, Prune, PutVectors
from memoranda.model.capabilities import PURGE
from memoranda.model.models import Scope
from memoranda.model.query import IndexVersion
from memoranda.store.chroma import client, index_files
from memoranda.store.chroma.place import Folder, Server, parse
from memoranda.store.chroma.store import ChromaStore

ERASED = "Xylophonquark säuft 東京-tee"
MANY = 1_050
"""More records than Chroma holds in memory alone: their vectors are in files of their own."""


@pytest.fixture
def folder(tmp_path):
    """Where the test's store is."""
    return tmp_path / "memory"


@pytest.fixture
def opened(monkeypatch):
    """Open stores, closed after the test; whose threads are waited for, however slow they are."""
    monkeypatch.setattr(client, "CLOSING", 20.0)
    stores = []

    def start_one(place):
        place = place if isinstance(place, Server) else Folder(place)
        stores.append(ChromaStore(place, analyzer=WordAnalyzer(), names=PlainNames()))
        return stores[-1]

    yield start_one
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory):
    """Give host and port of a server for this file."""
    with running(tmp_path_factory.mktemp("server")) as address:
        yield address


@contextmanager
def bare(folder):
    """Give the client of Chroma alone, as another program has it."""
    other = chromadb.PersistentClient(str(folder), settings=client.quiet())
    try:
        yield other
    finally:
        other.close()


def vectors(store, scope=ANA):
    """Return the vectors of a user's records."""
    return np.asarray(store.index_changes(scope, IndexVersion()).vectors)


def records(store, scope=ANA):
    """Return all records of a user."""
    return store.records(scope, ALL)


# Erasing


def forms(text):
    """Return the bytes as which a text may be written: also in a patch, in base64."""
    escaped = json.dumps(text)[1:-1]
    return (
        *(b64encode(bytes(shift) + text.encode())[2 * bool(shift) + 2 : -4] for shift in range(3)),
        text.encode(),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
        escaped.encode(),
        json.dumps(escaped)[1:-1].encode(),
    )


def remains(folder, *texts):
    """Return the files that hold one of the texts in any form."""
    wanted = [form for text in texts for form in forms(text)]
    held = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [name for name, data in held.items() if any(form in data for form in wanted)]


def secretive(store):
    """Store what is to stay and, in every place there is, what is to go; return that record."""
    store.reset_vectors(MODEL, DIMENSIONS)
    kept = User(store).remember(*(f"note {number} of Zoe" for number in range(MANY)))
    User(store).embed(kept, vector(4, 3, 2, 1))
    (secret,) = User(store).remember(ERASED, metadata={"said": ERASED}, tags=(ERASED,))
    User(store).embed([secret])
    User(store).open_conversation("talk")
    User(store).say("talk", ERASED, record_id=secret.id)
    User(store).say("talk", "harmless")
    store.apply(ANA, [Prune("talk", pruning(cut(0, 0, summary=ERASED)))])
    User(store, BEN).remember(ERASED[:13])
    return secret


def test_what_is_erased_is_in_no_file(opened, folder):
    """After a purge no byte of the folder tells of it, and what stays is found as before."""
    store = opened(folder)
    secret = secretive(store)
    store.reset_vectors("wider", 7)  # Its vectors are in a collection of their own.
    made = {item.id: vector(3, 4, 0, 0, 0, 0, 0) for item in records(store)}
    store.apply(ANA, [PutVectors("wider", made)])
    assert remains(folder, ERASED)
    store.apply(ANA, [Erase((secret.id,), moment(9), "asked")])
    store.apply(BEN, [Erase((records(store, BEN)[0].id,), moment(9), "asked")])
    before, rows = User(store).everything(), vectors(store)
    assert any("erased" in line for line in store.verify())
    assert store.purge() is None
    assert (User(store).everything(), store.verify()) == (before, [])
    assert len(rows) == MANY
    assert (vectors(store) == rows).all()
    store.close()  # Until then an index that Chroma saves may hold any of the process's memory.
    assert remains(folder, ERASED, ERASED[:13]) == []
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        used = {row[0] for row in database.execute("SELECT id FROM segments")}
    assert {path.name for path in folder.iterdir() if path.is_dir()} <= used
    again = opened(folder)
    assert (vectors(again) == rows).all()
    assert len(User(again).page()) == MANY


def test_what_chroma_derived_of_erased_text_is_in_no_file(opened, folder):
    """Vectors, letters and names of metadata go with a record; those of others stay."""
    store = opened(folder)
    store.reset_vectors(MODEL, DIMENSIONS)
    kept = User(store).remember(*(f"note {number}" for number in range(150)))
    rows = np.random.default_rng(1).standard_normal((151, DIMENSIONS)).astype(np.float32)
    (secret,) = User(store).remember(ERASED, metadata={"secretive": 1})
    made = {item.id: vector(*row) for item, row in zip([*kept, secret], rows, strict=True)}
    store.apply(ANA, [PutVectors(MODEL, made)])
    store.apply(ANA, [Erase((secret.id,), moment(9), "asked")])
    assert store.purge() is None
    store.close()
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = (rows / lengths).round(2)
    for file in (each / index_files.VECTORS for each in index_files.folders(folder)):
        stored = np.frombuffer(file.read_bytes(), np.float32).round(2).tobytes()
        assert unit[-1].tobytes() not in stored
    assert b"secretive" not in (folder / "chroma.sqlite3").read_bytes()
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        # In the whole file three letters may stand by chance.
        found = database.execute("SELECT block FROM embedding_fulltext_search_data")
        letters = b" ".join(block for (block,) in found)
        assert not [part for part in (b"xyl", b"phonq") if part in letters]
        (queued,) = database.execute("SELECT count(*) FROM embeddings_queue").fetchone()
    assert queued <= len(("who was purged is noted", "the last number"))
    with bare(folder) as other:
        memories = other.get_collection("memories", embedding_function=None)
        found = memories.get(ids=[item.id for item in kept], include=["embeddings", "documents"])
        memories.add(ids=["later"], embeddings=[vector(*rows[-1])], documents=["tea for two"])
        near = memories.query(
            query_embeddings=[rows[-1]], n_results=1, where_document={"$contains": "tea for"}
        )
    stored = dict(zip(found["documents"], found["embeddings"], strict=True))
    assert all(stored[item.content] == pytest.approx(made[item.id], abs=1e-3) for item in kept)
    assert near["ids"] == [["later"]]


def test_what_is_erased_is_in_no_row_of_a_server(opened, chroma_server):
    """On a server no row of any collection tells of it, and the store says what may remain."""
    store = opened(parse(f"chroma+http://{chroma_server}/erasing"))
    secret = secretive(store)
    store.apply(ANA, [Erase((secret.id,), moment(9), "asked")])
    store.apply(BEN, [Erase((records(store, BEN)[0].id,), moment(9), "asked")])
    assert store.purge() is not None
    host, port = chroma_server.split(":")
    other = chromadb.HttpClient(host, int(port), settings=client.quiet(), database="erasing")
    told = "".join(str(each.get()) for each in other.list_collections())
    for session in client._sessions(other):
        session.close()
    assert "note 7 of Zoe" in told
    assert "Xylophonquark" not in told
    (purging,) = [each for each in store.capabilities() if each.name == PURGE]
    assert not purging.native
    assert "server's files" in purging.detail


def test_the_room_of_an_index_holds_nothing(opened, folder):
    """What Chroma saved of the process's memory is gone from a folder that was left."""
    store = opened(folder)
    store.reset_vectors(MODEL, DIMENSIONS)
    User(store).embed(User(store).remember("tea", "milk"))
    rows = vectors(store)
    store.close()
    files = [each / index_files.VECTORS for each in index_files.folders(folder)]
    assert files
    for file in files:
        whole, layout = file.read_bytes(), index_files._layout(file.parent)
        used = layout.number * layout.size
        assert whole[used:].count(0) == len(whole) - used > 0
        file.write_bytes(whole[:used] + b"Xylophon" + whole[used + 8 :])
    again = opened(folder)
    assert (vectors(again) == rows).all()
    again.close()
    assert not [file for file in files if b"Xylophon" in file.read_bytes()]


def test_what_a_server_kept_is_purged_in_its_folder(opened, tmp_path):
    """Whoever opens the folder of a server that is gone is told what is left, and can purge it."""
    folder = tmp_path / "served"
    folder.mkdir()
    with running(folder) as address:
        store = opened(parse(f"chroma+http://{address}"))
        secret = secretive(store)
        store.apply(ANA, [Erase((secret.id,), moment(9), "asked")])
        assert store.purge() is not None
        assert store.verify() == []
        store.close()
    (folder / "server.log").unlink()
    store = opened(folder)
    assert any("erased" in line for line in store.verify())
    assert store.purge() is None
    assert store.verify() == []
    store.close()  # Until then an index that Chroma saves may hold any of the process's memory.
    assert remains(folder, ERASED) == []


# Copies


def test_a_copy_of_the_closed_folder_is_a_backup(opened, folder, tmp_path):
    """Copied it is a backup, and removed it is a reset (seed 001, S1.35)."""
    store = opened(folder)
    store.reset_vectors(MODEL, DIMENSIONS)
    User(store).embed(User(store).remember("tea with Zoe", "milk"))
    before, rows = User(store).everything(), vectors(store)
    store.close()
    files = {path.name for path in folder.iterdir() if path.is_file()}
    assert files == {"chroma.sqlite3", client.LOCK}
    shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    assert User(opened(folder)).page() == []
    copy = opened(tmp_path / "copy")
    assert User(copy).everything() == before
    assert (vectors(copy) == rows).all()
    assert copy.verify() == []


def test_a_backup_while_another_writes_is_of_one_moment(opened, folder, tmp_path):
    """A backup holds all that was written before it began, and nothing of a plan by half."""
    store = opened(folder)
    store.reset_vectors(MODEL, DIMENSIONS)
    done, two = Event(), Event()

    def write():
        for number in range(1_000):
            User(store).embed(User(store).remember(f"a{number}", f"b{number}"))
            if number == 2:
                two.set()
            if done.is_set():
                return

    writer = Thread(target=write)
    writer.start()
    two.wait(30)
    store.backup(str(tmp_path / "copy"))
    done.set()
    writer.join(30)
    copy = opened(tmp_path / "copy")
    texts = User(copy).page()
    assert texts == User(store).page()[: len(texts)]
    assert len(texts) >= 6
    assert len(texts) % 2 == 0
    assert len(vectors(copy)) in {len(texts), len(texts) - 2}
    assert copy.verify() == []


# What others made


def test_memories_of_another_program_stay(opened, folder):
    """Beside the rows of seed 001's own code ours are stored, and theirs stay as they are."""
    row = vector(*range(1, 385))
    theirs = {"type": "fact", "created_at": "2026-01-01T00:00:00", "category": "user_profile"}
    key = str(uuid.uuid4())
    with bare(folder) as other:
        made = other.get_or_create_collection("memories", metadata={"hnsw:space": "cosine"})
        made.add(ids=[key], embeddings=[row], documents=["Alex"], metadatas=[theirs])
    store = opened(folder)
    assert (store.users(), store.verify(), User(store).pending(of_all=True)) == ([], [], [])
    store.reset_vectors("minilm", 384)
    items = User(store).remember("tea", "milk")
    store.apply(ANA, [PutVectors("minilm", {items[0].id: row})])
    assert vectors(store)[0] == pytest.approx(row, abs=1e-3)  # half the precision is kept
    store.apply(ANA, [Erase((items[1].id,), moment(9), "asked")])
    store.purge()
    assert (User(store).page(), store.verify()) == (["tea"], [])
    store.close()
    with bare(folder) as other:
        again = other.get_or_create_collection("memories", metadata={"hnsw:space": "cosine"})
        found = again.get(ids=[key], include=["embeddings", "documents", "metadatas"])
        near = again.query(query_embeddings=[row], n_results=9)
    assert (found["documents"], found["metadatas"]) == (["Alex"], [theirs])
    assert found["embeddings"][0] == pytest.approx(row)
    assert set(near["ids"][0]) == {key, items[0].id}


def test_places_that_are_no_chroma(opened, folder, tmp_path):
    """A file, and a folder with files of others, are refused and left as they are."""
    file = tmp_path / "file"
    file.write_text("text")
    folder.mkdir()
    (folder / "letter.txt").write_text("text")
    for place, told in ((file, "is a file"), (folder, "not Chroma's")):
        with pytest.raises(NotADatabase, match=told):
            opened(place)
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    assert file.read_text() == "text"


@pytest.mark.parametrize("damage", [b"no database at all" * 99, b"SQLite format 3\0" + b"\7" * 999])
def test_a_damaged_database_is_told_of(opened, folder, damage):
    """A database that is none is refused with an error of ours, and stays as it is."""
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(damage)
    with pytest.raises(StoreError, match="memory"):
        opened(folder)
    assert (folder / "chroma.sqlite3").read_bytes() == damage


def test_rows_that_others_changed(opened, folder):
    """What others changed in the collection is found, and mended; a new text is the truth then."""
    store = opened(folder)
    one, two, three = User(store).remember("tea", "milk", "cake", metadata={"cup": 1})
    store.close()
    with bare(folder) as other:
        memories = other.get_collection("memories", embedding_function=None)
        memories.update(ids=[one.id], metadatas=[{"cup": 2}])
        memories.update(ids=[two.id], documents=["Zoe"], embeddings=[vector(*range(1, 385))])
        memories.delete(ids=[three.id])
    store = opened(folder)
    for item in (one, two, three):
        assert any(item.id in line for line in store.verify())
    assert store.rebuild(EXTRACTOR) != []
    assert User(store).page() == ["tea", "Zoe", "cake"]
    assert [each.name for each in store.entities(ANA, ALL, type=None, limit=9)] == ["Zoe"]
    assert (store.verify(), store.rebuild(EXTRACTOR)) == ([], [])


def test_a_journal_that_others_changed(opened, folder):
    """An entry that cannot be read is told of, and nothing is written over it."""
    store = opened(folder)
    User(store).remember("tea")
    store.close()
    with bare(folder) as other:
        rows = other.get_collection("journal", embedding_function=None)
        (commit,) = rows.get(where={"$and": [{"user": "ana"}, {"of": "commit"}]})["ids"]
        rows.update(ids=[commit], metadatas=[{"patch": "no patch"}])
    with pytest.raises(NotADatabase, match="journal of 'ana'"):
        User(opened(folder)).page()


# Servers


@contextmanager
def answering(status, body):
    """Run a server that gives every request one answer; give its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the class asks for

        def log_message(self, *given):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, b"not here", "is no Chroma server"),
        (200, b"<html>welcome</html>", "is no Chroma server"),
        (502, b"bad gateway", "is no Chroma server"),
        (401, b"{}", "storage.token"),
        (403, b'{"error":"AuthError"}', "storage.token"),
        (500, b'{"error":"InternalError","message":"broken"}', "broken"),
    ],
)
def test_servers_that_are_no_use(opened, status, body, told):
    """What answers in place of Chroma, or refuses, is named with its address."""
    with (
        answering(status, body) as port,
        pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port}.*{told}"),
    ):
        opened(Server("127.0.0.1", port))


def test_nobody_listens_or_answers(opened, monkeypatch):
    """An address without a server, and one that never answers, are told of in short time."""
    port = free_port()
    with pytest.raises(StoreError, match=f"{port}.*is the server up"):
        opened(Server("127.0.0.1", port))
    monkeypatch.setattr(client, "TIMEOUT", httpx.Timeout(0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(StoreError, match=f"{port}.*timed out.*is the server up"):
            opened(Server("127.0.0.1", port))


def test_a_token_is_sent(opened):
    """The token of the settings goes with each request, and into no error."""
    place = replace(parse("chroma+http://127.0.0.1:1"), token="hush")  # noqa: S106 - of a test
    with pytest.raises(StoreError) as caught:
        opened(place)
    assert "hush" not in str(caught.value)


def test_a_database_that_cannot_be_made(opened, chroma_server):
    """What Chroma says against a name is passed on."""
    with pytest.raises(StoreError, match="at least 3"):
        opened(parse(f"chroma+http://{chroma_server}/x"))
    made = opened(parse(f"chroma+http://{chroma_server}/some-tenant/some-database"))
    User(made).remember("tea")
    assert User(made).page() == ["tea"]


def test_a_server_that_comes_back(opened, tmp_path):
    """While it is gone a clear error says so; then the open store goes on, and has lost nothing."""
    port = free_port()
    process = start(tmp_path, port)
    try:
        store = opened(Server("127.0.0.1", port))
        User(store).remember("tea")
        stop(process)
        with pytest.raises(StoreError, match="is the server up"):
            User(store).page()
        with pytest.raises(StoreError, match="is the server up"):
            User(store).remember("milk")
        process = start(tmp_path, port)
        User(store).remember("juice")
        assert (
            User(store).page() == User(opened(Server("127.0.0.1", port))).page() == ["tea", "juice"]
        )
        assert store.verify() == []
    finally:
        stop(process)


# Many users


def test_replicas_are_closed(opened, folder):
    """Of many users those who were not asked for longest are not held, and nothing is lost."""
    store = opened(folder)
    replicas = store._replicas
    scopes = [Scope(f"user {number}") for number in range(9)]
    for scope in scopes:
        User(store, scope).remember(f"tea of {scope.user}")
        assert store.match_terms(scope, ["tea"], limit=5).ordinals
        replicas._most = 3 * replicas._held[scope.user].size()
    assert scopes[0].user not in replicas._held
    assert scopes[-1].user in replicas._held
    assert len(replicas._held) <= 4
    assert [User(store, scope).page() for scope in scopes] == [[f"tea of {s.user}"] for s in scopes]
    with store.snapshot():
        assert all(User(store, scope).page() for scope in scopes)
    assert (store.users(), store.verify()) == ([scope.user for scope in scopes], [])


def test_a_closed_store_says_so(opened, folder):
    """After closing, every use says that the store is closed."""
    store = opened(folder)
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="open the memory again"):
        User(store).page()


def test_another_analyzer_makes_the_terms_anew(opened, folder):
    """A folder whose terms another version of the analyzer made is indexed again, once."""
    store = opened(folder)
    User(store).remember("tea with Zoe", "milk")
    before = User(store).everything()
    store.close()
    later = WordAnalyzer("words-2")
    for _ in range(2):
        store = ChromaStore(Folder(folder), analyzer=later, names=PlainNames())
        assert User(store).everything() == before
        assert store.match_terms(ANA, ["zoe"], limit=5).frequencies == [1]
        assert store.verify() == []
        with store._replicas.reading("ana") as replica:
            commit, made = replica.at.commit, replica.meta("analyzer")
        store.close()
    assert (commit, made) == (2, "words-2")
