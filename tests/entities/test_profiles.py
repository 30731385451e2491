"""Profiles of entities: a summary made of facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from samples import record

from memoranda.entities.profiles import LONGEST, profile
from memoranda.model.models import Entity, Kind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANA = Entity(id="ent_1", name="Ana Lima", type="person", aliases=("Ana",))


def fact(content, *, subject="Ana", confidence=0.8, kind=Kind.FACT, by=None, day=0):
    """Return a fact that mentions Ana."""
    known = {"id": f"fact_{content}", "created_at": NOW, "metadata": {"subject": subject}}
    known |= {"event_time": NOW + timedelta(days=day), "superseded_by": by}
    return record(content, kind=kind, confidence=confidence, **known)


def summary(*records):
    """Return the summary over these records."""
    return profile(replace(ANA, records=records)).summary


def test_what_is_said_of_it_comes_before_what_mentions_it():
    """Facts about the entity come first, then the surer, then the newer; three at most."""
    told = [fact("Ana sings.", confidence=0.7), fact("Ana runs.", confidence=0.7, day=1)]
    tall = fact("Ana is tall.", confidence=0.9)
    met = fact("Bo met Ana.", subject="Bo", confidence=0.9)
    assert summary(met, *told, tall) == "Ana is tall. Ana runs. Ana sings."
    assert summary(tall, fact("x " * LONGEST)).endswith("x x…")  # What is too long is cut.


def test_only_facts_that_hold_are_told():
    """Superseded facts, episodes and reflections give no summary."""
    ended = fact("Ana lives in Porto.", by="fact_2")
    said, week = fact("hi", kind=Kind.EPISODE), fact("week", kind=Kind.REFLECTION)
    assert summary(ended, said, week) is None
