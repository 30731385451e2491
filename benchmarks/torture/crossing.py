"""Calls of one user that try to reach what another has stored, all of it marked by canaries.

A canary is a word that stands nowhere but in what Ana stored. Others know a few of them, and all
her ids, and ask with these. A call leaks if what it returns, writes or raises holds a canary that
they do not know, or that it is Ana's. At the end all of Ana's memory must be as it was.
"""

from __future__ import annotations

import io
import logging
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.torture.calls import arguments, of_schema, verbs_of
from benchmarks.torture.figures import Figure, Tally, Task, place_of
from memoranda import Memory, Settings
from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock, SystemClock
from memoranda.testing.embedders import HashEmbedder

CANARY = re.compile(r"\bquokka[a-h][a-l]\b", re.IGNORECASE)
# Names of others, some of them nearly Ana's.
OTHERS = (
    *("ben", "Ana", "ANA", "ana ", " ana", "an", "anaa", "a_a", "_na", "%", "*", "ana%", "аna"),  # noqa: RUF001 - a look-alike
    *("ána", "ana\u200b", "ana'--", "' OR 1=1 --", "1", "u1", "ana/ben", "../ana", "null"),
)
# Of the whole store, by what they say: to be called by who runs it. They write files, or wait.
STORE_WIDE = ("admin", "backup", "audit", "import_", "consolidator_tools", "reembed", "purge")
SLOW = ("doctor", "verify", "rebuild", "maintain", "consolidate", "reflect", "enrich")
NOW = datetime.now(UTC)


def plant(memory: Memory) -> dict[str, list[str]]:
    """Store a canary of Ana's at every place; return her ids and names, by what they name."""
    number = iter(f"quokka{letter}{other}" for letter in "abcdefgh" for other in "abcdefghijkl")

    def word() -> str:
        return next(number)

    known = f"The vault of Maria {word().title()} opens with {word()}"
    said = f"{known}, or else with {word()}."
    session, namespace, key = f"vault {word()}", (word(), word()), word()
    records = [
        memory.remember(
            said, kind=kind, tags=[word()], metadata={word(): word()}, session=session, origin="api"
        )
        for kind in ("fact", "episode", "context", "reflection")
    ]
    item = memory.remember(word(), kind="item", namespace=namespace, key=key)
    context = memory.set_context(word(), word())
    chat = memory.conversation(session, system=f"Guard the {word()}.", max_messages=500)
    messages = [chat.add("user", f"I moved to {word().title()}, and my cat is {word().title()}.")]
    messages += [chat.add("assistant", f"Noted: {word()} {turn}.") for turn in range(8)]
    call = {"id": word(), "type": "function", "function": {"name": word(), "arguments": "{}"}}
    chat.add("assistant", "", tool_calls=[call])
    chat.add("tool", word(), tool_result=call["id"])
    pruning = chat.prune(max_tokens=120)
    corrected = memory.correct(records[0].id, f"{said} Or with {word()}.")
    memory.consolidate()
    memory.notes.append_history(f"We spoke of {word()}.")
    memory.notes.sync()
    memory.recall(said)
    memory.derive()
    entities = memory.entities(limit=100)
    return {
        "ids": [each.id for each in (*records, item, context, corrected)],
        "messages": [each.id for each in messages],
        "markers": [] if pruning is None else [pruning.id],
        "sessions": [session],
        "keys": [key],
        "namespaces": list(namespace),
        "names": ["Maria", *(each.id for each in entities)],
        "said": [known],
    }


