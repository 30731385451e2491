"""A memory on PostgreSQL: beside the server by hand, beside SQLite, and with many users.

The server runs on the same machine and as it comes: each commit waits for its disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from tests.shared.postgres_server import connected, new_database, running_server

from benchmarks.measure import AGAINST, Step, against, interleaved, show
from benchmarks.workload import DIMENSIONS, FUNCTION_WORDS, talk
from memoranda import Memory, Settings
from memoranda.model.query import Vectors
from memoranda.testing.clocks import FrozenClock

BATCH = 500
SESSION = 50
FILE, SERVER = "SQLite file", "PostgreSQL"
FLOOR_ONE = "floor: INSERT with tsvector"
ONE = """
CREATE TABLE floor_one (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE,
    user_key bigint NOT NULL, kind text NOT NULL, content text NOT NULL,
    created_at bigint NOT NULL, terms tsvector NOT NULL
);
CREATE INDEX ON floor_one (user_key);
CREATE INDEX ON floor_one USING gin (terms) WITH (fastupdate = off);
"""
INSERT = """
INSERT INTO floor_one (id, user_key, kind, content, created_at, terms)
VALUES (%s, 1, 'fact', %s, %s, to_tsvector('english', %s))
"""


class WordVectors:
    """An embedder whose vectors are the sums of random ones for the words, the rarer the more.

    So texts that share words are near each other, and a million of them are embedded in no time.
    """

    name = "word vectors"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        """Know no word yet."""
        self._known: dict[str, Any] = {}
        self._weak = set(FUNCTION_WORDS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        sums = np.stack([np.sum([*map(self._word, text.split())], axis=0) for text in texts])
        rows: Vectors = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return rows

    def _word(self, word: str) -> Any:
        word = word.strip(".?()").lower()
        if word not in self._known:
            drawn = np.random.default_rng(crc32(word.encode())).standard_normal(
                self.dimensions, np.float32
            )
            self._known[word] = drawn * (0.05 if word in self._weak else 1.0)
        return self._known[word]


@contextmanager
def opened(location: str, user: str = "ana", **retrieval: Any) -> Iterator[Memory]:
    """Give a memory that depends on no file and no environment, and does nothing by itself."""
    settings = Settings(
        embedding={"background": False},
        consolidation={"automatic": False},
        retrieval=retrieval,
        timezone="UTC",
    )
    memory = Memory(
        location, user=user, settings=settings, embedder=WordVectors(), clock=FrozenClock()
    )
    with memory:
        yield memory


def turns(texts: Sequence[str], first: int = 0) -> list[dict[str, Any]]:
    """Return the arguments of the memory for texts, the turns of sessions."""
    return [
        {
            "content": f"{text} ({place})",
            "kind": "episode",
            "session": f"session {place // SESSION}",
            "role": ("user", "assistant")[place % 2],
        }
        for place, text in enumerate(texts, first)
    ]


def run(*, quick: bool) -> None:
    """Print the tables."""
    with running_server(durable=True) as server:
        add_one(server, rounds=200 if quick else 1_000)
        search_many(server, users=20 if quick else 1_000, each=1_000)


def add_one(server: str, rounds: int) -> None:
    """Compare a single durable add with a raw one."""
    address, texts = new_database(server), talk(2 * rounds).texts
    with opened(address) as memory, connected(address) as raw:
        raw.execute(ONE)
        chat = memory.conversation("chat")

        def insert(place: int) -> None:
            raw.execute(INSERT, (f"fact_{place}", texts[place], place, texts[place]))

        subjects: dict[str, Step] = {
            FLOOR_ONE: insert,
            "Memory.remember": lambda i: memory.remember(texts[i]),
            "Conversation.add": lambda i: chat.add("user", texts[i]),
        }
        for place in range(rounds, rounds + rounds // 5):
            for step in subjects.values():
                step(place)
        raw.execute("ANALYZE")  # As a server does by itself within a minute.
        times = interleaved(subjects, rounds)
    note = "One durable commit each. Target: within 2.5 of the floor at the median."
    show("PostgreSQL: single add", AGAINST, against(times[FLOOR_ONE], times), note)


def search_many(server: str, users: int, each: int) -> None:
    """Compare searches of many users with those in a file."""
    said = talk(users * each)
    with tempfile.TemporaryDirectory() as folder:
        locations = {FILE: str(Path(folder, "memory.db")), SERVER: new_database(server)}
        with opened(locations[FILE]) as first, opened(locations[SERVER]) as second:
            memories = {FILE: first, SERVER: second}
            subjects: dict[str, Step] = {}
            for name, memory in memories.items():
                faces = [memory.as_user(f"user{number}") for number in range(users)]
                for number, face in enumerate(faces):
                    for start in range(number * each, (number + 1) * each, BATCH):
                        face.remember_many(turns(said.texts[start : start + BATCH], start))
                memory.embed_pending()
                subjects[name] = _searches(faces, said.questions)
            with connected(locations[SERVER]) as raw:
                raw.execute("VACUUM ANALYZE")
            times = interleaved(subjects, 400, warm=users)
    note = f"{users:,} users with {each:,} records each. Target: within 2 of the file's."
    show("PostgreSQL: search", AGAINST, against(times[FILE], times), note)


def _searches(faces: Sequence[Memory], questions: Sequence[str]) -> Step:
    """Return what searches with another question, of another user in turn."""
    return lambda i: faces[i % len(faces)].search(questions[i % len(questions)], limit=5)
