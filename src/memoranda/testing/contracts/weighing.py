"""The contract of the actions by which records gain and lose belief: recall, credit, decay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Close,
    Enrich,
    Erase,
    Fade,
    Insert,
    PutVectors,
    Reinforce,
    Retire,
    Supersede,
    Touch,
)
from memoranda.model.models import Record
from memoranda.model.ports import Store
from memoranda.model.query import Filter, IndexVersion
from memoranda.testing.contracts.base import Contract
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    EXTRACTOR,
    LATER,
    MODEL,
    PLANNER,
    WRITER,
    contents,
    embed,
    insert,
    moment,
    named,
    page,
    record,
    remember,
    stored,
    vector,
)

SOON = moment(1_000_000)


def epoch(store: Store) -> int:
    """Return the number that grows when rows a reader knows have changed."""
    return store.index_changes(ANA, IndexVersion()).version.epoch


def told(store: Store, id: str) -> list[str]:
    """Return the actions in a record's history."""
    return [change.action for change in store.history(ANA, id)]


class BeliefContract(Contract):
    """Records fade from their strength, and are believed as before when they are used."""

    def test_fading_leaves_the_strength(self, store: Store) -> None:
        """What is left changes, what it fades from does not, and history is silent."""
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1)
        store.apply(ANA, [Fade(item.id, SOON, 0.5)])
        assert store.get(ANA, item.id) == stored(item, confidence=0.5)
        assert told(store, item.id) == ["insert"]

    def test_only_a_change_is_told_to_readers(self, store: Store) -> None:
        """Fading to the same, and recalling what has not faded, leave what readers know."""
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1)
        before = epoch(store)
        store.apply(ANA, [Fade(item.id, SOON, 0.8), Touch((item.id,), SOON)])
        assert epoch(store) == before
        store.apply(ANA, [Fade(item.id, SOON, 0.5)])
        faded = epoch(store)
        assert faded != before
        store.apply(ANA, [Touch((item.id,), SOON)])
        assert epoch(store) != faded

    def test_fading_reckoned_before_a_recall_is_void(self, store: Store) -> None:
        """A confidence that was reckoned before the last recall does not undo it."""
        (item,) = remember(store, "tea", decay_rate=0.1)
        store.apply(ANA, [Touch((item.id,), SOON), Fade(item.id, moment(999_999), 0.1)])
        found = store.get(ANA, item.id)
        assert found is not None
        assert found.confidence == 1.0

    def test_a_recall_restores_the_strength(self, store: Store) -> None:
        """What was recalled is believed as when it began to fade, and fades anew from then."""
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1)
        store.apply(ANA, [Fade(item.id, SOON, 0.2), Touch((item.id,), SOON)])
        touched = stored(item, access_count=1, last_accessed=SOON, strength_at=SOON)
        assert store.get(ANA, item.id) == touched

    def test_recalls_into_a_conversation_are_known(self, store: Store) -> None:
        """The records recalled into a conversation come once each, the last recalled first."""
        one, two, other = remember(store, "one", "two", "other")
        (his,) = remember(store, "his", scope=BEN)
        store.apply(ANA, [Touch((one.id, his.id, "fact_nothing"), moment(1), "trip")])
        store.apply(ANA, [Touch((two.id,), moment(2), "trip"), Touch((other.id,), moment(2))])
        assert store.recalled(ANA, "trip") == [two.id, one.id]
        store.apply(ANA, [Touch((one.id,), moment(3), "trip")])
        assert store.recalled(ANA, "trip") == [one.id, two.id]
        assert store.recalled(ANA, "other") == []
        assert store.recalled(BEN, "trip") == []
        store.apply(ANA, [Erase((one.id,), moment(4), "asked")])
        assert store.recalled(ANA, "trip") == [two.id]

    def test_an_agent_knows_recalls_of_what_it_sees(self, store: Store) -> None:
        """Recalls of another agent's records are as if they had not been."""
        (shared,) = remember(store, "shared")
        (planned,) = remember(store, "planned", scope=PLANNER)
        store.apply(ANA, [Touch((shared.id, planned.id), moment(1), "trip")])
        store.apply(WRITER, [Touch((planned.id,), moment(2), "trip")])
        assert store.recalled(PLANNER, "trip") == [planned.id, shared.id]
        assert store.recalled(WRITER, "trip") == [shared.id]
        found = store.get(ANA, planned.id)
        assert found is not None
        assert found.access_count == 1

    def test_a_credit_adds_sources(self, store: Store) -> None:
        """New sources come after those it has, and it fades anew from its strength."""
        one, two = remember(store, "one", "two")
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1, source_ids=(one.id,))
        store.apply(ANA, [Fade(item.id, SOON, 0.2)])
        store.apply(ANA, [Reinforce(item.id, SOON, (one.id, two.id, two.id, item.id))])
        credited = stored(item, strength_at=SOON, source_ids=(one.id, two.id))
        assert store.get(ANA, item.id) == credited
        (change,) = store.history(ANA, item.id)[1:]
        assert (change.action, change.reason) == ("credit", "said again")
        assert store.derived(ANA, [two.id]) == [item.id]

    def test_a_credit_without_anything_new_does_nothing(self, store: Store) -> None:
        """The same sources again change neither belief nor history."""
        (one,) = remember(store, "one")
        (item,) = remember(store, "tea", decay_rate=0.1, source_ids=(one.id,))
        store.apply(ANA, [Fade(item.id, SOON, 0.2), Reinforce(item.id, SOON, (one.id,))])
        assert store.get(ANA, item.id) == stored(item, confidence=0.2)
        assert told(store, item.id) == ["insert"]

    def test_nothing_rests_on_what_was_erased(self, store: Store) -> None:
        """A plan made before an erasure brings nothing of it back: refused, or passed over."""
        (gone,) = remember(store, "secret")
        (own,) = remember(store, "tea")
        store.apply(ANA, [Erase((gone.id,), moment(1), "asked")])
        with pytest.raises(NotFound, match=gone.id):
            store.apply(ANA, [insert(record("of the secret", source_ids=(gone.id,)))])
        store.apply(ANA, [Reinforce(own.id, moment(2), (gone.id,))])
        assert store.get(ANA, own.id) == own

    def test_what_is_superseded_stays_and_is_believed_less(self, store: Store) -> None:
        """It is valid, says what took its place, and has the confidence that was given."""
        old, new = remember(store, "old", "new", decay_rate=0.1)
        store.apply(ANA, [Supersede(old.id, new.id, SOON, 0.3, "moved")])
        weighed = {"confidence": 0.3, "strength": 0.3, "strength_at": SOON}
        assert store.get(ANA, old.id) == stored(old, superseded_by=new.id, **weighed)
        assert page(store, ANA, ACTIVE) == ["old", "new"]
        change = store.history(ANA, old.id)[-1]
        assert (change.action, change.reason) == ("supersede", "moved")
        assert change.detail == {"by": new.id, "confidence": 0.3}
        store.apply(ANA, [Touch((old.id,), SOON)])
        found = store.get(ANA, old.id)
        assert found is not None
        assert found.confidence == weighed["confidence"]

    def test_nothing_takes_its_own_place(self, store: Store) -> None:
        """A record can be superseded by another that is there, and by no other id."""
        (item,) = remember(store, "tea")
        with pytest.raises(InvalidInput, match=item.id):
            store.apply(ANA, [Supersede(item.id, item.id, SOON, 0.3, "x")])
        with pytest.raises(NotFound):
            store.apply(ANA, [Supersede(item.id, "fact_nothing", SOON, 0.3, "x")])
        assert store.get(ANA, item.id) == item

    def test_a_correction_outlasts_what_supersedes(self, store: Store) -> None:
        """Of a record that a person replaced, the person's replacement stays known."""
        old, mine, late = remember(store, "old", "mine", "late")
        store.apply(ANA, [Close(old.id, moment(1), "corrected", superseded_by=mine.id)])
        store.apply(ANA, [Supersede(old.id, late.id, SOON, 0.3, "moved")])
        found = store.get(ANA, old.id)
        assert found is not None
        assert (found.superseded_by, found.valid_until) == (mine.id, moment(1))

    def test_lineage_names_what_is_there(self, store: Store) -> None:
        """Sources and replacements that exist come in pairs, of the scope alone."""
        one, two = remember(store, "one", "two")
        (fact,) = remember(store, "fact", source_ids=(one.id, "ep_nothing", two.id))
        (his,) = remember(store, "his", scope=BEN, source_ids=(one.id,))
        (planned,) = remember(store, "planned", scope=PLANNER, source_ids=(two.id,))
        store.apply(
            ANA,
            [
                Supersede(one.id, fact.id, SOON, 0.3, "x"),
                Close(two.id, moment(1), "corrected", superseded_by=planned.id),
                Close(fact.id, moment(1), "corrected", superseded_by="fact_nothing"),
            ],
        )
        numbers = {item.id: number for number, item in _numbered(store).items()}
        lineage = store.lineage(ANA)
        assert set(lineage.sources) == {
            (numbers[fact.id], numbers[one.id]),
            (numbers[fact.id], numbers[two.id]),
            (numbers[planned.id], numbers[two.id]),
        }
        assert set(lineage.replaced) == {
            (numbers[one.id], numbers[fact.id]),
            (numbers[two.id], numbers[planned.id]),
        }
        assert set(store.lineage(WRITER).replaced) == {(numbers[one.id], numbers[fact.id])}
        assert (list(store.lineage(BEN).sources), his.source_ids) == ([], (one.id,))


