"""What is learned from ten short conversations with a small language model, and without one.

``model_learning.json`` holds the conversations, where the person and an assistant take turns, and
of each the facts that a strict reader called right or wrong. A fact that is in neither list has
not been read yet: it is printed.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.local_model import is_installed, serving
from benchmarks.measure import show
from memoranda import Memory, Settings
from memoranda.model.usage import NO_USAGE
from memoranda.testing.clocks import FrozenClock

TALKS = Path(__file__).with_name("model_learning.json")
START = datetime(2026, 1, 5, 18, tzinfo=UTC)
# Seconds that the model may take for one answer, and for one talk.
PATIENCE = 1_200
HEADER = ("", "facts", "right", "wrong", "not read yet", "calls of the model", "seconds")


def learn(talk: dict[str, Any], model: str | None) -> tuple[list[str], Counter[str]]:
    """Return the facts that are learned from one conversation, and what that took."""
    clock, settings = (
        FrozenClock(START),
        Settings(
            timezone="UTC",
            embedding={"model": "none"},
            llm={"model": model, "timeout": PATIENCE},
            consolidation={"timeout": PATIENCE},
            notes={"automatic": False},
        ),
    )
    with Memory(":memory:", settings=settings, clock=clock) as memory:
        chat = memory.conversation(talk["name"])
        for number, text in enumerate(talk["turns"]):
            clock.advance(timedelta(minutes=1))
            chat.add(("user", "assistant")[number % 2], text)
        started = time.perf_counter()
        chat.end()
        took = time.perf_counter() - started
        assert memory.sessions(pending=True) == []
        used = sum((each.usage for each in memory.usage()), NO_USAGE)
        facts = [each.record.content for each in memory.facts()]
    return facts, Counter(seconds=took, calls=used.requests)


def measure(name: str, talks: list[dict[str, Any]], model: str | None) -> tuple[str, ...]:
    """Return the row of one way to learn, and print the facts that nobody has read yet."""
    found: Counter[str] = Counter()
    learn(talks[0], None)  # What reads a language is loaded.
    for talk in talks:
        facts, took = learn(talk, model)
        unread = [each for each in facts if each not in talk["right"] + talk["wrong"]]
        found += took + Counter(
            facts=len(facts),
            right=sum(each in talk["right"] for each in facts),
            wrong=sum(each in talk["wrong"] for each in facts),
            unread=len(unread),
        )
        for each in unread:
            print(f"not read yet, {name}, {talk['name']}: {each}")
    counted = ("facts", "right", "wrong", "unread", "calls")
    return (name, *(f"{found[each]:,}" for each in counted), f"{found['seconds']:,.1f}")


def run(*, quick: bool) -> None:
    """Print the table; with the model only where it is installed."""
    talks = json.loads(TALKS.read_text("utf-8"))[: 2 if quick else None]
    rows = [measure("without a model", talks, None)]
    if is_installed():
        with serving() as model:
            rows.append(measure("with SmolLM2 135M", talks, model))
    show("Learning from ten short conversations", HEADER, rows)
