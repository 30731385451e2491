"""Enrichment of a whole memory: names read again at night by a pipeline trained here."""

from itertools import product

import pytest
from learning_talks import DAY, START, by_hand, clock_of, remembering, tables
from small_pipeline import trained

from memoranda.entities.model_names import NamedThing, NamedThings
from memoranda.errors import ConfigError, LLMError, UnusableAnswer
from memoranda.maintenance.service import UNAVAILABLE
from memoranda.testing.models import ScriptedLLM

PEOPLE = ["zora", "quill", "brandt", "imani", "teodor", "pilar"]
PLACES = ["marlow", "vantaa", "quito", "bergen", "pune", "osh"]
SHAPES = ["{} lives in {} since then", "yesterday {} flew to {}", "{} works near {} now"]


def examples():
    """Yield sentences about people and places in lower case, which no rule reads as names."""
    for shape, person, place in product(SHAPES, PEOPLE, PLACES):
        text = shape.format(person, place)
        at, there = text.index(person), text.index(place)
        yield text, [(at, at + len(person), "PERSON"), (there, there + len(place), "GPE")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a small pipeline that was trained here."""
    return str(trained(examples(), tmp_path_factory.mktemp("spacy") / "tiny"))


@pytest.fixture
def named(folder):
    """Ana's memory with that pipeline as the accurate provider."""
    with remembering(settings=by_hand(entities={"spacy_model": folder})) as memory:
        yield memory


def stamp(memory, record):
    """Return when a record was enriched."""
    return memory.get(record.id).enriched_at


def test_without_an_accurate_provider_it_is_skipped():
    """Seed 004: rules alone are no reason to read again; a wrong name is told at once."""
    with remembering() as memory:
        record = memory.remember("imani lives in bergen since then")
        report = memory.enrich()
        assert (report.count, report.skipped) == (0, UNAVAILABLE)
        assert str(report) == f"enrich: {UNAVAILABLE}"
        assert stamp(memory, record) is None
        assert set(memory.stats().missing) == {"spacy", "llm"}
    with pytest.raises(ConfigError, match="no-such-pipeline"):
        remembering(settings=by_hand(entities={"spacy_model": "no-such-pipeline"}))


def test_names_are_found_linked_and_stamped(named):
    """What the pipeline finds becomes entities that lead to the record; the time is kept."""
    fact = named.remember("yesterday imani flew to bergen")
    said = named.remember("yesterday pilar flew to quito", kind="episode")
    assert named.entity("quito") is None
    clock_of(named).advance(DAY)
    report = named.enrich()
    assert dict(report.counts) == {"records": 2, "mentions": 4}
    assert report.lines == (f"+ {fact.id}: 2 names", f"+ {said.id}: 2 names")
    assert [item.id for item in named.entity("imani").records] == [fact.id]
    assert named.entity("quito").type == "location"
    assert stamp(named, fact) == stamp(named, said)
    assert stamp(named, fact).date() == (START + DAY).date()
    assert [change.action for change in named.history(fact.id)] == ["insert", "enrich"]
    assert any(hit.record.id == fact.id for hit in named.search("imani"))
    assert named.verify() == []


def test_nothing_is_read_twice(named, tmp_path):
    """A dry run names the records and changes no byte; a second night finds nothing to read."""
    path = tmp_path / "memory.db"
    with remembering(path, settings=named.settings) as memory:
        record = memory.remember("imani lives in bergen since then")
        memory.remember("nothing here")
        memory.embed_pending()
        assert memory.entities(), "what waits for its links has them"
        before = tables(path)
        plan = memory.enrich(dry_run=True)
        assert (plan.count, plan.lines[0], plan.dry_run) == (2, f"{record.id} is read again", True)
        assert tables(path) == before
        assert memory.enrich().count == 2
        before = tables(path)
        assert memory.enrich().count == 0
        assert tables(path) == before


def test_only_facts_and_episodes_with_few_entities(named):
    """Seed 004: at most 2 entities, of facts and episodes that are believed."""
    chosen = [
        named.remember("imani lives in bergen since then"),
        named.remember("Marta met Paul there.", kind="episode"),
    ]
    left = [
        named.remember("Marta met Paul and Clara in Lisbon."),
        named.remember("zora lives in pune since then", kind="reflection"),
        named.remember("zora lives in osh since then", kind="context"),
    ]
    gone = named.remember("teodor lives in marlow since then")
    named.forget(gone.id)
    assert named.enrich().count == len(chosen)
    assert all(stamp(named, record) for record in chosen)
    assert not any(stamp(named, record) for record in [*left, gone])
    assert named.entity("teodor") is None


def test_fifty_a_night_the_oldest_first(named):
    """Seed 004: at most 50 records of one run; the rest waits for the next."""
    records = named.remember_many([f"note {number} of imani" for number in range(70)])
    for count, done in ((50, 50), (20, 70), (0, 70)):
        assert named.enrich().count == count
        assert [bool(stamp(named, each)) for each in records] == [n < done for n in range(70)]


def test_a_text_that_a_provider_failed_on_is_read_another_night():
    """A model that fails leaves no stamp; what it brings the next night is linked."""
    model = ScriptedLLM([LLMError("too busy"), NamedThings([NamedThing("imani", "person")])])
    with remembering(llm=model) as memory:
        record = memory.remember("imani lives in bergen since then")
        first = memory.enrich()
        assert (first.count, list(first.failed)) == (0, [record.id])
        assert stamp(memory, record) is None
        assert memory.enrich().count == 1
        assert memory.entity("imani").type == "person"
        (usage,) = memory.stats().usage
        assert (usage.stage, usage.usage.requests, usage.usage.failures) == ("enrich", 2, 1)


def test_a_text_that_a_model_cannot_read_is_not_read_every_night():
    """Fifty of them would keep all others from being read."""
    with remembering(llm=ScriptedLLM({NamedThings: UnusableAnswer("a loop")})) as memory:
        memory.remember("imani lives in bergen since then")
        assert [memory.enrich().count for _ in range(2)] == [1, 0]
