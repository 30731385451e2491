"""Run the measurements: ``python -m benchmarks [what] [--quick]``; ``--help`` lists them."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    adding,
    answering,
    conversing,
    dates,
    embedding,
    facts,
    frozen,
    history_entries,
    languages,
    learning,
    model_learning,
    ner,
    pages,
    people,
    plans,
    postgres,
    pruning,
    quiz,
    relevance,
    replay,
    retrieval,
    searching,
    starting,
    updates,
)
from benchmarks.torture.runner import PARTS
from benchmarks.torture.runner import run as torture
from memoranda.conversation.strategies import STRATEGIES

SHARED = Path(__file__).resolve().parents[2] / "shared"
QUALITY = (
    "retrieval",
    "updates",
    "facts",
    "dates",
    "names",
    "replay",
    "notes",
    "postgres",
    "quiz",
    "people",
    "answering",
    "plans",
    "languages",
)
SPEED: dict[str, Callable[..., None]] = {
    "adding": adding.run,
    "searching": searching.run,
    "conversing": conversing.run,
    "pruning": pruning.run,
    "embedding": embedding.run,
    "starting": starting.run,
    "learning": learning.run,
    "pages": pages.run,
}


def main() -> None:
    """Measure what was asked for; everything, if nothing was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=(*QUALITY, "frozen", "model", "speed", "torture"),
        help="default: all but frozen, model and torture",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer rounds")
    parser.add_argument("--ablate", action="store_true", help="retrieval: part by part")
    parser.add_argument("--only", choices=SPEED, help="one part of speed")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with data/ and eval/")
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        choices=(*frozen.PARTS, *PARTS),
        help="one part of frozen or torture",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="torture: for how long")
    parser.add_argument("--seed", type=int, help="torture: the same choices again")
    parser.add_argument("--keep", action="store_true", help="frozen: keep the figures of now")
    asked = parser.parse_args()
    if asked.what == "frozen":
        sys.exit(not frozen.run(asked.shared, asked.part, keep=asked.keep))
    if asked.what == "model":
        model_learning.run(quick=asked.quick)
        return
    if asked.what == "torture":
        sys.exit(not torture(asked.minutes, asked.part, asked.seed))
    print(
        f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"files in {tempfile.gettempdir()}"
    )
    for name in QUALITY if asked.only is None else ():
        if asked.what in {None, name}:
            measure(name, asked)
    if asked.what in {None, "speed"}:
        for name, run in SPEED.items():
            if asked.only in {None, name}:
                run(quick=asked.quick)


def measure(name: str, asked: argparse.Namespace) -> None:
    """Print one measurement of quality."""
    data, quick = asked.shared / "data", asked.quick
    runs: dict[str, Callable[[], object]] = {
        "retrieval": lambda: retrieval.run(asked.shared, ablate=asked.ablate),
        "updates": lambda: updates.run(data, quick=quick),
        "facts": lambda: facts.run(data),
        "dates": lambda: dates.run(data),
        "names": lambda: ner.run(data),
        "replay": lambda: replays(asked.shared, quick=quick),
        "notes": lambda: history_entries.run(data, quick=quick),
        "postgres": lambda: postgres.run(quick=quick),
        "languages": languages.run,
        "people": lambda: people.run(people.PEOPLE),
        "answering": lambda: answering.run(20 if quick else answering.ALL),
        "plans": plans.run,
        "quiz": lambda: [quiz.run(path) for path in quiz.HISTORIES],
    }
    runs[name]()


def replays(shared: Path, *, quick: bool) -> None:
    """Print what contexts of tool-calling runs hold of what is needed, and how much beside it."""
    replay.run(shared, quick=quick)
    relevance.run(replay.runs(shared), list(STRATEGIES)[: 1 if quick else None])


if __name__ == "__main__":
    main()
