"""Database files damaged in seven ways: no raw exception, and what is whole is read again."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.torture.damaging import PAGE, damage, whole_pages
from benchmarks.torture.figures import Figure, Tally, Task, place_of
from memoranda import Memory
from memoranda.errors import MemorandaError, NotADatabase, SchemaTooNew
from memoranda.store.sqlite import salvage
from memoranda.testing.embedders import HashEmbedder

GOAL_FILES = 500
RECORDS = 120
SHOWN = 8


@dataclass(frozen=True, slots=True)
class SoundFile:
    """A database before it is damaged.

    Attributes:
        content: its bytes.
        texts: of its records, by number.
        pages: the numbers of the pages that each of these texts is on.
    """

    content: bytes
    texts: dict[int, str]
    pages: dict[int, set[int]]

    def texts_on(self, pages: set[int]) -> set[str]:
        """Return the texts that are on these pages alone."""
        return {text for number, text in self.texts.items() if self.pages[number] <= pages}


def make_sound(path: Path) -> SoundFile:
    """Write a database with something of everything, of which some records are long."""
    with _opened(path) as memory:
        # Some are longer than a page, and one is longer than what a read of SQLite takes at once.
        sizes = [
            400 if number % 40 == 7 else 2000 if number == 60 else 6 for number in range(RECORDS)
        ]
        texts = [f"{number:03}word " * size for number, size in enumerate(sizes)]
        memory.remember_many([{"content": text, "metadata": {"n": 1}} for text in texts])
        chat = memory.conversation("trip", system="You plan.")
        for number in range(30):
            chat.add("user", f"We go to Porto on day {number}.")
        memory.embed_pending()
        memory.entities()
    content, pages = path.read_bytes(), defaultdict[int, set[int]](set)
    for found in re.finditer(rb"(\d{3})word", content):
        pages[int(found[1])].add(found.start() // PAGE)
    return SoundFile(content, dict(enumerate(texts)), dict(pages))


def run(task: Task) -> list[Figure]:
    """Return how many files were damaged, and what was raised or lost of what is whole."""
    sound, tally, lost = make_sound(task.folder / "sound.db"), Tally(), 0
    logging.disable()  # Each open memory warns once of what it leaves out.
    goal = min(GOAL_FILES, task.calls)
    while tally.calls < goal and not task.over:
        seed = task.seed + tally.calls
        tally.calls += 1
        path = task.folder / str(seed) / "memory.db"
        path.parent.mkdir()
        try:
            missing = survive(path, sound, seed)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            tally.add(place_of(error), f"{error!s:.200} for seed {seed}")
        else:
            lost += len(missing)
            if missing:
                tally.add("lost", f"seed {seed}: {len(missing)} of {RECORDS}")
    logging.disable(logging.NOTSET)
    raw = tally.wrong.total() - tally.wrong["lost"]
    return [
        Figure(
            "corrupted files",
            f"{GOAL_FILES}, 0 raw exceptions, all intact records readable",
            f"{tally.calls}, {raw} raw exceptions, {lost or 'no'} intact records lost",
            held=not tally.wrong,
            reached=tally.calls >= goal,
            details=tally.details()[:SHOWN],
        )
    ]


def survive(path: Path, sound: SoundFile, seed: int) -> set[str]:
    """Damage a copy of the database, call verbs, rebuild it; return the whole texts that are lost.

    Raises:
        AssertionError: it is not sound after it was rebuilt, or cannot be used.
        Exception: any verb raised something else than an error of memoranda's.
    """
    damaged = damage(sound.content, seed)
    path.write_bytes(damaged)
    whole = sound.texts_on(whole_pages(sound.content, damaged))
    try:
        memory = _opened(path)
    except SchemaTooNew:
        return set()  # Only a newer one knows what is in it.
    except MemorandaError:
        try:
            salvage(str(path))
        except NotADatabase:
            return whole
        memory = _opened(path)
    with memory:
        for verb in _verbs(memory, path):
            with suppress(MemorandaError):
                verb()
        memory.rebuild()
        assert memory.verify() == []
        users = [memory, *(memory.as_user(name) for name in memory.admin.users() if name != "ana")]
        read = {record.content for user in users for record in user.records(limit=1_000)}
        memory.search("007word Porto")
        memory.remember("It goes on.")
    with _opened(path) as again:
        assert again.search("It goes on.")
    return whole - read


def _verbs(memory: Memory, path: Path) -> tuple[Callable[[], object], ...]:
    """Return what is called of a damaged memory; each may refuse."""
    return (
        memory.records,
        lambda: memory.search("007word Porto"),
        lambda: memory.recall("What is in Porto?"),
        memory.verify,
        memory.stats,
        lambda: memory.export(path.with_name("before.jsonl")),
        memory.doctor,
    )


def _opened(path: Path) -> Memory:
    return Memory(path, user="ana", embedder=HashEmbedder())
