"""What ``memoranda demo`` does: it stores a story, asks about it, and builds a context.

The story has a calendar of its own: while it is told, the clock stands at the dates of its
sessions, so that what the demo shows is the same on every day and every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from memoranda.cli.command import foreground
from memoranda.cli.output import progress_bar
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.memory import Memory
from memoranda.model.models import Change, Context, Entity, Hit, Record
from memoranda.settings.settings import Settings
from memoranda.store.locations import medium

TURN = timedelta(minutes=1)
LATER = timedelta(days=1)
HITS = 5
ENTITIES = 8
BUDGET = 450
SYSTEM = "You are Noa's assistant."
PROMPT = "Suggest three snacks for the towpath that are safe with my allergy."
CHANGED = "before ten"
CORRECTED = "No calls or meetings for Noa before nine; ten holds for Mondays only."
CHANGE_ASKED = "How early can you schedule a meeting for me?"


class StoryClock:
    """A clock that stands where the story is."""

    def __init__(self, moment: datetime) -> None:
        """Start at ``moment``."""
        self.moment = moment

    def now(self) -> datetime:
        """Return where the story is."""
        return self.moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A session of the story as it was stored."""

    id: str
    date: datetime
    turns: int
    opening: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
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
class Correction:
    """How a fact was corrected, and what is believed before and after."""

    old: Record
    new: Record
    ask: str
    before: datetime
    believed_before: Sequence[Hit]
    believed_now: Sequence[Hit]
    history: Sequence[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
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
        correction: a fact that was corrected.
        asked: when the questions are asked.
        prompt: what the user says at last.
        context: what a model would be sent for it.
        notes: what its Markdown notes say.
        seconds: that all of it took.
    """

    file: str
    place: str
    user: str
    sessions: Sequence[Told]
    facts: Sequence[Record]
    entities: Sequence[Entity]
    vectors: str
    storing: float
    embedding: float
    learned: Sequence[Record]
    learning: float
    answers: Sequence[Answer]
    asked: datetime
    correction: Correction | None
    prompt: str
    context: Context
    notes: Written
    seconds: float


MOST = 1_000


def play(story: Mapping[str, Any], place: str, user: str, settings: Settings) -> Demo:
    """Store the story at ``place``, ask its questions, and return all that came of it.

    Raises:
        InvalidInput: the story is there already.
    """
    start = perf_counter()
    clock = StoryClock(_moment(story["sessions"][0]["date"], settings))
    with Memory(place, user=user, settings=_by_hand(settings), clock=clock) as memory:
        _require_fresh(memory, story, place)
        sessions = [_tell(memory, clock, told, settings) for told in story["sessions"]]
        facts = memory.remember_many(story["facts"])
        storing = perf_counter() - start
        clock.moment = asked = _moment(story["questions"][0]["date"], settings)
        embedding = _embed(memory)
        learned, learning = _learn(memory)
        answers = [_ask(memory, question) for question in story["questions"]]
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
            notes=_notes(memory),
            seconds=perf_counter() - start,
        )


def _by_hand(settings: Settings) -> Settings:
    """Return settings with which nothing happens by itself, so that each run is the same."""
    chosen = settings.consolidation.model_copy(update={"automatic": False, "extractor": "rules"})
    beside = settings.notes.model_copy(update={"folder": None})  # Not among the user's own.
    return foreground(settings).model_copy(update={"consolidation": chosen, "notes": beside})


def _learn(memory: Memory) -> tuple[list[Record], float]:
    """Return the facts that consolidation draws, the surest first, and how long it took."""
    memory.notes.sync()  # Of a memory without a file they are there from their first use on.
    start = perf_counter()
    memory.consolidate()
    found = [fact for fact in memory.records(kind="fact", limit=MOST) if fact.source_ids]
    found.sort(key=lambda fact: -fact.confidence)
    return found, perf_counter() - start


def _require_fresh(memory: Memory, story: Mapping[str, Any], place: str) -> None:
    told = {session["id"] for session in story["sessions"]}
    if any(info.id in told for info in memory.conversations()):
        message = f"{place} holds the demo of user {memory.user!r} already; name another --db"
        raise InvalidInput(message)


def _moment(text: str, settings: Settings) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=settings.zone)


def _ask(memory: Memory, question: Mapping[str, Any]) -> Answer:
    found = memory.search(question["ask"], limit=HITS)
    return Answer(ask=question["ask"], expect=question["expect"], hits=found)


def _tell(
    memory: Memory, clock: StoryClock, session: Mapping[str, Any], settings: Settings
) -> Told:
    clock.moment = date = _moment(session["date"], settings)
    chat = memory.conversation(session["id"])
    for number, turn in enumerate(session["turns"]):
        clock.moment = date + number * TURN
        chat.add(
            turn["role"],
            turn["content"],
            tool_calls=turn.get("tool_calls", ()),
            tool_result=turn.get("tool_call_id"),
            timestamp=clock.moment,
        )
    return Told(
        id=session["id"],
        date=date,
        turns=len(session["turns"]),
        opening=session["turns"][0]["content"],
    )


def _embed(memory: Memory) -> float:
    start = perf_counter()
    try:
        with progress_bar("embedding") as progress:
            made = memory.embed_pending(progress)
    except EmbeddingError:
        # The demo goes on without vectors; stats() says why.
        return 0.0
    return perf_counter() - start if made else 0.0


def _notes(memory: Memory) -> Written:
    (entry,) = memory.notes.history(limit=1)
    return Written(
        folder=str(memory.notes.folder) if memory.notes.is_lasting else None,
        memory=memory.notes.read_memory(),
        entry=entry.text,
    )


def _correct(memory: Memory, clock: StoryClock, facts: Sequence[Record]) -> Correction | None:
    old = next((fact for fact in facts if CHANGED in fact.content), None)
    if old is None:
        return None
    before = clock.moment
    clock.moment += LATER
    new = memory.correct(old.id, CORRECTED)
    return Correction(
        old=old,
        new=new,
        ask=CHANGE_ASKED,
        before=before,
        believed_before=memory.search(CHANGE_ASKED, kind="fact", limit=1, as_of=before),
        believed_now=memory.search(CHANGE_ASKED, kind="fact", limit=1),
        history=memory.history(old.id),
    )
