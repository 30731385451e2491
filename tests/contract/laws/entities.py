"""The contract of entities, and of what persons decide on names."""

from dataclasses import replace

import pytest
from samples import ACTIVE, ALL, moment, named, record
from steps import do

from laws.base import Contract
from memoranda.errors import InvalidInput
from memoranda.model.models import Mention
from memoranda.model.ports import ENTITIES
from memoranda.model.query import Order


def mentioned(user, entity):
    """Return the texts of the believed records that mention an entity, the newest first."""
    return user.page(replace(ACTIVE, entity=entity), order=Order.HAPPENED)


class EntityContract(Contract):
    """Entities are what records mention, under all names by which they go."""

    def test_a_profile(self, ana):
        """A name finds its entity whatever its case, with its newest records, newest first."""
        assert ana.entities(ACTIVE, name="Zoe", limit=1) == []
        texts = [f"Zoe did {number}, Zoe" for number in range(5)]
        ana.remember(*texts, "nobody")
        for name in ("Zoe", "zoe", "ZOE"):
            entity = ana.profile(name)
            assert (entity.name, entity.type, entity.mention_count) == ("Zoe", "other", 5)
            assert mentioned(ana, entity.id) == texts[::-1]
            assert entity.id.startswith("ent_")
        for name in ("Zo", ""):
            assert ana.entities(ACTIVE, name=name, limit=1) == []

    def test_names_of_one_thing_are_one_entity(self, ana):
        """What the matcher links is one entity, found by either name, until that is erased."""
        full, _ = ana.remember("Zoe Lopez met Dan", "Zoe dances")
        entity = ana.profile("zoe")
        assert entity == ana.profile("zoe lopez")
        assert (sorted((entity.name, *entity.aliases)), entity.mention_count) == (
            ["Zoe", "Zoe Lopez"],
            2,
        )
        ana.erase(full)
        assert groups(ana) == [("Zoe", (), 1)]
        for name in ("zoe lopez", "dan"):
            assert ana.entities(ACTIVE, name=name, limit=1) == []

    def test_two_full_names_are_two_entities(self, ana):
        """The short name that was known before is of the one that came first."""
        people = [Mention(name, "other", 0, 3) for name in ("Zoe", "Zoe Lopez", "Zoe Barnes")]
        ana.apply(*(do.Insert(record(each.text), (each,)) for each in people))
        assert groups(ana) == [("Zoe Barnes", (), 1), ("Zoe Lopez", ("Zoe",), 2)]

    def test_a_short_name_that_may_mean_several_means_none(self, ana):
        """Where two full names are known, it is an entity of its own."""
        ana.remember("Zoe Lopez sings", "Zoe Barnes sings", "Zoe left")
        assert groups(ana) == [(name, (), 1) for name in ("Zoe", "Zoe Barnes", "Zoe Lopez")]

    def test_most_mentioned_first_then_by_name(self, ana):
        """Of the type asked for, cut at the limit; only records that match count.

        Dates come only where they are asked for.
        """
        assert ana.entity_names() == []
        ana.remember("Carl met Bea", "Dan met Bea")
        item, old = record("paris and bob"), record("bob left")
        paris, bob = Mention("paris", "location", 0, 5), Mention("bob", "person", 10, 13)
        blank, day = Mention(" ", "other", 5, 6), Mention("and", "date", 6, 9)
        left = (Mention("bob", "person", 0, 3),)
        ana.apply(do.Insert(item, (paris, blank, day, bob)), do.Insert(old, left))
        ana.close(old)
        assert ana.entity_names() == ["Bea", "Carl", "Dan", "bob", "paris"]
        for where, kind, limit, expected in (
            (ACTIVE, None, 1, [("Bea", 2)]),
            (ACTIVE, "person", 9, [("bob", 1)]),
            (ALL, "person", 9, [("bob", 2)]),
            (ALL, "organization", 9, []),
            (ACTIVE, "date", 9, [("and", 1)]),
        ):
            entities = ana.entities(where, type=kind, limit=limit)
            assert [(entity.name, entity.mention_count) for entity in entities] == expected
        assert [each.name for each in ana.entities(ACTIVE, name="and", limit=1)] == ["and"]
        assert mentioned(ana, ana.profile("bob").id) == [item.content]

    def test_whose_entities_they_are(self, ana, ben):
        """The same name of two users is two entities; agents share one, as far as they see it."""
        ana.planner.remember("Zoe Lopez sings", "Carl left")
        ana.writer.remember("Zoe dances")
        ben.remember("Zoe cooks")
        assert ana.writer.entity_id("zoe") == ana.entity_id("zoe")
        assert ben.entity_id("zoe") != ana.entity_id("zoe")
        assert mentioned(ana, ana.entity_id("zoe")) == ["Zoe dances", "Zoe Lopez sings"]
        assert [each.profile("zoe").mention_count for each in (ana, ana.writer)] == [2, 1]
        assert ana.writer.entity_names() == ["Zoe Lopez"]

    def test_names_that_are_found_later(self, ana):
        """A record stored without mentions waits for them, and is linked once."""
        item = record("kim met Zoe")
        ana.apply(do.Insert(item))
        assert ana.pending(ENTITIES, of_all=True) == ana.pending(ENTITIES) == [item.content]
        assert ana.entity_names() == []
        for names in (("kim", "Zoe"), ("met",)):
            ana.apply(do.link_entities({item.id: named(item.content, *names)}))
            assert sorted(ana.entity_names()) == ["Zoe", "kim"]
            assert ana.pending(ENTITIES) == []


