"""A memory in a Chroma folder: what is in it, how it is named, and what is loaded for it."""

import os
import shutil
import sys

import pytest
from bare_environment import run_python
from kept_bytes import holding
from noting import by_hand as remembering

from memoranda import Memory, Settings
from memoranda.errors import MissingExtra
from memoranda.store.locations import file_of
from memoranda.store.locations import place as placed

pytest.importorskip("chromadb", reason="the extra chroma is not installed")


def test_the_folder_is_all_there_is(tmp_path):
    """S1.01: records, talks, jobs and notes are in Chroma's folder; no other file is made."""
    with remembering(f"chroma://{tmp_path}/memory") as memory:
        memory.conversation("one").add("user", "The code word is Xylophon.")
        memory.consolidate()
        memory.remember("Ana is vegetarian")
        memory.notes.sync()
        (word,) = memory.records(kind="episode")
        memory.forget(word.id, erase=True)
        memory.maintain()
        assert memory.notes.folder == tmp_path / "memory" / "notes" / "ana"
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]
    names = {path.name for path in (tmp_path / "memory").iterdir()}
    own = {"chroma.sqlite3", "memoranda.lock", "notes"}
    assert {len(name) for name in names - own} == {36}, names  # the indexes of collections
    assert [path.name for path in tmp_path.rglob("*.db")] == []
    assert holding(tmp_path, "Xylophon") == []


def test_to_copy_the_folder_is_a_backup_and_to_remove_it_a_reset(tmp_path):
    """S1.35: a copy of the closed folder is the whole memory; without it nothing is left."""
    folder, copy = tmp_path / "memory", tmp_path / "copy"
    with remembering(f"chroma://{folder}") as memory:
        memory.conversation("trip").add("user", "I live in Porto.")
        memory.consolidate()
        memory.remember("Ana is vegetarian")
        memory.notes.sync()
        kept = [memory.records(), memory.conversation("trip").messages, memory.notes.read_memory()]
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    with remembering(f"chroma://{folder}") as memory:
        assert [memory.records(), memory.conversations(), memory.notes.read_memory()] == [
            [],
            [],
            "",
        ]
    with remembering(f"chroma://{copy}") as memory:
        again = [memory.records(), memory.conversation("trip").messages, memory.notes.read_memory()]
        assert again == kept
        assert memory.search("Where does the user live?")[0].record.content.endswith("Porto.")
        assert memory.verify() == []


PROGRAM = """
import socket, sys
def watch(event, given):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise AssertionError((event, given))
sys.addaudithook(watch)
from memoranda import AsyncMemory, Memory
for location in ("agent.db", "chroma://memory"):
    assert not [name for name in sys.modules if name.partition(".")[0] in {"chromadb", "httpx"}]
    with Memory(location) as memory:
        memory.remember("Ana lives in Lisbon")
        memory.conversation("trip").add("user", "I live in Porto.")
        assert memory.search("Where does Ana live?")
        memory.forget(memory.records()[0].id, erase=True)
        assert memory.verify() == []
        memory.stats()
assert "onnxruntime" not in sys.modules
"""


def test_chroma_is_loaded_where_it_is_asked_for_and_calls_nobody(tmp_path):
    """A file never loads chromadb; a folder reaches no network, loads no model, and is quiet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    away = {"MEMORANDA_CONFIG": "none.toml", "MEMORANDA_EMBEDDING__MODEL": "none", "HOME": "/none"}
    done = run_python("-W", "error", "-c", PROGRAM, cwd=tmp_path, env=kept | away)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_the_extra_the_remedy_is_told(monkeypatch, tmp_path):
    """Where chromadb is not installed, a location on Chroma says how to install it."""
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[chroma\]'"):
        Memory(f"chroma://{tmp_path}/memory")
    assert not (tmp_path / "memory").exists()


def test_a_folder_is_named_as_a_user_names_it(monkeypatch, tmp_path):
    """Relative to the process, from the root, from the home, or by the environment: one folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names = ("chroma://my robot", f"chroma://{tmp_path}/my robot/", "chroma://~/my robot")
    for name in names:
        assert file_of(placed(name, Settings())) == tmp_path / "my robot"
    monkeypatch.setenv("MEMORANDA_LOCATION", names[0])
    with remembering(None) as memory:
        memory.remember("hello")
        monkeypatch.chdir("/")
        assert memory.notes.folder == tmp_path / "my robot" / "notes" / "ana"
        with remembering(names[2]) as other:
            assert [record.content for record in other.records()] == ["hello"]
