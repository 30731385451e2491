"""A memory that has something of everything, and each verb that changes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from memoranda import Memory, Settings
from memoranda.errors import NotFound
from memoranda.model.clock import Clock
from memoranda.testing.clocks import START, FrozenClock
from memoranda.testing.embedders import HashEmbedder

SAID = "The vault of Maria Santos opens with the word xylophonquark."
TALK = "I live in Porto. I have a dog named Rex and I'm allergic to peanuts."
FILE, CHAT_FILE, ARCHIVE = "memory.db", "imported.json", "other.jsonl"
LATER = START + timedelta(days=40)


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that changes a memory.

    Attributes:
        name: what it is called in the figures.
        run: does it.
        whole: whether it is one transaction. Another is done in several, each of them whole; done
            again after a failure it comes to the same.
        compared: the beginnings of the rows that have to be the same then; all, if none is given.
            Learning tells a session raw in the history where reading it failed, and the weekly
            insight is of what was learned by then.
    """

    name: str
    run: Callable[[Memory], object]
    whole: bool = True
    compared: tuple[str, ...] = ("",)


# What a failure may not change of what is learned.
LEARNED = ("records {'kind': 'fact'", "records {'kind': 'episode'", "messages", "sessions")


def opened(location: Path | str, clock: Clock | None = None) -> Memory:
    """Open Ana's memory, without any work in the background."""
    settings = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        schedule={"in_background": False},
        retention={"context": "1d"},
    )
    return Memory(
        location,
        user="ana",
        settings=settings,
        embedder=HashEmbedder(),
        clock=clock or FrozenClock(LATER),
    )


def fill(folder: Path) -> None:
    """Make the memory, and what is imported into it."""
    with opened(folder / FILE, FrozenClock(START)) as memory:
        memory.remember("Ana sails on Sundays with Zoe.", tags=["sport"])
        memory.remember(SAID, metadata={"level": 1})
        memory.remember("Zoe paints in Lisbon.", decay_rate=0.5, confidence=0.3)
        memory.remember("one", kind="item", namespace=("app", "state"), key="k")
        memory.set_context("mood", "calm")
        chat = memory.conversation("trip", system="You plan trips.", max_messages=500)
        for number in range(6):
            chat.add("user", f"We go by train number {number}, as always.")
            chat.add("assistant", f"Train {number} it is.")
        memory.conversation("told").add("user", TALK)
        _edit(memory, lambda text: f"{text}\n- Ben keeps bees behind the house.\n")
        memory.notes.append_history("We talked about bees.")
        memory.derive()
        memory.as_user("ben").remember("Ben has a memory of his own.")
    with opened(":memory:") as other:
        other.remember("Carla swims in the lake.")
        other.conversation("lake").add("user", "How cold is the lake?")
        other.export(folder / ARCHIVE)
    said = [{"role": "user", "content": f"Imported line {number}."} for number in range(3)]
    (folder / CHAT_FILE).write_text(json.dumps(said))


def _id(memory: Memory, text: str) -> str:
    found = [each.id for each in memory.records(limit=1_000) if text in each.content]
    if not found:
        raise NotFound(f"no record says {text!r} any more")
    return found[0]


def _edit(memory: Memory, change: Callable[[str], str]) -> object:
    return memory.notes.write_memory(change(memory.notes.read_memory()))


def _beside(memory: Memory, name: str) -> Path:
    return Path(memory.stats().location).with_name(name)


def _first(memory: Memory) -> str:
    return memory.conversation("trip").messages[0].id


def _replaced(memory: Memory) -> object:
    chat = memory.conversation("trip")
    ids = [message.id for message in chat.messages[2:4]]
    return chat.replace(ids, [{"role": "user", "content": "We fly."}] * 3)


VERBS = (
    Verb("remember", lambda m: m.remember("Dora bakes bread in Rome.", tags=["food"])),
    Verb("remember_many", lambda m: m.remember_many(["Eva runs.", "Fred walks.", "Gus naps."])),
    Verb("item", lambda m: m.remember("new", kind="item", namespace=("app",), key="new")),
    Verb("item again", lambda m: m.remember("2", kind="item", namespace=("app", "state"), key="k")),
    Verb("set_context", lambda m: m.set_context("mood", "glad")),
    Verb("correct", lambda m: m.correct(_id(m, "sails"), "Ana rows on Sundays with Zoe.")),
    Verb("confirm", lambda m: m.confirm(_id(m, "paints"))),
    Verb("update", lambda m: m.update(_id(m, "sails"), tags=["new"], metadata={"a": 1})),
    Verb("forget", lambda m: m.forget(_id(m, "sails"))),
    Verb("forget_many", lambda m: m.forget_many(metadata={"level": 1})),
    Verb("erase", lambda m: m.forget(_id(m, "xylophonquark"), erase=True), whole=False),
    Verb("erase many", lambda m: m.forget_many(session="trip", erase=True), whole=False),
    Verb("recall", lambda m: m.recall("what does Zoe do on Sundays?")),
    Verb("new conversation", lambda m: m.conversation("fresh", system="Be kind.")),
    Verb("add", lambda m: m.conversation("trip").add("user", "And what about Faro?")),
    Verb("extend", lambda m: m.conversation("trip").extend([{"role": "user", "content": "So?"}])),
    Verb("pop", lambda m: m.conversation("trip").pop(3)),
    Verb("remove", lambda m: m.conversation("trip").remove(_first(m))),
    Verb("replace", _replaced),
    Verb("prune", lambda m: m.conversation("trip").prune(max_tokens=80)),
    Verb("pin", lambda m: m.conversation("trip").pin(_first(m))),
    Verb("clear", lambda m: m.conversation("trip").clear()),
    Verb("start_session", lambda m: m.conversation("trip").start_session(keep=1)),
    Verb("recount", lambda m: m.conversation("trip").recount()),
    Verb("end", lambda m: m.conversation("trip").end()),
    Verb("delete_conversation", lambda m: m.delete_conversation("trip")),
    Verb("erase conversation", lambda m: m.delete_conversation("trip", erase=True), whole=False),
    Verb("consolidate", lambda m: m.consolidate(), whole=False, compared=LEARNED),
    Verb("expire", lambda m: m.expire(), whole=False),
    Verb("decay", lambda m: m.decay(), whole=False),
    Verb("reflect", lambda m: m.reflect(), whole=False),
    Verb("derive", lambda m: m.derive(), whole=False),
    Verb("maintain", lambda m: m.maintain(), whole=False, compared=LEARNED),
    Verb("merge_entities", lambda m: m.merge_entities("Ana", "Zoe"), whole=False),
    Verb(
        "write_memory", lambda m: _edit(m, lambda text: text.replace("bees", "goats")), whole=False
    ),
    Verb("append_history", lambda m: m.notes.append_history("And about goats."), whole=False),
    Verb("import", lambda m: m.import_(_beside(m, ARCHIVE)), whole=False),
    Verb("import messages", lambda m: m.import_(_beside(m, CHAT_FILE)), whole=False),
    Verb("rebuild", lambda m: m.rebuild(), whole=False),
    Verb("reembed", lambda m: m.reembed(), whole=False),
    Verb("purge", lambda m: m.purge(), whole=False),
    Verb("delete_user", lambda m: m.admin.delete_user("ben"), whole=False),
)
