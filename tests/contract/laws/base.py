"""What every part of the contract suite asks of the test class that runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from hypothesis import HealthCheck, settings
from samples import ANA, BEN, User

from memoranda.store.sql.store import Store

Reopen = Callable[[Store], Store]
ONE_STORE = settings(
    # All examples of a test go to one store, which keeps what it has; laws are of what is new.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    deadline=None,
    max_examples=max(1, settings().max_examples // 3),
)


class Contract:
    """Subclass this, or any class of the suite, and override the fixtures.

    ``store`` is required. ``reopen`` and :meth:`failing_at` are for stores that can do it;
    without them the laws that need them are skipped. The other fixtures are who uses the store.
    """

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """Give an empty store made with ``WordAnalyzer`` and ``PlainNames``; close it after."""
        message = "override the fixture `store` of the contract suite"
        raise NotImplementedError(message)

    @pytest.fixture
    def ana(self, store: Store) -> User:
        """Give the user of whom most laws speak."""
        return User(store, ANA)

    @pytest.fixture
    def ben(self, store: Store) -> User:
        """Give another user."""
        return User(store, BEN)

    @pytest.fixture
    def reopen(self) -> Reopen:
        """Give a function that closes a store and opens what it stored again."""
        pytest.skip("this store is not kept when it is closed")

    def failing_at(self, store: Store, step: int) -> AbstractContextManager[None]:
        """Let ``store`` fail with a ``StoreError`` at the ``step``-th step of a transaction.

        A step is whatever can fail by itself, counted from 0: a statement, a request.
        """
        del store, step
        pytest.skip("no failures can be planted in this store")