def _numbered(store: Store) -> dict[int, Record]:
    return store.by_ordinals(ANA, store.passing(ANA, ALL))


class RetireContract(Contract):
    """What is retired is found by words alone, as of when it was believed."""

    def test_it_ends_and_leaves_vectors_and_entities(self, store: Store) -> None:
        """Its validity ends, its vector and links go; words find it as of before."""
        store.reset_vectors(MODEL, DIMENSIONS)
        item, other = remember(store, "Zoe Lopez drinks tea", "Zoe sings")
        embed(store, ANA, [item])
        store.apply(ANA, [Retire(item.id, SOON, "faded away")])
        assert store.get(ANA, item.id) == stored(item, valid_until=SOON)
        changes = store.index_changes(ANA, IndexVersion())
        assert list(changes.ordinals) == []
        assert contents(store.pending(ANA, limit=9)) == [other.content]
        zoe = store.entity(ANA, "zoe", ALL)
        assert zoe is not None
        assert (zoe.name, zoe.aliases, zoe.mention_count) == ("Zoe", (), 1)
        assert len(store.match_terms(ANA, ["tea"], limit=9).ordinals) == 1
        assert page(store, ANA, ACTIVE) == ["Zoe sings"]
        before = Filter(now=LATER, as_of=moment(999_999))
        assert page(store, ANA, before) == [item.content, other.content]
        change = store.history(ANA, item.id)[-1]
        assert (change.action, change.reason, change.at) == ("retire", "faded away", SOON)
        assert store.verify() == []

    def test_an_earlier_end_stays(self, store: Store) -> None:
        """What had ended before keeps its end."""
        (item,) = remember(store, "tea", valid_until=moment(5))
        store.apply(ANA, [Retire(item.id, SOON, "expired")])
        assert store.get(ANA, item.id) == item

    def test_retiring_twice_is_once(self, store: Store) -> None:
        """A second process that retires the same changes nothing."""
        (item,) = remember(store, "Zoe drinks tea")
        store.apply(ANA, [Retire(item.id, SOON, "faded away")])
        before = epoch(store)
        store.apply(ANA, [Retire(item.id, moment(1_000_001), "faded away")])
        assert epoch(store) == before
        assert told(store, item.id) == ["insert", "retire"]

    def test_no_vector_and_no_entity_comes_back(self, store: Store) -> None:
        """Neither a late vector, another model, an enrichment nor a rebuild brings them back."""
        store.reset_vectors(MODEL, DIMENSIONS)
        (item,) = remember(store, "Zoe drinks tea")
        store.apply(ANA, [Retire(item.id, SOON, "faded away")])
        store.apply(
            ANA,
            [
                PutVectors(MODEL, {item.id: vector(1, 0, 0, 0)}),
                Enrich(item.id, SOON, named("Zoe", "Zoe")),
            ],
        )
        assert store.reset_vectors("other", DIMENSIONS) == 0
        assert store.rebuild(EXTRACTOR) == []
        assert store.pending_count(ANA) == 0
        assert list(store.index_changes(ANA, IndexVersion()).ordinals) == []
        assert store.entity(ANA, "Zoe", ALL) is None
        assert store.verify() == []


