"""Enrichment: read again once, by the accurate providers, exactly as seed 004 has it."""

from datetime import UTC, datetime

from samples import record

from memoranda.entities.pipeline import EntityReading
from memoranda.maintenance.service import plan_enrichment
from memoranda.model.changes import Enrich

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
