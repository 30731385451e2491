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
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import typer
from rich.console import RenderableType
from rich.text import Text

from memoranda.cli.command import Session, command
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.memory import Memory
from memoranda.rendering.conversations import show_context
from memoranda.rendering.layout import Display, details, safe_text
from memoranda.rendering.notes import show_markdown
from memoranda.testing.clocks import FrozenClock

TURN, LATER = timedelta(minutes=1), timedelta(days=1)
WIDTH = 80
# Among how many hits an answer has to be; how many rows of each result are shown.
HITS = 5
SHOWN = 4
MOST = 1_000
# A scene: its title, what a program gets of it, and what a person sees.
Scene = tuple[str, Any, Sequence[RenderableType]]

commands = typer.Typer()


@command(commands, "demo")
def demo(session: Session) -> None:
    """Show what it does, on a conversation that ships with it.

    Examples:
        memoranda demo
        memoranda demo --db demo.db
        memoranda demo --json
    """
    story = json.loads((files(__package__) / "demo.json").read_text(encoding="utf-8"))
    place = session.db or str(Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "demo.db")
    clock = FrozenClock(datetime.fromisoformat(story["sessions"][0]["date"]))
    # Nothing happens by itself, so that each run is the same, and the user's notes stay alone.
    settings = session.quiet_settings.with_values(
        consolidation={"automatic": False, "extractor": "rules"}, notes={"folder": None}
    )
    if not session.out.is_terminal:
        session.out.width = WIDTH  # It is prose.
    user, told = session.meta.get("user", story["user"]), []
    with Memory(place, user=user, settings=settings, clock=clock) as memory:
        if memory.conversations():
            message = f"{place} holds conversations of user {user!r} already; name another --db"
            raise InvalidInput(message)
        for title, result, shown in tell(memory, clock, story, session.view):
            told.append({"title": title, "result": result})
            if not session.as_json:
                session.print(Text(), Text(f"{len(told)}  {title}", "bold"), *shown)
    where = f"--db {shlex.quote(place)} --user {shlex.quote(user)}"
    end = f"""
Try it yourself:
  memoranda search {where} "{story["questions"][0]["ask"]}" --why
  memoranda facts {where}
  memoranda chat {where}"""
    session.show(told, safe_text(end))


def tell(
    memory: Memory, clock: FrozenClock, story: Mapping[str, Any], view: Display
) -> Iterator[Scene]:
    """Tell a story to a memory, and ask what it knows then; yield each scene when it is done."""
    for each in story["sessions"]:
        chat, date = memory.conversation(each["id"]), datetime.fromisoformat(each["date"])
        for number, turn in enumerate(each["turns"]):
            clock.set(date + number * TURN)
            chat.add(turn["role"], turn["content"])
    with suppress(EmbeddingError):  # It goes on without vectors, and says so.
        memory.embed_pending()
    talks = details((each["id"], each["turns"][0]["content"]) for each in story["sessions"])
    yield "Four months of talk go into one memory", story["sessions"], [talks]

    clock.set(datetime.fromisoformat(story["asked"]))
    memory.notes.sync()  # Of a memory without a file they are there from then on.
    memory.consolidate()
    learned = memory.facts(limit=MOST)
    surest = sorted(learned, key=lambda fact: (fact.fades_on is not None, -fact.confidence))
    facts = details((view.day(each.said_at), each.record.content) for each in surest[:SHOWN])
    yield f"{len(learned)} facts are learned from it, without a model", learned, [facts]

    questions = story["questions"]
    asked = [{**each, "hits": memory.search(each["ask"], limit=HITS)} for each in questions]
    first = [(each["ask"], each["hits"][0].record.content) for each in asked if each["hits"]]
    rows = (row for ask, found in first[:SHOWN] for row in (("asked", ask), ("found", found)))
    yield f"Questions on {view.day(clock.now())}", asked, [details(rows)]

    before, change = clock.now(), story["correction"]
    (old,) = memory.search(change["ask"], kind="fact", limit=1)
    clock.advance(LATER)
    now = memory.correct(old.record.id, change["to"])
    (then,) = memory.search(change["ask"], kind="fact", limit=1, as_of=before)
    found = {"asked": change["ask"], "now": now.content, "a day ago": then.record.content}
    yield "A fact changes; nothing is overwritten", found, [details(found)]

    clock.advance(LATER)
    new = story["conversation"]
    chat = memory.conversation(new["id"], system=new["system"])
    built = chat.context(new["prompt"], budget=new["budget"])
    yield "What a model is sent in a new conversation", built, [*show_context(built, view)]

    text = memory.notes.read_memory()
    lines = [line for line in show_markdown(text) if line.plain.startswith("- ")]
    yield "Notes that you can read, and edit in any editor", text, lines[:SHOWN]