class EraseSourcesContract(Contract):
    """What rests on erased sources goes; what stands on a word of its own stays (law 7)."""

    def test_a_word_of_its_own_loses_only_the_source(self, store: Store) -> None:
        """A fact that a person stated outlives an episode that was credited to it."""
        one, two = remember(store, "one", "two")
        (own,) = remember(store, "own")
        store.apply(ANA, [Reinforce(own.id, SOON, (one.id, two.id))])
        (drawn,) = remember(store, "drawn", source_ids=(two.id, one.id))
        (week,) = remember(store, "week", source_ids=(drawn.id,), origin="reflection")
        assert store.derived(ANA, [one.id]) == [drawn.id, week.id]
        store.apply(ANA, [Erase((one.id,), SOON, "asked")])
        assert page(store, ANA) == ["two", "own"]
        found = store.get(ANA, own.id)
        assert found is not None
        assert found.source_ids == (two.id,)
        assert list(store.lineage(ANA).sources) != []

    def test_what_was_only_superseded_stays(self, store: Store) -> None:
        """An older word that was believed less is no former version of the one that is erased."""
        old, new = remember(store, "old", "new", origin="consolidation")
        store.apply(ANA, [Supersede(old.id, new.id, SOON, 0.3, "moved")])
        assert store.versions(ANA, [new.id]) == []
        store.apply(ANA, [Erase((new.id,), SOON, "asked")])
        found = store.get(ANA, old.id)
        assert found is not None
        assert (found.superseded_by, found.confidence) == (None, 0.3)


