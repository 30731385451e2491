"""Run the measurements: ``python -m benchmarks [what] [--quick]``; ``--help`` lists them."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    adding,
    boundaries,
    conversing,
    dates,
    embedding,
    pruning,
    replay,
    retrieval,
    searching,
    starting,
    storing,
    updates,
)

SHARED = Path(__file__).resolve().parents[2] / "shared"
SPEED: dict[str, Callable[..., None]] = {
    "adding": adding.run,
    "searching": searching.run,
    "conversing": conversing.run,
    "pruning": pruning.run,
    "embedding": embedding.run,
    "storing": storing.run,
    "starting": starting.run,
}


def main() -> None:
    """Measure what was asked for; everything, if nothing was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("retrieval", "updates", "dates", "boundaries", "replay", "speed"),
        help="default: all",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer rounds")
    parser.add_argument("--ablate", action="store_true", help="retrieval: part by part")
    parser.add_argument("--only", choices=SPEED, help="one part of speed")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with data/ and eval/")
    asked = parser.parse_args()
    print(
        f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"files in {tempfile.gettempdir()}"
    )
    if asked.what in {None, "retrieval"} and asked.only is None:
        retrieval.run(asked.shared, quick=asked.quick, ablate=asked.ablate)
    if asked.what in {None, "updates"} and asked.only is None:
        updates.run(asked.shared / "data", quick=asked.quick)
    if asked.what in {None, "dates"} and asked.only is None:
        dates.run(asked.shared / "data")
    if asked.what in {None, "boundaries"} and asked.only is None:
        boundaries.run(asked.shared / "data", quick=asked.quick)
    if asked.what in {None, "replay"} and asked.only is None:
        replay.run(asked.shared, quick=asked.quick)
    if asked.what in {None, "speed"}:
        for name, run in SPEED.items():
            if asked.only in {None, name}:
                run(quick=asked.quick)


if __name__ == "__main__":
    main()
