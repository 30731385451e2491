"""Enrichment: read again once, by the accurate providers, exactly as seed 004 has it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from analyzers import PlainNames, WordAnalyzer
from samples import ANA, User, insert, record
from steps import carry_out

from memoranda.entities.pipeline import EntityReading
from memoranda.maintenance.service import A_NIGHT, ENRICHED, FEW, plan_enrichment
from memoranda.model.changes import Enrich
from memoranda.model.models import Mention
from memoranda.model.query import Filter, Subset
from memoranda.store.sqlite import SqliteStore

NOW = datetime(2026, 1, 2, 2, tzinfo=UTC)


def test_where_nothing_was_found_the_record_is_stamped_too():
    """It is not read again every night."""
    assert plan_enrichment([record("Zoe", id="fact_1")], lambda _: EntityReading([]), NOW) == (
        [Enrich("fact_1", NOW, ())],
        {},
    )


def test_a_record_that_could_not_be_read_waits_for_another_night():
    """It is not stamped, the others are."""

    def read(text):
        return EntityReading([], ("spacy", "llm") if "bad" in text else ())

    texts = ("bad", "good", "bad, too")
    records = [record(text, id=f"fact_{number}") for number, text in enumerate(texts, 1)]
    planned, failed = plan_enrichment(records, read, NOW)
    assert [action.id for action in planned] == ["fact_2"]
    wrong = "spacy, llm failed on it; it is read again next time"
    assert failed == {"fact_1": wrong, "fact_3": wrong}


def test_in_a_store_each_record_is_read_once(tmp_path):
    """Night by night fifty, the oldest first, until none is left; entities are linked."""
    store = SqliteStore(tmp_path / "m.db", analyzer=WordAnalyzer(), names=PlainNames())
    items = [record(f"she went to place {number}", id=f"fact_{number:03d}") for number in range(70)]
    items[0] = replace(items[0], content="Ana and Bo")  # Two are still few.
    crowded = record("Bo, Cy and Di", id="fact_crowded")
    carry_out(store, ANA, [insert(item) for item in [*items, crowded]])
    now = items[0].created_at + timedelta(days=1)

    def night():
        where = Filter(now=now, kinds=ENRICHED, subset=Subset.UNENRICHED, most_entities=FEW)
        records = store.records(ANA, where, limit=A_NIGHT)
        actions, _ = plan_enrichment(
            records, lambda _: EntityReading([Mention("Zoe", "person", 0, 3)]), now
        )
        carry_out(store, ANA, actions)
        return len(actions)

    assert [night() for _ in range(3)] == [50, 20, 0]
    assert store.entities(ANA, Filter(now=now), name="Zoe", limit=1)[0].mention_count == 70
    assert User(store).found("fact_000").enriched_at is not None
    assert User(store).found("fact_crowded").enriched_at is None
    store.close()
