"""Enrichment: read again once, by the accurate providers, exactly as seed 004 has it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memoranda.errors import LLMError
from memoranda.maintenance.service import A_NIGHT, ENRICHED, FEW, STAMP, plan_enrichment
from memoranda.model.actions import Enrich
from memoranda.model.models import Kind, Mention, Record
from memoranda.model.query import Filter, Subset
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.contracts.samples import ANA, found, insert, record

NOW = datetime(2026, 1, 2, 2, tzinfo=UTC)


def stored(number, kind=Kind.FACT, content="Zoe met Ana", **fields):
    """Return a record that was never enriched."""
    return Record(
        id=f"{kind.prefix}_{number}",
        kind=kind,
        content=content,
        content_hash="x",
        user="ana",
        event_time=NOW,
        created_at=NOW,
        **fields,
    )


def capitals(text):
    """Find every word with a capital letter."""
    found, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        if word[0].isupper():
            found.append(Mention(word, "person", start, start + len(word)))
    return found


def test_each_record_is_linked_to_what_was_found_in_it():
    """One action a record, with all its mentions."""
    planned, failed = plan_enrichment(
        [stored(1), stored(2, Kind.EPISODE, "Bo sings")], capitals, NOW
    )
    assert planned == [
        Enrich("fact_1", NOW, (Mention("Zoe", "person", 0, 3), Mention("Ana", "person", 8, 11))),
        Enrich("ep_2", NOW, (Mention("Bo", "person", 0, 2),)),
    ]
    assert failed == {}


def test_where_nothing_was_found_the_record_is_stamped_too():
    """It is not read again every night."""
    assert plan_enrichment([stored(1)], lambda _: [], NOW) == ([Enrich("fact_1", NOW, ())], {})


@pytest.mark.parametrize("error", [LLMError("no answer in 30 s"), ZeroDivisionError("a bug")])
def test_a_record_that_could_not_be_read_waits_for_another_night(error, caplog):
    """It is not stamped, the others are; an error that nobody expected is logged."""

    def extract(text):
        if "bad" in text:
            raise error
        return capitals(text)

    records = [stored(1, content="bad"), stored(2), stored(3, content="bad, too")]
    planned, failed = plan_enrichment(records, extract, NOW)
    assert [action.id for action in planned] == ["fact_2"]
    assert list(failed) == ["fact_1", "fact_3"]
    assert str(error) in failed["fact_1"]
    assert len(caplog.records) == (0 if isinstance(error, LLMError) else 2)


def test_only_facts_and_episodes_that_were_never_enriched_are_read():
    """Contexts, reflections and stamped records are passed over."""
    others = [
        stored(1, Kind.CONTEXT),
        stored(2, Kind.REFLECTION),
        stored(3, attributes={STAMP: "2026-01-01T02:00:00Z"}),
    ]
    assert plan_enrichment(others, capitals, NOW) == ([], {})


def test_the_figures_are_those_of_the_seed():
    """Facts and episodes, at most two entities, fifty at a time."""
    assert (set(ENRICHED), FEW, A_NIGHT) == (
        {Kind.FACT, Kind.EPISODE},
        2,
        50,
    )


def test_in_a_store_each_record_is_read_once(tmp_path):
    """Night by night fifty, the oldest first, until none is left; entities are linked."""
    store = SqliteStore(tmp_path / "m.db", analyzer=WordAnalyzer(), names=PlainNames())
    items = [record(f"she went to place {number}", id=f"fact_{number:03d}") for number in range(70)]
    items[0] = replace(items[0], content="Ana and Bo")  # Two are still few.
    crowded = record("Bo, Cy and Di", id="fact_crowded")
    store.apply(ANA, [insert(item) for item in [*items, crowded]])
    now = items[0].created_at + timedelta(days=1)

    def night():
        where = Filter(now=now, kinds=ENRICHED, subset=Subset.UNENRICHED, most_entities=FEW)
        records = store.records(ANA, where, limit=A_NIGHT)
        actions, _ = plan_enrichment(records, lambda _: [Mention("Zoe", "person", 0, 3)], now)
        store.apply(ANA, actions)
        return len(actions)

    assert [night() for _ in range(3)] == [50, 20, 0]
    assert store.entities(ANA, Filter(now=now), name="Zoe", limit=1)[0].mention_count == 70
    assert STAMP in found(store, "fact_000").attributes
    assert STAMP not in found(store, "fact_crowded").attributes
    store.close()
