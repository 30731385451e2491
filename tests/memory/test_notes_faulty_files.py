"""Files and folders that are wrong: memory goes on, says what is wrong once, and loses nothing."""

import logging
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import pytest
from noting import (
    MEMORY,
    agent_of,
    by_hand,
    edit,
    facts,
    history,
    items,
    memory_file,
    noting,
    system_of,
    talking,
)

from memoranda.errors import StoreBusy, StoreError

NOBODY = 65_534
FACTS = [f"Ana has read {name}." for name in ("Emma", "Persuasion", "Middlemarch", "Dubliners")]
MANY = [f"Shelf {n} holds {name}." for n, name in enumerate("abcdefghijkl")]


@pytest.fixture
def memory(tmp_path):
    """Ana's memory with four facts in MEMORY.md."""
    with closing(by_hand(tmp_path / "a.db")) as made:
        made.remember_many(FACTS)
        made.notes.sync()
        yield made


# An editor that writes at the same moment


def written_at(memory, step, text):
    """Have an editor write once, just before or just after the file is replaced.

    Returns the notes of which this is so.
    """
    notes = memory.notes
    swap, left = notes._files.swap, [text]

    def swapped(name, old, new):
        if step == "before" and left:
            path = notes.folder / name
            path.write_text(path.read_text() + left.pop())
        done = swap(name, old, new)
        if step == "after" and left:
            path = notes.folder / name
            path.write_text(path.read_text() + left.pop())
        return done

    notes._files.swap = swapped
    return notes


@pytest.mark.parametrize("step", ["before", "after"])
@pytest.mark.parametrize("verb", ["sync", "context_text", "read_memory"])
def test_what_an_editor_saves_meanwhile_is_merged(memory, step, verb):
    """A line that is saved just before or after memory writes is kept, and read with the next."""
    memory.remember("Ana has read Ulysses.")
    notes = written_at(memory, step, "- Ana owns a kite.\n")
    getattr(notes, verb)()
    assert "Ana owns a kite." in items(memory)
    memory.notes.context_text()  # The next look sees it, though nothing in the store has changed.
    wanted = sorted([*FACTS, "Ana has read Ulysses.", "Ana owns a kite."])
    assert facts(memory) == sorted(items(memory)) == wanted


def test_what_an_editor_saves_before_a_whole_new_text_is_read(memory):
    """``write_memory``: what somebody saved just before is a fact, and in the history of it."""
    remembered, corrected, forgotten = [], [], []
    memory.on("remembered", lambda event: remembered.append(event.subject.content))
    memory.on("corrected", lambda event: corrected.append(event.subject.content))
    memory.on("forgotten", lambda event: forgotten.append(event.subject.id))
    notes = written_at(memory, "before", "- Ana owns a kite.\n")
    assert notes.write_memory("# Memory\n\n- Ana sails.\n")
    assert items(memory) == facts(memory) == ["Ana sails."]
    assert (remembered[0], corrected) == ("Ana owns a kite.", ["Ana sails."])
    assert len(forgotten) == len(FACTS)
    assert not notes.write_memory("# Memory\n\n- Ana sails.\n")


def test_a_file_that_never_rests_is_told(memory):
    """An editor that saves before every attempt: an error that says so, and nothing is lost."""
    notes = memory.notes
    memory.remember("Ana has read Ulysses.")
    swap, number = notes._files.swap, iter(range(100))

    def swapped(name, old, new):
        path = notes.folder / name
        path.write_text(path.read_text() + f"- Ana owns kite {next(number)}.\n")
        return swap(name, old, new)

    notes._files.swap = swapped
    with pytest.raises(StoreBusy, match="changes all the time"):
        notes.sync()
    notes._files.swap = swap
    notes.sync()
    assert len([text for text in facts(memory) if "kite" in text]) == next(number)
    assert facts(memory) == sorted(items(memory))


def test_threads_that_look_and_write_at_once(tmp_path):
    """Many threads on two memories, each remembering and syncing: every fact once, no error."""
    with closing(by_hand(tmp_path / "a.db")) as one, closing(by_hand(tmp_path / "a.db")) as other:
        start = Barrier(6)

        def work(number):
            memory = (one, other)[number % 2]
            start.wait()
            for turn in range(5):
                memory.remember(f"Thread {number} saw {turn}.")
                memory.notes.sync()

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(work, range(6)))
        one.notes.sync()
        assert sorted(items(one)) == facts(one) == facts(other)
        assert len(facts(one)) == 30


# Files that are damaged


@pytest.mark.parametrize("left", ["", "\n \n", None])
def test_a_file_that_is_empty_or_gone_is_restored(memory, caplog, left):
    """Zero bytes are no word of a person: all is written anew, with a warning."""
    path = memory_file(memory)
    whole = path.read_text()
    path.unlink() if left is None else path.write_text(left)
    with caplog.at_level(logging.WARNING):
        report = memory.notes.sync(accept_removals=True)
    assert (len(report.restored), report.forgotten) == (len(FACTS), ())
    assert path.read_text() == whole
    assert facts(memory) == sorted(FACTS)
    assert len([r for r in caplog.records if "are there again" in r.message]) == 1


