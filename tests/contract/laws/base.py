"""What every part of the contract suite asks of the test class that runs it."""

from contextlib import ExitStack, closing

import pytest
from hypothesis import HealthCheck, settings
from samples import ANA, BEN, User

ONE_STORE = settings(
    # All examples of a test go to one store, which keeps what it has; laws are of what is new.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    deadline=None,
    max_examples=max(1, settings().max_examples // 3),
)


class Contract:
    """Subclass this, or any class of the suite; the rest is who uses the store.

    A test class has a fixture ``store``, an empty one made with ``WordAnalyzer`` and
    ``PlainNames``; a method ``failing_at(store, step)``, in whose block the store fails with a
    ``StoreError`` at that step of a transaction, counted from 0: a statement, a request; and an
    own :meth:`open_again` where a store is kept when it is closed.
    """

    @pytest.fixture
    def ana(self, store):
        """Give the user of whom most laws speak."""
        return User(store, ANA)

    @pytest.fixture
    def ben(self, store):
        """Give another user."""
        return User(store, BEN)

    def open_again(self, store):
        """Close ``store`` and open what it stored again; this one is not kept when it is closed."""
        return store

    @pytest.fixture
    def reopen(self):
        """Give a function that closes a store and opens what it stored again, if it is kept."""
        with ExitStack() as stack:
            yield lambda store: stack.enter_context(closing(self.open_again(store)))
