"""The memory that a process takes: a chat, many open memories, and many users of one memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import show
from benchmarks.searching import USERS, fill
from benchmarks.workload import KnownVectors, talk
from memoranda import Memory
from memoranda.providers.embedding.model_files import MODEL

RESIDENT = """
from pathlib import Path

def resident(name="VmRSS"):
    return int(Path("/proc/self/status").read_text().partition(name + ":")[2].split()[0]) / 1024
"""
OPEN = """
import gc, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from memoranda import Memory

folder, count = Path(sys.argv[1]), int(sys.argv[2])

def use(number):
    memory = Memory(folder / f"{number}.db", user=f"user{number}")
    for day in range(10):
        memory.remember(f"On day {day} user {number} paid {day} euros for lunch.")
    assert memory.search("What did lunch cost?")
    return memory

print(resident())
memories = [use(0)]
print(resident())
with ThreadPoolExecutor(8) as pool:
    memories += pool.map(use, range(1, count))
print(resident())
for memory in memories:
    memory.close()
del memories, memory
gc.collect()
print(resident())
print(resident("VmHWM"))
"""
SERVE = """
import sys, time
from memoranda import Memory
from benchmarks.workload import talk

path, users, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
questions = talk(1).questions
with Memory(path) as memory:
    faces = [memory.as_user(f"user{number}") for number in range(users)]
    assert faces[0].search(questions[0])
    print(resident())
    for face in faces:
        assert face.search(questions[0])
    print(resident())
    times = []
    for turn in range(rounds * users):
        start = time.perf_counter()
        assert faces[turn % users].search(questions[turn % len(questions)])
        times.append(time.perf_counter() - start)
    print(resident())
    print(resident("VmHWM"))
    print(1000 * sorted(times)[len(times) // 2])
    print(1000 * sorted(times)[int(0.95 * len(times))])
"""
SERVED = (
    ("one user searched, with the model", "MB"),
    ("each user searched once", "MB"),
    ("after all searches", "MB"),
    ("most at any time", "MB"),
    ("a search, the question's vectors included, median", "ms"),
    ("the same, 95th percentile", "ms"),
)
SAID = (
    "I'm vegetarian and I never fly before nine.",
    "My sister Tasha lives in Leeds with her two dogs.",
    "What do you know about me?",
    "I work at the Snails as an accountant since January.",
    "Where does Tasha live?",
    "Please remember that the kiln is in the cellar.",
    "I moved to Lisbon last week.",
    "What do I eat?",
    "My budget for the trip is 800 euros.",
    "Who is my sister?",
)
TALK = {
    "opened": ["/help"],
    "after the first message": SAID[:1],
    "after twenty": (*SAID[1:], *SAID),
    "after they are consolidated": ["/new", "What do I eat?"],
}
STATES = ("imported", "one memory open", "{count} open", "all closed", "most at any time")


def run(*, quick: bool) -> None:
    """Print the table. Reads Linux's own figures of the process."""
    count = 10 if quick else 50
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RESIDENT + OPEN, folder, str(count)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    sizes = [float(line) for line in done.stdout.split()]
    rows = [
        (state.format(count=count), f"{size:,.0f} MB")
        for state, size in zip(STATES, sizes, strict=True)
    ]
    show("Open memories with the local model in one process", ("", "resident"), rows)
    _chat()
    _serve(5_000 if quick else 100_000)


def _chat() -> None:
    """Talk through a pipe, without a model and with the local one."""
    chats = [_chatting("none"), _chatting("local")]
    rows = [
        (state, *(f"{size:,.0f} MB" for each in chats for size in each[state]))
        for state in chats[0]
    ]
    titles = ("", "private", "resident", "private, local model", "resident, local model")
    show("`memoranda chat`, the whole process", titles, rows)


def _chatting(model: str) -> dict[str, tuple[float, float]]:
    """Return the private and the resident memory of a chat, by what has been said in it."""
    found: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory.db"
        command = [sys.executable, "-m", "memoranda", "--db", str(place), "chat", "--json"]
        environment = os.environ | {"MEMORANDA_EMBEDDING__MODEL": model}
        with subprocess.Popen(  # noqa: S603
            command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as chat:
            assert chat.stdin is not None
            assert chat.stdout is not None
            for state, lines in TALK.items():
                for line in lines:
                    print(line, file=chat.stdin, flush=True)
                    chat.stdout.readline()
                rows = Path(f"/proc/{chat.pid}/smaps_rollup").read_text().splitlines()[1:]
                sizes = {row.partition(":")[0]: int(row.split()[1]) * 1_024 / 1e6 for row in rows}
                found[state] = (sizes["Anonymous"], sizes["Rss"])
            chat.stdin.close()
    return found


def _serve(size: int) -> None:
    """Fill a memory with vectors that are drawn, and search it in a process with the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        drawn = KnownVectors()
        drawn.name = MODEL  # So that the model takes them for its own.
        with Memory(path, embedder=drawn) as memory:
            fill(memory, talk(size).texts)
            memory.embed_pending()
        command = [sys.executable, "-c", RESIDENT + SERVE, str(path), str(USERS), "10"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    figures = [float(line) for line in done.stdout.split()]
    rows = [
        (what, f"{figure:,.0f} {unit}" if unit == "MB" else f"{figure:,.1f} {unit}")
        for (what, unit), figure in zip(SERVED, figures, strict=True)
    ]
    show(f"{size:,} records of {USERS} users in one process", ("", ""), rows)


if __name__ == "__main__":
    run(quick="--quick" in sys.argv[1:])
