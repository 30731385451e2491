"""The verbs that write: what goes in comes out, changes leave the old, all or nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tables import each_row

from memoranda import errors
from memoranda.model.models import Kind, Trust


def test_every_argument_of_remember_is_in_the_record(memory):
    """What the caller says of a record is what the record says."""
    happened = datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=timezone(timedelta(hours=2)))
    record = memory.remember(
        "Ana moved to Porto",
        kind="conversation",
        tags=["home", "home", "city"],
        metadata={"source": {"page": 3}},
        event_time=happened,
        session="s1",
        role="assistant",
        confidence=0.5,
        decay_rate=0.1,
    )
    assert record == memory.get(record.id)
    assert record.id.startswith("ep_")
    assert record.kind is Kind.EPISODE
    assert record.event_time == happened
    assert record.event_time.tzinfo is UTC
    assert record.tags == ("home", "city")
    assert dict(record.metadata) == {"source": {"page": 3}}
    assert (record.session_id, record.position) == ("s1", 0)
    assert (record.source_role, record.trust) == ("assistant", Trust.AGENT)
    assert (record.confidence, record.decay_rate) == (0.5, 0.1)
    assert record.user == "ana"
    assert record.valid_until is None


def test_a_fact_of_a_caller_is_believed_fully_and_never_fades(memory):
    """A fact that someone asked to remember is permanent (seed 001)."""
    record = memory.remember("Ana is vegetarian")
    assert record.id.startswith("fact_")
    assert (record.confidence, record.decay_rate, record.valid_until) == (1.0, 0.0, None)
    assert record.trust is Trust.PERSON


def test_remember_many_is_all_or_nothing(memory):
    """Law 5: one impossible item, and nothing of the list is stored; the item is named."""
    with pytest.raises(errors.InvalidInput, match="item 2: content is empty"):
        memory.remember_many(["one", "two", "  "])
    assert memory.records() == []
    assert memory.verify() == []


def test_what_was_superseded_cannot_be_corrected_again(memory):
    """A record that is no longer believed says which one took its place."""
    old = memory.remember("Ana lives in Porto")
    new = memory.correct(old.id, "Ana lives in Lisbon")
    for verb in (
        lambda: memory.correct(old.id, "Ana lives in Faro"),
        lambda: memory.confirm(old.id),
    ):
        with pytest.raises(errors.InvalidInput, match=new.id):
            verb()


def test_confirm_makes_permanent(memory):
    """A confirmed record is believed fully and never fades (seed 004)."""
    record = memory.remember("Ana likes tea", confidence=0.4, decay_rate=0.1)
    confirmed = memory.confirm(record.id)
    assert (confirmed.confidence, confirmed.decay_rate) == (1.0, 0.0)
    assert memory.get(record.id) == confirmed
    again = memory.confirm(record.id)
    assert again == replace(confirmed, strength_at=again.strength_at)


def test_forget_retires_and_leaves_for_history(memory):
    """What is forgotten is not found, but is there to look up."""
    record = memory.remember("Ana likes tea")
    receipt = memory.forget(record.id)
    assert (receipt.id, receipt.erased, receipt.derived, receipt.purged) == (
        record.id,
        False,
        (),
        False,
    )
    assert memory.search("tea") == []
    assert memory.records() == []
    assert memory.get(record.id).content == "Ana likes tea"
    first_end = memory.get(record.id).valid_until
    memory.forget(record.id)
    assert memory.get(record.id).valid_until == first_end


def test_subscribers_hear_each_verb(memory):
    """Events follow the write, with what it returns."""
    heard = []
    for name in ("remembered", "corrected", "forgotten"):
        memory.on(name, lambda event: heard.append((event.name, event.subject)))
    old = memory.remember("Ana lives in Porto")
    new = memory.correct(old.id, "Ana lives in Lisbon")
    receipt = memory.forget(new.id)
    told = [("remembered", old), ("remembered", new), ("corrected", new), ("forgotten", receipt)]
    assert heard == told


# A fact that is known already is returned, and not stored again


def test_what_is_known_is_returned(memory):
    """By each verb, with the tags of both; nobody is told of anything new."""
    told = []
    memory.on("remembered", told.append)
    known = memory.remember("Ana is vegetarian", tags=["diet"])
    again = memory.remember("Ana is vegetarian", tags=["food"])
    assert (again.id, again.tags, len(told)) == (known.id, ("diet", "food"), 1)
    many = memory.remember_many(
        ["new", "Ana is vegetarian", {"content": "new", "tags": ["x"]}, "new"]
    )
    assert [record.id for record in many] == [many[0].id, known.id, many[0].id, many[0].id]
    assert many[0] == many[2] == memory.get(many[0].id)
    assert (memory.count(), len(told), many[0].tags) == (2, 2, ("x",))


@each_row(
    "more",
    [
        {"metadata": {"page": 2}},
        {"session": "s"},
        {"role": "ben", "trust": "person"},
        {"event_time": datetime(2020, 1, 1, tzinfo=UTC)},
        {"valid_until": datetime(2900, 1, 1, tzinfo=UTC)},
        {"kind": "episode"},
    ],
)
def test_what_says_something_else_is_stored(memory, more):
    """And then it is known, too."""
    known = memory.remember("Ana is vegetarian", metadata={"page": 1, "book": 2})
    other = memory.remember("Ana is vegetarian", **more)
    assert other.id != known.id
    assert (memory.remember("Ana is vegetarian", **more).id == other.id) is ("kind" not in more)
    assert memory.remember("Ana is vegetarian", metadata={"page": 1}).id == known.id
    assert memory.remember("Ana  is vegetarian").id not in {known.id, other.id}


def test_a_person_makes_what_is_known_sure(memory):
    """It fades no longer and lasts as long as said; an agent that repeats it changes neither."""
    end = datetime(2900, 1, 1, tzinfo=UTC)
    fading = memory.remember("tea", confidence=0.5, decay_rate=0.1, valid_until=end)
    repeated = memory.remember("tea", role="assistant", trust="agent", valid_until=end)
    assert repeated == fading
    longer = end + timedelta(days=1)
    sure = memory.remember("tea", valid_until=longer)
    assert (sure.id, sure.confidence, sure.decay_rate) == (fading.id, 1.0, 0.0)
    assert sure.valid_until == longer
    assert {change.reason for change in memory.history(sure.id)} == {"remembered", "said again"}
