"""Text files with versions: one writer of several wins, a repeated operation is done once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noting import by_hand
from postgres_server import new_database

from memoranda import Memory, Settings
from memoranda.errors import Conflict, InvalidInput, NotFound
from memoranda.records.files import FileOperation

COUNT_UP = """
import sys
from memoranda import Memory
with Memory(sys.argv[1], user="ana") as memory:
    files = memory.files()
    for _ in range(20):
        files.edit("n.txt", lambda text: str(int(text) + 1))
"""
NAME = st.sampled_from(["a", "b.md", "ä b", "日本", "😀"])
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)
STEP = st.tuples(
    st.sampled_from(["write", "delete", "move"]), PATH, PATH, st.text("xyz\n ", max_size=5)
)


@pytest.fixture(params=["sqlite", "postgres", "chroma"])
def place(request, tmp_path):
    """Return the location of a new store of each kind."""
    if request.param == "postgres":
        return new_database(request.getfixturevalue("postgres"))
    if request.param == "chroma":
        pytest.importorskip("chromadb")
        return f"chroma://{tmp_path / 'chroma'}"
    return str(tmp_path / "memory.db")


def test_of_many_writers_one_wins(place):
    """Twenty threads that all know the same version, or that there is no file yet."""
    with by_hand(place) as memory, ThreadPoolExecutor(20) as pool:
        files = memory.files()
        known = None
        for _ in range(3):

            def write(number, known=known):
                try:
                    return files.write("race.md", f"by {number}", expected_version=known)
                except Conflict:
                    return None

            (won,) = filter(None, pool.map(write, range(20)))
            found = files.read("race.md")
            assert (found.version, won.existed) == (won.version, known is not None)
            known = won.version
        assert len(files.versions("race.md")) == 3
        assert memory.verify() == []


def test_several_processes_lose_no_change(tmp_path):
    """Three processes that count up one file by editing it."""
    path = tmp_path / "memory.db"
    with Memory(path, user="ana") as memory:
        memory.files().write("n.txt", "0")
        started = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(path)]) for _ in range(3)]  # noqa: S603
        assert [each.wait(120) for each in started] == [0, 0, 0]
        assert memory.files().read("n.txt").content == "60"
        assert len(memory.files().versions("n.txt")) == 61


def test_an_operation_is_carried_out_once(place):
    """Also after a deletion, and by its own fingerprint; another change under its id is refused."""
    with by_hand(place) as memory:
        files = memory.files()
        first = files.write("a.md", "one", expected_version=None, operation="op-1")
        again = files.write("a.md", "one", expected_version=None, operation="op-1")
        assert (again.version, again.existed, again.replayed) == (first.version, False, True)
        assert files.read("a.md").operation == "op-1"
        gone = files.delete("a.md", operation=FileOperation("op-2", "print"))
        assert gone.existed
        assert files.find_operation(FileOperation("op-2", "print")).replayed
        assert files.delete("b.md", operation=FileOperation("op-2", "print")).path == "a.md"
        assert files.find_operation("op-3") is None
        for wrong in (
            lambda: files.write("a.md", "two", operation="op-1"),
            lambda: files.delete("a.md", operation=FileOperation("op-2", "other")),
        ):
            with pytest.raises(Conflict, match="was another change"):
                wrong()
        assert files.list_files() == []


def test_versions_are_history_and_are_erased(opened):
    """A move goes on with the history; a deletion keeps it, and erasing leaves no text."""
    memory = opened()
    files = memory.files(("agent", "notes"))
    files.write("/plan.md", "zebra one", metadata={"by": "ana"})
    files.write("plan.md", "zebra two", operation="w2")
    files.move("plan.md", "done/plan.md")
    assert [each.content for each in files.versions("plan.md")] == ["zebra two", "zebra one"]
    one = files.versions("plan.md")[-1]
    assert files.read("plan.md", version=one.version) == one
    assert one.metadata == {"by": "ana"}
    assert one.content_sha256 == sha256(b"zebra one").hexdigest()
    moved = files.read("done/plan.md")
    assert [entry.action.value for entry in memory.history(moved.record)].count("insert") == 3
    files.delete("done/plan.md")
    assert files.read("done/plan.md") is None
    assert files.versions("done/plan.md")
    assert files.erase("done/plan.md").records == 3
    assert files.versions("plan.md") == files.versions("done/plan.md") == []
    with pytest.raises(NotFound, match="there is no file"):
        files.erase("plan.md")


def test_an_expectation_that_does_not_hold_is_a_conflict(opened):
    """By version or by digest, for what is there, is not there or was changed in place."""
    memory = opened()
    files = memory.files()
    first = files.write("a.md", "one", expected_version=None)
    digest = sha256(b"one").hexdigest()
    memory.remember("one!", kind="item", namespace=("files",), key="a.md")
    for wrong in (
        lambda: files.write("a.md", "x", expected_version=None),
        lambda: files.write("a.md", "x", expected_version=first.version),
        lambda: files.write("a.md", "x", expected_sha256=digest),
        lambda: files.delete("a.md", expected_sha256=digest),
        lambda: files.delete("b.md", expected_version="item_1"),
        lambda: files.move("a.md", "c.md", expected_version=first.version),
        lambda: files.write("c.md", "two") and files.move("a.md", "c.md"),
    ):
        with pytest.raises(Conflict):
            wrong()
    assert files.read("a.md").content == "one!"
    for wrong in (
        lambda: files.move("nowhere.md", "c.md"),
        lambda: files.edit("nowhere.md", str.upper),
    ):
        with pytest.raises(NotFound):
            wrong()


def test_paths_and_texts_that_cannot_be_kept_are_refused(opened):
    """Each with its reason; the longest and the largest that can be are kept."""
    files = opened().files()
    for path, reason in {
        "": "empty segment",
        "a//b": "empty segment",
        "a/": "empty segment",
        "a/../b": "'..'",
        "./a": "'.'",
        "a\x07": "control character",
        "a\u2028b": "control character",
        "e\u0301": "NFC",
        "/".join("a" * 21): "21 segments",
        "ä" * 513: "1,024 bytes",
        "a\x00": "NUL",
        7: "must be text",
    }.items():
        with pytest.raises(InvalidInput, match=reason):
            files.write(path, "text")
    with pytest.raises(InvalidInput, match="100,001 bytes"):
        files.write("a", "x" * 100_001)
    for path in ("/".join("a" * 20), "ä" * 512, "é", ".hidden", "a b"):
        assert files.write(path, "x" * 100_000).path == path
    for namespace in ((), ("file-operations",), "files"):
        with pytest.raises(InvalidInput, match="namespace"):
            opened().files(namespace)


def test_a_shared_file_stays_shared(opened):
    """An agent that changes a file of no agent changes it for all; its own are its own."""
    memory = opened()
    memory.files().write("a.md", "one")
    bot, cat = (memory.as_user("ana", agent=name).files() for name in ("bot", "cat"))
    bot.write("a.md", "two")
    bot.write("own.md", "mine")
    assert [each.path for each in cat.list_files()] == ["a.md"]
    assert cat.read("a.md").content == "two"
    memory.remember("hers", kind="item", namespace=("files",), key="own.md")
    assert [bot.read("own.md").content, cat.read("own.md").content] == ["mine", "hers"]
    assert [each.content for each in bot.list_files()] == ["two", "mine"]
    assert memory.as_user("ben").files().list_files() == []


def test_files_are_found_by_words_and_by_prefix(opened):
    """In their folder and below it; a prefix may end within a name."""
    memory = opened(embedder=None, settings=Settings(embedding={"model": "none"}))
    files = memory.files()
    for path in ("tea/oolong.md", "tea/mate.md", "team.md", "coffee.md"):
        files.write(path, f"about {path} and water")
    assert [each.path for each in files.list_files("tea")] == [
        "tea/mate.md",
        "tea/oolong.md",
        "team.md",
    ]
    assert [each.path for each in files.list_files("tea/")] == ["tea/mate.md", "tea/oolong.md"]
    (best, *_) = files.search("oolong")
    assert best.file.path == "tea/oolong.md"
    assert 0 < best.score <= 1
    assert {hit.file.path for hit in files.search("water", folder="tea")} == {
        "tea/mate.md",
        "tea/oolong.md",
    }
    assert memory.search("oolong") == []


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=25, deadline=None)
def test_files_are_as_a_dictionary(steps):
    """Whatever is written, moved and deleted, what is there is what was done last."""
    with Memory(":memory:", user="ana", settings=Settings(embedding={"model": "none"})) as memory:
        files, model = memory.files(), {}
        for verb, path, other, text in steps:
            if verb == "write":
                files.write(path, text)
                model[path] = text
            elif verb == "delete":
                assert files.delete(path).existed == (path in model)
                model.pop(path, None)
            elif path in model and other not in model:
                files.move(path, other)
                model[other] = model.pop(path)
        assert {each.path: each.content for each in files.list_files()} == model
        assert memory.verify() == []
