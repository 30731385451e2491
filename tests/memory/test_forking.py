"""A memory that was opened before a process forks works in parent and child, each user apart."""

from contextlib import nullcontext
from threading import Event, Thread

import pytest
from forks import Child
from postgres_server import new_database

from memoranda import Memory, Settings
from memoranda.errors import StoreBusy
from memoranda.memory import services_of
from memoranda.testing.embedders import HashEmbedder

ROUNDS = 2
PATIENCE = 20


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def location(request, tmp_path):
    """Give a new file, and the address of a new database."""
    if request.param == "SQLite":
        return str(tmp_path / "memory.db")
    return new_database(request.getfixturevalue("postgres"))


def forked(work):
    """Do ``work`` in a child process; return what waits for it and tells whether it was done."""
    child = Child(lambda *_: work())
    return lambda: child.finish() == (0, [])


def live(memory, name, first):
    """Store, read and search as a user, who sees what is theirs and nothing else."""
    user = memory.as_user(name)
    for number in range(first, first + 5):
        user.remember(f"{name} likes number {number}")
        found = user.records(limit=1_000)
        assert all(name in each.content for each in found), found
        assert f"{name} likes number {number}" in [each.content for each in found]
        assert user.search(f"who likes number {number}?")[0].record.user == name
        user.conversation(f"of {name}").add("user", f"I am {name}, {number}.")


def test_parent_and_child_see_their_own_users(location):
    """While both read and write, with threads in the background; the child's are its own."""
    settings = Settings(timezone="UTC", consolidation={"automatic": False})
    with Memory(location, settings=settings, embedder=HashEmbedder()) as memory:
        live(memory, "ana", 0)
        live(memory, "ben", 0)
        for turn in range(1, ROUNDS + 1):
            wait = forked(lambda turn=turn: live(memory, "ben", 10 * turn))
            live(memory, "ana", 10 * turn)
            assert wait()
        for name in ("ana", "ben"):
            user = memory.as_user(name)
            assert user.count() == 2 * 5 * (ROUNDS + 1)
            user.embed_pending()
        ids = [
            each.id for name in ("ana", "ben") for each in memory.as_user(name).records(limit=999)
        ]
        assert len(ids) == len({*ids})
        assert memory.verify() == []


# Takes SQLite a while.
LONG = """
WITH RECURSIVE one (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < 1000000)
SELECT max(n) FROM one
"""


def test_no_thread_is_in_a_database_while_the_process_forks(tmp_path):
    """What it does there, a child could neither end nor close."""
    settings = Settings(timezone="UTC", embedding={"model": "none", "background": False})
    with Memory(tmp_path / "memory.db", user="ana", settings=settings) as memory:
        memory.remember("Ana likes tea")
        store, begun, done = services_of(memory).store, Event(), Event()

        def read():
            with store.read() as connection:
                begun.set()
                connection.value(LONG)
                done.set()

        thread = Thread(target=read)
        thread.start()
        begun.wait(PATIENCE)
        wait = forked(lambda: memory.remember("Ana likes cake"))
        assert done.is_set()
        assert wait()
        thread.join()
        assert memory.count() == 2


def test_what_another_thread_works_out_holds_no_child_up(location):
    """Before Python 3.12, ``cached_property`` has a lock, which a thread of the parent may hold."""
    settings = Settings(timezone="UTC", embedding={"model": "none", "background": False})
    with Memory(location, user="ana", settings=settings) as memory:
        begun, over = Event(), Event()

        def keep():
            with getattr(vars(Memory)["_scope"], "lock", nullcontext()):
                begun.set()
                over.wait(PATIENCE)

        thread = Thread(target=keep)
        thread.start()
        begun.wait(PATIENCE)
        child = Child(lambda *_: memory.as_user("ben").remember("Ben likes tea"))
        child.process.join(PATIENCE)
        over.set()
        thread.join()
        assert child.process.exitcode == 0
        assert memory.as_user("ben").count() == 1


def test_a_child_may_outlive_its_parent(location):
    """What a child of a child stores is there, whoever closes first."""
    settings = Settings(timezone="UTC", embedding={"model": "none", "background": False})
    memory = Memory(location, user="ana", settings=settings)

    def go_on():
        waiting = forked(lambda: memory.remember("Ana likes cake"))
        memory.remember("Ana likes tea")
        assert waiting()
        memory.close()

    wait = forked(go_on)
    memory.close()
    assert wait()
    with Memory(location, user="ana", settings=settings) as again:
        assert sorted(each.content for each in again.records()) == [
            "Ana likes cake",
            "Ana likes tea",
        ]
        assert again.verify() == []


def test_a_memory_of_no_file_is_copied():
    """What is in no file goes on in both processes, each with what it stores."""
    settings = Settings(timezone="UTC", embedding={"model": "none", "background": False})
    with Memory(":memory:", user="ana", settings=settings) as memory:
        memory.remember("Ana likes tea")

        def add():
            memory.remember("Ana likes cake")
            assert memory.count() == 2

        assert forked(add)()
        assert memory.count() == 1


def test_a_folder_of_chroma_stays_with_its_process(tmp_path):
    """A child is refused with what to do; the parent goes on."""
    settings = Settings(timezone="UTC", embedding={"model": "none", "background": False})
    with Memory(f"chroma://{tmp_path}", user="ana", settings=settings) as memory:
        memory.remember("Ana likes tea")

        def refused():
            with pytest.raises(StoreBusy, match="before this process was forked"):
                memory.remember("Ana likes cake")

        assert forked(refused)()
        memory.remember("Ana likes milk")
        assert memory.count() == 2
