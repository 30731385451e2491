"""Chat without a model: whether the first line that it answers is right, on invented people.

Run: ``python -m benchmarks.people [FILE] [--show]``. A file, ``people.json`` beside this one,
holds people: what each types on some days, and questions. All days but the last end with a new
session. The questions are asked in the session of the last day, and all again on the next day. Of
each question a pattern says which answer is right, and another which one was so earlier.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda import Agent, Memory, Settings
from memoranda.testing.clocks import FrozenClock

PEOPLE = Path(__file__).with_name("people.json")
PAUSE = timedelta(minutes=1)


def say(agent: Agent, clock: FrozenClock, line: str) -> str:
    """Return what is answered to a line that is typed a minute later."""
    clock.advance(PAUSE)
    return agent.process(line).text


@contextmanager
def tell_days(
    days: Sequence[dict[str, Any]], folder: Path
) -> Iterator[tuple[Memory, FrozenClock, Agent]]:
    """Type what a person types on some days, into a memory that is open while the block runs.

    Each day is a session; that of the last day goes on, with its agent.
    """
    first, *_ = times = [datetime.fromisoformat(day["at"] + "+00:00") for day in days]
    clock = FrozenClock(first)
    settings = Settings(timezone="UTC")
    with Memory(folder / "chat.db", user="person", clock=clock, settings=settings) as memory:
        for number, (day, at) in enumerate(zip(days, times, strict=True)):
            clock.set(at)
            agent = Agent(memory, session=f"day-{number}")
            for line in day["lines"]:
                say(agent, clock, line)
            if day is not days[-1]:
                agent.end()
        yield memory, clock, agent


def talk(person: dict[str, Any], folder: Path) -> list[list[str]]:
    """Return the first lines of the answers to a person's questions: at once, and next day."""
    with tell_days(person["days"], folder) as (memory, clock, agent):

        def ask(agent: Agent) -> list[str]:
            asked = (say(agent, clock, each["ask"]) for each in person["questions"])
            return [text.partition("\n")[0] for text in asked]

        at_once = ask(agent)
        agent.end()
        clock.advance(timedelta(days=1))
        memory.maintain()
        return [at_once, ask(Agent(memory, session="next-day"))]


def is_right(question: dict[str, Any], line: str) -> bool:
    """Return whether a line gives the answer to a question, and not the outdated one alone."""
    return re.search(question["right"], line, re.IGNORECASE) is not None


def is_outdated(question: dict[str, Any], line: str) -> bool:
    """Return whether a line gives the answer that was right earlier."""
    old = question["outdated"]
    return bool(old) and not is_right(question, line) and bool(re.search(old, line, re.IGNORECASE))


def run(path: Path, *, details: bool = False) -> None:
    """Print the shares for the people of a file."""
    rows = []
    totals = [0, 0]
    count = 0
    for person in json.loads(path.read_text("utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            answers = talk(person, Path(folder))
        questions = person["questions"]
        right = [sum(map(is_right, questions, lines)) for lines in answers]
        old = [sum(map(is_outdated, questions, lines)) for lines in answers]
        totals, count = [a + b for a, b in zip(totals, right, strict=True)], count + len(questions)
        rows.append((person["name"], *map(str, right), *map(str, old), str(len(questions))))
        for question, *lines in zip(questions, *answers, strict=True) if details else ():
            if not all(is_right(question, line) for line in lines):
                print(f"{question['ask']}  ({question['right']} | {question['outdated']})")
                print(*(f"   {line[:200]}" for line in dict.fromkeys(lines)), sep="\n")
    shares = [f"{each / count:.1%}" for each in totals]
    rows.append(("all", *shares, "", "", str(count)))
    show(
        f"Chat without a model: {path.stem}",
        ("first line right", "same session", "next day", "outdated", "next day", "questions"),
        rows,
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people", description=__doc__)
    parser.add_argument("file", nargs="*", type=Path, help="default: the one beside this file")
    parser.add_argument("--show", action="store_true", help="print what was missed")
    asked = parser.parse_args()
    for path in asked.file or [PEOPLE]:
        run(path, details=asked.show)


if __name__ == "__main__":
    main()