def test_a_mass_removal_is_undone_until_it_is_meant(tmp_path, caplog):
    """Most lines gone at once are written again, beside what else a person changed."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        memory.remember_many(MANY)
        memory.notes.sync()
        gone = {f"- {text}" for text in items(memory)[:8]}

        def taken_out(text):
            lines = [line for line in text.splitlines() if line not in gone]
            return "\n".join([*lines, "- Ana sails.", "Words of mine.", ""])

        edit(memory, taken_out)
        with caplog.at_level(logging.WARNING):
            report = memory.notes.sync()
        assert (len(report.restored), len(report.added), report.forgotten) == (8, 1, ())
        assert len([r for r in caplog.records if "accept-removals" in r.message]) == 1
        assert facts(memory) == sorted([*MANY, "Ana sails."])
        assert sorted(items(memory)) == sorted([*facts(memory), "Words of mine."])
        assert not memory.notes.sync().written
        edit(memory, lambda text: text.replace("- Ana sails.\n", ""))
        assert len(memory.notes.sync().forgotten) == 1  # A single one is believed at once.
        edit(memory, lambda text: "\n".join(x for x in text.splitlines() if x not in gone))
        report = memory.notes.sync(accept_removals=True)
        assert (len(report.restored), len(report.forgotten)) == (0, 8)
        assert len(facts(memory)) == 4
        assert memory.verify() == []


# Files that cannot be used


@contextmanager
def unprivileged(folder):
    """Be somebody who may read in ``folder`` and not write."""
    root = os.geteuid() == 0
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o644)


@contextmanager
def a_folder(folder):
    """Have a folder in the place of MEMORY.md."""
    (folder / MEMORY).rename(folder / "aside")
    (folder / MEMORY).mkdir()
    yield
    (folder / MEMORY).rmdir()
    (folder / "aside").rename(folder / MEMORY)


@contextmanager
def a_link(folder):
    """Have a link to a file elsewhere in the place of MEMORY.md."""
    elsewhere = folder.parent / "elsewhere.md"
    elsewhere.write_text("- Root is my name.\n")
    (folder / MEMORY).rename(folder / "aside")
    (folder / MEMORY).symlink_to(elsewhere)
    yield
    assert elsewhere.read_text() == "- Root is my name.\n"
    (folder / MEMORY).unlink()
    (folder / "aside").rename(folder / MEMORY)


@contextmanager
def no_text(folder):
    """Have bytes that are no UTF-8 in MEMORY.md."""
    path = folder / MEMORY
    before = path.read_bytes()
    path.write_bytes(b"\xff\xfe# M\x00" + before)
    yield
    assert path.read_bytes() == b"\xff\xfe# M\x00" + before
    path.write_bytes(before)


WRONG = {
    "read-only": (unprivileged, "cannot be written"),
    "a folder": (a_folder, "is not a regular file"),
    "a link": (a_link, "leads out of its folder"),
    "not utf-8": (no_text, "is not UTF-8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_memory_goes_on_without_its_notes(name, caplog):
    """Context, agent and consolidation work, one line says what is wrong, and all comes back."""
    make_wrong, why = WRONG[name]
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        base.chmod(0o755)
        goes_on(base, make_wrong, why, caplog)


def goes_on(base, make_wrong, why, caplog):
    """Use a memory whose notes are wrong for a while."""
    folder = base / "a.notes" / "ana"
    with closing(noting(":memory:")) as other:
        assert other.notes.folder != folder
    settings = {"notes": {"folder": str(folder)}, "user": "ana"}
    with closing(by_hand(":memory:", **settings)) as memory:
        memory.remember_many(FACTS)
        memory.notes.sync()
        folder.parent.chmod(0o755)
        model = talking(always="I see.")
        with make_wrong(folder):
            caplog.clear()
            agent = agent_of(memory, model)
            memory.remember("Ana has read Ulysses.")
            for text in ("I live in Porto.", "I have a dog named Rex.", "What have I read?"):
                assert agent.process(text).text == "I see."
                assert memory.conversation("other").context(text).messages
            told = [r.message for r in caplog.records if why in r.message]
            assert len(told) == 1
            with pytest.raises(StoreError, match=why):
                memory.notes.sync()
            assert agent.process("/new").text == "Session cleared."
            report = memory.consolidate()
            assert not report.failed
            assert "The user lives in Porto." in facts(memory)
        wanted = sorted(
            [
                *FACTS,
                "Ana has read Ulysses.",
                *("The user lives in Porto.", "The user has a dog named Rex."),
            ]
        )
        assert facts(memory) == wanted
        memory.consolidate()
        assert sorted(items(memory)) == wanted
        assert any("Porto" in entry for entry in history(memory))
        system = system_of(agent.context("Hello"))
        assert all(text in system for text in wanted)
        assert memory.verify() == []
