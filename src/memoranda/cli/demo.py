"""``memoranda demo``: the main job, done on a conversation that ships with the package.

The story has a calendar of its own: while it is told, the clock stands at the dates of its
sessions, so that what the demo shows is the same on every day and every machine.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from memoranda.cli.command import LINE, Session, command
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.memory import Memory
from memoranda.model.models import Hit, Record
from memoranda.rendering.conversations import join_messages
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import speaker
from memoranda.store.locations import medium
from memoranda.testing.clocks import FrozenClock

TURN, LATER = timedelta(minutes=1), timedelta(days=1)
HITS = 5
ENTITIES = 8
BUDGET = 450
MOST = 1_000
COLOURS = {
    "vector": "blue",
    "lexical": "green",
    "context": "cyan",
    "temporal": "magenta",
    "entity": "yellow",
}
BAR = 8  # characters for the score of a hit
ARMS = 3
QUOTE = 150
SHOWN, SHOWN_HITS, SHOWN_MESSAGES, SHOWN_NOTES = 4, 2, 2, 4
INDENT = 2

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
    place = session.shared.db or str(Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "demo.db")
    clock = FrozenClock(datetime.fromisoformat(story["sessions"][0]["date"]))
    # Nothing happens by itself, so that each run is the same, and the user's notes stay alone.
    settings = session.quiet_settings.with_values(
        consolidation={"automatic": False, "extractor": "rules"}, notes={"folder": None}
    )
    user = session.shared.user or story["user"]
    with Memory(place, user=user, settings=settings, clock=clock) as memory:
        done = Demo(session, memory, clock, story, place=place)
    if not session.out.is_terminal:
        session.out.width = LINE  # It is prose.
    session.show(vars(done), *_show(done, session.view))


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """What memory answered to a question."""

    ask: str
    expect: str
    hits: Sequence[Hit]

    @property
    def place(self) -> int:
        """The place of the first hit that holds what was expected; behind all if none does."""
        places = (n for n, hit in enumerate(self.hits, 1) if self.expect in hit.record.content)
        return next(places, HITS + 1)


class Demo:
    """The story, told to a memory, and all that came of it, in order.

    Attributes:
        file: where the memory is.
        place: what that is: a file, a folder or a server.
        user: whose it is.
        sessions: what was said, by session: its id, date, number of turns and first words.
        facts: what was remembered beside it.
        storing: seconds that storing took.
        asked: when the questions are asked.
        embedding: seconds that embedding took.
        learned: facts that were drawn from what was said, the surest first.
        learning: seconds that drawing them took.
        answers: questions and what was found.
        correction: the old and the new fact, which one answers a question before and after, and
            the history.
        prompt: what the user says at last.
        context: what a model would be sent for it.
        entities: what the records speak of, most mentioned first.
        vectors: the embedding model, or why there is none.
        notes: MEMORY.md and the newest entry of the history. They have a folder where they
            outlast the memory: on a server only if one is set.
        seconds: that all of it took.
    """

    def __init__(
        self,
        session: Session,
        memory: Memory,
        clock: FrozenClock,
        story: Mapping[str, Any],
        *,
        place: str,
    ) -> None:
        """Store the story, ask its questions, correct a fact, and look at what is there then.

        Raises:
            InvalidInput: the story is there already.
        """
        ids = {session["id"] for session in story["sessions"]}
        if any(info.id in ids for info in memory.conversations()):
            message = f"{place} holds the demo of user {memory.user!r} already; name another --db"
            raise InvalidInput(message)
        start = perf_counter()
        self.file, self.place, self.user = place, medium(place), memory.user
        self.sessions = [_store(memory, clock, each) for each in story["sessions"]]
        self.facts = memory.remember_many(story["facts"])
        self.storing = perf_counter() - start
        self.asked = datetime.fromisoformat(story["questions"][0]["date"])
        clock.set(self.asked)
        self.embedding = _embed(session, memory)
        self.learned, self.learning = _learn(memory)
        self.answers = [
            DemoAnswer(each["ask"], each["expect"], memory.search(each["ask"], limit=HITS))
            for each in story["questions"]
        ]
        clock.advance(LATER)
        self.correction = _correct(memory, self.facts, story["correction"], self.asked)
        clock.advance(LATER)
        self.prompt = story["prompt"]
        chat = memory.conversation(self.sessions[-1]["id"], system=story["system"])
        self.context = chat.context(self.prompt, budget=BUDGET)
        self.entities = memory.entities(limit=ENTITIES)
        self.vectors = memory.stats().vectors
        entry = next(iter(memory.notes.history(limit=1)), None)
        self.notes: dict[str, Any] = {
            "folder": str(memory.notes.folder) if memory.notes.is_lasting else None,
            "memory": memory.notes.read_memory(),
            "entry": entry.text if entry else "",
        }
        self.seconds = perf_counter() - start


def _store(memory: Memory, clock: FrozenClock, session: Mapping[str, Any]) -> dict[str, Any]:
    date, turns = datetime.fromisoformat(session["date"]), session["turns"]
    clock.set(date)
    chat = memory.conversation(session["id"])
    for number, turn in enumerate(turns):
        clock.set(date + number * TURN)
        chat.add(
            turn["role"],
            turn["content"],
            tool_calls=turn.get("tool_calls", ()),
            tool_result=turn.get("tool_call_id"),
        )
    opening = turns[0]["content"]
    return {"id": session["id"], "date": date, "turns": len(turns), "opening": opening}


def _embed(session: Session, memory: Memory) -> float:
    start = perf_counter()
    try:
        with session.progress("embedding") as progress:
            made = memory.embed_pending(progress)
    except EmbeddingError:
        # The demo goes on without vectors; stats() says why.
        return 0.0
    return perf_counter() - start if made else 0.0


def _learn(memory: Memory) -> tuple[list[Record], float]:
    """Return the facts that consolidation draws, the surest first, and how long it took."""
    memory.notes.sync()  # Of a memory without a file they are there from their first use on.
    start = perf_counter()
    memory.consolidate()
    found = [fact for fact in memory.records(kind="fact", limit=MOST) if fact.source_ids]
    found.sort(key=lambda fact: -fact.confidence)
    return found, perf_counter() - start


def _correct(
    memory: Memory, facts: Sequence[Record], change: Mapping[str, str], before: datetime
) -> dict[str, Any]:
    old, ask = next(fact for fact in facts if change["of"] in fact.content), change["ask"]
    return {
        "old": old,
        "new": memory.correct(old.id, change["to"]),
        "ask": ask,
        "before": before,
        "believed_before": memory.search(ask, kind="fact", limit=1, as_of=before),
        "believed_now": memory.search(ask, kind="fact", limit=1),
        "history": memory.history(old.id),
    }


def _show(done: Demo, view: Display) -> Iterator[RenderableType]:
    """Yield what a person sees of the demo, part by part."""
    budget = done.context.receipt.budget
    parts = {
        f"Four months of talk go into one {done.place}": _show_sessions(done),
        "What was said becomes facts, without a model": _show_learned(done, view),
        f"Questions on {view.day(done.asked)}": _show_answers(done, view),
        "A fact changes; nothing is overwritten": _show_correction(done, view),
        f"What a model is sent, in at most {budget} tokens": _show_context(done),
        "Notes that you can read, and edit in any editor": _show_notes(done),
        "Your turn": _show_next(done),
    }
    for number, (title, lines) in enumerate(parts.items(), 1):
        yield Text()
        yield Rule(Text(f"{number}  {title}", "bold"), align="left", style="dim")
        yield from lines


def _inset(*inner: RenderableType) -> RenderableType:
    return Padding(Group(*inner), (0, 0, 0, INDENT))


def _grid(*styles: str) -> Table:
    """Return a table without lines, whose last column takes what is left."""
    made = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for style in styles[:-1]:
        made.add_column(style=style, no_wrap=True)
    made.add_column(style=styles[-1], ratio=1, overflow="fold")
    return made


def _crop(text: str, style: str = "dim") -> Text:
    return Text(one_line(text), style=style, no_wrap=True, overflow="ellipsis")


def _show_sessions(done: Demo) -> Iterator[RenderableType]:
    made = _grid("cyan", "dim", "")
    for session in done.sessions:
        turns = pluralize(session["turns"], "turn")
        made.add_row(safe_text(session["id"]), turns, _crop(session["opening"], ""))
    turns = pluralize(sum(session["turns"] for session in done.sessions), "turn")
    facts = pluralize(len(done.facts), "fact")
    stored = Text(f"{turns} and {facts} stored in {done.storing:.2f} s")
    if done.embedding:
        stored.append(f", vectors made in {done.embedding:.2f} s")
    names = ", ".join(f"{one_line(each.name)} ({each.mention_count})" for each in done.entities)
    by = "" if done.vectors.startswith("off") else "by "
    vectors = safe_text(f"Vectors {by}{done.vectors}.", "dim")
    yield _inset(made, Text(), stored, Text(f"They speak of {names}."), vectors)


def _show_learned(done: Demo, view: Display) -> Iterator[RenderableType]:
    made = _grid("green", "dim", "")
    for fact in done.learned[:SHOWN]:
        day = view.day(fact.event_time)
        made.add_row(Text(f"{fact.confidence:.2f}"), Text(day), _crop(fact.content, ""))
    facts = pluralize(len(done.learned), "fact")
    yield _inset(made, Text(), Text(f"{facts} drawn in {done.learning:.2f} s, by rules alone."))


def _best(answers: Sequence[DemoAnswer]) -> list[DemoAnswer]:
    """Return the answers to show: the best ones, in the order of the questions."""
    ranked = sorted(answers, key=lambda answer: answer.place)[:SHOWN]
    return [answer for answer in answers if answer in ranked]


def _show_answers(done: Demo, view: Display) -> Iterator[RenderableType]:
    for answer in _best(done.answers):
        made = _grid("", "")
        for rank, hit in enumerate(answer.hits[:SHOWN_HITS]):
            score = Text(f"{hit.score:.2f}", "dim" if rank else "bold green")
            quote = safe_text(one_line(hit.record.content, QUOTE), "bold")
            best = Group(quote, _reasons(hit, view))
            made.add_row(score, _crop(hit.record.content) if rank else best)
        yield _inset(safe_text(f"? {answer.ask}", "yellow"), Padding(made, (0, 0, 1, 2)))
    first = sum(answer.place == 1 for answer in done.answers)
    among = sum(answer.place <= HITS for answer in done.answers)
    every = len(done.answers)
    score_line = (
        f"Of the {every} questions of the story, the first hit answers {first}, "
        f"the first {HITS} answer {among}."
    )
    if first == every:
        score_line = f"The first hit answers each of the {every} questions of the story."
    yield _inset(Text(score_line))


def _reasons(hit: Hit, view: Display) -> Text:
    """Return when and by whom a hit was said, and the arms that count most, on one line."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{view.day(hit.record.event_time)}  {speaker(hit.record)}  ")
    ordered = sorted(hit.why.arms.items(), key=lambda item: -item[1].share)[:ARMS]
    for name, arm in ordered:
        line.append("━" * round(arm.share / hit.score * BAR), COLOURS.get(name, "white"))
    for name, arm in ordered:
        line.append(f" {name} ", "dim").append(f"{arm.share:.2f}", COLOURS.get(name, "white"))
    return line


