"""The contract of entities, and of what persons decide on names."""

from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as do
from memoranda.model.models import Mention, Scope
from memoranda.model.ports import ENTITIES, Store
from memoranda.model.query import Filter, Order
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    EXTRACTOR,
    LATER,
    MANY,
    PLANNER,
    WRITER,
    close,
    contents,
    entity_id,
    entity_names,
    erase,
    moment,
    named,
    page,
    pending,
    profile,
    record,
    remember,
)


def mentioned(store: Store, entity: str, scope: Scope = ANA) -> list[str]:
    """Return the texts of the believed records that mention an entity, the newest first."""
    where = Filter(now=LATER, entity=entity)
    return contents(store.records(scope, where, order=Order.HAPPENED))


class EntityContract(Contract):
    """Entities are what records mention, under all names by which they go."""

    def test_a_profile(self, store: Store) -> None:
        """A name finds its entity whatever its case, with its newest records, newest first."""
        assert store.entities(ANA, ACTIVE, name="Zoe", limit=1) == []
        texts = [f"Zoe did {number}, Zoe" for number in range(5)]
        remember(store, *texts, "nobody")
        for name in ("Zoe", "zoe", "ZOE"):
            entity = profile(store, name)
            assert (entity.name, entity.type, entity.mention_count) == ("Zoe", "other", 5)
            assert mentioned(store, entity.id) == texts[::-1]
            assert entity.id.startswith("ent_")
        for name in ("Zo", ""):
            assert store.entities(ANA, ACTIVE, name=name, limit=1) == []

    def test_names_of_one_thing_are_one_entity(self, store: Store) -> None:
        """What the matcher links is one entity, found by either name, until that is erased."""
        full, _ = remember(store, "Zoe Lopez met Dan", "Zoe dances")
        entity = profile(store, "zoe")
        assert entity == profile(store, "zoe lopez")
        assert (sorted((entity.name, *entity.aliases)), entity.mention_count) == (
            ["Zoe", "Zoe Lopez"],
            2,
        )
        store.apply(ANA, erase(full))
        assert groups(store) == [("Zoe", (), 1)]
        for name in ("zoe lopez", "dan"):
            assert store.entities(ANA, ACTIVE, name=name, limit=1) == []

    def test_most_mentioned_first_then_by_name(self, store: Store) -> None:
        """Of the type asked for, cut at the limit; only records that match count."""
        assert entity_names(store) == []
        remember(store, "Carl met Bea", "Dan met Bea")
        item, old = record("paris and bob"), record("bob left")
        paris, bob = Mention("paris", "location", 0, 5), Mention("bob", "person", 10, 13)
        blank = Mention(" ", "other", 5, 6)
        left = (Mention("bob", "person", 0, 3),)
        store.apply(ANA, [do.Insert(item, (paris, blank, bob)), do.Insert(old, left), *close(old)])
        assert entity_names(store) == ["Bea", "Carl", "Dan", "bob", "paris"]
        for where, kind, limit, expected in (
            (ACTIVE, None, 1, [("Bea", 2)]),
            (ACTIVE, "person", MANY, [("bob", 1)]),
            (ALL, "person", MANY, [("bob", 2)]),
            (ALL, "organization", MANY, []),
        ):
            entities = store.entities(ANA, where, type=kind, limit=limit)
            assert [(entity.name, entity.mention_count) for entity in entities] == expected
        assert mentioned(store, profile(store, "bob").id) == [item.content]

    def test_whose_entities_they_are(self, store: Store) -> None:
        """The same name of two users is two entities; agents share one, as far as they see it."""
        remember(store, "Zoe Lopez sings", "Carl left", scope=PLANNER)
        remember(store, "Zoe dances", scope=WRITER)
        remember(store, "Zoe cooks", scope=BEN)
        assert entity_id(store, "zoe", WRITER) == entity_id(store, "zoe")
        assert entity_id(store, "zoe", BEN) != entity_id(store, "zoe")
        assert mentioned(store, entity_id(store, "zoe")) == ["Zoe dances", "Zoe Lopez sings"]
        assert [profile(store, "zoe", each).mention_count for each in (ANA, WRITER)] == [2, 1]
        assert entity_names(store, WRITER) == ["Zoe Lopez"]

    def test_names_that_are_found_later(self, store: Store) -> None:
        """A record stored without mentions waits for them, and is linked once."""
        item = record("kim met Zoe")
        store.apply(ANA, [do.Insert(item, None)])
        assert pending(store, None, ENTITIES) == pending(store, ANA, ENTITIES) == [item.content]
        assert entity_names(store) == []
        for names in (("kim", "Zoe"), ("met",)):
            store.apply(ANA, [do.LinkEntities(item.id, named(item.content, *names))])
            assert sorted(entity_names(store)) == ["Zoe", "kim"]
            assert pending(store, ANA, ENTITIES) == []