class _Hostile:
    """Makes up arguments: what is Ana's, what nearly is, and what is meant to break a statement."""

    def __init__(self, rng: random.Random, theirs: dict[str, list[str]], folder: Path) -> None:
        self._rng, self._theirs, self._folder = rng, theirs, folder
        self._every = [each for values in theirs.values() for each in values]
        self.known = {each.casefold() for each in CANARY.findall(" ".join(self._every))}
        self._numbers = 0

    def text(self) -> str:
        """Return a text."""
        rng, one = self._rng, self._rng.choice(self._every)
        return rng.choice(
            [
                one,
                one.upper(),
                one[: rng.randrange(1, len(one) + 1)],
                f"{one[:8]}%",
                f"%{one[2:-2]}%",
                one.replace("a", "_").replace("e", "?"),
                one.replace("a", "а").replace("o", "ο"),  # noqa: RUF001 - look-alikes
                f"{one}\u200b",
                f"' OR user_key = 1 OR '{one}' = '",
                f'"{one}" OR *',
                f"{one}' UNION SELECT content FROM records --",  # noqa: S608 - it is meant to be
                "1q* NEAR(2q* 3q*)",
                "what is the code of the vault?",
                "where did Maria move, and what is the cat called?",
                "scope:ana user:ana",
                "*",
                "%",
                "ana",
                "tea",
            ]
        )

    def value(self, name: str) -> Any:
        """Return a value for an argument of that name."""
        rng = self._rng
        makers: dict[str, Callable[[], Any]] = {
            "kind": lambda: rng.choice(["fact", "episode", "context", "reflection", "item"]),
            "memory_type": lambda: rng.choice(["fact", "conversation", "context", "episode"]),
            "limit": lambda: rng.choice([1, 5, 100, 10_000]),
            "offset": lambda: rng.choice([0, 1, 3]),
            "budget": lambda: rng.choice([500, 8_000]),
            "min_score": lambda: 0.0,
            "metadata": lambda: rng.choice(
                [{self.text(): self.text()}, {"level": {"ne": 9}}, {}, {self.text(): {"gt": ""}}]
            ),
            "filters": dict,
            "tags": lambda: rng.choice([[], [self.text()]]),
            "ids": lambda: [self.own(), self.text()],
            "namespace": lambda: rng.choice([(), (self.text(),), self._theirs["namespaces"]]),
            "prefix": lambda: rng.choice([(), (self.text(),)]),
            "since": lambda: NOW - timedelta(days=9_000),
            "until": lambda: NOW + timedelta(days=9_000),
            "as_of": lambda: NOW + timedelta(seconds=rng.choice([-1, 9_000])),
            "event_time": lambda: NOW,
            "valid_until": lambda: NOW + timedelta(days=rng.choice([-9, 9])),
            "erase": lambda: rng.random() < 0.1,
            "dry_run": lambda: rng.random() < 0.5,
            "messages": lambda: [{"role": "user", "content": self.text()}],
            "items": lambda: [self.text()],
            "role": lambda: "user",
            "confidence": lambda: 0.5,
            "decay_rate": lambda: 0.1,
            "trust": lambda: "person",
            "depth": lambda: rng.choice([1, 2]),
            "n": lambda: 1,
            "path": self.path,
            "stages": lambda: ["expire"],
            "actual": lambda: 40,
        }
        flags = {"everything", "newest_first", "pending", "cleared", "pinned", "keep"}
        nothing = {"progress", "tool_calls", "images", "tools", "strategy", "form"}
        if name in makers:
            return makers[name]()
        if name in flags:
            return rng.random() < 0.7
        if name in nothing or name in {"context_limit", "max_tokens", "max_messages", "turns"}:
            return None if name not in {"tool_calls", "images", "tools"} else ()
        return self.own() if name in {"id", "memory_id", "after"} else self.text()

    def own(self) -> str:
        """Return an id, most of them Ana's."""
        theirs = self._theirs["ids"] + self._theirs["messages"]
        return self._rng.choice(theirs) if self._rng.random() < 0.7 else self.text()

    def path(self) -> Path:
        """Return a file that is not there yet."""
        self._numbers += 1
        return self._folder / f"written-{self._numbers}.jsonl"


def opened(location: Path | str, clock: Clock) -> Memory:
    """Open Ana's memory, without any work in the background."""
    settings = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        schedule={"in_background": False},
    )
    return Memory(location, user="ana", settings=settings, embedder=HashEmbedder(), clock=clock)


