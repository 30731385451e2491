"""Chat without a model: what it answers to plain questions of people that no rule was made for.

Run: ``python -m benchmarks.answering [--people N]``. A file, ``answering.json`` beside this one,
holds invented people: the lines that each types over some weeks, and questions, each with the
lines that answer it and those that did so earlier. They were written by somebody who had seen no
rule, most questions in other words than their answers, and beside lines that share their words and
answer nothing. None of them is among those of ``training/``, from which the model that reads them
has learned. All questions are asked in a new session, a day later; and then some that another
person asked, most of which nothing answers here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from benchmarks.people import PAUSE, tell_days
from memoranda import Agent, Memory, Record
from memoranda.testing.clocks import FrozenClock

PEOPLE = Path(__file__).with_name("answering.json")
BEGIN, BETWEEN = datetime.fromisoformat("2026-01-12T18:00"), timedelta(days=13)
LINES_A_DAY = 8
ALL = 120
# Questions of another person that each is asked, and how much later in the file that one stands.
FOREIGN, AWAY = 8, 7
OUTCOMES = ("right", "outdated", "another", "nothing")


def days_of(lines: list[str]) -> list[dict[str, Any]]:
    """Return lines as they are typed, some on a day."""
    starts = range(0, len(lines), LINES_A_DAY)
    return [
        {"at": (BEGIN + number * BETWEEN).isoformat(), "lines": lines[start : start + LINES_A_DAY]}
        for number, start in enumerate(starts)
    ]


def find_lines(memory: Memory, lines: list[str], record: Record) -> Collection[int]:
    """Return the places of the lines that a record is, or was read from."""
    told = [record, *(memory.get(id_) for id_ in record.source_ids)]
    held = {each.content for each in told if each is not None}
    return {place for place, line in enumerate(lines) if line in held}


def judge(question: dict[str, Any], found: Collection[int], *, answered: bool) -> str:
    """Return what became of a question, one of ``OUTCOMES``."""
    if not answered:
        return "nothing"
    for outcome, key in (("right", "answers"), ("outdated", "outdated")):
        if not set(question[key]).isdisjoint(found):
            return outcome
    return "another"


@contextmanager
def told_lines(lines: list[str]) -> Iterator[tuple[Memory, FrozenClock]]:
    """Give the memory that was told lines, and its clock, a day after the last of them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tell_days(days_of(lines), Path(folder)) as (memory, clock, last),
    ):
        last.end()
        clock.advance(timedelta(days=1))
        memory.maintain()
        yield memory, clock


def ask(person: dict[str, Any], foreign: list[str]) -> tuple[Counter[str], int]:
    """Return what became of a person's questions, and how many foreign ones are answered."""
    lines, outcomes = person["lines"], Counter[str]()
    with told_lines(lines) as (memory, clock):
        agent = Agent(memory, session="questions")
        for question in person["questions"]:
            clock.advance(PAUSE)
            sources = agent.process(question["ask"]).sources
            found = find_lines(memory, lines, sources[0].record) if sources else ()
            outcomes[judge(question, found, answered=bool(sources))] += 1
        answers = [agent.process(each) for each in foreign]
    return outcomes, sum(bool(each.sources) for each in answers)


def run(most: int) -> None:
    """Print the shares for so many people of the file, evenly taken."""
    people = json.loads(PEOPLE.read_text("utf-8"))
    step = max(1, len(people) // most)
    total, foreign, count = Counter[str](), 0, 0
    for number in range(0, len(people), step):
        other = people[(number + AWAY) % len(people)]["questions"]
        questions = [each["ask"] for each in other[:FOREIGN]]
        outcomes, answered = ask(people[number], questions)
        total, foreign, count = total + outcomes, foreign + answered, count + 1
    asked = total.total()
    shares = [total[each] / asked for each in OUTCOMES] + [foreign / count / FOREIGN]
    show(
        f"Chat without a model: {asked} questions of {count} people",
        (*OUTCOMES, "foreign questions that are answered"),
        [tuple(f"{each:.1%}" for each in shares)],
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answering", description=__doc__)
    parser.add_argument("--people", type=int, default=ALL, help="how many")
    run(parser.parse_args().people)


if __name__ == "__main__":
    main()
