"""How long a search takes: warm, and the first one of a user, whose index must be read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.adding import settings
from benchmarks.floors import RawSearch
from benchmarks.measure import AGAINST, Step, Times, against, interleaved, show, timed
from benchmarks.workload import KnownVectors, Talk, talk
from memoranda import Memory
from memoranda.model.query import Vectors
from memoranda.settings.sections import RetrievalSettings

USERS = 20
BATCH = 500
WORDS = ("FTS5 bm25 top 50, user joined", "FTS5 bm25 top 50, user as a term")
NEAREST = "sqlite-vec top 50, user as partition"
SIZES = (5_000, 100_000)
QUICK_SIZES = (5_000, 20_000)
FLOOR = "floor: the faster FTS5 + sqlite-vec"


def run(*, quick: bool) -> None:
    """Print the tables."""
    for size in QUICK_SIZES if quick else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            _measure(Path(folder), size, rounds=100 if quick else 400)


def _measure(folder: Path, size: int, rounds: int) -> None:
    asked = talk(size)
    embedder = KnownVectors([*asked.questions])
    questions = embedder.embed(asked.questions)
    raw = RawSearch(folder / "raw.db")
    users = [_user(place, size) for place in range(size)]
    raw.fill(zip(users, asked.texts, strict=True), _vectors(asked.texts))
    path = folder / "memory.db"
    with Memory(path, settings=settings(), embedder=embedder) as memory:
        fill(memory, asked.texts)
        memory.embed_pending()
    cold = _cold(path, asked, embedder)
    plain = settings().model_copy(update={"retrieval": RetrievalSettings(token_vectors=False)})
    with (
        Memory(path, settings=settings(), embedder=embedder) as memory,
        Memory(path, settings=plain, embedder=embedder) as without,
    ):
        subjects = _subjects(memory, raw, asked, questions)
        subjects["the same without token vectors"] = _searches(without, asked)
        warm = interleaved(subjects, rounds, warm=USERS)
    raw.close()
    floor = _floor(warm)
    note = (
        f"{size:,} records of {USERS} users, {size // USERS:,} each; random vectors of 384 "
        f"dimensions, the query's known beforehand. Target: within 2."
    )
    shown = warm | {FLOOR: floor, "first search of a user": cold}
    show(f"Search at {size:,} records", AGAINST, against(floor, shown), note)


def _subjects(memory: Memory, raw: RawSearch, asked: Talk, questions: Vectors) -> dict[str, Step]:
    """Each search is another question, of another user in turn."""
    count = len(asked.questions)
    return {
        WORDS[0]: lambda i: raw.joined_words(i % USERS, asked.keywords[i % count]),
        WORDS[1]: lambda i: raw.scoped_words(i % USERS, asked.keywords[i % count]),
        NEAREST: lambda i: raw.nearest(i % USERS, questions[i % count]),
        "Memory.search, limit 5": _searches(memory, asked),
        "Memory.search, limit 50": _searches(memory, asked, limit=50),
    }


def _searches(memory: Memory, asked: Talk, limit: int = 5) -> Step:
    """Return what searches with another question, of another user in turn."""
    count = len(asked.questions)
    faces = [memory.as_user(f"user{number}") for number in range(USERS)]
    return lambda i: faces[i % USERS].search(asked.questions[i % count], limit=limit)


def _floor(warm: dict[str, Times]) -> Times:
    """Add up, run by run, the better full-text search and the vector search."""
    words = min((warm[name] for name in WORDS), key=lambda times: times.median)
    pairs = zip(words.seconds, warm[NEAREST].seconds, strict=True)
    return Times(tuple(one + two for one, two in pairs))


def _cold(path: Path, asked: Talk, embedder: KnownVectors) -> Times:
    """Time the first search of every user in a memory just opened."""
    with Memory(path, settings=settings(), embedder=embedder) as memory:
        memory.as_user("nobody").search(asked.questions[0])  # Loads what all share.
        faces = [memory.as_user(f"user{number}") for number in range(USERS)]
        return Times(
            tuple(timed(lambda i: faces[i].search(asked.questions[i]), i) for i in range(USERS))
        )


def _user(place: int, size: int) -> int:
    """Return whose text this is: users write by turns of ten, as in real use."""
    return place // 10 % USERS if size >= 10 * USERS else place % USERS


def fill(memory: Memory, texts: Sequence[str]) -> None:
    """Remember each user's texts as the episodes of sessions of 50 turns."""
    users = [_user(place, len(texts)) for place in range(len(texts))]
    for user in range(USERS):
        own = [text for text, whose in zip(texts, users, strict=True) if whose == user]
        face = memory.as_user(f"user{user}")
        items = [
            {
                "content": text,
                "kind": "episode",
                "session": f"session {place // 50}",
                "role": ("user", "assistant")[place % 2],
            }
            for place, text in enumerate(own)
        ]
        for start in range(0, len(items), BATCH):
            face.remember_many(items[start : start + BATCH])


def _vectors(texts: Sequence[str]) -> Vectors:
    return KnownVectors().embed(texts)
