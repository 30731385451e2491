"""What a part of the torture is given, and what it returns."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import memoranda

PACKAGE = str(Path(memoranda.__file__).parent)
# What a machine may have set that would change what is measured, or where it writes.
OWN = ("MEMORANDA_", "OPENAI_", "ANTHROPIC_")


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table.

    Attributes:
        what: what was tried.
        goal: what should come out.
        found: what came out.
        held: whether the law held that stands behind it; the run fails if not.
        reached: whether the goal was reached, which may also be one of number or time.
        details: what a reader needs who looks for the cause.
    """

    what: str
    goal: str
    found: str
    held: bool = True
    reached: bool = True
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """What a part is given.

    Attributes:
        folder: its own.
        seed: of its choices.
        until: when it has to stop.
        calls: how many calls are enough.
    """

    folder: Path
    seed: int
    until: float
    calls: int = 100_000

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.until - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0


@dataclass(slots=True)
class Tally:
    """How many calls were made, and what went wrong in them, by kind and place."""

    calls: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, example: str) -> None:
        """Count something that went wrong, and keep the first example of its kind."""
        self.wrong[kind] += 1
        self.examples.setdefault(kind, f"{example:.1500}")

    def details(self) -> tuple[str, ...]:
        """Return a line for each kind, the most frequent first."""
        return tuple(
            f"{number:,} x {kind}: {self.examples[kind]}"
            for kind, number in self.wrong.most_common()
        )


def place_of(error: BaseException) -> str:
    """Return the type of an error and the last line of the package that it went through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(PACKAGE):
            place = f"{os.path.relpath(code.co_filename, PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place or 'no line of the package'}"


@contextmanager
def sandbox() -> Iterator[Path]:
    """Give a temporary folder, in which everything happens that is not told a place.

    Settings of this machine are kept out, also of processes that are started meanwhile.
    """
    before, here = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="torture") as name:
        folder = Path(name).resolve()
        for key in before:
            if key.startswith(OWN):
                del os.environ[key]
        os.environ.update(settings_of(folder))
        # Whoever is started from here finds the package and this one all the same.
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(each).resolve()) for each in sys.path)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)


def settings_of(folder: Path) -> Mapping[str, str]:
    """Return an environment whose every place is below ``folder``."""
    places = {
        name: str(folder / name.lower())
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")
    }
    for each in places.values():
        Path(each).mkdir()
    return places | {
        "MEMORANDA_CONFIG": str(folder / "no-config.toml"),
        "MEMORANDA_LOCATION": str(folder / "default.db"),
        "MEMORANDA_TIMEZONE": "UTC",
        "MEMORANDA_EMBEDDING__MODEL": "none",
        "MEMORANDA_EMBEDDING__BACKGROUND": "false",
        "MEMORANDA_CONSOLIDATION__AUTOMATIC": "false",
        "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false",
        "OPENBLAS_NUM_THREADS": "1",
    }
