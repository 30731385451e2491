"""A memory on Chroma does what one in a file does: the same texts, scores and receipts."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from both_stores import differences, done, remembering
from memory_flows import FLOWS, ON_A_SERVER, importing, noting

from memoranda import Memory, Settings
from memoranda.errors import ConfigError, MissingExtra
from memoranda.store.locations import file_of
from memoranda.store.locations import place as placed

pytest.importorskip("chromadb", reason="the extra chroma is not installed")

import chromadb
from chroma_server import running

from memoranda.store.chroma.client import quiet

NUMBERS = count(1)


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory):
    """Give host and port of a Chroma server."""
    with running(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture
def place(request, tmp_path):
    """Return the location of a new memory of the kind that is asked for."""

    def new(kind):
        if kind == "file":
            return str(tmp_path / "memory.db")
        if kind == "folder":
            return f"chroma://{tmp_path}/memory"
        address = request.getfixturevalue("chroma_server")
        return f"chroma+http://{address}/memory-{next(NUMBERS)}"

    return new


BOTH = [(flow, "folder") for flow in FLOWS] + [(flow, "server") for flow in ON_A_SERVER]


@pytest.mark.parametrize(
    ("flow", "kind"), BOTH, ids=lambda given: getattr(given, "__name__", given)
)
def test_chroma_does_what_a_file_does(flow, kind, in_a_file, place, tmp_path):
    """A flow over the whole of an area tells the same on Chroma as on SQLite."""
    there = done(flow, place(kind), tmp_path / "files")
    assert differences(in_a_file(flow), there) == []


@pytest.mark.parametrize("kinds", [("file", "folder"), ("server", "file")])
def test_an_export_of_one_is_the_memory_of_the_other(kinds, place, tmp_path):
    """What one place exports, another takes in whole, ids and all, and exports as it was."""
    exported = []
    with closing(remembering(place(kinds[0]))) as memory:
        importing(memory, memory._services.clock.source, tmp_path)
        first, second, *_ = memory.records(kind="fact")
        memory.correct(first.id, "Ana eats fish")
        memory.forget(second.id)
        exported.append(tmp_path / "one.jsonl")
        memory.export(exported[0])
        found = memory.search("Where is the shop?")
    with closing(remembering(place(kinds[1]))) as memory:
        report = memory.import_(exported[0])
        assert report.records > 5
        assert memory.import_(exported[0]).records == 0
        exported.append(tmp_path / "two.jsonl")
        memory.export(exported[1])
        again = memory.search("Where is the shop?")
        assert memory.verify() == []
    one, two = (sorted(path.read_text().splitlines()[1:]) for path in exported)
    assert [json.loads(line) for line in one] == [json.loads(line) for line in two]
    assert [hit.record.id for hit in again] == [hit.record.id for hit in found]
    assert [hit.score for hit in again] == pytest.approx([hit.score for hit in found], abs=1e-3)


def in_folder(folder):
    """Return the bytes of all files in a folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_folder_is_all_there_is(tmp_path):
    """S1.01: records, talks, jobs and notes are in Chroma's folder; no other file is made."""
    with closing(remembering(f"chroma://{tmp_path}/memory")) as memory:
        told = noting(memory, memory._services.clock.source, tmp_path)
        memory.maintain()
        assert memory.notes.folder == tmp_path / "memory" / "notes" / "ana"
    assert told
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]
    files = in_folder(tmp_path / "memory")
    assert [name for name in files if Path(name).suffix in {".db", ".sqlite3"}] == [
        "chroma.sqlite3"
    ]
    own = {"chroma.sqlite3", "memoranda.lock"}
    rest = {name.split("/")[0] for name in files} - own
    assert {len(name) for name in rest - {"notes"}} == {36}, rest  # the indexes of collections
    assert not [name for name, held in files.items() if b"Xylophon" in held]


def test_to_copy_the_folder_is_a_backup_and_to_remove_it_a_reset(tmp_path):
    """S1.35: a copy of the closed folder is the whole memory; without it nothing is left."""
    folder, copy = tmp_path / "memory", tmp_path / "copy"
    with closing(remembering(f"chroma://{folder}")) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.consolidate()
        memory.remember("Ana is vegetarian")
        memory.notes.sync()
        kept = [memory.records(), memory.conversation("trip").messages, memory.notes.read_memory()]
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    with closing(remembering(f"chroma://{folder}")) as memory:
        assert [memory.records(), memory.conversations(), memory.notes.read_memory()] == [
            [],
            [],
            "",
        ]
    with closing(remembering(f"chroma://{copy}")) as memory:
        again = [memory.records(), memory.conversation("trip").messages, memory.notes.read_memory()]
        assert again == kept
        assert memory.search("Where does the user live?")[0].record.content.endswith("Porto.")
        assert memory.verify() == []


