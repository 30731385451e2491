"""Facts as they stand now: which, in which order, and what took the place of what."""

from datetime import timedelta

from memoranda import Memory, Settings
from memoranda.store.sql import reads
from memoranda.testing.clocks import START, FrozenClock


def told(found):
    """Return of facts what they say, and what they took the place of."""
    return {each.record.content: [old.content for old in each.supersedes] for each in found}


def test_facts_are_read_by_pages_whatever_their_number(monkeypatch):
    """Each page the last said first; with what each replaced, also where that is elsewhere."""
    monkeypatch.setattr(reads, "AT_ONCE", 3)
    clock, settings = FrozenClock(), Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=settings, clock=clock) as memory:
        first = memory.remember("Ana drinks tea.")
        for number in range(4):
            clock.advance(timedelta(days=1))
            memory.remember(f"Ana has {number} bicycles.")
        memory.remember("Ana had a cat.", event_time=START - timedelta(days=400))
        gone = memory.remember("Ana has a boat.")
        memory.forget(gone.id)
        coffee = memory.correct(first.id, "Ana drinks coffee.")
        coffee = memory.correct(coffee.id, "Ana drinks water.")
        bicycles = [f"Ana has {number} bicycles." for number in (3, 2, 1, 0)]
        known = told(memory.facts())
        assert list(known) == [bicycles[0], "Ana drinks water.", "Ana had a cat.", *bicycles[1:]]
        assert known["Ana drinks water."] == ["Ana drinks coffee."]
        assert list(told(memory.facts(limit=3))) == list(known)[:3]
        states = [each.state for each in memory.facts(everything=True)]
        assert [states.count(each) for each in ("believed", "ended")] == [6, 3]
        assert told(memory.facts("What does Ana drink?", limit=1)) == {
            "Ana drinks water.": ["Ana drinks coffee."]
        }
        for record in (first, coffee):
            traced = memory.trace_fact(record.id)
            reasons = [each.reason for each in traced.history if each.action == "insert"]
            assert len(reasons) == 3, record.content  # Of every version, in order.
        assert traced.fact.supersedes[0].content == "Ana drinks coffee."
        assert memory.trace_fact(first.id).fact.superseded_by.content == "Ana drinks coffee."