def groups(ana):
    """Return name, aliases and mentions of every entity."""
    entities = ana.entities(ACTIVE, type=None, limit=9)
    return sorted((entity.name, entity.aliases, entity.mention_count) for entity in entities)


class DecisionContract(Contract):
    """What a person decided on names goes before any rule, and stays."""

    def test_merged_entities_are_one(self, store, ana):
        """All names and records of both, also later ones, are of the first; mergers chain.

        A rebuild and the erasure of another record change nothing of that.
        """
        ana.remember("Ab", "Cd", "Ef", "Gh", "Ab and Cd")
        first = ana.entity_id("Ef")
        ana.apply(do.merge_entities("Ab", "Cd"))
        assert ana.decisions() == {"cd": "ab"}
        ana.apply(do.merge_entities("Ef", "Gh"), do.merge_entities("Ef", "Ab"))
        ana.apply(do.merge_entities("Ef", "Cd"), do.merge_entities("Gh", "ef"))  # Again.
        ana.remember("Cd again")
        assert groups(ana) == [("Ef", ("Ab", "Cd", "Gh"), 6)]
        assert {ana.entity_id(name) for name in ("ab", "cd", "ef", "gh")} == {first}
        assert len(ana.mentioning(["Gh"])) == groups(ana)[0][-1]
        assert set(ana.decisions().values()) == {"ef"}
        (other,) = ana.remember("Ij")
        assert store.verify() == store.rebuild() == []
        ana.erase(other)
        ana.link()
        assert groups(ana) == [("Ef", ("Ab", "Cd", "Gh"), 6)]

    def test_a_merger_is_taken_back(self, ana):
        """Names, aliases and links are as before, with what was said since; others stay merged."""
        ana.remember("Ab", "Cd", "Ef and Cd", "Gh")
        ana.apply(do.merge_entities("Cd", "Gh"))
        before = groups(ana)
        ana.apply(do.merge_entities("Ab", "Cd"))
        assert groups(ana) == [("Ab", ("Cd", "Gh"), 4), ("Ef", (), 1)]
        for names in (["Ef"], ["Cd", "Ab"]):
            with pytest.raises(InvalidInput):
                ana.apply(do.split_entity("Ab", names))
        ana.apply(do.split_entity("Ab", ["Cd", "Gh"]))
        assert (groups(ana), ana.decisions()) == (before, {"gh": "cd"})
        ana.remember("Gh again")
        ana.apply(do.merge_entities("Ef", "Cd"), do.split_entity("Ef", ["Gh"]))
        assert groups(ana) == [("Ab", (), 1), ("Ef", ("Cd",), 2), ("Gh", (), 2)]
        assert ana.store.verify() == ana.store.rebuild() == []

    def test_a_decision_needs_two_names(self, ana):
        """A name without a letter is refused, and a name is not merged with itself."""
        ana.remember("Zoe sings")
        before = groups(ana)
        with pytest.raises(InvalidInput):
            ana.apply(do.merge_entities("Zoe", " "))
        ana.apply(do.merge_entities("Zoe", "zoe"))
        assert (groups(ana), ana.decisions()) == (before, {})

    def test_decisions_on_names_that_come_later(self, store, ana):
        """One that was made elsewhere holds for what is there and what comes."""
        ana.remember("Bob sings", "Robert Brown dances")
        plan = [do.merge_entities("bob", "Robert Brown"), do.merge_entities("bob", "carl")]
        ana.apply(*plan)
        ana.remember("Carl left")
        expected = [("Bob", ("Carl", "Robert Brown"), 3)]
        assert groups(ana) == expected
        held = dict(ana.decisions())
        ana.apply(*plan)
        assert (groups(ana), ana.decisions()) == (expected, held)
        ana.apply(do.merge_entities("pat", "kim"), do.merge_entities("pat", "lee"))
        ana.remember("Lee left", "Kim left", "Pat left")
        assert ("Pat", ("Kim", "Lee"), 3) in groups(ana)
        assert store.verify() == []

    def test_decisions_on_names_of_retired_and_erased_records(self, ana):
        """What retires keeps its decisions; those on names that only the erased had are gone."""
        item, _, _, _ = ana.remember("Ab", "Cd", "Ef", "Ef again")
        ana.apply(do.merge_entities("Ab", "Cd"), do.merge_entities("Ab", "Ef"))
        ana.erase(item)
        held = ana.decisions()
        assert "ab" not in {*held, *held.values()}
        ((name, aliases, times),) = groups(ana)
        assert ({name, *aliases}, times) == ({"Cd", "Ef"}, 3)
        ana.erase(*ana.records(ALL, limit=1))
        assert ana.decisions() == {}
        old, _ = ana.remember("Robert Brown dances", "Bob sings")
        ana.apply(do.merge_entities("Bob", "Robert Brown"))
        ana.apply(do.Retire(old.id, moment(1), "faded away"))
        assert ("Bob", (), 1) in groups(ana)
        (new,) = ana.remember("Robert Brown cooks")
        assert ("Bob", ("Robert Brown",), 2) in groups(ana)
        ana.apply(do.Retire(new.id, moment(1), "faded away"))
        ana.erase(old, new)
        assert (ana.decisions(), ana.page()[-1]) == ({}, "Bob sings")
