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

from memoranda.cli.command import Session, command, progress_bar, without_background
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.memory import Memory
from memoranda.model.models import Change, Context, Entity, Hit, Record
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line, pluralize
from memoranda.rendering.records import speaker
from memoranda.settings.settings import Settings
from memoranda.store.locations import medium

STORY = "demo.json"
TURN, LATER = timedelta(minutes=1), timedelta(days=1)
HITS = 5
ENTITIES = 8
BUDGET = 450
MOST = 1_000
SYSTEM = "You are Noa's assistant."
PROMPT = "Suggest three snacks for the towpath that are safe with my allergy."
CHANGED = "before ten"
CORRECTED = "No calls or meetings for Noa before nine; ten holds for Mondays only."
CHANGE_ASKED = "How early can you schedule a meeting for me?"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSession:
    """A session of the story as it was stored."""

    id: str
    date: datetime
    turns: int
    opening: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAnswer:
    """What memory answered to a question."""

    ask: str
    expect: str
    hits: Sequence[Hit]

    @property
    def place(self) -> int | None:
        """The place of the first hit that holds what was expected, if one does."""
        places = (n for n, hit in enumerate(self.hits, 1) if self.expect in hit.record.content)
        return next(places, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCorrection:
    """How a fact was corrected, and which facts are active before and after."""

    old: Record
    new: Record
    ask: str
    before: datetime
    believed_before: Sequence[Hit]
    believed_now: Sequence[Hit]
    history: Sequence[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoNotes:
    """What the notes say: where they are, MEMORY.md, and the newest entry of the history.

    A server has notes only for as long as the memory is open, where no folder is set.
    """

    folder: str | None
    memory: str
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """All that the demo did, in order.

    Attributes:
        file: where the memory is.
        place: what that is: a file, a folder or a server.
        user: whose it is.
        sessions: what was said, by session.
        facts: what was remembered beside it.
        entities: what the records speak of, most mentioned first.
        vectors: the embedding model, or why there is none.
        storing: seconds that storing took.
        embedding: seconds that embedding took.
        learned: facts that were drawn from what was said, the surest first.
        learning: seconds that drawing them took.
        answers: questions and what was found.
        asked: when the questions are asked.
        correction: a fact that was corrected.
        prompt: what the user says at last.
        context: what a model would be sent for it.
        notes: what its Markdown notes say.
        seconds: that all of it took.
    """

    file: str
    place: str
    user: str
    sessions: Sequence[DemoSession]
    facts: Sequence[Record]
    entities: Sequence[Entity]
    vectors: str
    storing: float
    embedding: float
    learned: Sequence[Record]
    learning: float
    answers: Sequence[DemoAnswer]
    asked: datetime
    correction: DemoCorrection | None
    prompt: str
    context: Context
    notes: DemoNotes
    seconds: float


@command(commands, "demo")
def demo(session: Session) -> None:
    """Show what it does, on a conversation that ships with it.

    Examples:
        memoranda demo
        memoranda demo --db demo.db
        memoranda demo --json
    """
    story = json.loads((files(__package__) / STORY).read_text(encoding="utf-8"))
    place = session.shared.db or str(Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "demo.db")
    done = play(story, place, session.shared.user or story["user"], session.settings)
    session.show(done, *_show(done, session.view))


class StoryClock:
    """A clock that stands where the story is."""

    def __init__(self, moment: datetime) -> None:
        """Start at ``moment``."""
        self.moment = moment

    def now(self) -> datetime:
        """Return where the story is."""
        return self.moment


def play(story: Mapping[str, Any], place: str, user: str, settings: Settings) -> Demo:
    """Store the story at ``place``, ask its questions, and return all that came of it.

    Raises:
        InvalidInput: the story is there already.
    """
    start = perf_counter()
    clock = StoryClock(_parse(story["sessions"][0]["date"], settings))
    with Memory(place, user=user, settings=_repeatable(settings), clock=clock) as memory:
        _require_fresh(memory, story, place)
        sessions = [_store(memory, clock, each, settings) for each in story["sessions"]]
        facts = memory.remember_many(story["facts"])
        storing = perf_counter() - start
        clock.moment = asked = _parse(story["questions"][0]["date"], settings)
        embedding = _embed(memory)
        learned, learning = _learn(memory)
        answers = [
            DemoAnswer(
                ask=each["ask"], expect=each["expect"], hits=memory.search(each["ask"], limit=HITS)
            )
            for each in story["questions"]
        ]
        correction = _correct(memory, clock, facts)
        clock.moment += LATER
        built = memory.conversation(sessions[-1].id, system=SYSTEM).context(PROMPT, budget=BUDGET)
        return Demo(
            file=place,
            place=medium(place),
            user=user,
            sessions=sessions,
            facts=facts,
            entities=memory.entities(limit=ENTITIES),
            vectors=memory.stats().vectors,
            storing=storing,
            embedding=embedding,
            learned=learned,
            learning=learning,
            answers=answers,
            asked=asked,
            correction=correction,
            prompt=PROMPT,
            context=built,
            notes=_read_notes(memory),
            seconds=perf_counter() - start,
        )


def _repeatable(settings: Settings) -> Settings:
    """Return settings with which nothing happens by itself, so that each run is the same."""
    chosen = settings.consolidation.model_copy(update={"automatic": False, "extractor": "rules"})
    beside = settings.notes.model_copy(update={"folder": None})  # Not among the user's own.
    update = {"consolidation": chosen, "notes": beside}
    return without_background(settings).model_copy(update=update)


def _require_fresh(memory: Memory, story: Mapping[str, Any], place: str) -> None:
    ids = {session["id"] for session in story["sessions"]}
    if any(info.id in ids for info in memory.conversations()):
        message = f"{place} holds the demo of user {memory.user!r} already; name another --db"
        raise InvalidInput(message)


def _parse(text: str, settings: Settings) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=settings.zone)


def _store(
    memory: Memory, clock: StoryClock, session: Mapping[str, Any], settings: Settings
) -> DemoSession:
    clock.moment = date = _parse(session["date"], settings)
    chat, turns = memory.conversation(session["id"]), session["turns"]
    for number, turn in enumerate(turns):
        clock.moment = date + number * TURN
        chat.add(
            turn["role"],
            turn["content"],
            tool_calls=turn.get("tool_calls", ()),
            tool_result=turn.get("tool_call_id"),
            timestamp=clock.moment,
        )
    return DemoSession(id=session["id"], date=date, turns=len(turns), opening=turns[0]["content"])


def _embed(memory: Memory) -> float:
    start = perf_counter()
    try:
        with progress_bar("embedding") as progress:
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


def _correct(memory: Memory, clock: StoryClock, facts: Sequence[Record]) -> DemoCorrection | None:
    old = next((fact for fact in facts if CHANGED in fact.content), None)
    if old is None:
        return None
    before = clock.moment
    clock.moment += LATER
    new = memory.correct(old.id, CORRECTED)
    return DemoCorrection(
        old=old,
        new=new,
        ask=CHANGE_ASKED,
        before=before,
        believed_before=memory.search(CHANGE_ASKED, kind="fact", limit=1, as_of=before),
        believed_now=memory.search(CHANGE_ASKED, kind="fact", limit=1),
        history=memory.history(old.id),
    )


def _read_notes(memory: Memory) -> DemoNotes:
    (entry,) = memory.notes.history(limit=1)
    return DemoNotes(
        folder=str(memory.notes.folder) if memory.notes.is_lasting else None,
        memory=memory.notes.read_memory(),
        entry=entry.text,
    )


def _show(done: Demo, view: Display) -> Iterator[RenderableType]:
    """Yield what a person sees of the demo, part by part."""
    parts = [
        (f"Four months of talk go into one {done.place}", _show_sessions(done)),
        ("What was said becomes facts, without a model", _show_learned(done, view)),
        (f"Questions on {view.day(done.asked)}", _show_answers(done, view)),
        ("A fact changes; nothing is overwritten", _show_correction(done, view)),
        (f"What a model is sent, in at most {done.context.receipt.budget} tokens", _context(done)),
        ("Notes that you can read, and edit in any editor", _show_notes(done)),
        ("Your turn", _show_next(done)),
    ]
    for number, (title, lines) in enumerate(parts, 1):
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
        turns = pluralize(session.turns, "turn")
        made.add_row(safe_text(session.id), turns, _crop(session.opening, ""))
    turns = pluralize(sum(session.turns for session in done.sessions), "turn")
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
    ranked = sorted(answers, key=lambda answer: answer.place or HITS + 1)[:SHOWN]
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
    among = sum(answer.place is not None for answer in done.answers)
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
    change = done.correction
    if change is None:
        return
    made = _grid("dim", "")
    before = f"as of {view.day(change.before)}"
    for name, found in (("now", change.believed_now), (before, change.believed_before)):
        text = found[0].record.content if found else "nothing"
        made.add_row(Text(name), safe_text(one_line(text, QUOTE), "" if name == before else "bold"))
    entries = (f"{one_line(each.reason)} {view.day(each.at)}" for each in change.history)
    made.add_row(Text("history"), Text(" → ".join(entries)))
    yield _inset(safe_text(f"? {change.ask}", "yellow"), Padding(made, (0, 0, 0, 2)))


def _context(done: Demo) -> Iterator[RenderableType]:
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
    parts = [f"{item.what} {item.tokens}" for item in receipt.included if item.id is None]
    recent = [item.tokens for item in receipt.included if item.id is not None]
    if recent:
        parts.insert(-2, f"{pluralize(len(recent), 'message')} {sum(recent)}")
    about = "" if receipt.exact else "about "
    line = Text(f"{about}{receipt.tokens} of {receipt.budget} tokens", "bold")
    line.append(f": {', '.join(parts)}.", "not bold")
    if receipt.left_out:
        out = pluralize(len(receipt.left_out), "older message")
        line.append(f" {out} stayed out, and can still be found.", "not bold")
    yield _inset(made, Text(), line)


def _show_notes(done: Demo) -> Iterator[RenderableType]:
    lines = [line for line in done.notes.memory.splitlines() if line.strip()]
    left = sum(line.startswith("- ") for line in lines[SHOWN_NOTES + 1 :])
    yield _inset(
        Text("MEMORY.md has what is known; at the end, an entry of HISTORY.md:", "dim"),
        *(_crop(line, "bold" * line.startswith("#")) for line in lines[1 : SHOWN_NOTES + 1]),
        Text(f"… {pluralize(left, 'more line')}", "dim"),
        _crop(done.notes.entry.splitlines()[0], ""),
    )


def _show_next(done: Demo) -> Iterator[RenderableType]:
    where = f"--db {shlex.quote(done.file)} --user {shlex.quote(done.user)}"
    took = f"All this took {done.seconds:.1f} s. Try on it:"
    yield _inset(safe_text(f"The {done.place} is {done.file}. {took}", "not dim"))
    question = _best(done.answers)[0].ask
    for line in (f'search {where} "{question}" --why', f"facts {where}", f"chat {where}"):
        yield safe_text(f"{' ' * INDENT}memoranda {line}", "bold")
