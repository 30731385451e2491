"""A memory on PostgreSQL with a user too large for memory, and with very many users in turn.

What is measured runs in processes of its own: so much memory as they took at most is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

import numpy as np
import psutil
from psycopg.sql import SQL, Literal
from tests.shared.postgres_server import connected, new_database, restart, running_server

from benchmarks.measure import micro, show, timed
from benchmarks.postgres import BATCH, opened, turns
from benchmarks.workload import FUNCTION_WORDS, Talk, talk
from memoranda import Memory

T = TypeVar("T")
BEST = 10
WARM = 20
QUESTIONS = 100
ASKED_WORDS = 6
MIB = 2**20
# Megabytes of the server's own cache.
BUFFERS = 4_096
EXACT, LARGE = "all ranked in memory", "candidates from the database"
# Megabytes that a process may keep of the users it served, here.
KEPT = 16
TABLES = """
SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace)
ORDER BY pg_total_relation_size(oid) DESC LIMIT 8
"""


class Searches(NamedTuple):
    """What a process found, and what that took.

    Attributes:
        found: the ids that each question found, best first.
        seconds: of each.
        memory: bytes that the process had after a search, at most.
    """

    found: Sequence[Sequence[str]]
    seconds: Sequence[float]
    memory: int


def run(*, quick: bool) -> None:
    """Print the tables."""
    with running_server(durable=True) as server:
        set_buffers(server)
        one_large(server, records=10_000 if quick else 1_000_000)
        many_in_turn(server, users=500 if quick else 10_000, each=20)


def set_buffers(server: str) -> None:
    """Give the server a quarter of the memory for pages, as is usual, up to 4 GB; restart it."""
    size = min(psutil.virtual_memory().total // 4 // MIB, BUFFERS)
    with connected(server) as raw:
        raw.execute(SQL("ALTER SYSTEM SET shared_buffers = {}").format(Literal(f"{size}MB")))
    restart(server)


def one_large(server: str, records: int) -> None:
    """Compare searches of a user by candidates with those that rank all of their records."""
    address, said = new_database(server), talk(records, questions=QUESTIONS)
    with opened(address, exact_up_to=10 * records) as memory:
        for start in range(0, records, BATCH):
            memory.remember_many(turns(said.texts[start : start + BATCH], start))
        memory.embed_pending()
    with connected(address) as raw:
        raw.execute("VACUUM ANALYZE")
    asked = questions_about(said)
    exact = in_process(searched, address, 10 * records, asked)
    with opened(address, exact_up_to=records // 2) as memory:
        making = timed(lambda _: memory._services.store.index_large_users())  # noqa: SLF001
    compare(address, records, exact, in_process(searched, address, records // 2, asked), making)


def questions_about(said: Talk) -> list[str]:
    """Return questions of made-up words, and as many of words that one text has."""
    rng = np.random.default_rng(1)
    asked = list(said.questions[:QUESTIONS])
    weak = {*FUNCTION_WORDS}
    for place in rng.integers(len(said.texts), size=QUESTIONS):
        words = [each for each in said.texts[place].rstrip(".").split() if each not in weak]
        chosen = sorted(rng.choice(len(words), min(ASKED_WORDS, len(words)), replace=False))
        asked.append(f"What about {' '.join(words[each] for each in chosen)}?")
    return asked


def in_process(work: Callable[..., T], *given: Any) -> T:
    """Return what a new process makes of what is given."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def searched(address: str, exact_up_to: int, asked: Sequence[str]) -> Searches:
    """Ask each question once, after some that warm up."""
    with opened(address, exact_up_to=exact_up_to) as memory:
        for question in asked[:WARM]:
            memory.search(question, limit=BEST)
        found: list[list[str]] = []

        def search(place: int) -> None:
            found.append([hit.record.id for hit in memory.search(asked[place], limit=BEST)])

        process, seconds, most = psutil.Process(), [], 0
        for place in range(len(asked)):
            seconds.append(timed(search, place))
            most = max(most, process.memory_info().rss)
    return Searches(found, seconds, most)


def compare(address: str, records: int, exact: Searches, large: Searches, making: float) -> None:
    """Print the times of both, and how much of what the one found the other did."""
    shares = [
        len({*some} & {*all_}) / len(all_)
        for some, all_ in zip(large.found, exact.found, strict=True)
        if all_
    ]
    first = sum(1 for each in exact.found[:QUESTIONS] if each)
    recalls = f"{np.mean(shares[:first]):.3f} / {np.mean(shares[first:]):.3f}"
    rows = [
        (
            name,
            micro(float(np.median(each.seconds))),
            micro(float(np.percentile(each.seconds, 95))),
            recall,
            f"{each.memory / MIB:,.0f} MB",
        )
        for name, each, recall in ((EXACT, exact, ""), (LARGE, large, recalls))
    ]
    note = (
        f"Recall of the {BEST} best, against those of all, for made-up questions and for words of "
        f"a text. Making ready took {making:,.0f} s. The server has a quarter of the memory for "
        f"pages, 4 GB at most. Targets: 0.97, 50 ms, 1,500 MB."
    )
    title = f"PostgreSQL: one user with {records:,} records"
    show(title, ("", "p50", "p95", f"recall@{BEST}", "memory of the process"), rows, note)
    with connected(address) as raw:
        sizes = raw.execute(TABLES).fetchall()
    show(
        f"{title}: disk",
        ("table", "bytes a record", "of its indexes"),
        [(name, f"{own / records:,.0f}", f"{index / records:,.0f}") for name, own, index in sizes],
    )


def many_in_turn(server: str, users: int, each: int) -> None:
    """Show that the memory of a process does not grow with the users that it serves."""
    address, said = new_database(server), talk(users * each)
    with opened(address) as memory:
        for number in range(users):
            start = number * each
            texts = said.texts[start : start + each]
            memory.as_user(f"user{number}").remember_many(turns(texts, start))
        memory.embed_pending()
    rows = in_process(served, address, users, list(said.questions))
    note = (
        f"A process that keeps {KEPT} MB at most (`retrieval.cache_size`) searches once as each of "
        f"{users:,} users with {each} records, and then once more."
    )
    header = ("users served", "memory of the process", "kept of users", "of so many")
    show("PostgreSQL: many users in turn", header, rows, note)


def served(address: str, users: int, questions: Sequence[str]) -> list[tuple[str, ...]]:
    """Search as each user in turn, twice, and return what was in memory meanwhile."""
    process, rows = psutil.Process(), []
    with opened(address, cache_size=KEPT) as memory:
        for number in range(2 * users):
            user = memory.as_user(f"user{number % users}")
            user.search(questions[number % len(questions)], limit=BEST)
            if (number + 1) % (users // 4) == 0:
                rows.append((f"{number + 1:,}", f"{process.memory_info().rss / MIB:,.0f} MB"))
                rows[-1] += kept(memory)
    return rows


def kept(memory: Memory) -> tuple[str, str]:
    """Return how much of users a process keeps, and of how many."""
    cache = memory._services.lazy.retriever.cache  # noqa: SLF001 - nobody else asks
    return f"{cache.size / MIB:,.1f} MB", f"{cache.users:,}"
