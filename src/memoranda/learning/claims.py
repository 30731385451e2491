"""The types of consolidation: turns of a session, claims extracted from them, and relations.

An extractor turns the turns of a session into claims, by rule or with a model. A judge says how
a new claim stands to what is believed already. Plans make actions of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memoranda.facts.reader import FactStatement


class Category(StrEnum):
    """The category of a claim; decides how fast it decays, and what can contradict it."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    RELATION = "relation"
    POSSESSION = "possession"
    EVENT = "event"
    PLAN = "plan"
    DECISION = "decision"
    CONSTRAINT = "constraint"
    CORRECTION = "correction"
    STATE = "state"
    REMEMBER = "remember"
    INSTRUCTION = "instruction"
    # Kept as it was said, whatever it says.
    STATEMENT = "statement"


# The origin of facts that were learned from a talk.
ORIGIN = "consolidation"
# What was asked for, and is kept whatever it ends.
ASKED = frozenset({Category.REMEMBER, Category.INSTRUCTION})


@dataclass(frozen=True, slots=True)
class Turn:
    """One episode as an extractor reads it.

    Attributes:
        id: the episode.
        speaker: ``user``, ``assistant``, ``tool`` or a person's or agent's name.
        text: what was said, without what memory itself had put there.
        at: when, in the user's time zone.
        person: whether a person said it: only that is evidence about them.
        agent: the agent in whose talk it was said, if not in everybody's.
    """

    id: str
    speaker: str
    text: str
    at: datetime
    person: bool
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A durable statement, to be understood without the conversation it comes from.

    Attributes:
        content: one sentence with names and dates in full: ``Caroline moved to Lisbon in
            May 2023.``
        subject: whom or what it is about: a name, or ``the user``.
        category: what kind of statement it is.
        sources: the episodes that say it; the first one above all.
        speaker: who said it.
        person: whether that is a person.
        said_at: when it was said.
        event_time: when it happened or will; ``said_at`` where it has no time of its own.
        event_until: the first moment after it, where its time is known.
        confidence: 0 to 1.
        fact: its attribute and value, where they could be read.
        asked: whether rules read that a person asked for it.
    """

    content: str
    subject: str
    category: Category
    sources: tuple[str, ...]
    speaker: str
    said_at: datetime
    event_time: datetime
    confidence: float = 0.8
    person: bool = True
    fact: FactStatement | None = None
    event_until: datetime | None = None
    asked: bool = False


class Relation(StrEnum):
    """How a newer statement stands to an older one."""

    # It says the same, perhaps in other words.
    DUPLICATE = "duplicate"
    # The same attribute of the same subject has a new value: what was true has changed.
    UPDATE = "update"
    # They have nothing to do with each other, or both hold, or each holds in its own time.
    NONE = "none"
