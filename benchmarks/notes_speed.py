"""What the Markdown notes cost: each step beside the least that could be done by hand for it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import AGAINST, Step, Times, against, interleaved, show, timed
from benchmarks.workload import KnownVectors, Talk, talk
from memoranda import Conversation, Memory, Settings
from memoranda.notes import Notes

if sys.platform != "win32":
    import fcntl

ENTRIES = 2_000
FACTS = 1_000
LOOKS = 20
"""Looks that are timed together: one alone takes about as long as reading the clock does."""
BUDGET = 8_000
MESSAGES = 200
SYSTEM = "You help with whatever comes up."
START = datetime(2026, 3, 1, tzinfo=UTC)
WRITE = "floor: write, fsync, rename"
ROOMY = 1_000_000
"""Bytes of a MEMORY.md that has a line for every fact."""


def run(*, quick: bool) -> None:
    """Print the tables."""
    if sys.platform == "win32":
        print("\nSpeed of the notes: left out, the floors need locks as POSIX has them.\n")
        return
    _appending()
    _looking(500 if quick else 2_000)
    _syncing(10 if quick else 50)
    _in_context(30 if quick else 150)


def settings(*, size: int = 8_192, in_context: bool = True) -> Settings:
    """Return settings that depend on no file and no environment."""
    return Settings(
        embedding={"model": "none"},
        notes={"max_memory_size": size, "in_context": in_context},
        timezone="UTC",
    )


# --- The history -------------------------------------------------------------------------


def _appending() -> None:
    """Append as many entries each way, in files of their own."""
    # As long as entries are: ten lines or so.
    said = talk(10 * ENTRIES).texts
    texts = ["\n".join(said[10 * n : 10 * n + 10]) for n in range(ENTRIES)]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw")
        raw.mkdir()
        plain, rotated = Notes(Path(folder, "plain")), Notes(Path(folder, "rotated"))
        floor = "floor: lock, open, write, close"
        subjects: dict[str, Step] = {
            floor: lambda i: append_by_hand(raw, texts[i], _at(i)),
            "Notes.append_history": lambda i: plain.append_history(texts[i], at=_at(i)),
            "Notes.append_history_rotated": lambda i: rotated.append_history_rotated(
                texts[i], at=_at(i)
            ),
        }
        times = interleaved(subjects, ENTRIES)
        assert plain.search(texts[-1])[0].text == texts[-1]
        assert len(plain.history()) == len(rotated.history()) == ENTRIES
    show(
        f"notes: appending {ENTRIES:,} entries of {sum(map(len, texts)) / ENTRIES:,.0f} characters",
        AGAINST,
        against(times[floor], times),
        "Rotated, an entry is written into two files, or into neither. No side waits for the disk.",
    )


def append_by_hand(folder: Path, text: str, at: datetime) -> None:
    """Append an entry to a file under a lock: safe between processes, and nothing else."""
    with Path(folder, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Path(folder, "HISTORY.md").open("a", encoding="utf-8") as file:
            file.write(f"## {at.isoformat()}\n\n{text}\n\n")


def _at(number: int) -> datetime:
    return START + timedelta(minutes=number)


# --- MEMORY.md ---------------------------------------------------------------------------


def _looking(rounds: int) -> None:
    """Ask for a MEMORY.md that has not changed since, nor have the facts."""
    said = talk(FACTS)
    with tempfile.TemporaryDirectory() as folder, _filled(Path(folder), said) as memory:
        notes = memory.notes
        path = notes.folder / "MEMORY.md"

        def anew() -> str:
            return memory.notes.context_text()  # Also finds the folder again.

        floor = "floor: os.stat"
        subjects: dict[str, Step] = {
            floor: _repeated(lambda: os.stat(path)),  # noqa: PTH116 - the floor has no Path.
            "read the file": _repeated(path.read_text),
            "SyncedNotes.context_text, kept at hand": _repeated(notes.context_text),
            "memory.notes.context_text": _repeated(anew),
        }
        times = interleaved(subjects, rounds, warm=5)
    each = {
        name: Times(tuple(second / LOOKS for second in taken.seconds))
        for name, taken in times.items()
    }
    show(
        f"notes: a look at an unchanged MEMORY.md, {FACTS:,} facts",
        AGAINST,
        against(each[floor], each),
        f"Means of {LOOKS} looks each. A look also asks the store whether its facts have changed.",
    )


def _repeated(look: Callable[[], object]) -> Step:
    def looks(_: int) -> None:
        for _ in range(LOOKS):
            look()

    return looks


def _syncing(rounds: int) -> None:
    """Bring MEMORY.md into step with one more fact; by hand, write the same file."""
    said = talk(FACTS + rounds)
    for size, name in ((ROOMY, "a line for every fact"), (8_192, "full at 8,192 bytes")):
        with (
            tempfile.TemporaryDirectory() as folder,
            _filled(Path(folder), said, settings(size=size)) as memory,
        ):
            times, wrote = _synced(memory, said.texts[FACTS:])
            length = len(memory.notes.read_file().encode())
        show(
            f"notes: sync after one new fact, {FACTS:,} facts, {name}",
            AGAINST,
            against(times[WRITE], times),
            f"The floor writes a file of {length:,} bytes as well, waits for the disk and renames. "
            f"Of {rounds} times, sync had something to write {wrote} times.",
        )


def _synced(memory: Memory, texts: list[str]) -> tuple[dict[str, Times], int]:
    """Return the times of both sides, and how often the file was rewritten."""
    notes, wrote = memory.notes, 0
    raw = notes.folder.parent / "raw.md"
    taken: dict[str, list[float]] = {WRITE: [], "sync": []}
    for number, text in enumerate(texts):
        memory.remember(text)
        before = notes.read_file()
        steps: dict[str, Step] = {
            WRITE: lambda _, same=before: write_by_hand(raw, same.encode()),
            "sync": lambda _: notes.sync(),
        }
        for name in sorted(steps, reverse=number % 2 == 1):
            taken[name].append(timed(steps[name]))
        wrote += notes.read_file() != before
    return {name: Times(tuple(seconds)) for name, seconds in taken.items()}, wrote


def write_by_hand(path: Path, data: bytes) -> None:
    """Put a file in the place of another in one step: no lock, no look at what was there."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