class EnrichContract(Contract):
    """Enrichment adds what a slower look at a text finds."""

    def test_it_adds_links_and_stamps(self, store: Store) -> None:
        """New mentions are linked, known ones counted once, and the moment is on the record."""
        (item,) = remember(store, "Zoe met dan in oslo", attributes={"a": 1.5})
        mentions = named(item.content, "Zoe", "dan", "oslo")
        store.apply(ANA, [Enrich(item.id, SOON, mentions)])
        found = store.get(ANA, item.id)
        assert found is not None
        stamp = SOON.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert dict(found.attributes) == {"a": 1.5, "enriched_at": stamp}
        assert replace(found, attributes=item.attributes) == item
        names = [entity.name for entity in store.entities(ANA, ACTIVE, type=None, limit=9)]
        assert names == ["Zoe", "dan", "oslo"]
        change = store.history(ANA, item.id)[-1]
        assert (change.action, change.detail) == ("enrich", {"links": 2})

    def test_a_rebuild_keeps_what_was_added(self, store: Store) -> None:
        """Links that only the slower look finds outlive a rebuild; lost ones of the fast return."""
        (item,) = remember(store, "Zoe met dan")
        bare = record("Carl met eve")
        store.apply(
            ANA,
            [
                Enrich(item.id, SOON, named(item.content, "dan")),
                Insert(bare),
                Enrich(bare.id, SOON, named(bare.content, "eve")),
            ],
        )
        assert store.rebuild(EXTRACTOR) != []
        assert store.rebuild(EXTRACTOR) == []
        for name in ("dan", "zoe", "carl", "eve"):
            assert store.entity(ANA, name, ACTIVE) is not None
        assert store.verify() == []