def _show_correction(done: Demo, view: Display) -> Iterator[RenderableType]:
    change, made = done.correction, _grid("dim", "")
    before = f"as of {view.day(change['before'])}"
    for name, found in (("now", change["believed_now"]), (before, change["believed_before"])):
        text = found[0].record.content if found else "nothing"
        made.add_row(Text(name), safe_text(one_line(text, QUOTE), "" if name == before else "bold"))
    entries = (f"{one_line(each.reason)} {view.day(each.at)}" for each in change["history"])
    made.add_row(Text("history"), Text(" → ".join(entries)))
    yield _inset(safe_text(f"? {change['ask']}", "yellow"), Padding(made, (0, 0, 0, 2)))


def _show_context(done: Demo) -> Iterator[RenderableType]:
    made = _grid("cyan", "")
    system, *messages, prompt = done.context.messages
    made.add_row(safe_text(system["role"]), safe_text(str(system["content"]).strip()))
    before = len(messages) - SHOWN_MESSAGES
    if before > 0:
        made.add_row("", Text(f"… {pluralize(before, 'message')} before these", "dim"))
    for message in messages[-SHOWN_MESSAGES:]:
        made.add_row(safe_text(message["role"]), _crop(str(message["content"]), ""))
    made.add_row(safe_text(prompt["role"]), safe_text(str(prompt["content"]), "bold"))
    receipt = done.context.receipt
    parts = [f"{item.what} {item.tokens}" for item in join_messages(receipt)]
    about = "" if receipt.exact else "about "
    line = Text(f"{about}{receipt.tokens} of {receipt.budget} tokens", "bold")
    line.append(f": {', '.join(parts)}.", "not bold")
    if receipt.left_out:
        out = pluralize(len(receipt.left_out), "older message")
        line.append(f" {out} stayed out, and can still be found.", "not bold")
    yield _inset(made, Text(), line)


def _show_notes(done: Demo) -> Iterator[RenderableType]:
    lines = [line for line in done.notes["memory"].splitlines() if line.strip()]
    left = sum(line.startswith("- ") for line in lines[SHOWN_NOTES + 1 :])
    yield _inset(
        Text("MEMORY.md has what is known; at the end, an entry of HISTORY.md:", "dim"),
        *(_crop(line, "bold" * line.startswith("#")) for line in lines[1 : SHOWN_NOTES + 1]),
        Text(f"… {pluralize(left, 'more line')}", "dim"),
        *(_crop(line, "") for line in done.notes["entry"].splitlines()[:1]),
    )


def _show_next(done: Demo) -> Iterator[RenderableType]:
    where = f"--db {shlex.quote(done.file)} --user {shlex.quote(done.user)}"
    took = f"All this took {done.seconds:.1f} s. Try on it:"
    yield _inset(safe_text(f"The {done.place} is {done.file}. {took}", "not dim"))
    question = _best(done.answers)[0].ask
    for line in (f'search {where} "{question}" --why', f"facts {where}", f"chat {where}"):
        yield safe_text(f"{' ' * INDENT}memoranda {line}", "bold")
