"""Chat without a model: whether it tells what is planned on some days, and nothing else.

Run: ``python -m benchmarks.plans [--show]``. ``plans.json`` beside this file holds talks of one or
two days, by people who knew of no rule, and questions at their end: two of three ask for plans,
the others for something else about a day. Of each question patterns say which a line of the
answer has to match, and which no line may.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from benchmarks.people import say, tell_days

TALKS = Path(__file__).with_name("plans.json")


def talk(told: dict[str, Any], folder: Path) -> list[str]:
    """Return the answers to the questions of a talk."""
    with tell_days(told["days"], folder) as (_, clock, agent):
        return [say(agent, clock, each["ask"]) for each in told["questions"]]


def matches(patterns: Sequence[str], answer: str) -> list[bool]:
    """Return of each pattern whether a line of an answer matches it."""
    lines = answer.splitlines()
    return [any(re.search(each, line, re.IGNORECASE) for line in lines) for each in patterns]


def run(path: Path = TALKS, *, details: bool = False) -> None:
    """Print for each set of talks how many questions are answered well, and how others are not."""
    counts: dict[int, Counter[str]] = {}
    for told in json.loads(path.read_text("utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            answers = talk(told, Path(folder))
        count = counts.setdefault(told["set"], Counter())
        for question, answer in zip(told["questions"], answers, strict=True):
            missed = not all(matches(question["must"], answer))
            wrong = any(matches(question["must_not"], answer))
            count.update(["questions"], well=not (missed or wrong), missed=missed, wrong=wrong)
            if details and (missed or wrong):
                print(f"{question['ask']}  ({question['must']} | {question['must_not']})")
                print("   " + answer.replace("\n", "\n   "))
    show(
        "Chat without a model: what is planned",
        ("set", "answered well", "something missed", "something wrong", "questions"),
        [
            (str(number), *(str(count[each]) for each in ("well", "missed", "wrong", "questions")))
            for number, count in sorted(counts.items())
        ],
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what was not answered well")
    run(details=parser.parse_args().show)


if __name__ == "__main__":
    main()