def merge(store: Store, name: str, other: str) -> None:
    """Make two entities one, by their names."""
    store.apply(ANA, [do.MergeEntities(entity_id(store, name), entity_id(store, other))])


def split(store: Store, alias: str) -> None:
    """Make an alias an entity of its own."""
    store.apply(ANA, [do.SplitEntity(entity_id(store, alias), alias)])


def groups(store: Store) -> list[tuple[str, tuple[str, ...], int]]:
    """Return name, aliases and mentions of every entity."""
    entities = store.entities(ANA, ACTIVE, type=None, limit=MANY)
    return sorted((entity.name, entity.aliases, entity.mention_count) for entity in entities)


class DecisionContract(Contract):
    """What a person decided on names goes before any rule, and stays."""

    def test_merged_entities_are_one(self, store: Store) -> None:
        """All names and records of both, also later ones, are of the first; mergers chain."""
        remember(store, "Ab", "Cd", "Ef", "Gh", "Ab and Cd")
        first = entity_id(store, "Ef")
        merge(store, "Ab", "Cd")
        assert store.decisions(ANA) == {"cd": "ab"}
        merge(store, "Ef", "Gh")
        merge(store, "Ef", "Ab")
        remember(store, "Cd again")
        assert groups(store) == [("Ef", ("Ab", "Cd", "Gh"), 6)]
        assert {entity_id(store, name) for name in ("ab", "cd", "ef", "gh")} == {first}
        assert len(store.mentioning(ANA, ["Gh"])) == groups(store)[0][-1]
        assert set(store.decisions(ANA).values()) == {"ef"}
        assert store.verify() == []

    def test_a_split_alias_is_an_entity(self, store: Store, reopen: Reopen) -> None:
        """The alias takes its mentions along, and neither rule nor rebuild takes it back."""
        remember(store, "Zoe Lopez sings", "Zoe dances", "Zoe Lopez cooks")
        whole = entity_id(store, "zoe lopez")
        split(store, "Zoe")
        assert groups(store) == [("Zoe", (), 1), ("Zoe Lopez", (), 2)]
        assert entity_id(store, "zoe lopez") == whole != entity_id(store, "zoe")
        remember(store, "Zoe sleeps", "Zoe Lopez sleeps", "Zoe Moss sleeps", "Bob", "Al")
        merge(store, "Bob", "Al")
        after = [("Bob", ("Al",), 2), ("Zoe", (), 2), ("Zoe Lopez", (), 3), ("Zoe Moss", (), 1)]
        assert groups(store) == after
        assert store.decisions(ANA) == {"zoe": "zoe", "al": "bob"}
        store = reopen(store)
        assert (store.verify(), store.rebuild(EXTRACTOR)) == ([], [])
        assert groups(store) == after

    def test_a_split_undoes_a_merger(self, store: Store) -> None:
        """What was merged can be split, whichever of the names it is, and merged again."""
        remember(store, "Ab", "Cd", "Ef")
        merge(store, "Ab", "Cd")
        merge(store, "Ab", "Ef")
        split(store, "Ab")
        one, (name, aliases, times) = groups(store)
        assert (one, {name, *aliases}, times) == (("Ab", (), 1), {"Cd", "Ef"}, 2)
        split(store, "Ef")
        assert groups(store) == [("Ab", (), 1), ("Cd", (), 1), ("Ef", (), 1)]
        merge(store, "Cd", "Ab")
        assert groups(store) == [("Cd", ("Ab",), 2), ("Ef", (), 1)]
        assert store.verify() == []

    def test_what_cannot_be_decided_is_refused(self, store: Store) -> None:
        """Unknown ids and names are not found; one entity alone is neither merged nor split."""
        remember(store, "Zoe Lopez sings", "Zoe dances", "Dan")
        zoe, dan = entity_id(store, "Zoe"), entity_id(store, "Dan")
        before = groups(store)
        for error, action in (
            (NotFound, do.MergeEntities(zoe, "ent_nothing")),
            (NotFound, do.MergeEntities("ent_nothing", zoe)),
            (NotFound, do.SplitEntity("ent_nothing", "Zoe")),
            (NotFound, do.SplitEntity(zoe, "Dan")),
            (NotFound, do.SplitEntity(zoe, "")),
            (InvalidInput, do.MergeEntities(zoe, zoe)),
            (InvalidInput, do.SplitEntity(dan, "Dan")),
            (InvalidInput, do.KeepNameDecision("Zoe", " ")),
        ):
            with pytest.raises(error):
                store.apply(ANA, [action])
        assert (groups(store), store.decisions(ANA)) == (before, {})

    def test_who_decides(self, store: Store) -> None:
        """Users decide for themselves, agents on what they see."""
        remember(store, "Bob sings", "Zoe dances")
        remember(store, "Carl left", "Zoe Lopez sings", scope=PLANNER)
        remember(store, "Bob sings", "Carl left", scope=BEN)
        bob, carl, zoe = (entity_id(store, name) for name in ("Bob", "Carl", "Zoe"))
        his = entity_id(store, "Bob", BEN)
        for scope, action in (
            (BEN, do.MergeEntities(bob, his)),
            (BEN, do.MergeEntities(his, bob)),
            (BEN, do.SplitEntity(bob, "Bob")),
            (WRITER, do.MergeEntities(bob, carl)),
            (WRITER, do.SplitEntity(zoe, "Zoe Lopez")),
        ):
            with pytest.raises(NotFound):
                store.apply(scope, [action])
        store.apply(PLANNER, [do.MergeEntities(bob, carl), do.SplitEntity(zoe, "Zoe")])
        assert store.decisions(PLANNER) == {"carl": "bob", "zoe": "zoe"}
        assert (store.decisions(WRITER), store.decisions(BEN)) == ({"zoe": "zoe"}, {})

    def test_an_import_keeps_decisions(self, store: Store) -> None:
        """One made elsewhere holds for what is there and what comes, unless there is one."""
        remember(store, "Bob sings", "Robert Brown dances", "Zoe Lopez sings", "Zoe dances")
        plan = [
            do.KeepNameDecision("Robert Brown", "bob"),
            do.KeepNameDecision("zoe", "Zoe"),
            do.KeepNameDecision("carl", "bob"),
        ]
        store.apply(ANA, plan)
        remember(store, "Carl left")
        expected = [("Bob", ("Carl", "Robert Brown"), 3), ("Zoe", (), 1), ("Zoe Lopez", (), 1)]
        assert groups(store) == expected
        held = dict(store.decisions(ANA))
        store.apply(
            ANA,
            [
                *plan,
                do.KeepNameDecision("robert brown", "carl"),
                do.KeepNameDecision("zoe", "zoe lopez"),
            ],
        )
        assert (groups(store), store.decisions(ANA)) == (expected, held)
        store.apply(ANA, [do.KeepNameDecision("kim", "pat"), do.KeepNameDecision("lee", "pat")])
        remember(store, "Lee left", "Kim left", "Pat left")
        assert ("Pat", ("Kim", "Lee"), 3) in groups(store)
        assert store.verify() == []

    def test_decisions_on_names_of_retired_and_erased_records(self, store: Store) -> None:
        """What retires keeps its decisions; those on names that only the erased had are gone."""
        item, _, _, _ = remember(store, "Ab", "Cd", "Ef", "Ef again")
        merge(store, "Ab", "Cd")
        merge(store, "Ab", "Ef")
        store.apply(ANA, erase(item))
        held = store.decisions(ANA)
        assert "ab" not in {*held, *held.values()}
        ((name, aliases, times),) = groups(store)
        assert ({name, *aliases}, times) == ({"Cd", "Ef"}, 3)
        store.apply(ANA, erase(*store.records(ANA, ALL, limit=1)))
        assert store.decisions(ANA) == {}
        old, _ = remember(store, "Robert Brown dances", "Bob sings")
        merge(store, "Bob", "Robert Brown")
        store.apply(ANA, [do.Retire(old.id, moment(1), "faded away")])
        assert ("Bob", (), 1) in groups(store)
        (new,) = remember(store, "Robert Brown cooks")
        assert ("Bob", ("Robert Brown",), 2) in groups(store)
        store.apply(ANA, [do.Retire(new.id, moment(1), "faded away"), *erase(old, new)])
        assert (store.decisions(ANA), page(store, ANA)[-1]) == ({}, "Bob sings")
