"""``kill -9`` at a step of keeping notes: nothing is lost, and nothing is told twice.

Steps are the calls to the operating system by which files change, and transactions of the store.
"""

import os
import random
import shutil
import signal
from contextlib import contextmanager
from functools import partial

import pytest
from effort import examples
from noting import by_hand

from memoranda.notes.document import parse

JOBS = ("sync", "consolidate", "write", "erase")
KILLS = examples(3)  # for each job, all but one around its transactions
CALLS = ("write", "fsync", "replace", "unlink", "mkdir", "ftruncate")
TALKS = {
    "one": ("I live in Porto.", "I have a dog named Rex.", "We decided to paint the boat green."),
    "two": ("I work for Acme as a nurse.", "I'm allergic to peanuts.", "Porto is far away."),
}


def work(memory, job):
    """Do a job."""
    if job == "sync":
        memory.notes.sync()
    elif job == "consolidate":
        memory.consolidate()
    elif job == "write":
        memory.notes.write_memory("# Memory\n\n- Ana sails.\n- Zoe paints.\n")
    else:
        for record in memory.records(kind="episode", limit=10_000):
            if "Porto" in record.content:
                memory.forget(record.id, erase=True)


def work_in_steps(path, job, last, tell, _):
    """Do a job and be killed before a step, from 0; else tell how many, and the transactions."""
    made, transactions = 0, []

    def step():
        nonlocal made
        if made == last:
            os.kill(os.getpid(), signal.SIGKILL)
        made += 1

    def in_step(call):
        def stepped(*arguments, **options):
            step()
            return call(*arguments, **options)

        return stepped

    memory = by_hand(path)
    store = memory._services.store
    write = store.write

    @contextmanager
    def write_in_step(scope, **how):
        transactions.append(made)
        step()
        with write(scope, **how) as tx:
            yield tx

    store.write = write_in_step
    for name in CALLS:
        setattr(os, name, in_step(getattr(os, name)))
    work(memory, job)
    tell((made, transactions))


@pytest.fixture(scope="module", autouse=True)
def learned_once():
    """Learn once, so that children need not load what reads a language."""
    with by_hand(":memory:") as memory:
        for text in (*TALKS["one"], *TALKS["two"]):
            memory.conversation("first").add("user", text)
        memory.consolidate()


def filled(path, job):
    """Put into a folder what the job has to do with."""
    with by_hand(path) as memory:
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
def test_what_was_killed_is_finished_by_the_next_run(start, tmp_path, job):
    """Killed before any of its steps, and run again: the end is that of an undisturbed run."""
    full, folder = tmp_path / "full", tmp_path / "work"
    folder.mkdir()
    path = folder / "a.db"
    filled(path, job)
    shutil.copytree(folder, full)
    code, [(count, transactions)] = start(partial(work_in_steps, path, job, -1)).finish()
    assert code == 0
    assert count > len(transactions) >= 1
    with by_hand(path) as memory:
        memory.notes.sync()
        whole = state(memory)
        assert memory.verify() == []
    sane(whole, job)
    dice = random.Random(f"{job} 7")  # noqa: S311 - no secret
    # Before each transaction the files are ahead of the store; after it they are behind.
    ahead = {step for at in transactions for step in (at, at + 1) if step < count}
    around = dice.sample(sorted(ahead), min(KILLS - 1, len(ahead)))
    for step in sorted({*around, dice.randrange(count)}):
        shutil.rmtree(folder)
        shutil.copytree(full, folder)
        killed = start(partial(work_in_steps, path, job, step))
        assert killed.finish() == (-signal.SIGKILL, []), step
        with by_hand(path) as memory:
            work(memory, job)
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


def test_processes_that_keep_one_folder(start, tmp_path):
    """Consolidating and syncing at once: each session is told once, each fact has one line."""
    path, sessions, rounds = tmp_path / "a.db", range(3), range(4)
    with by_hand(path) as memory:
        for session in sessions:
            chat = memory.conversation(f"s{session}")
            chat.add("user", f"My friend Cid{session} lives in Oslo.")
            chat.add("user", "I'm allergic to peanuts.")

    def keep(name, *_):
        with by_hand(path) as memory:
            for turn in rounds:
                memory.remember(f"{name} has seen {turn}.")
                memory.consolidate(f"s{turn % len(sessions)}")
                memory.notes.sync()
            memory.consolidate()

    keepers = [start(partial(keep, name)) for name in ("one", "two")]
    assert [each.finish() for each in keepers] == [(0, [])] * 2
    with by_hand(path) as memory:
        memory.consolidate()
        memory.notes.sync()
        now = state(memory)
        assert now["facts"] == now["items"]
        assert len(now["history"]) == len(sessions)
        assert [noted for _, _, noted in now["sessions"]] == [1] * len(sessions)
        own = [text for text in now["facts"] if text.startswith(("one", "two"))]
        assert len(own) == 2 * len(rounds)
        assert len([text for text in now["facts"] if "peanuts" in text]) == 1
        assert memory.verify() == []