# --- Contexts ----------------------------------------------------------------------------


def _in_context(rounds: int) -> None:
    """Build contexts in two memories that differ in one setting."""
    said = talk(FACTS + MESSAGES)
    with (
        tempfile.TemporaryDirectory() as folder,
        _filled(Path(folder, "with"), said) as with_,
        _filled(Path(folder, "without"), said, settings(in_context=False)) as without,
    ):
        floor = "floor: notes.in_context = false"
        chats = {floor: _talking(without, said), "with MEMORY.md": _talking(with_, said)}
        held = [chat.context(said.questions[0], budget=BUDGET) for chat in chats.values()]
        told = ["notes" in {item.what for item in each.receipt.included} for each in held]
        assert told == [False, True]
        count = len(said.questions)
        subjects: dict[str, Step] = {
            name: lambda i, chat=chat: chat.context(said.questions[i % count], budget=BUDGET)
            for name, chat in chats.items()
        }
        times = interleaved(subjects, rounds, warm=5)
    show(
        f"notes: contexts of {BUDGET:,} tokens, {MESSAGES:,} messages and {FACTS:,} facts",
        AGAINST,
        against(times[floor], times),
    )


def _talking(memory: Memory, said: Talk) -> Conversation:
    chat = memory.conversation("talk", system=SYSTEM)
    chat.extend(
        [
            {"role": ("user", "assistant")[place % 2], "content": text}
            for place, text in enumerate(said.texts[FACTS:])
        ]
    )
    memory.embed_pending()
    return chat


def _filled(folder: Path, said: Talk, own: Settings | None = None) -> Memory:
    """Open a memory of many facts whose MEMORY.md tells them."""
    folder.mkdir(exist_ok=True)
    embedder = KnownVectors([*said.questions])
    memory = Memory(folder / "memory.db", settings=own or settings(), embedder=embedder)
    memory.remember_many(list(said.texts[:FACTS]))
    memory.embed_pending()
    memory.notes.sync()
    return memory
