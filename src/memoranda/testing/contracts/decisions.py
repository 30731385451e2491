"""The contract of the decisions of persons on names: merged, split, for good."""

from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Decide, Erase, MergeEntities, Retire, SplitEntity
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    EXTRACTOR,
    PLANNER,
    WRITER,
    entity_id,
    moment,
    remember,
)


def merge(store: Store, name: str, other: str) -> None:
    """Make two entities one, by their names."""
    store.apply(ANA, [MergeEntities(entity_id(store, name), entity_id(store, other))])


def split(store: Store, alias: str) -> None:
    """Make an alias an entity of its own."""
    store.apply(ANA, [SplitEntity(entity_id(store, alias), alias)])


def groups(store: Store) -> list[tuple[str, tuple[str, ...], int]]:
    """Return name, aliases and mentions of every entity."""
    found = store.entities(ANA, ACTIVE, type=None, limit=100)
    return sorted((entity.name, entity.aliases, entity.mention_count) for entity in found)


class DecisionContract(Contract):
    """What a person decided on names goes before any rule, and stays."""

    def test_merged_entities_are_one(self, store: Store) -> None:
        """All names and records of both are of the first, under its name and id."""
        remember(store, "Bob sings", "Robert Brown dances", "Robert Brown and Bob met")
        bob = entity_id(store, "Bob")
        merge(store, "Bob", "Robert Brown")
        assert groups(store) == [("Bob", ("Robert Brown",), 3)]
        assert entity_id(store, "robert brown") == entity_id(store, "bob") == bob
        assert len(store.mentioning(ANA, ["Robert Brown"])) == groups(store)[0][-1]
        assert store.decisions(ANA) == {"robert brown": "bob"}
        assert store.verify() == []

    def test_what_comes_later_goes_where_it_was_put(self, store: Store) -> None:
        """New records under any of the names are of the merged entity."""
        remember(store, "Bob sings", "Robert Brown dances")
        merge(store, "Bob", "Robert Brown")
        remember(store, "Robert Brown cooks", "Bob sleeps")
        assert groups(store) == [("Bob", ("Robert Brown",), 4)]

    def test_chains_of_mergers_are_one(self, store: Store) -> None:
        """Merging what was merged brings all of it along, and keeps the last shown name."""
        remember(store, "Ab", "Cd", "Ef", "Gh")
        merge(store, "Ab", "Cd")
        merge(store, "Ef", "Gh")
        merge(store, "Ef", "Ab")
        assert groups(store) == [("Ef", ("Ab", "Cd", "Gh"), 4)]
        assert set(store.decisions(ANA).values()) == {"ef"}
        remember(store, "Cd again")
        assert groups(store) == [("Ef", ("Ab", "Cd", "Gh"), 5)]
        assert store.verify() == []

    def test_a_split_alias_is_an_entity(self, store: Store) -> None:
        """The alias takes its mentions along, keeps the type, and no rule takes it back."""
        remember(store, "Zoe Lopez sings", "Zoe dances", "Zoe Lopez cooks")
        whole = entity_id(store, "zoe lopez")
        split(store, "Zoe")
        assert groups(store) == [("Zoe", (), 1), ("Zoe Lopez", (), 2)]
        assert entity_id(store, "zoe lopez") == whole != entity_id(store, "zoe")
        remember(store, "Zoe sleeps", "Zoe Lopez sleeps", "Zoe Moss sleeps")
        assert groups(store) == [("Zoe", (), 2), ("Zoe Lopez", (), 3), ("Zoe Moss", (), 1)]
        assert store.decisions(ANA) == {"zoe": "zoe"}
        assert store.verify() == []

    def test_a_split_undoes_a_merger(self, store: Store) -> None:
        """What was merged can be split, whichever of the names it is, and merged again."""
        remember(store, "Ab", "Cd", "Ef")
        merge(store, "Ab", "Cd")
        merge(store, "Ab", "Ef")
        split(store, "Ab")
        assert groups(store) == [("Ab", (), 1), ("Cd", ("Ef",), 2)] or groups(store) == [
            ("Ab", (), 1),
            ("Ef", ("Cd",), 2),
        ]
        split(store, "Ef")
        assert groups(store) == [("Ab", (), 1), ("Cd", (), 1), ("Ef", (), 1)]
        merge(store, "Cd", "Ab")
        assert groups(store) == [("Cd", ("Ab",), 2), ("Ef", (), 1)]
        assert store.verify() == []

    def test_decisions_outlive_a_rebuild(self, store: Store, reopen: Reopen) -> None:
        """Deriving the links anew changes nothing of what was decided."""
        remember(store, "Bob sings", "Robert Brown dances", "Zoe Lopez sings", "Zoe dances")
        merge(store, "Bob", "Robert Brown")
        split(store, "Zoe")
        before = groups(store)
        store = reopen(store)
        assert store.rebuild(EXTRACTOR) == []
        assert groups(store) == before

    def test_what_cannot_be_decided_is_refused(self, store: Store) -> None:
        """Unknown ids and names are not found; one entity alone is neither merged nor split."""
        remember(store, "Zoe Lopez sings", "Zoe dances", "Dan")
        zoe, dan = entity_id(store, "Zoe"), entity_id(store, "Dan")
        before = groups(store)
        for action in (
            MergeEntities(zoe, "ent_nothing"),
            MergeEntities("ent_nothing", zoe),
            SplitEntity("ent_nothing", "Zoe"),
            SplitEntity(zoe, "Dan"),
            SplitEntity(zoe, ""),
        ):
            with pytest.raises(NotFound):
                store.apply(ANA, [action])
        for impossible in (MergeEntities(zoe, zoe), SplitEntity(dan, "Dan"), Decide("Zoe", " ")):
            with pytest.raises(InvalidInput):
                store.apply(ANA, [impossible])
        assert groups(store) == before
        assert store.decisions(ANA) == {}

    def test_users_decide_for_themselves(self, store: Store) -> None:
        """Entities of another user cannot be named, and keep their own order."""
        remember(store, "Bob sings", "Robert Brown dances")
        remember(store, "Bob sings", "Robert Brown dances", scope=BEN)
        bob = entity_id(store, "Bob")
        for action in (
            MergeEntities(bob, entity_id(store, "Bob", BEN)),
            MergeEntities(entity_id(store, "Bob", BEN), bob),
            SplitEntity(bob, "Bob"),
        ):
            with pytest.raises(NotFound):
                store.apply(BEN, [action])
        merge(store, "Bob", "Robert Brown")
        assert store.decisions(BEN) == {}
        assert entity_id(store, "Bob", BEN) != entity_id(store, "Robert Brown", BEN)

    def test_agents_decide_on_what_they_see(self, store: Store) -> None:
        """An agent neither names nor learns of entities and aliases of another agent."""
        remember(store, "Bob sings", "Zoe dances")
        remember(store, "Carl left", "Zoe Lopez sings", scope=PLANNER)
        bob, carl = entity_id(store, "Bob"), entity_id(store, "Carl")
        zoe = entity_id(store, "Zoe")
        for action in (MergeEntities(bob, carl), SplitEntity(zoe, "Zoe Lopez")):
            with pytest.raises(NotFound):
                store.apply(WRITER, [action])
        store.apply(PLANNER, [MergeEntities(bob, carl), SplitEntity(zoe, "Zoe")])
        assert store.decisions(PLANNER) == {"carl": "bob", "zoe": "zoe"}
        assert store.decisions(WRITER) == {"zoe": "zoe"}

    def test_an_import_keeps_decisions(self, store: Store) -> None:
        """A decision made elsewhere holds for what is there and what comes, unless there is one."""
        remember(store, "Bob sings", "Robert Brown dances", "Zoe Lopez sings", "Zoe dances")
        plan = [Decide("Robert Brown", "bob"), Decide("zoe", "Zoe"), Decide("carl", "bob")]
        store.apply(ANA, plan)
        remember(store, "Carl left")
        expected = [("Bob", ("Carl", "Robert Brown"), 3), ("Zoe", (), 1), ("Zoe Lopez", (), 1)]
        assert groups(store) == expected
        held = dict(store.decisions(ANA))
        store.apply(ANA, [*plan, Decide("robert brown", "carl"), Decide("zoe", "zoe lopez")])
        assert (groups(store), store.decisions(ANA)) == (expected, held)
        assert store.verify() == []

    def test_a_decision_waits_for_its_names(self, store: Store) -> None:
        """Names that were decided to be one are so in whatever order they come."""
        store.apply(ANA, [Decide("carl", "bob"), Decide("dan", "bob")])
        remember(store, "Dan left", "Carl left", "Bob left")
        assert groups(store) == [("Bob", ("Carl", "Dan"), 3)]

    def test_what_retires_keeps_its_decisions(self, store: Store) -> None:
        """A name that only retired records have is put there again when it comes back."""
        item, _ = remember(store, "Robert Brown dances", "Bob sings")
        merge(store, "Bob", "Robert Brown")
        store.apply(ANA, [Retire(item.id, moment(1), "faded away")])
        assert groups(store) == [("Bob", (), 1)]
        remember(store, "Robert Brown cooks")
        assert groups(store) == [("Bob", ("Robert Brown",), 2)]

    def test_decisions_on_erased_names_are_gone(self, store: Store) -> None:
        """Names that only erased records had are in no decision; the others stay as decided."""
        gone, *_ = remember(store, "Ab", "Cd", "Ef", "Gh", "Gh again")
        merge(store, "Ab", "Cd")
        merge(store, "Ab", "Ef")
        merge(store, "Ab", "Gh")
        store.apply(ANA, [Erase((gone.id,), moment(1), "asked")])
        held = store.decisions(ANA)
        assert "ab" not in {*held, *held.values()}
        ((name, aliases, times),) = groups(store)
        assert ({name, *aliases}, times) == ({"Cd", "Ef", "Gh"}, 4)
        last = [item.id for item in store.page(ANA, ALL, limit=9, after=None)][:2]
        store.apply(ANA, [Erase(tuple(last), moment(2), "asked")])
        assert store.decisions(ANA) == {}
        assert store.verify()[1:] == []

    def test_decisions_on_names_of_retired_records_are_erased(self, store: Store) -> None:
        """Also where retirement had taken the links, the names go with the text."""
        item, _ = remember(store, "Robert Brown dances", "Bob sings")
        merge(store, "Bob", "Robert Brown")
        store.apply(ANA, [Retire(item.id, moment(1), "faded away")])
        store.apply(ANA, [Erase((item.id,), moment(2), "asked")])
        assert store.decisions(ANA) == {}
