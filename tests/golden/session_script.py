"""A long mixed session: two users talk, remember, correct, forget, erase, learn and ask.

Every verb of the public face that changes a memory is in it, with the time given by a clock
that only the script moves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

from memoranda import Conversation, Hit, Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
FILE_READING = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "rota.csv"}'},
}
BOOKING = {
    "id": "call_2",
    "type": "function",
    "function": {"name": "book_table", "arguments": '{"people": 6, "date": "2026-02-14"}'},
}
JANUARY = (
    ("user", "Hi! My name is Ana Ferreira and I live in Lisbon with my sister Rita."),
    ("assistant", "Nice to meet you, Ana. What do you do?"),
    ("user", "I work at Tidepool as a marine biologist. I'm vegetarian and allergic to hazelnuts."),
    ("assistant", "So no hazelnut praline for you. I will keep that in mind."),
    (
        "user",
        "We decided to fly to the Azores on 3 May 2026. Please remember that Rita hates boats.",
    ),
    ("assistant", "Noted: the Azores on 3 May, and no boats for Rita."),
    ("user", "My dentist appointment is next Tuesday at 10:30 with Dr. Sousa in Rua Augusta."),
    ("assistant", "Tuesday 13 January, 10:30, Dr. Sousa. What is your favourite colour?"),
    ("user", "My favourite colour is teal, and I drink my coffee black."),
    ("assistant", "Teal it is."),
    ("user", "My password is hunter2-Lisbon-99, don't tell anyone."),
)
FEBRUARY = (
    ("user", "I moved to Porto last week, the flat is in Rua das Flores 12."),
    ("assistant", "Congratulations on the move! Is Rita still in Lisbon?"),
    (
        "user",
        "Rita stayed in Lisbon. I don't work at Tidepool any more, I work at the Oceanarium now.",
    ),
    ("assistant", "A new city and a new job."),
    ("user", "My favourite colour is orange now, not teal. My cat is called Miso."),
    ("assistant", "Miso is a lovely name. See https://example.org/cats for food."),
    (
        "user",
        "Always answer me in short sentences. The meeting with Bruno Costa is on 20 February.",
    ),
    ("assistant", "Understood."),
    ("user", "I'm vegetarian and allergic to hazelnuts, as you know. I live in Porto now."),
    ("assistant", "I do."),
    ("user", "Recuerda que mi hermano vive en Madrid. Ich wohne jetzt in Porto."),
)
BRUNO = (
    ("user", "I'm Bruno. I have two kids, Inês and Tomás, and I play the cello on Thursdays."),
    ("assistant", "Cello on Thursdays, got it."),
    ("user", "My email is bruno@example.com and I drink coffee without sugar."),
)
QUESTIONS = (
    "where does Ana live?",
    "who is allergic to hazelnuts?",
    "what did we decide about the Azores in May 2026?",
    "Rita",
    "what happened last week?",
    "which table was booked for six people?",
    "favourite colour",
    "Wo wohnt Ana?",
)


class Journal:
    """What was asked and what came of it, in order."""

    def __init__(self, clock: Any) -> None:
        """Begin an empty one."""
        self.clock = clock
        self.entries: list[dict[str, Any]] = []

    def note(self, step: str, value: Any) -> Any:
        """Keep ``value`` and let a minute pass."""
        self.entries.append({"step": step, "value": value})
        self.clock.advance(MINUTE)
        return value


def with_vectors() -> dict[str, Any]:
    """Return what makes a memory with vectors, which learns by itself and forgets episodes."""
    embedding = {"model": "auto", "background": False}
    settings = Settings(embedding=embedding, retention={"episode": "40d"})
    return {"settings": settings, "embedder": HashEmbedder()}


def play(location: str | Path, folder: Path, **chosen: Any) -> dict[str, Any]:
    """Return what the whole script gives in a new memory."""
    clock = FrozenClock(START)
    with Memory(location, user="ana", clock=clock, **chosen) as memory:
        return run_session(memory, clock, folder)


def run_session(memory: Memory, clock: Any, folder: Path) -> dict[str, Any]:
    """Play the whole script; return the journal and the exports of both users."""
    journal = Journal(clock)
    bruno = memory.as_user("bruno")
    _remember(memory, bruno, journal)
    _talk(memory, bruno, journal)
    _call_tools(memory, journal)
    _learn(memory, bruno, journal)
    _prune(memory, journal)
    _revise(memory, journal)
    _ask(memory, bruno, journal)
    _write_notes(memory, journal)
    _maintain(memory, bruno, journal)
    _ask(memory, bruno, journal)
    _inspect(memory, bruno, journal)
    exports = {each.user: export_lines(each, folder / each.user) for each in (memory, bruno)}
    exports["tools"] = session_lines(memory, "tools", folder / "tools.jsonl")
    return {"journal": journal.entries, "exports": exports}


def _remember(memory: Memory, bruno: Memory, journal: Journal) -> None:
    journal.note("remember", memory.remember("Ana's bicycle is a green Brompton", tags=["things"]))
    journal.note(
        "remember an episode",
        memory.remember(
            "The ferry to Cacilhas was late",
            kind="conversation",
            session="diary",
            role="user",
            event_time=START - 3 * DAY,
            metadata={"mood": {"score": 2, "words": ["tired", "cold"]}},
        ),
    )
    journal.note(
        "remember, weak", memory.remember("Ana may like opera", confidence=0.4, decay_rate=0.2)
    )
    journal.note("the same again", memory.remember("Ana may like opera"))
    journal.note("many", memory.remember_many(["Bread is on the list", {"content": "Tea is out"}]))
    journal.note("bruno", bruno.remember("Bruno's wifi is called Pudim"))
    # No session is left unfinished: what reads it would be a thread, at any time.
    journal.note("consolidate one session", memory.consolidate("diary"))
    planner = memory.as_user("ana", agent="planner")
    journal.note("an agent", planner.remember("The planner books trains only"))
    journal.note("what it sees", [record.content for record in planner.records()])
    journal.note("what others see", [record.content for record in memory.records()])
    journal.note("context key", memory.set_context("room", "kitchen"))
    journal.note("context key again", memory.set_context("room", "balcony"))
    journal.note("read the key", memory.get_context("room"))


def _talk(memory: Memory, bruno: Memory, journal: Journal) -> None:
    journal.clock.set(START + DAY)
    chat = memory.conversation("january", system="You help Ana.")
    say(chat, JANUARY, journal)
    journal.note("context", context_of(chat, "What should I pack for the Azores?", budget=900))
    journal.note("context, small", context_of(chat, "What should I pack?", budget=220))
    chat.end()
    journal.clock.advance(MINUTE)
    other = bruno.conversation("cello")
    say(other, BRUNO, journal)
    journal.note("context of bruno", context_of(other, None, budget=400, form="anthropic"))
    other.end()
    journal.clock.set(START + 32 * DAY)
    chat = memory.conversation("february")
    say(chat, FEBRUARY, journal)
    journal.note("context", context_of(chat, "Where do I live, and where does Rita?", budget=700))
    chat.end()
    journal.clock.advance(MINUTE)


def _call_tools(memory: Memory, journal: Journal) -> None:
    chat = memory.conversation("tools", system="You book tables.", keep_recent=3)
    chat.add("user", "Book a table for six on 14 February, please.", task="Dinner")
    journal.clock.advance(MINUTE)
    chat.add("assistant", "", tool_calls=[FILE_READING, BOOKING])
    chat.add("tool", "name,day\n" + "ana,mon\nrita,tue\n" * 40, tool_result="call_1")
    chat.add("tool", "Booked: table 12 at Cantina Verde, code QX-7741.", tool_result="call_2")
    journal.clock.advance(MINUTE)
    pinned = chat.add("assistant", "Done: table 12 at Cantina Verde, code QX-7741.")
    chat.pin(pinned.id)
    for form in ("openai", "responses", "anthropic"):
        journal.note(f"context as {form}", context_of(chat, "Which code?", budget=500, form=form))
    for number in range(4):
        chat.add("user", f"And is guest {number} coming to the dinner?")
        chat.add("assistant", f"Guest {number} has said yes.")
        journal.clock.advance(MINUTE)
    chat.add("user", "Next: plan the workshop.", task="Workshop")
    journal.note("prunings of the finished task", chat.prunings)
    journal.note("statistics", chat.stats())
    chat.calibrate(chat.context("Go on", budget=2_000).tokens + 75)
    journal.note("context after calibration", context_of(chat, "Go on", budget=600))
    chat.clear()
    chat.add("user", "A fresh start.")
    journal.note("context after clearing", context_of(chat, None))
    chat.end()
    journal.clock.advance(MINUTE)


def _learn(memory: Memory, bruno: Memory, journal: Journal) -> None:
    for each in (memory, bruno):
        journal.note("sessions that wait", [told(info) for info in each.sessions(pending=True)])
        journal.note("consolidate, dry run", each.consolidate(dry_run=True))
        journal.note("consolidate", each.consolidate())
        journal.note("consolidate again", each.consolidate())
        facts = journal.note("facts", each.records(kind="fact", limit=1_000))
        histories = [each.history(fact.id) for fact in facts]
        journal.note("history of each fact", histories)
        journal.note("reflect", each.reflect())
        each.embed_pending()


def _prune(memory: Memory, journal: Journal) -> None:
    for strategy in ("rolling_window", "recency", "importance", "hybrid"):
        chat = memory.conversation(
            f"long-{strategy}", strategy=strategy, max_tokens=650, keep_recent=4
        )
        for number in range(16):
            chat.add("user", f"Question {number}: how deep is station {number * 7}, and why?")
            journal.clock.advance(MINUTE)
            chat.add(
                "assistant", f"Station {number * 7} is {number * 13} m deep. " * (number % 4 + 1)
            )
            journal.clock.advance(MINUTE)
        journal.note(f"prunings, {strategy}", chat.prunings)
        journal.note(f"context, {strategy}", context_of(chat, "And station 21?", budget=500))
        journal.note(f"prune by hand, {strategy}", chat.prune(300))
        journal.note(f"view, {strategy}", chat.view(250))
        markers = chat.context("And?", budget=800).receipt.markers
        expanded = [[message.id for message in chat.expand(marker)] for marker in markers]
        journal.note(f"expanded, {strategy}", expanded)
        chat.start_session()
        journal.note(f"context of a new session, {strategy}", context_of(chat, "So?", budget=500))
        chat.end()
        journal.clock.advance(MINUTE)


def _revise(memory: Memory, journal: Journal) -> None:
    bicycle, opera = (first(memory, text) for text in ("Brompton", "opera"))
    red = journal.note("correct", memory.correct(bicycle.id, "Ana's bicycle is a red Brompton"))
    blue = journal.note("correct again", memory.correct(red.id, "Ana's bicycle is a blue Brompton"))
    journal.note("history of the first", memory.history(bicycle.id))
    journal.note("as of before", hits(memory.search("bicycle", as_of=START + DAY)))
    journal.note("confirm", memory.confirm(opera.id))
    journal.note("forget", memory.forget(first(memory, "Bread").id))
    journal.note("erase with versions", receipt(memory.forget(blue.id, erase=True)))
    spoken = first(memory, "dentist", kind="episode")
    journal.note("erase what was said", receipt(memory.forget(spoken.id, erase=True)))
    journal.note("history of what is erased", memory.history(spoken.id))
    journal.note("nothing is found", hits(memory.search("dentist appointment Dr. Sousa")))


def _ask(memory: Memory, bruno: Memory, journal: Journal) -> None:
    for question in QUESTIONS:
        journal.note(f"search: {question}", hits(memory.search(question)))
        recall = memory.recall(question, budget=200)
        journal.note("recall", {"text": recall.text, "tokens": recall.tokens})
    journal.note("search facts", hits(memory.search("Porto", kind="fact", limit=10)))
    journal.note("search a time", hits(memory.search("flat", since=START + 20 * DAY)))
    journal.note("search tags", hits(memory.search("bicycle", tags=["things"])))
    journal.note("search metadata", hits(memory.search("ferry", metadata={"mood": {"score": 2}})))
    journal.note("search a session", hits(memory.search("Rita", session="january")))
    journal.note("search without it", hits(memory.search("Rita", exclude_session="january")))
    journal.note("search, high score", hits(memory.search("Rita", min_score=0.6)))
    journal.note("search of bruno", hits(bruno.search("coffee or the cello?")))
    journal.note("recall of bruno", bruno.recall("wifi", budget=100).text)


def _write_notes(memory: Memory, journal: Journal) -> None:
    notes = memory.notes
    text = journal.note("MEMORY.md", notes.read_memory())
    journal.note("HISTORY.md", notes.read_history())
    added = text.replace("orange", "olive") + "\n- The user's locker is number 88.\n"
    journal.note("write MEMORY.md", notes.write_memory(added))
    journal.note("MEMORY.md with an edit", notes.read_memory())
    journal.note("take a line out", notes.write_memory(without_line(notes.read_memory(), "Miso")))
    journal.note("MEMORY.md without it", notes.read_memory())
    journal.note("an entry", notes.append_history("The heating was repaired."))
    notes.append_history_rotated("The lift was repaired.")
    journal.note("HISTORY.md with entries", notes.read_history())
    journal.note("entries found", notes.search("repaired"))
    journal.note("files", sorted(path.name for path in notes.folder.iterdir()))


def _maintain(memory: Memory, bruno: Memory, journal: Journal) -> None:
    journal.clock.set(START + 60 * DAY)
    journal.note("the key is gone", memory.get_context("room"))
    journal.note("expire", memory.expire())
    journal.note("decay, dry run", memory.decay(dry_run=True))
    journal.note("decay", memory.decay())
    journal.note("decay again", memory.decay())
    journal.note("reflect", memory.reflect())
    journal.note("maintain", memory.maintain())
    journal.note("maintain for bruno", bruno.maintain(["expire", "consolidate", "decay"]))
    journal.note("merge entities", named(memory.merge_entities("Lisbon", "Porto")))
    journal.note("entity", named(memory.entity("Rita")))
    journal.note("audit", memory.audit())


def _inspect(memory: Memory, bruno: Memory, journal: Journal) -> None:
    for each in (memory, bruno):
        each.embed_pending()
        known = sorted(map(named, each.entities(limit=200)), key=itemgetter("name"))
        journal.note("entities", known)
        journal.note("conversations", [info.id for info in each.conversations()])
        journal.note("sessions", [told(info) for info in each.sessions()])
        journal.note("verify", each.verify())
        journal.note("rebuild", each.rebuild())
        stats = each.stats()
        journal.note("statistics", [stats.user, stats.records, stats.pending_vectors, stats.newest])
        journal.note("active records", len(each.records(limit=1_000)))
    journal.note("usage", memory.usage())
    offered = [*memory.tools(), *memory.consolidator_tools()]
    journal.note("tools", [[tool.name, tool.description, tool.parameters] for tool in offered])
    answers = {tool.name: tool for tool in memory.tools()}
    journal.note("a tool called", answers["search_memories"](query="Rita"))
    journal.note("users", sorted(memory.admin.users()))


def say(chat: Conversation, turns: Iterable[tuple[str, str]], journal: Journal) -> None:
    """Add each turn, a minute apart."""
    for role, text in turns:
        chat.add(role, text)
        journal.clock.advance(MINUTE)


def context_of(chat: Conversation, prompt: str | None, **asked: Any) -> dict[str, Any]:
    """Return what a model is sent, and the receipt for it."""
    built = chat.context(prompt, **asked)
    return {
        "messages": built.messages,
        "system": built.system,
        "tokens": built.tokens,
        "recall": built.recall.text,
        "receipt": built.receipt,
    }


def hits(found: Iterable[Hit]) -> list[dict[str, Any]]:
    """Return the text, score and arms of each hit; equal scores in the order of their texts."""
    rows = [
        {
            "id": hit.record.id,
            "content": hit.record.content,
            "score": round(hit.score, 4),
            "arms": sorted(hit.why.arms),
            "precedence": hit.why.precedence,
            "confidence": hit.why.confidence,
            "before": hit.why.before,
            "after": hit.why.after,
        }
        for hit in found
    ]
    return sorted(rows, key=lambda row: (-row["score"], row["content"], row["id"]))


def first(memory: Memory, text: str, **asked: Any) -> Any:
    """Return the oldest active record that contains ``text``."""
    found = memory.records(limit=1_000, **asked)
    return next(record for record in found if text in record.content)


def named(entity: Any) -> dict[str, Any]:
    """Return what is known of an entity."""
    return {
        "name": entity.name,
        "type": entity.type,
        "aliases": sorted(entity.aliases),
        "mentions": entity.mention_count,
        "summary": entity.summary,
        "records": sorted(record.content for record in entity.records),
    }


def told(info: Any) -> dict[str, Any]:
    """Return how far a session became facts."""
    return {"id": info.id, "seen": info.first_seen_at, "consolidated": info.consolidated_at}


def receipt(erased: Any) -> dict[str, Any]:
    """Return what an erasure did, without ids that no longer stand for anything."""
    return {
        "erased": erased.erased,
        "versions": len(erased.versions),
        "copies": len(erased.copies),
        "derived": len(erased.derived),
        "messages": erased.messages,
        "purged": erased.purged,
        "notes": erased.notes,
    }


def without_line(text: str, word: str) -> str:
    """Return ``text`` without the lines that contain ``word``."""
    return "".join(line for line in text.splitlines(keepends=True) if word not in line)


def session_lines(memory: Memory, conversation: str, path: Path) -> list[Any]:
    """Return the lines of the file of one conversation."""
    memory.export(path, conversation=conversation)
    return read_lines(path)


def read_lines(path: Path) -> list[Any]:
    """Return the lines of a file, and remove it."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.unlink()
    return lines


def export_lines(memory: Memory, path: Path) -> list[Any]:
    """Return the lines of an export; the version of the file format is no part of a golden."""
    path = path.with_suffix(".jsonl")
    report = memory.export(path)
    lines = read_lines(path)
    header = {name: value for name, value in lines[0].items() if name != "version"}
    unordered = [line for line in lines[1:] if line["type"] in {"decision", "session"}]
    ordered = [line for line in lines[1:] if line["type"] not in {"decision", "session"}]
    unordered.sort(key=lambda line: json.dumps(line, sort_keys=True))
    moved = {"records": report.records, "messages": report.messages}
    return [header, moved, *unordered, *ordered]