def test_other_readers_pass_over_what_was_retired(tmp_path):
    """After the clean-up ``closed`` is true of what expired, as of what was forgotten."""
    location, month = f"chroma://{tmp_path}/memory", {"episode": "30d"}
    with closing(remembering(location, retention=month)) as memory:
        memory.conversation("trip").add("user", "Meet me at the harbour.")
        memory.remember("Ana likes tea")
        memory.forget(memory.remember("Ana likes coffee").id)
        memory._services.clock.source.advance(timedelta(days=30))
        memory.expire()
        assert memory.verify() == []
    client = chromadb.PersistentClient(str(tmp_path / "memory"), settings=quiet())
    with closing(client):
        found = client.get_collection("memories").get(where={"closed": False})
        assert found["documents"] == ["Ana likes tea"]
        assert client.get_collection("memories").count() == 3


def test_notes_of_a_server_are_where_they_are_set_to_be(place, tmp_path):
    """Without a folder they last as long as the memory, it says so, and the server keeps none."""
    location = place("server")
    with closing(remembering(location)) as memory:
        memory.remember("Ana is vegetarian")
        assert "notes.folder" in memory.stats().notes
        assert "vegetarian" in memory.notes.context_text(make=True)
        gone = memory.notes.folder
        assert memory.notes.fact_lines()
    assert not gone.exists()
    with closing(remembering(location, notes={"folder": str(tmp_path / "notes")})) as memory:
        store, scope = memory._services.store, memory._scope
        assert [base.lines for base in store.notes_bases(scope).values()] == [()]
        memory.notes.sync()
        assert "vegetarian" in (tmp_path / "notes" / "users" / "ana" / "MEMORY.md").read_text()


LAZY = """
import sys
import memoranda
from memoranda import AsyncMemory, Memory
with Memory("agent.db") as memory:
    memory.remember("Ana lives in Lisbon")
    assert memory.search("Where does Ana live?")
    memory.stats()
assert not [name for name in sys.modules if name.partition(".")[0] in {"chromadb", "httpx"}]
"""
OFFLINE = """
import socket, sys
def watch(event, given):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise AssertionError((event, given))
sys.addaudithook(watch)
from memoranda import Memory
with Memory("chroma://memory") as memory:
    memory.remember("Ana lives in Lisbon")
    memory.conversation("trip").add("user", "I live in Porto.")
    assert memory.search("Where does Ana live?")
    memory.forget(memory.records()[0].id, erase=True)
    memory.backup("copy")
    assert memory.verify() == []
assert "onnxruntime" not in sys.modules
"""


@pytest.mark.parametrize("program", [LAZY, OFFLINE], ids=["lazy", "offline"])
def test_chroma_is_loaded_where_it_is_asked_for_and_calls_nobody(program, tmp_path):
    """A file never loads chromadb; a folder reaches no network, loads no model, and is quiet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    away = {"MEMORANDA_CONFIG": "none.toml", "MEMORANDA_EMBEDDING__MODEL": "none", "HOME": "/none"}
    done = subprocess.run(  # noqa: S603 - this interpreter, on a program of this test
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=kept | away,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_the_extra_the_remedy_is_told(monkeypatch, tmp_path):
    """Where chromadb is not installed, a location on Chroma says how to install it."""
    monkeypatch.setitem(sys.modules, "chromadb", None)
    for location in (f"chroma://{tmp_path}/memory", "chroma+http://127.0.0.1:8000"):
        with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[chroma\]'"):
            Memory(location)
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize(
    ("location", "complaint"),
    [
        ("chroma://", "names no folder"),
        ("chroma:///", "names no folder"),
        ("chroma:/srv/memory", "is unknown; use a file"),
        ("chroma+http:localhost", "is unknown; use a file"),
        ("chroma:///C:/memory", "is a folder of Windows"),
        ("chroma://d:\\memory", "is a folder of Windows"),
        ("chroma://~nobody-of-this-name/memory", "cannot be used"),
        ("chroma+http://", "cannot be read"),
        ("chroma+ftp://localhost", "is unknown"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="drives are known elsewhere")
def test_a_location_that_cannot_be_read_is_named(location, complaint):
    """What is no folder and no server is refused with the forms that are."""
    with pytest.raises(ConfigError, match=complaint) as raised:
        Memory(location)
    assert "chroma:///folder" in str(raised.value) or "cannot be used" in str(raised.value)


def test_a_folder_is_named_as_a_user_names_it(monkeypatch, tmp_path):
    """Relative to the process, from the root, from the home, or by the environment: one folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names = ("chroma://my robot", f"chroma://{tmp_path}/my robot/", "chroma://~/my robot")
    for name in names:
        assert file_of(placed(name, Settings())) == tmp_path / "my robot"
    monkeypatch.setenv("MEMORANDA_LOCATION", names[0])
    with closing(remembering(None)) as memory:
        memory.remember("hello")
        monkeypatch.chdir("/")
        assert memory.notes.folder == tmp_path / "my robot" / "notes" / "ana"
        with closing(remembering(names[2])) as other:
            assert [record.content for record in other.records()] == ["hello"]
