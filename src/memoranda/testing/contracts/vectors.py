"""The contract of :class:`memoranda.model.ports.VectorQueue` and of stored vectors."""

from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput
from memoranda.model.actions import Erase, PutVectors
from memoranda.model.models import Scope
from memoranda.model.ports import Store
from memoranda.model.query import IndexVersion
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ANA,
    BEN,
    DIMENSIONS,
    MODEL,
    contents,
    embed,
    moment,
    remember,
    vector,
)

UNREAD = IndexVersion()


class VectorContract(Contract):
    """Every record waits for its vector until it has one of the store's model."""

    def test_the_oldest_wait_first(self, store: Store) -> None:
        """Records without vectors wait in the order of recording, for one user or for all."""
        remember(store, "one")
        remember(store, "his", scope=BEN)
        remember(store, "two", "three")
        assert contents(store.pending(None, limit=10)) == ["one", "his", "two", "three"]
        assert contents(store.pending(None, limit=2)) == ["one", "his"]
        assert contents(store.pending(ANA, limit=2)) == ["one", "two"]
        assert store.pending(Scope("nobody"), limit=5) == []
        counts = [store.pending_count(scope) for scope in (None, ANA, BEN, Scope("nobody"))]
        assert counts == [4, 3, 1, 0]

    def test_pending_records_know_their_user(self, store: Store) -> None:
        """Of all users, each waiting record comes whole, with its own user."""
        (hers,) = remember(store, "hers", scope=Scope("ana", "planner"))
        (his,) = remember(store, "his", scope=BEN)
        assert store.pending(None, limit=5) == [hers, his]

    def test_an_agent_waits_for_what_it_sees(self, store: Store) -> None:
        """The queue of an agent holds no record of another."""
        planner = Scope("ana", "planner")
        remember(store, "planned", scope=planner)
        remember(store, "written", scope=Scope("ana", "writer"))
        assert contents(store.pending(planner, limit=5)) == ["planned"]
        assert store.pending_count(planner) == 1

    def test_the_first_model_is_named(self, store: Store, reopen: Reopen) -> None:
        """A store has no model until one is named, and keeps its name and dimensions."""
        assert store.vector_model() is None
        remember(store, "one", "two")
        assert store.reset_vectors(MODEL, DIMENSIONS) == len(["one", "two"])
        assert reopen(store).vector_model() == (MODEL, DIMENSIONS)

    def test_vectors_end_the_waiting(self, store: Store) -> None:
        """A record with a vector no longer waits; giving it another vector is harmless."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two = remember(store, "one", "two")
        embed(store, ANA, [one])
        assert store.pending(None, limit=5) == [two]
        embed(store, ANA, [one, two])
        assert store.pending_count(None) == 0
        changes = store.index_changes(ANA, UNREAD)
        assert sorted(changes.ordinals) == [row.ordinal for row in changes.rows]

    def test_a_new_model_starts_anew(self, store: Store) -> None:
        """Naming another model drops all vectors of all users and makes all records wait."""
        store.reset_vectors(MODEL, DIMENSIONS)
        embed(store, ANA, remember(store, "one"))
        embed(store, BEN, remember(store, "his", scope=BEN))
        remember(store, "two")
        assert store.reset_vectors("other", 2) == len(["one", "his", "two"])
        assert contents(store.pending(None, limit=5)) == ["one", "his", "two"]
        assert list(store.index_changes(ANA, UNREAD).ordinals) == []
        assert store.vector_model() == ("other", 2)

    def test_vectors_of_another_model_are_refused(self, store: Store) -> None:
        """Vectors of a model that is not the store's are never stored."""
        items = remember(store, "one")
        for model in (None, "other"):
            if model:
                store.reset_vectors(model, DIMENSIONS)
            with pytest.raises(InvalidInput):
                embed(store, ANA, items)
            assert store.pending_count(ANA) == 1

    def test_vectors_of_another_length_are_refused(self, store: Store) -> None:
        """A vector that does not fit the store's dimensions is never stored."""
        store.reset_vectors(MODEL, DIMENSIONS)
        items = remember(store, "one")
        with pytest.raises(InvalidInput):
            embed(store, ANA, items, vector(1, 0))
        assert store.pending_count(ANA) == 1

    def test_vectors_of_what_is_gone_are_passed_over(self, store: Store) -> None:
        """A record erased while it was embedded, or one of another user, gets no vector."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two = remember(store, "one", "two")
        (his,) = remember(store, "his", scope=BEN)
        store.apply(ANA, [Erase((one.id,), moment(1), "asked")])
        rows = {item.id: vector(1, 0, 0, 0) for item in (one, two, his)}
        store.apply(ANA, [PutVectors(MODEL, rows)])
        assert contents(store.pending(None, limit=5)) == ["his"]
        assert len(store.index_changes(ANA, UNREAD).ordinals) == 1
        assert len(store.index_changes(BEN, UNREAD).ordinals) == 0

    def test_what_is_erased_does_not_wait(self, store: Store) -> None:
        """An erased record neither waits nor has a vector."""
        store.reset_vectors(MODEL, DIMENSIONS)
        one, two = remember(store, "one", "two")
        embed(store, ANA, [one])
        store.apply(ANA, [Erase((one.id, two.id), moment(1), "asked")])
        assert store.pending_count(None) == 0
        assert list(store.index_changes(ANA, UNREAD).ordinals) == []
