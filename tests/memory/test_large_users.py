"""A user with more records than memory has room for is asked like any other, on PostgreSQL."""

from contextlib import closing

import pytest
from both_stores import remembering
from postgres_server import as_role, connected, new_database, new_role
from psycopg.sql import SQL

from memoranda import Memory, Settings
from memoranda.model.models import Scope
from memoranda.testing.clocks import START, FrozenClock
from memoranda.testing.embedders import HashEmbedder

FEW = 20
ANIMALS = ("cat", "dog", "hen", "owl", "fox", "bee", "ant", "emu")
DONE = ("feeds", "draws", "hears", "finds", "calls", "chases", "paints", "misses", "dreams of")
QUESTIONS = (
    "Who feeds the owl in the garden?",
    "What was said of the fox on day 7?",
    "Which animal does Eva draw?",
    "emu kitchen",
    "something else altogether",
)


def opened(location, **retrieval):
    """Open a memory whose users are too large with some twenty vectors."""
    settings = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        retrieval={"exact_up_to": FEW} | retrieval,
    )
    embedder, clock = HashEmbedder(), FrozenClock(START)
    return Memory(location, user="ana", settings=settings, embedder=embedder, clock=clock)


def talk(memory):
    """Remember talks about animals, with a fact of each."""
    for day, animal in enumerate(ANIMALS):
        turns = [
            f"{name} {done} the {animal} in the {place} on day {day}."
            for name, done, place in zip(
                ("Ana", "Ben", "Eva") * 3, DONE, ("garden", "kitchen", "street") * 3, strict=True
            )
        ]
        memory.remember_many(
            [{"content": turn, "kind": "episode", "session": f"day {day}"} for turn in turns]
        )
        memory.remember(f"Ana likes the {animal}.", tags=[animal])
    memory.embed_pending()


@pytest.fixture
def location(postgres):
    """Give the address of a database in which Ana is a large user."""
    address = new_database(postgres)
    with closing(opened(address)) as memory:
        talk(memory)
    return address


def told(memory, **wanted):
    """Return what is found for each question, with the scores."""
    return [
        [(hit.record.content, round(hit.score, 3)) for hit in memory.search(question, **wanted)]
        for question in QUESTIONS
    ]


def tables(location):
    """Return the tables of large users' vectors."""
    with connected(location) as connection:
        names = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'nearest%'"
        return [row[0] for row in connection.execute(names).fetchall()]


@pytest.mark.parametrize(
    "wanted", [{}, {"kind": "fact"}, {"tags": ["owl"]}, {"session": "day 3"}], ids=str
)
def test_candidates_of_the_database_give_the_same_answers(location, wanted):
    """Where all that matters is a candidate, answers and scores are those of ranking all."""
    with closing(opened(location)) as large, closing(opened(":memory:")) as exact:
        talk(exact)
        assert large._services.store.is_large(Scope("ana"))
        assert told(large, **wanted) == told(exact, **wanted)
        assert not large._services.retriever.cache.users


def test_what_is_added_later_is_found_at_once(location):
    """The index of a large user grows with what is stored, without being made anew."""
    with closing(opened(location)) as memory:
        memory.remember("Ana has lent her ladder to the miller.", kind="episode")
        assert "ladder" in memory.search("Who has the ladder?", limit=1)[0].record.content
        assert "ladder" in memory.search("hadder ladde mille")[0].record.content


def test_erased_it_is_in_no_table(location):
    """What is erased leaves the index of vectors with it; a user who is deleted, all of it."""
    with closing(opened(location)) as memory:
        (table,) = tables(location)
        rows = SQL("SELECT count(*) FROM {}").format(SQL(table))
        with connected(location) as connection:
            before = connection.execute(rows).fetchone()[0]
            memory.forget(memory.search("Ana likes the owl.")[0].record.id, erase=True)
            assert connection.execute(rows).fetchone()[0] == before - 1
        assert "likes the owl" not in str(told(memory))
        memory.admin.delete_user("ana")
        with connected(location) as connection:
            assert connection.execute(rows).fetchone()[0] == 0
    with closing(opened(location)) as memory:
        assert told(memory) == [[]] * len(QUESTIONS)


def test_without_pgvector_everybody_is_ranked_in_memory(postgres, caplog):
    """Where it is not there, and who logged in may not create it: answers, and no errors."""
    address = new_database(postgres)
    owner = new_role(address, schema=True)
    mine = as_role(address, owner, f"{owner},public")
    with closing(opened(mine)) as memory, closing(opened(":memory:")) as exact:
        for each in (memory, exact):
            talk(each)
        assert memory.embed_pending() == 0
        assert sum("CREATE EXTENSION vector" in told for told in caplog.messages) == 1
        assert not memory._services.store.is_large(Scope("ana"))
        assert told(memory) == told(exact)
        with connected(address) as connection:
            connection.execute("CREATE EXTENSION vector")
        memory.remember("Ana has a ladder.")
        memory.embed_pending()
    with closing(opened(mine)) as memory:
        assert memory._services.store.is_large(Scope("ana"))


def test_a_user_of_few_records_is_ranked_in_memory(postgres):
    """Up to the limit nothing is prepared, and all records are ranked."""
    address = new_database(postgres)
    with closing(remembering(address)) as memory:
        talk(memory)
        assert tables(address) == []


def test_memory_is_bounded_by_the_setting(postgres):
    """However many users are asked in turn, the records of a few are in memory: the last ones."""
    with closing(opened(new_database(postgres), exact_up_to=1_000_000, cache_size=1)) as memory:
        cache = memory._services.retriever.cache
        for number in range(60):
            user = memory.as_user(f"user {number}")
            user.remember_many([f"{number} says {each}" for each in range(50)])
            assert user.search("says 7")
            assert cache.size <= 2**20
        assert 1 < cache.users < 60
