"""What it costs to start, and the most memory that a process takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Step, interleaved, show

FILL = """
import resource, sys
from pathlib import Path
from benchmarks.adding import settings
from benchmarks.workload import KnownVectors, talk
from memoranda import Memory


def peak():
    # Where there is one, the process's own file: getrusage counts what its parent took, too.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
said = talk({records})
with Memory(sys.argv[1], settings=settings(), embedder=KnownVectors()) as memory:
    for text in said.texts:
        memory.remember(text, kind="episode", session="talk")
    for question in said.questions[:50]:
        memory.search(question)
print(before, peak())
"""
NOTHING = "python -c pass"
IMPORTS = "python -c 'import numpy, apsw, pydantic_settings'"


def run(*, quick: bool) -> None:
    """Print the tables."""
    commands = {
        NOTHING: ["-c", "pass"],
        IMPORTS: ["-c", "import numpy, apsw, pydantic_settings"],
        "python -c 'import memoranda'": ["-c", "import memoranda"],
        "memoranda --help": ["-m", "memoranda", "--help"],
    }
    subjects: dict[str, Step] = {
        name: lambda _, command=command: _python(*command) for name, command in commands.items()
    }
    times = interleaved(subjects, 5 if quick else 15, warm=1)
    rows = [
        (
            name,
            f"{1e3 * each.median:,.0f} ms",
            f"{1e3 * (each.median - times[NOTHING].median):,.0f} ms",
        )
        for name, each in times.items()
    ]
    show("Starting", ("", "p50", "beyond an empty Python"), rows)
    _memory(1_000 if quick else 5_000)


def _memory(records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = _python("-c", FILL.format(records=records), str(Path(folder, "memory.db")))
    before, most = (int(number) / 1024 for number in said.split())
    show(
        f"Peak memory: {records:,} records added one by one, then 50 searches",
        ("", "MiB"),
        [("after the imports", f"{before:,.0f}"), ("in all", f"{most:,.0f}")],
        "Without a model: the vectors are looked up. It counts the texts of the test, too.",
    )


def _python(*arguments: str) -> str:
    run_ = subprocess.run(  # noqa: S603 - this Python, with arguments of this file alone
        [sys.executable, *arguments], check=True, capture_output=True, text=True
    )
    return run_.stdout
