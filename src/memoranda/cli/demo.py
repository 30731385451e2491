"""``memoranda demo``: the main job, done on a conversation that ships with the package.

The story has a calendar of its own: while it is told, the clock stands at the dates of its
sessions, so that what the demo shows is the same on every day and every machine.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

import typer
from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from memoranda.cli.command import LINE, Session, command
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.memory import Memory
from memoranda.rendering.conversations import show_context
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.notes import show_markdown
from memoranda.rendering.plain import one_line
from memoranda.testing.clocks import FrozenClock

TURN, LATER = timedelta(minutes=1), timedelta(days=1)
# Among how many hits an answer has to be; how many rows of each result are shown.
HITS = 5
SHOWN = 4
MOST = 1_000
TALKS = (
    Column("conversation", lambda talk, _: talk["id"], "cyan"),
    Column("turns", lambda talk, _: len(talk["turns"]), number=True),
    Column("it begins with", lambda talk, _: one_line(talk["turns"][0]["content"], 44)),
)
FACTS = (
    Column("sure", "confidence", "green", number=True),
    Column("said", lambda fact, view: view.day(fact.said_at), whole=True),
    Column("fact", "record.content", "bold"),
)
ANSWERS = (
    Column("asked", lambda asked, _: safe_text(asked["ask"], "yellow")),
    Column("found first", lambda asked, _: one_line(asked["hits"][0].record.content, 110)),
    Column("said", lambda asked, view: view.day(asked["hits"][0].record.event_time), whole=True),
)
# What a program gets of a scene, and what a person sees.
Shown = tuple[Any, Sequence[RenderableType]]

commands = typer.Typer()


@command(commands, "demo")
def demo(session: Session) -> None:
    """Show what it does, on a conversation that ships with it.

    Examples:
        memoranda demo
        memoranda demo --db demo.db
        memoranda demo --json
    """
    start = perf_counter()
    story = json.loads((files(__package__) / "demo.json").read_text(encoding="utf-8"))
    place = session.shared.db or str(Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "demo.db")
    clock = FrozenClock(datetime.fromisoformat(story["sessions"][0]["date"]))
    # Nothing happens by itself, so that each run is the same, and the user's notes stay alone.
    settings = session.quiet_settings.with_values(
        consolidation={"automatic": False, "extractor": "rules"}, notes={"folder": None}
    )
    if not session.out.is_terminal:
        session.out.width = LINE  # It is prose.
    user, told = session.shared.user or story["user"], []
    with Memory(place, user=user, settings=settings, clock=clock) as memory:
        if any(info.id == story["sessions"][0]["id"] for info in memory.conversations()):
            message = f"{place} holds the demo of user {user!r} already; name another --db"
            raise InvalidInput(message)
        for title, result, shown in Story(memory, clock, story, session.view).tell():
            told.append({"title": title, "result": result})
            if not session.shared.as_json:
                heading = Text(f"{len(told)}  {title}", "bold")
                session.print(Text(), Rule(heading, align="left", style="dim"), *shown)
    where = f"--db {shlex.quote(place)} --user {shlex.quote(user)}"
    ask = story["questions"][0]["ask"]
    end = f"""
All this took {perf_counter() - start:.1f} s. Try on it:
  memoranda search {where} "{ask}" --why
  memoranda facts {where}
  memoranda chat {where}"""
    session.show(told, safe_text(end))


@dataclass(frozen=True, slots=True)
class Story:
    """Tells a story to a memory, scene by scene, and asks what it knows then."""

    memory: Memory
    clock: FrozenClock
    story: Mapping[str, Any]
    view: Display

    def tell(self) -> Iterator[tuple[str, Any, Sequence[RenderableType]]]:
        """Yield each scene when it is done."""
        yield "Four months of talk go into one memory", *self._talk()
        yield "What was said becomes facts, without a model", *self._learn()
        yield f"Questions on {self.view.day(self.clock.now())}", *self._ask()
        yield "A fact changes; nothing is overwritten", *self._correct()
        yield "What a model is sent when a new conversation begins", *self._send()
        yield "Notes that you can read, and edit in any editor", *self._note()

    def _talk(self) -> Shown:
        for each in self.story["sessions"]:
            chat, date = self.memory.conversation(each["id"]), datetime.fromisoformat(each["date"])
            for number, turn in enumerate(each["turns"]):
                self.clock.set(date + number * TURN)
                calls, answered = turn.get("tool_calls", ()), turn.get("tool_call_id")
                chat.add(turn["role"], turn["content"], tool_calls=calls, tool_result=answered)
        with suppress(EmbeddingError):  # It goes on without vectors, and says so.
            self.memory.embed_pending()
        vectors = self.memory.stats().vectors
        told = table(self.story["sessions"], TALKS, self.view)
        return {"vectors": vectors}, [told, safe_text(f"Vectors: {vectors}.", "dim")]

    def _learn(self) -> Shown:
        self.clock.set(datetime.fromisoformat(self.story["asked"]))
        self.memory.notes.sync()  # Of a memory without a file they are there from then on.
        self.memory.consolidate()
        learned = self.memory.facts(limit=MOST)
        surest = sorted(learned, key=lambda fact: (fact.fades_on is not None, -fact.confidence))
        line = Text(f"The surest of {len(learned)} that were learned by rules alone.")
        return learned, [table(surest[:SHOWN], FACTS, self.view), line]

    def _ask(self) -> Shown:
        answers = []
        for each in self.story["questions"]:
            hits = self.memory.search(each["ask"], limit=HITS)
            right = [n for n, hit in enumerate(hits, 1) if each["expect"] in hit.record.content]
            answers.append({**each, "hits": hits, "place": min(right, default=None)})
        places = [each["place"] for each in answers]
        line = (
            f"Of {len(places)} questions the first hit answers {places.count(1)}, "
            f"one of the first {HITS} {len(places) - places.count(None)}."
        )
        shown = [each for each in answers if each["hits"]][:SHOWN]
        return answers, [table(shown, ANSWERS, self.view), Text(line)]

    def _correct(self) -> Shown:
        change, before = self.story["correction"], self.clock.now()
        find = partial(self.memory.search, change["ask"], kind="fact", limit=1)
        (old,) = find()
        self.clock.advance(LATER)
        self.memory.correct(old.record.id, change["to"])
        found = {"now": find(), f"as of {self.view.day(before)}": find(as_of=before)}
        history = self.memory.history(old.record.id)
        rows = {when: hit.record.content for when, hits in found.items() for hit in hits}
        rows["history"] = " → ".join(f"{each.reason} {self.view.day(each.at)}" for each in history)
        shown = safe_text(f"? {change['ask']}", "yellow"), details(rows.items())
        return {**found, "history": history}, shown

    def _send(self) -> Shown:
        asked = self.story["conversation"]
        self.clock.advance(LATER)
        chat = self.memory.conversation(asked["id"], system=asked["system"])
        built = chat.context(asked["prompt"], budget=asked["budget"])
        return built, [*show_context(built, self.view)]

    def _note(self) -> Shown:
        text = self.memory.notes.read_memory()
        lines = [line for line in show_markdown(text) if line.plain.strip()]
        (entry,) = self.memory.notes.history(limit=1)
        more = Text(f"… {len(lines) - SHOWN} more lines; the newest entry of the history:", "dim")
        newest = safe_text(one_line(entry.text, LINE))
        return {"memory": text, "entry": entry.text}, [*lines[:SHOWN], more, newest]
