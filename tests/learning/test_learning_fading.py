"""Decay and expiry of a whole memory, night after night, on a clock that is moved by hand."""

import math

import pytest
from learning_talks import DAY, START, by_hand, clock_of, facts, remembering, talk
from tables import each_row

from memoranda.testing.clocks import FrozenClock

RATE = 0.1


def learned(memory, *lines):
    """Say lines and learn from them; return the facts."""
    usual = "I used to sail with old friends.", "I used to row with my cousins."
    talk(memory, "s", *(lines or usual))
    memory.consolidate()
    return facts(memory)


def fact_of(found, words):
    """Return the only one of these facts that says these words."""
    (one,) = [item for item in found if words in item.content]
    return one


def test_recall_refreshes(memory):
    """What is recalled is believed as at first, and fades anew from then; search is no use."""
    porto = fact_of(learned(memory), "friends")
    clock_of(memory).advance(20 * DAY)
    memory.decay()
    memory.search("Where did the user sail?", kind="fact")
    assert memory.get(porto.id).confidence < porto.confidence / 2
    search = next(tool for tool in memory.tools() if tool.name == "search_memories")
    assert porto.id in search(query="Where did the user sail?", memory_type="fact")
    assert memory.get(porto.id).confidence == pytest.approx(porto.confidence)
    clock_of(memory).advance(20 * DAY)
    memory.decay()
    left = porto.confidence * math.exp(-RATE * 20)
    assert memory.get(porto.id).confidence == pytest.approx(left, abs=1e-4)


def test_what_is_protected_never_fades(memory):
    """Confirmed facts, facts to remember, reflections, episodes and contexts stay as they are."""
    porto = fact_of(learned(memory), "friends")
    kept = [
        memory.confirm(porto.id),
        memory.remember("Ana was born in Faro."),
        memory.remember("A quiet week.", kind="reflection", decay_rate=5.0),
        memory.remember("Good morning.", kind="episode", decay_rate=5.0),
    ]
    clock_of(memory).advance(1_000 * DAY)
    memory.decay()
    assert [memory.get(item.id) for item in kept] == kept
    assert memory.get(porto.id).confidence == 1.0


@each_row(("section", "left"), [
    ({"decay": {"threshold": 0.0}}, (2, 2)), ({"decay": {"threshold": 0.05}}, (2, 0)),
    ({"decay": {"threshold": 0.5}}, (0, 0)), ({"consolidation": {"decay_rate": 0}}, (2, 2)),
])  # fmt: skip
def test_the_threshold_is_a_setting(section, left):
    """``decay.threshold`` says from where a fact is retired, 0 is never; so is the rate."""
    with remembering(settings=by_hand(**section)) as memory:
        learned(memory)
        for days, number in zip((10, 1_000), left, strict=True):
            clock_of(memory).advance(days * DAY)
            memory.decay()
            assert len(facts(memory)) == number


def test_what_lies_ahead_does_not_fade_before_it(memory):
    """A statement of a day to come has its full strength until that day."""
    (fact_,) = learned(memory, "We decided to fly to the Azores on 3 July 2026.")
    clock_of(memory).advance(100 * DAY)
    assert dict(memory.decay().counts) == {"faded": 0, "retired": 0}
    assert memory.get(fact_.id).confidence == fact_.confidence
    clock_of(memory).advance(100 * DAY)
    assert memory.decay().counts["retired"] == 1


def keeping(path, clock, **retention):
    """Return Ana's memory of a file with these retentions."""
    chosen = by_hand(retention=retention, timezone="Europe/Lisbon")
    return remembering(path, settings=chosen, clock=clock)


def test_what_expired_before_it_was_read_is_learned_from(tmp_path):
    """Retention ends what was said; it does not take back what it says."""
    clock = FrozenClock(START)
    with keeping(tmp_path / "memory.db", clock, episode="1d") as memory:
        talk(memory, "s", "I used to sail with old friends.")
        clock.advance(2 * DAY)
        assert memory.expire().count == 1
        assert memory.consolidate().count == 1
        assert memory.verify() == []
