"""Decay and expiry of a whole memory, night after night, on a clock that is moved by hand."""

import math
from contextlib import closing
from datetime import timedelta

import pytest
from learning_talks import DAY, START, by_hand, clock_of, fact, facts, remembering, tables, talk
from tables import each_row

from memoranda.testing.clocks import FrozenClock

RATE, THRESHOLD = 0.1, 0.05


@pytest.fixture
def memory():
    """Ana's memory, which learns only when it is told to."""
    with closing(remembering()) as made:
        yield made


def learned(memory, *lines):
    """Say lines and learn from them; return the facts."""
    usual = "I used to sail with old friends.", "I used to row with my cousins."
    talk(memory, "s", *(lines or usual))
    memory.consolidate()
    return facts(memory)


def test_sixty_nights_follow_the_curve(memory):
    """Seed 004: confidence × exp(-rate × days) each night, until the threshold retires it."""
    porto = fact_of(learned(memory), "friends")
    begun, strength = porto.strength_at, porto.confidence
    last = math.log(strength / THRESHOLD) / RATE
    for night in range(1, 61):
        clock_of(memory).set(begun + night * DAY)
        report = memory.decay()
        now = memory.get(porto.id)
        if night <= last:
            assert now.confidence == pytest.approx(strength * math.exp(-RATE * night), abs=1e-4)
            assert (report.counts["faded"], now.valid_until) == (2, None)
        else:
            assert now.valid_until is not None
    assert facts(memory) == []
    assert now.valid_until == begun + math.ceil(last) * DAY


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
    with closing(remembering(settings=by_hand(**section))) as memory:
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


def test_what_has_faded_is_gone_from_search_and_stays_in_history(tmp_path):
    """Seed 004: soft deletion takes vectors and links; words, history and ``as_of`` remain."""
    path = tmp_path / "memory.db"
    with closing(remembering(path)) as memory:
        talk(memory, "s", "I am planning to sing with Marta in Berlin tomorrow.")
        memory.consolidate()
        memory.embed_pending()
        gone = fact(memory, "Marta")
        (episode,) = gone.source_ids
        then = clock_of(memory).now()
        assert memory.entity("Marta").mention_count == 2
        clock_of(memory).advance(60 * DAY)
        report = memory.decay()
        assert dict(report.counts) == {"faded": 0, "retired": 1}
        assert gone.id in report.lines[0]
        assert "below 0.05" in report.lines[0]
        assert memory.search("Who is Marta?", kind="fact") == []
        assert [item.id for item in memory.entity("Marta").records] == [episode]
        (was,) = memory.search("Who is Marta?", kind="fact", as_of=then)
        assert was.record.id == gone.id
        assert [change.action for change in memory.history(gone.id)] == ["insert", "retire"]
        assert memory.get(gone.id).valid_until == clock_of(memory).now()
        rows = tables(path)
        assert (len(rows["records"]), len(rows["vectors"]), rows["derivations"]) == (2, 1, [])
        assert memory.verify() == []
        assert memory.rebuild() == []
        assert memory.search("Who is Marta?", kind="fact") == []


def keeping(path, clock, **retention):
    """Return Ana's memory of a file with these retentions."""
    chosen = by_hand(retention=retention, timezone="Europe/Lisbon")
    return remembering(path, settings=chosen, clock=clock)


def test_a_new_retention_ends_what_an_old_database_holds(tmp_path):
    """Seed 001: ``retention.episode = "30d"`` on an existing file retires what is older."""
    path, clock = tmp_path / "memory.db", FrozenClock(START)
    with closing(keeping(path, clock)) as memory:
        talk(memory, "old", "I used to sail with old friends.", ("assistant", "Good."))
        memory.consolidate()
        memory.remember("Ana was born in Faro.")
        clock.advance(29 * DAY)
        talk(memory, "new", "Hello again.")
        clock.advance(DAY)
    with closing(keeping(path, clock, episode="30d")) as memory:
        memory.embed_pending()
        before = tables(path)
        plan = memory.expire(dry_run=True)
        assert (plan.count, plan.dry_run, tables(path)) == (2, True, before)
        report = memory.expire()
        assert (int(report), dict(report.counts)) == (2, {"episode": 2})
        assert report.lines[0].endswith("expired: episode is kept for 30 days")
        assert [item.session_id for item in memory.records(kind="episode")] == ["new"]
        assert len(facts(memory)) == 2
        assert memory.expire().count == 0
        assert memory.verify() == []
        memory.rebuild()
        assert [item.session_id for item in memory.records(kind="episode")] == ["new"]
        memory.embed_pending()
        found = memory.search("Did I sail with old friends?", kind="episode", limit=10)
        assert {hit.record.session_id for hit in found} <= {"new"}
        assert memory.verify() == []


def test_what_expired_before_it_was_read_is_learned_from(tmp_path):
    """Retention ends what was said; it does not take back what it says."""
    clock = FrozenClock(START)
    with closing(keeping(tmp_path / "memory.db", clock, episode="1d")) as memory:
        talk(memory, "s", "I used to sail with old friends.")
        clock.advance(2 * DAY)
        assert memory.expire().count == 1
        assert memory.consolidate().count == 1
        assert memory.verify() == []


@each_row(("kind", "span", "seconds"), [
    ("episode", "12h", 12 * 3_600), ("fact", "2w", 14 * 86_400), ("reflection", "90s", 90),
    ("context", "36h", 36 * 3_600),
])  # fmt: skip
def test_each_kind_has_its_own_time(tmp_path, kind, span, seconds):
    """A record is there until its span is over, to the millisecond, and then is not."""
    clock, over = FrozenClock(START), START + timedelta(seconds=seconds)
    with closing(keeping(tmp_path / f"{kind}.db", clock, **{kind: span})) as memory:
        record = memory.remember("Something to keep.", kind=kind)
        other = memory.remember("Something else.", kind="episode" if kind == "fact" else "fact")
        clock.set(over - timedelta(milliseconds=1))
        assert memory.expire().count == 0
        assert memory.records(kind=kind)[0].id == record.id
        clock.set(over)
        assert dict(memory.expire().counts) == {kind: 1}
        assert [item.id for item in memory.records()] == [other.id]
        assert [change.action for change in memory.history(record.id)] == ["insert", "retire"]
