"""``kill -9`` at a step of keeping notes: nothing is lost, and nothing is told twice."""

import json
import random
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memoranda.notes.document import parse

CHILDREN = Path(__file__).parent / "note_children.py"
pytestmark = pytest.mark.usefixtures("no_settings")
JOBS = ("sync", "consolidate", "write", "erase")
KILLS = 5  # for each job, most of them around its transactions
TALKS = {
    "one": ("I live in Porto.", "I have a dog named Rex.", "We decided to paint the boat green."),
    "two": ("I work for Acme as a nurse.", "I'm allergic to peanuts.", "Porto is far away."),
}


class Place:
    """A folder with a database and notes, which can be put back to how it was."""

    def __init__(self, folder):
        """Name the folder."""
        self.folder, self.full = folder / "work", folder / "full"
        self.path = self.folder / "a.db"

    def keep(self):
        """Keep how it is."""
        shutil.copytree(self.folder, self.full)

    def back(self):
        """Make it as it was kept."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.full, self.folder)


def filled(children, place, job):
    """Put into a folder what the job has to do with."""
    place.folder.mkdir()
    with closing(children.opened(place.path)) as memory:
        memory.remember_many(f"Shelf {n} holds jam." for n in range(5))
        memory.remember("Zoe plays chess.")
        for session, texts in TALKS.items():
            chat = memory.conversation(session)
            for text in texts:
                chat.add("user", text)
                chat.add("assistant", "I see.")
        if job == "erase":
            memory.consolidate()
        memory.notes.sync()
        path = memory.notes.folder / "MEMORY.md"
        text = path.read_text()
        if job != "erase":
            text = text.replace("- Shelf 1 holds jam.\n", "")
            text = text.replace("Shelf 2 holds jam.", "Shelf 2 holds plum jam.")
            path.write_text(f"{text}\n## Mine\n\n- By hand I wrote this.\n\n<!-- and this -->\n")
            (fact,) = [r for r in memory.records(kind="fact") if "chess" in r.content]
            memory.forget(fact.id)
            memory.remember("Ana owns a kite.")
    place.keep()


def ask(parent, place, job, step):
    """Have a job done, killed before a step; return what became of it."""
    parent.stdin.write(json.dumps([str(place.path), job, step]) + "\n")
    parent.stdin.flush()
    return parent.stdout.readline().split()


def state(memory):
    """Return what is believed and what stands in the files, without ids."""
    folder = memory.notes.folder
    text = (folder / "MEMORY.md").read_text()
    believed = memory.records(kind="fact", limit=10_000)
    return {
        "facts": sorted(f.content for f in believed if f.superseded_by is None),
        "items": sorted(item.text for item in parse(text).items),
        "comment": text.count("<!-- and this -->"),
        "history": sorted(entry.text for entry in memory.notes.history()),
        "sessions": [(s.id, s.through, s.noted) for s in memory.sessions()],
        "episodes": len(memory.records(kind="episode", limit=10_000)),
    }


@pytest.mark.parametrize("job", JOBS)
def test_what_was_killed_is_finished_by_the_next_run(children, parent, tmp_path, job):
    """Killed before any of its steps, and run again: the end is that of an undisturbed run."""
    place = Place(tmp_path)
    filled(children, place, job)
    word, *told = ask(parent, place, job, -1)
    assert word == "done"
    count, *transactions = map(int, told)
    assert count > len(transactions) >= 1
    with closing(children.opened(place.path)) as memory:
        memory.notes.sync()
        whole = state(memory)
        assert memory.verify() == []
    sane(whole, job)
    dice = random.Random(f"{job} 7")  # noqa: S311 - no secret
    # Before each transaction the files are ahead of the store; after it they are behind.
    ahead = {step for at in transactions for step in (at, at + 1) if step < count}
    around = dice.sample(sorted(ahead), min(KILLS - 1, len(ahead)))
    for step in sorted({*around, dice.randrange(count)}):
        place.back()
        assert ask(parent, place, job, step) == ["killed"], step
        with closing(children.opened(place.path)) as memory:
            children.work(memory, job)
            memory.notes.sync()
            assert state(memory) == whole, step
            problems = memory.verify()
            if job == "erase" and problems:  # Killed right before the wipe: it is told.
                assert len(problems) == 1
                assert "--purge" in problems[0]
                assert memory._services.wipe() is None
            assert memory.verify() == [], step
            assert [p.name for p in memory.notes.folder.glob("*.part")] == []


def sane(whole, job):
    """Check that the undisturbed run did what it is about."""
    if job == "erase":
        assert "porto" not in str(whole).casefold()
        assert len(whole["history"]) == 2
        return
    assert "Zoe plays chess." not in whole["facts"]
    if job == "write":
        assert whole["facts"] == ["Ana sails.", "Zoe paints."]
        return
    assert "By hand I wrote this." in whole["facts"]
    assert "Shelf 2 holds plum jam." in whole["facts"]
    assert not {"Shelf 1 holds jam.", "Shelf 2 holds jam."} & set(whole["facts"])
    assert whole["comment"] == 1
    assert whole["facts"] == whole["items"]
    if job == "consolidate":
        assert len(whole["history"]) == 2


# Several processes at once


@pytest.fixture
def start(tmp_path):
    """Start a process on the test's database: ``start(role, name)``."""
    running = []

    def run(role, name):
        process = subprocess.Popen(  # noqa: S603 - the command is this test's own
            [sys.executable, CHILDREN, role, str(tmp_path / "a.db"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def together(*processes):
    """Let processes begin at one moment; return what each told last."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120)[0].split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return told


def test_processes_that_keep_one_folder(children, start, tmp_path):
    """Consolidating and syncing at once: each session is told once, each fact has one line."""
    with closing(children.opened(tmp_path / "a.db")) as memory:
        for session in range(6):
            chat = memory.conversation(f"s{session}")
            chat.add("user", f"My friend Cid{session} lives in Oslo.")
            chat.add("user", "I'm allergic to peanuts.")
        together(*(start("keeper", name) for name in ("one", "two")))
        memory.consolidate()
        memory.notes.sync()
        now = state(memory)
        assert now["facts"] == now["items"]
        assert len(now["history"]) == 6
        assert [noted for _, _, noted in now["sessions"]] == [1] * 6
        own = [text for text in now["facts"] if text.startswith(("one", "two"))]
        assert len(own) == 2 * children.ROUNDS
        assert len([text for text in now["facts"] if "peanuts" in text]) == 1
        assert memory.verify() == []
