"""The contract of :class:`memoranda.model.ports.EntityStore`."""

from __future__ import annotations

from memoranda.model.actions import Close, Erase, Insert
from memoranda.model.models import Mention, Scope
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import Contract
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    contents,
    moment,
    record,
    remember,
)

FEW = 100


class EntityContract(Contract):
    """Entities are what records mention, under all names by which they go."""

    def test_an_entity_is_found_by_any_case(self, store: Store) -> None:
        """A name finds its entity whatever its case; an unknown name finds nothing."""
        assert store.entity(ANA, "Zoe", ACTIVE) is None
        remember(store, "Zoe sings")
        for name in ("Zoe", "zoe", "ZOE"):
            entity = store.entity(ANA, name, ACTIVE)
            assert entity is not None
            assert (entity.name, entity.type, entity.mention_count) == ("Zoe", "other", 1)
            assert entity.id.startswith("ent_")
        assert store.entity(ANA, "Zo", ACTIVE) is None
        assert store.entity(ANA, "", ACTIVE) is None

    def test_its_newest_records_come_with_it(self, store: Store) -> None:
        """A profile has the newest of the records that mention it, newest first."""
        texts = [f"Zoe did {number}" for number in range(5)]
        remember(store, *texts, "nobody")
        entity = store.entity(ANA, "zoe", ACTIVE)
        assert entity is not None
        assert contents(entity.records) == texts[::-1]
        assert entity.mention_count == len(texts)

    def test_names_of_one_thing_are_one_entity(self, store: Store) -> None:
        """What the matcher links is one entity: found by either name, the other an alias."""
        remember(store, "Zoe Lopez sings", "Zoe dances")
        by_short, by_full = store.entity(ANA, "zoe", ACTIVE), store.entity(ANA, "zoe lopez", ACTIVE)
        assert by_short is not None
        assert by_short == by_full
        assert {by_short.name, *by_short.aliases} == {"Zoe", "Zoe Lopez"}
        assert by_short.name not in by_short.aliases
        assert by_short.mention_count == len(["Zoe Lopez sings", "Zoe dances"])

    def test_a_record_counts_once(self, store: Store) -> None:
        """Mentioning an entity twice in a record is one mention."""
        remember(store, "Zoe and Zoe")
        (entity,) = store.entities(ANA, ACTIVE, type=None, limit=FEW)
        assert entity.mention_count == 1

    def test_most_mentioned_first_then_by_name(self, store: Store) -> None:
        """Entities are ranked by mentions, then by name, and cut at the limit."""
        assert store.entities(ANA, ACTIVE, type=None, limit=FEW) == []
        remember(store, "Carl met Bea", "Dan met Bea")
        names = [entity.name for entity in store.entities(ANA, ACTIVE, type=None, limit=FEW)]
        assert names == ["Bea", "Carl", "Dan"]
        assert [entity.name for entity in store.entities(ANA, ACTIVE, type=None, limit=1)] == [
            "Bea"
        ]

    def test_only_matching_records_count(self, store: Store) -> None:
        """A retired record neither counts for its entities nor shows in their profile."""
        mention = (Mention("Zoe", "person", 0, 3),)
        old, new = record("Zoe sings"), record("Zoe paints")
        store.apply(ANA, [Insert(old, mention), Insert(new, mention)])
        store.apply(ANA, [Close(old.id, moment(1), "forgotten")])
        zoe = store.entity(ANA, "Zoe", ACTIVE)
        assert zoe is not None
        assert (zoe.mention_count, contents(zoe.records)) == (1, ["Zoe paints"])
        assert [
            found.mention_count for found in store.entities(ANA, ALL, type=None, limit=FEW)
        ] == [2]

    def test_entities_of_one_type(self, store: Store) -> None:
        """Only entities of the type that was asked for come."""
        item = record("paris and bob")
        mentions = (Mention("paris", "location", 0, 5), Mention("bob", "person", 10, 13))
        store.apply(ANA, [Insert(item, mentions)])
        names = [entity.name for entity in store.entities(ANA, ACTIVE, type="person", limit=FEW)]
        assert names == ["bob"]
        assert store.entities(ANA, ACTIVE, type="organization", limit=FEW) == []

    def test_the_same_name_of_two_users_is_two_entities(self, store: Store) -> None:
        """Entities, their counts, aliases and records are of one user."""
        remember(store, "Zoe Lopez sings", "Zoe dances")
        remember(store, "Zoe cooks", scope=BEN)
        his = store.entity(BEN, "zoe", ACTIVE)
        hers = store.entity(ANA, "zoe", ACTIVE)
        assert his is not None
        assert hers is not None
        assert his.id != hers.id
        assert (his.mention_count, his.aliases, contents(his.records)) == (1, (), ["Zoe cooks"])
        assert store.entity(BEN, "zoe lopez", ACTIVE) is None

    def test_an_agent_sees_the_entities_of_what_it_sees(self, store: Store) -> None:
        """Entities, counts, aliases and records of another agent are as if they did not exist."""
        planner, writer = Scope("ana", "planner"), Scope("ana", "writer")
        remember(store, "Zoe Lopez sings", "Carl left", scope=planner)
        remember(store, "Zoe dances", scope=writer)
        entity = store.entity(writer, "zoe", ACTIVE)
        assert entity is not None
        assert (entity.mention_count, contents(entity.records)) == (1, ["Zoe dances"])
        assert store.entity(writer, "Carl", ACTIVE) is None
        (only,) = store.entities(writer, ACTIVE, type=None, limit=FEW)
        assert (only.id, only.mention_count) == (entity.id, 1)
        whole = store.entity(ANA, "zoe", ACTIVE)
        assert whole is not None
        assert whole.mention_count == len(["Zoe Lopez sings", "Zoe dances"])

    def test_erasing_takes_names_along(self, store: Store) -> None:
        """Entities and aliases that only an erased record mentioned are gone with it."""
        full, _ = remember(store, "Zoe Lopez met Dan", "Zoe dances")
        store.apply(ANA, [Erase((full.id,), moment(1), "asked")])
        (entity,) = store.entities(ANA, ACTIVE, type=None, limit=FEW)
        assert (entity.name, entity.aliases, entity.mention_count) == ("Zoe", (), 1)
        assert store.entity(ANA, "zoe lopez", ACTIVE) is None
        assert store.entity(ANA, "dan", ACTIVE) is None

    def test_names_that_fold_to_nothing_are_no_entities(self, store: Store) -> None:
        """A mention without a name is passed over."""
        store.apply(ANA, [Insert(record("blank"), (Mention(" ", "other", 0, 1),))])
        assert store.entities(ANA, ACTIVE, type=None, limit=FEW) == []
