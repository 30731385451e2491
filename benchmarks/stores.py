"""The same memories and questions through SQLite and a Chroma folder.

Beside them Chroma by hand: what its own calls take. All take turns (see
:mod:`benchmarks.measure`), and every search has to find the same records in both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bare_chroma import USER, BareChroma
from benchmarks.measure import Step, Times, interleaved, micro, show, timed
from benchmarks.workload import DIMENSIONS, talk
from memoranda import Memory, Settings
from memoranda.model.query import Vectors
from memoranda.testing.clocks import START, FrozenClock
from memoranda.testing.embedders import HashEmbedder

SIZE, QUICK_SIZE = 10_000, 1_000
PARTS = 10
SINGLE = 200
"""Records that are added one by one at the end; all others in ten parts, one call each."""
LIMIT = 5
SESSION = 50
OPENINGS = 5
FILE, FOLDER, BARE = "SQLite file", "Chroma folder", "Chroma by hand"
STORES = (FILE, FOLDER)
ALL = (*STORES, BARE)
RESIDENT = """
import sys
from pathlib import Path
from benchmarks.stores import MadeBefore, opened


def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])


before = resident()
with opened(sys.argv[1], MadeBefore()) as memory:
    memory.search("What did we say?")
    print(resident() - before)
"""
Row = tuple[str, ...]
HEADER = ("", *ALL)
ADDING = (
    "The memory makes vectors after it has added; by hand they are added with the texts. "
    "Ratios are of p50 to that by hand."
)
OPENING = "Until a first search is answered, in a process that has loaded the modules."
SEARCHING = "Both memories found the same. By hand: the nearest of a user, by vector alone."


def run(*, quick: bool) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        places = {FILE: str(root / "memory.db"), FOLDER: f"chroma://{root / 'folder'}"}
        by_hand = {BARE: root / "bare"}
        work = Work.made(QUICK_SIZE if quick else SIZE)
        _measure(work, places, by_hand)
        show("Stores: opening", HEADER, _opened(work, places, by_hand), OPENING)
        grown = _row("memory of a process, MiB", _resident(places))
        kept = _row("on disk, bytes a record", _sizes(root, work))
    text = sum(len(each.encode()) for each in work.texts) / len(work.texts)
    note = f"A record has {text:,.0f} bytes of text and {4 * DIMENSIONS:,} of vector."
    show("Stores: memory and disk", HEADER, [grown, kept], note)


class MadeBefore:
    """An embedder that looks up what was made before: embedding is no part of any time here.

    Texts that share words are near each other. The numbers are rounded to float16, as SQLite keeps
    them and Chroma does not: no two records change places by that alone.
    """

    name = "made before"
    dimensions = DIMENSIONS

    def __init__(self, texts: Sequence[str] = ()) -> None:
        """Make the vectors of ``texts``; those of others are made when they are asked for."""
        self._model = HashEmbedder(DIMENSIONS)
        self._made = dict(zip(texts, self._rounded(texts), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        made = self._made
        return np.stack([made[t] if t in made else self._rounded([t])[0] for t in texts])

    def _rounded(self, texts: Sequence[str]) -> Vectors:
        return self._model.embed(texts).astype(np.float16).astype(np.float32)


@dataclass(frozen=True)
class Work:
    """What is stored and asked.

    Attributes:
        texts: what is remembered.
        questions: what is asked.
        embedder: has the vectors of all of them.
        clock: the time of all memories.
    """

    texts: Sequence[str]
    questions: Sequence[str]
    embedder: MadeBefore
    clock: FrozenClock

    @classmethod
    def made(cls, size: int) -> Work:
        """Return made-up talk of ``size`` turns, all of them different."""
        said = talk(size)
        texts = [f"{text} ({number})" for number, text in enumerate(said.texts)]
        return cls(texts, said.questions, MadeBefore([*texts, *said.questions]), FrozenClock())

    @property
    def batch(self) -> int:
        """How many records are added in one call."""
        return len(self.texts) // PARTS

    def item(self, place: int) -> dict[str, Any]:
        """Return the arguments of the memory for one text, a turn of a session."""
        return {
            "content": self.texts[place],
            "kind": "episode",
            "session": f"session {place // SESSION}",
            "role": ("user", "assistant")[place % 2],
            "event_time": START + timedelta(minutes=place - len(self.texts)),
        }

    def many(self, part: int) -> list[dict[str, Any]]:
        """Return the arguments for a part of the texts."""
        return [self.item(place) for place in range(part * self.batch, (part + 1) * self.batch)]

    def rows(self, first: int, count: int) -> tuple[int, Sequence[str], Vectors]:
        """Return texts with their vectors as they are added by hand."""
        texts = self.texts[first : first + count]
        return first, texts, self.embedder.embed(texts)


@contextmanager
def opened(
    location: str, embedder: MadeBefore, clock: FrozenClock | None = None
) -> Iterator[Memory]:
    """Give a memory that depends on no file and no environment, and does nothing by itself."""
    settings = Settings(
        embedding={"background": False}, consolidation={"automatic": False}, timezone="UTC"
    )
    with Memory(location, user=USER, settings=settings, embedder=embedder, clock=clock) as memory:
        yield memory


def _measure(work: Work, places: Mapping[str, str], by_hand: Mapping[str, Path]) -> None:
    with ExitStack() as left:
        memories = {
            name: left.enter_context(opened(place, work.embedder, work.clock))
            for name, place in places.items()
        }
        bare = {name: BareChroma(place) for name, place in by_hand.items()}
        for each in bare.values():
            left.callback(each.close)
        title = f"Stores: adding {len(work.texts):,} records of one user"
        show(title, HEADER, _added(work, memories, bare), ADDING)
        show("Stores: searching", HEADER, _searched(work, memories, bare), SEARCHING)


def _added(work: Work, memories: Mapping[str, Memory], bare: Mapping[str, BareChroma]) -> list[Row]:
    size, batch = len(work.texts), work.batch
    parts = [work.rows(part * batch, batch) for part in range(PARTS - 1)]
    many: dict[str, Step] = {
        **{n: lambda i, m=m: m.remember_many(work.many(i)) for n, m in memories.items()},
        **{n: lambda i, b=b: b.add(*parts[i]) for n, b in bare.items()},
    }
    in_bulk = interleaved(many, PARTS - 1)
    rest, singles = (PARTS - 1) * batch, min(SINGLE, batch // 2)
    start = size - singles
    for memory in memories.values():
        memory.remember_many([work.item(place) for place in range(rest, start)])
    for each in bare.values():
        each.add(*work.rows(rest, start - rest))
    vectors = {name: timed(lambda _, m=m: m.embed_pending()) for name, m in memories.items()}
    ones = [work.rows(start + place, 1) for place in range(singles)]
    one: dict[str, Step] = {
        **{n: lambda i, m=m: m.remember(**work.item(start + i)) for n, m in memories.items()},
        **{n: lambda i, b=b: b.add(*ones[i]) for n, b in bare.items()},
    }
    single = interleaved(one, singles)
    for memory in memories.values():
        memory.embed_pending()
    return [
        *_times("`remember`", single),
        *_times(f"`remember_many` of {batch:,}, a record", in_bulk, batch)[::2],
        _row(
            "its vector, by 32", {name: micro(seconds / start) for name, seconds in vectors.items()}
        ),
    ]


def _searched(
    work: Work, memories: Mapping[str, Memory], bare: Mapping[str, BareChroma]
) -> list[Row]:
    asked, vectors = work.questions, work.embedder.embed(work.questions)
    for question in asked:
        _compare(question, memories)
    steps: dict[str, Step] = {
        **{n: lambda i, m=m: m.search(asked[i], limit=LIMIT) for n, m in memories.items()},
        **{n: lambda i, b=b: b.nearest(vectors[i], LIMIT) for n, b in bare.items()},
    }
    return _times("`search`", interleaved(steps, len(asked)))


def _compare(question: str, memories: Mapping[str, Memory]) -> None:
    """Stop if the memories do not find the same."""
    found = {
        name: [hit.record.content for hit in memory.search(question, limit=LIMIT)]
        for name, memory in memories.items()
    }
    assert all(each == found[FILE] for each in found.values()), (question, found)
    assert found[FILE], question


def _opened(work: Work, places: Mapping[str, str], by_hand: Mapping[str, Path]) -> list[Row]:
    """Time opening until the first search is answered."""
    question = work.questions[0]
    vector = work.embedder.embed([question])[0]
    taken: dict[str, list[float]] = {name: [] for name in ALL}
    for number in range(OPENINGS):
        for name in (*ALL[number:], *ALL[:number]):
            with ExitStack() as left:
                step = (
                    _opening(left, places[name], work, question)
                    if name in places
                    else _opening_by_hand(left, by_hand[name], vector)
                )
                taken[name].append(timed(step))
    return _times("open, and a first search", {n: Times(tuple(s)) for n, s in taken.items()})[::2]


def _opening(left: ExitStack, place: str, work: Work, question: str) -> Step:
    def step(_: int) -> None:
        left.enter_context(opened(place, work.embedder, work.clock)).search(question)

    return step


def _opening_by_hand(left: ExitStack, place: Path, vector: Any) -> Step:
    def step(_: int) -> None:
        bare = BareChroma(place)
        left.callback(bare.close)
        bare.nearest(vector, LIMIT)

    return step


def _resident(places: Mapping[str, str]) -> dict[str, str]:
    """Return the MiB by which a process grows that opens and searches, where it can be asked."""
    if not Path("/proc/self/status").exists():
        return {}
    grown = {}
    for name, place in places.items():
        said = subprocess.run(  # noqa: S603 - this Python, with a program of this file
            [sys.executable, "-c", RESIDENT, place], check=True, stdout=subprocess.PIPE, text=True
        )
        grown[name] = f"{int(said.stdout) / 1024:,.0f}"
    return grown


def _sizes(root: Path, work: Work) -> dict[str, str]:
    """Return the bytes of a record: all files of a place, closed, by the number of records."""
    names = {FILE: "memory.db*", FOLDER: "folder", BARE: "bare"}
    return {
        name: f"{sum(_bytes(path) for path in root.glob(each)) / len(work.texts):,.0f}"
        for name, each in names.items()
    }


def _bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def _times(what: str, times: Mapping[str, Times], each: int = 1) -> list[Row]:
    """Return the rows of p50, of p95, and of p50 against that by hand."""
    ratios = {n: f"{times[n].median / times[BARE].median:.2f}" for n in STORES}
    return [
        _row(f"{what}: p50", {n: micro(t.median / each) for n, t in times.items()}),
        _row(f"{what}: p95", {n: micro(t.p95 / each) for n, t in times.items()}),
        _row("… by hand", ratios),
    ]


def _row(what: str, values: Mapping[str, str]) -> Row:
    return (what, *(values.get(name, "") for name in ALL))
