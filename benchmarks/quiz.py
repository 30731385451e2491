"""Four months with one person: what is answered first, what is outdated, and what facts alone hold.

Run: ``python -m benchmarks.quiz [HISTORY] [--show]``. A history, ``quiz_*.json`` beside this file,
was invented for this: sessions with a person, each ended when it is over, and questions at the
end. Upkeep runs every night. No language model takes part. Of each question a pattern says which
answer is right now, and another which one was so earlier.

- first: the first hit is right and current
- outdated: of the questions whose answer has changed, the first hit is the earlier one
- facts: among the first five facts one is right (questions that a fact could answer)
- recall: the recalled block holds the right answer
- wrong: active facts that a careful reader calls wrong, by patterns that come with the history
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock

HISTORIES = sorted(Path(__file__).parent.glob("quiz_*.json"))
NIGHT = 3
BUDGET = 1_000


def live(history: dict[str, Any], memory: Memory, clock: FrozenClock) -> None:
    """Hold the sessions of a history, with the nights between them."""
    night: datetime | None = None
    for number, session in enumerate(history["sessions"]):
        at = datetime.fromisoformat(session["at"])
        night = night or at
        while night < at:
            clock.set(night)
            memory.maintain()
            night += timedelta(days=1)
        chat = memory.conversation(f"session-{number}")
        for place, (role, text) in enumerate(session["turns"]):
            clock.set(at + timedelta(minutes=place))
            chat.add(role, text, timestamp=clock.now())
        chat.end()
        memory.consolidate()
        night = (at + timedelta(days=1)).replace(hour=NIGHT)


def ask(question: dict[str, Any], memory: Memory) -> dict[str, bool]:
    """Return what holds of the answers to a question."""
    right = re.compile(question["right"])
    outdated = re.compile(question["outdated"]) if question["outdated"] else None
    hits = [hit.record.content for hit in memory.search(question["ask"], limit=5)]
    facts = [hit.record.content for hit in memory.search(question["ask"], kind="fact", limit=5)]
    first = hits[0] if hits else ""
    old = bool(outdated and outdated.search(first))
    return {
        "first": bool(right.search(first)) and not old,
        "outdated": old,
        "facts": any(map(right.search, facts)),
        "recall": bool(right.search(memory.recall(question["ask"], budget=BUDGET).text)),
    }


def wrong_facts(history: dict[str, Any], memory: Memory) -> Iterator[str]:
    """Yield the active facts that are wrong."""
    for record in memory.records(kind="fact", limit=1_000):
        active = record.superseded_by is None
        if active and any(re.search(pattern, record.content) for pattern in history["wrong"]):
            yield record.content


def run(path: Path, *, details: bool = False) -> None:
    """Print the shares for one history."""
    history = json.loads(path.read_text("utf-8"))
    clock = FrozenClock(datetime.fromisoformat(history["sessions"][0]["at"]))
    settings = Settings(timezone=history["timezone"])
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "quiz.db", user="person", clock=clock, settings=settings) as memory,
    ):
        live(history, memory, clock)
        questions = history["questions"]
        clock.set(datetime.fromisoformat(questions[-1]["at"]))
        answers = [ask(question, memory) for question in questions]
        wrong = list(wrong_facts(history, memory))
        if details:
            _show_details(questions, answers, wrong, memory)
        count = memory.count(kind="fact")
    rows = [_share("first hit right and current", answers, "first")]
    changed = [
        each for each, question in zip(answers, questions, strict=True) if question["changed"]
    ]
    rows.append(_share("outdated on top, of what changed", changed, "outdated"))
    held = [each for each, asked in zip(answers, questions, strict=True) if asked["from_facts"]]
    rows.append(_share("facts alone, in the first five", held, "facts"))
    rows.append(_share("in the recalled block", answers, "recall"))
    rows.append(("wrong active facts", str(len(wrong)), f"of {count}"))
    show(f"Quiz: {path.stem}", ("", "share", "questions"), rows)


def _share(name: str, answers: list[dict[str, bool]], what: str) -> tuple[str, str, str]:
    got = sum(each[what] for each in answers)
    return name, f"{got / max(1, len(answers)):.2f}", f"{got} of {len(answers)}"


def _show_details(
    questions: list[dict[str, Any]],
    answers: list[dict[str, bool]],
    wrong: list[str],
    memory: Memory,
) -> None:
    for question, answer in zip(questions, answers, strict=True):
        if answer["first"] and answer["recall"] and (answer["facts"] or not question["from_facts"]):
            continue
        print(f"{question['ask']}  {answer}")
        for hit in memory.search(question["ask"], limit=2):
            print(f"    {hit.score:.2f} [{hit.record.kind}] {hit.record.content[:150]}")
        for hit in memory.search(question["ask"], kind="fact", limit=2):
            print(f"    fact {hit.score:.2f} {hit.record.content[:120]}")
    for content in wrong:
        print(f"wrong: {content}")
    for record in memory.records(kind="fact", limit=1_000):
        sign = "-" if record.superseded_by is None else "x"
        print(f"{sign} {record.content}  ({record.subject} · {record.attribute} · {record.value})")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quiz", description=__doc__)
    parser.add_argument("history", nargs="*", type=Path, help="default: all beside this file")
    parser.add_argument("--show", action="store_true", help="print what was missed")
    asked = parser.parse_args()
    for path in asked.history or HISTORIES:
        run(path, details=asked.show)


if __name__ == "__main__":
    main()
