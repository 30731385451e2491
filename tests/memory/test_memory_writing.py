"""The verbs that write: what goes in comes out, changes leave the old, all or nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import Memory, Settings, errors
from memoranda.model.models import ChangeAction, Kind, Trust


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


def test_remember_many_stores_texts_and_dicts_in_order(memory):
    """Items are stored in order, in the form of remember's arguments."""
    records = memory.remember_many(
        ["one", {"content": "two", "kind": "context", "tags": ["x"]}, "three"]
    )
    assert [record.content for record in records] == ["one", "two", "three"]
    assert [record.id for record in memory.records()] == [record.id for record in records]
    assert sorted(record.id.split("_")[1] for record in records) == [
        record.id.split("_")[1] for record in records
    ]
    assert memory.remember_many([]) == []


def test_remember_many_is_all_or_nothing(memory):
    """Law 5: one impossible item, and nothing of the list is stored; the item is named."""
    with pytest.raises(errors.InvalidInput, match="item 2: content is empty"):
        memory.remember_many(["one", "two", "  "])
    assert memory.records() == []
    assert memory.verify() == []


def test_correct_supersedes_and_keeps_the_old(memory):
    """Law 11: a correction keeps what was believed, and is found in its place."""
    old = memory.remember("Ana lives in Porto", tags=["home"], metadata={"a": 1}, session="s")
    before = memory.get(old.id)
    new = memory.correct(old.id, "Ana lives in Lisbon")
    assert (new.content, new.tags, new.session_id) == ("Ana lives in Lisbon", ("home",), "s")
    assert (dict(new.metadata), new.supersedes) == ({"a": 1}, old.id)
    kept = memory.get(old.id)
    assert kept.content == before.content
    assert kept.superseded_by == new.id
    assert kept.valid_until is not None
    assert [record.id for record in memory.records()] == [new.id]
    assert [hit.record.id for hit in memory.search("where does Ana live")] == [new.id]


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


def test_history_tells_what_was_done_in_order(memory):
    """Every change leaves one line with its reason."""
    record = memory.remember("Ana likes tea", confidence=0.5)
    memory.confirm(record.id)
    new = memory.correct(record.id, "Ana likes coffee")
    history = memory.history(record.id)
    assert [(change.record, change.action, change.reason) for change in history] == [
        (record.id, "insert", "remembered"),
        (record.id, "reweigh", "confirmed"),
        (record.id, "close", "corrected"),
        (new.id, "insert", f"corrects {record.id}"),
    ]
    assert all(isinstance(change.action, ChangeAction) for change in history)
    assert history[2].detail["superseded_by"] == new.id
    assert memory.history(new.id) == history


def test_subscribers_hear_each_verb_and_cannot_break_it(memory, caplog):
    """Events follow the write; one that fails harms nobody."""
    heard = []

    def fail(event):
        message = f"no ears for {event.name}"
        raise ValueError(message)

    memory.on("remembered", fail)
    for name in ("remembered", "corrected", "forgotten"):
        memory.on(name, lambda event: heard.append((event.name, event.subject)))
    old = memory.remember("Ana lives in Porto")
    new = memory.correct(old.id, "Ana lives in Lisbon")
    receipt = memory.forget(new.id)
    assert heard == [
        ("remembered", old),
        ("remembered", new),
        ("corrected", new),
        ("forgotten", receipt),
    ]
    assert "no ears for remembered" in caplog.text


def test_stats_count_what_is_believed(memory):
    """Figures are of active records, by kind."""
    memory.remember_many(["one", "two", {"content": "three", "kind": "episode"}])
    memory.forget(memory.remember("four").id)
    stats = memory.stats()
    assert stats.records == {"episode": 1, "fact": 2, "context": 0, "reflection": 0, "item": 0}
    assert stats.user == "ana"
    assert stats.conversations == 0
    assert stats.newest is not None
    assert stats.size > 0
    assert stats.vectors.startswith("hash")


def test_an_entity_brings_the_records_about_it(memory):
    """A profile holds the believed records that mention the name, newest first."""
    memory.remember("Maria Santos works at Acme Corp.")
    memory.remember("Yesterday Maria Santos moved to Lisbon.")
    gone = memory.remember("Maria Santos hates mornings.")
    memory.forget(gone.id)
    found = memory.entity("maria santos")
    assert found is not None
    assert {record.content for record in found.records} == {
        "Maria Santos works at Acme Corp.",
        "Yesterday Maria Santos moved to Lisbon.",
    }
    assert "Maria Santos" in [entity.name for entity in memory.entities()]
    assert memory.entity("Nobody Nowhere") is None
    assert len(memory.entities(limit=1)) == 1


def test_a_memory_lasts_beyond_its_process_part(opened, tmp_path):
    """What was stored is there, and found, when the file is opened again."""
    with Memory(tmp_path / "m.db", user="ana", settings=Settings(embedding={"model": "none"})) as m:
        record = m.remember("Ana likes tea")
        m.close()
    again = opened(tmp_path / "m.db")
    assert again.get(record.id) == record
    assert [hit.record for hit in again.search("tea")] == [record]


def test_after_close_every_verb_says_so(opened):
    """A closed memory raises StoreClosed, never an error of the driver; closing twice is fine."""
    memory = opened()
    record = memory.remember("Ana likes tea")
    chat = memory.conversation("c")
    memory.close()
    memory.close()
    for verb in (
        lambda: memory.remember("more"),
        lambda: memory.search("tea"),
        lambda: memory.recall("tea"),
        lambda: memory.get(record.id),
        memory.records,
        lambda: memory.forget(record.id, erase=True),
        memory.stats,
        memory.verify,
        lambda: chat.add("user", "hello"),
        lambda: chat.context("hello"),
    ):
        with pytest.raises(errors.StoreClosed):
            verb()


@pytest.mark.parametrize("name", ["day", "30d"])
def test_retention_gives_each_kind_its_end(opened, name):
    """``retention.episode`` sets until when an episode is believed (seed 001)."""
    memory = opened(settings=Settings(timezone="UTC", retention={"episode": name}))
    record = memory.remember("a turn", kind="episode")
    expected = (
        record.created_at + timedelta(days=30)
        if name == "30d"
        else datetime.combine(
            record.created_at.date() + timedelta(days=1), datetime.min.time(), UTC
        )
    )
    assert record.valid_until == expected
    assert memory.remember("a fact").valid_until is None


@given(days=st.integers(1, 999_999_999))
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
def test_no_retention_is_too_long(days):
    """A span beyond the calendar means for ever, and never stops a write."""
    chosen = Settings(embedding={"model": "none"}, retention={"fact": f"{days}d"})
    with Memory(":memory:", settings=chosen) as memory:
        record = memory.remember("Ana likes tea")
        assert record.valid_until is None or record.valid_until > record.created_at


def test_of_contexts_at_once_one_is_left(memory):
    """It has the others as its former versions."""
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda n: memory.set_context("city", f"{n}"), range(20)))
    (left,) = memory.records(kind="context")
    assert left in made
    assert memory.get_context("city") == left.content
    assert len(memory.forget(left.id).versions) == 19
