"""Languages and scripts: is a fact found in whatever language it is asked for, and a rare name?

Invented for it: 60 facts in six languages, each with a question in all six, in one memory; and
names in many scripts, emoji, code and ids, each in one record of a memory with four of its like.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda import Memory, Settings
from memoranda.errors import MissingExtra, ModelUnavailable

MODELS = ("none", "local", "multilingual")
AMONG = 5
MISSED = 99
FRAMES = (
    "{} came to dinner on Sunday.",
    "My neighbour {} has a new car.",
    "I talked to {} about the holidays.",
    "The parcel is for {}.",
    "{} forgot the umbrella here.",
)
ASKED = ("{}", "Who is {}?", "What do you know about {}?", "Tell me about {}")
OTHERS = ("We went to the market in the rain.", "The cat slept on the sofa all day.")


def run() -> None:
    """Print the figures of each model that can run here."""
    data = json.loads(Path(__file__).with_name("languages.json").read_text("utf-8"))
    rows = []
    for model in MODELS:
        settings = Settings(embedding={"model": model}, consolidation={"automatic": False})
        try:
            same, cross = map(list, zip(*ranks(settings, data), strict=True))
            first = list(names(settings, data["names"]))
        except (MissingExtra, ModelUnavailable) as error:
            print(f"{model}: {error}")
            continue
        found = (share([rank for part in ranked for rank in part]) for ranked in (same, cross))
        rows.append((model, *found, f"{sum(first)} of {len(first)}"))
    columns = ("embedding.model", "same language", "another language", "names: first")
    show("Languages: the fact first, and among five", columns, rows)


def ranks(settings: Settings, data: Mapping[str, Any]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the rank of each fact, asked for in its own language and in all others."""
    with Memory(":memory:", settings=settings) as memory:
        ids = [
            memory.remember(each["fact"], kind="episode", role="user", session=str(place)).id
            for place, each in enumerate(data["facts"])
        ]
        memory.embed_pending()
        for id_, each in zip(ids, data["facts"], strict=True):
            found = [rank(memory, question, id_) for question in each["questions"]]
            own = found.pop(data["languages"].index(each["language"]))
            yield [own], found


def rank(memory: Memory, question: str, id_: str) -> int:
    """Return the rank of a record."""
    found = [hit.record.id for hit in memory.search(question, limit=AMONG)]
    return found.index(id_) + 1 if id_ in found else MISSED


def share(found: Sequence[int]) -> str:
    """Return how many of ranks are the first, and among five."""
    return " / ".join(
        f"{sum(rank <= most for rank in found) / len(found):.2f}" for most in (1, AMONG)
    )


def names(settings: Settings, scripts: Mapping[str, Sequence[str]]) -> Iterator[bool]:
    """Yield for each question whether the one record with its name is first."""
    for listed in scripts.values():
        told = [frame.format(name) for frame, name in zip(FRAMES, listed, strict=True)]
        for texts in (told, listed):
            with Memory(":memory:", settings=settings) as memory:
                turns = [{"content": text, "role": "user"} for text in (*OTHERS, *texts)]
                ids = [record.id for record in memory.remember_many(turns)][len(OTHERS) :]
                memory.embed_pending()
                for id_, name in zip(ids, listed, strict=True):
                    yield from (rank(memory, each.format(name), id_) == 1 for each in ASKED)