def run(task: Task) -> list[Figure]:
    """Return how many calls leaked, of as many as the time allows."""
    rng, tally = random.Random(task.seed), Tally()  # noqa: S311 - no secret
    logging.disable()
    with opened(task.folder / "memory.db", SystemClock()) as memory:
        theirs = plant(memory)
        before = _state(memory)
        hostile = _Hostile(rng, theirs, task.folder)
        while tally.calls < task.calls and not task.over:
            other = memory.as_user(rng.choice(OTHERS))
            if other.user == memory.user:
                continue
            for call in _calls(other, rng, hostile):
                if tally.calls >= task.calls or task.over:
                    break
                tally.calls += 1
                _make(call, hostile.known, tally)
        changed = set(before) != set(_state(memory))
    logging.disable(logging.NOTSET)
    if changed:
        tally.add("changed", "what Ana stored is not as it was")
    leaks = sum(number for kind, number in tally.wrong.items() if not kind.startswith("raw"))
    return [
        Figure(
            "cross-user calls",
            "10^5 calls, 0 leaks",
            f"{tally.calls:,} calls, {leaks} leaks",
            held=leaks == 0,
            reached=tally.calls >= task.calls,
            details=tally.details(),
        )
    ]


def _state(memory: Memory) -> list[str]:
    """Return all that Ana has, as it is exported; the first line tells the time of it."""
    file = io.BytesIO()
    memory.export(file)
    return file.getvalue().decode().splitlines()[1:]


Call = tuple[str, Callable[..., Any], dict[str, Any]]


def _calls(other: Memory, rng: random.Random, hostile: _Hostile) -> list[Call]:
    """Return some calls of every kind, for one user."""
    made: list[Call] = []
    verbs = verbs_of(other, *STORE_WIDE)
    quick = [each for each in verbs if each.__name__ not in SLOW]
    for _ in range(60):
        verb = rng.choice(quick if rng.random() < 0.99 else verbs)
        made.append((verb.__name__, verb, arguments(verb, rng, hostile.value)))
    for _ in range(20):
        tool = rng.choice(list(other.tools()))
        made.append((tool.name, tool, of_schema(tool.parameters, rng, hostile.value)))
    # A conversation of the same name as Ana's, or nearly.
    name = rng.choice([*hostile._theirs["sessions"], hostile.text()])  # noqa: SLF001 - our own
    try:
        chat = other.conversation(name)
    except MemorandaError:
        return made
    for _ in range(15):
        verb = rng.choice(verbs_of(chat, "calibrate"))
        made.append((f"chat.{verb.__name__}", verb, arguments(verb, rng, hostile.value)))
    words = ({"keyword": hostile.text()} for _ in range(2))
    return [*made, *(("notes.search", other.notes.search, each) for each in words)]


def _make(call: Call, known: set[str], tally: Tally) -> None:
    """Make a call; count what it leaks."""
    name, function, given = call
    file = io.BytesIO()
    if name == "export":
        given["path"] = file
    try:
        answer: object = function(**given)
    except MemorandaError as error:
        answer = error
    except Exception as error:  # noqa: BLE001 - the fuzzing counts these
        tally.add(f"raw {name}", f"{place_of(error)}: {error}")
        answer = error
    said = [*_texts(answer), file.getvalue().decode()]
    leaked = {each.casefold() for text in said for each in CANARY.findall(text)} - known
    if leaked:
        tally.add(f"leak of {name}", f"{given!r} gave {sorted(leaked)} in {answer!r:.300}")
    if getattr(answer, "user", None) == "ana":
        tally.add(f"leak of {name}", f"{given!r} gave what is Ana's: {answer!r:.300}")


def _texts(value: object, depth: int = 8) -> Iterator[str]:
    """Yield all texts in a value, whatever holds them."""
    if isinstance(value, str) or depth == 0 or isinstance(value, BaseException):
        yield str(value)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name), depth - 1)
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _texts(pair, depth - 1)
    elif isinstance(value, Iterable):
        for each in value:
            yield from _texts(each, depth - 1)
    else:
        yield repr(value)
