"""What the tests of learning share: talks at a frozen hour, facts, tables of a file."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import apsw
import pytest

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

PATIENCE = 30.0
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
START = datetime(2026, 3, 2, 9, tzinfo=UTC)  # a Monday


def by_hand(**sections):
    """Return settings of no machine under which nothing is learned by itself."""
    return Settings(
        consolidation={"automatic": False} | sections.pop("consolidation", {}),
        **({"timezone": "UTC"} | sections),
    )


def remembering(location=":memory:", **arguments):
    """Return Ana's memory on a clock that stands still; the caller closes it."""
    arguments.setdefault("settings", by_hand())
    arguments.setdefault("embedder", HashEmbedder())
    arguments.setdefault("clock", FrozenClock(START))
    return Memory(location, **{"user": "ana"} | arguments)


@pytest.fixture
def memory():
    """Ana's memory, which learns only when it is told to."""
    with remembering() as made:
        yield made


def clock_of(memory):
    """Return the clock of a memory that :func:`remembering` made."""
    return memory._services.clock.source


def talk(memory, session, *lines):
    """Say lines in a conversation, a minute apart: texts of the user, or (role, text)."""
    chat = memory.conversation(session)
    for line in lines:
        role, text = ("user", line) if isinstance(line, str) else line
        chat.add(role, text)
        clock_of(memory).advance(MINUTE)
    return chat


def facts(memory):
    """Return the facts that are believed, oldest first."""
    return memory.records(kind="fact", limit=10_000)


def contents(memory):
    """Return what the facts say that are believed, and that nothing took the place of."""
    return sorted(fact.content for fact in facts(memory) if fact.superseded_by is None)


def fact(memory, words):
    """Return the only fact that says these words."""
    (found,) = [item for item in facts(memory) if words in item.content]
    return found


def settled(memory):
    """Wait until nothing is learned in the background."""
    assert memory._services.consolidation.wait(PATIENCE)


def tables(path, *, but=()):
    """Return the rows of every table of a file, by table, but for those in ``but``."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            )
            if row[0] not in but
        ]
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"')))  # noqa: S608 - names of the schema
            for name in names
            if not name.startswith("records_fts_")
        }


class WatchedTransaction:
    """A transaction that keeps which changes it carries out, and how far sessions are read."""

    def __init__(self, tx, store):
        """Pass all on to ``tx``, and keep it in ``store``."""
        self._tx, self._store = tx, store

    def __getattr__(self, name):
        """Return what the transaction has."""
        return getattr(self._tx, name)

    def carry_out(self, changes):
        """Keep the plan and carry it out."""
        self._store.plans[-1] += changes
        return self._tx.carry_out(changes)

    def advance_session(self, id, **read):
        """Keep how far the session is read."""
        self._store.read.append(SimpleNamespace(id=id, **read))
        self._tx.advance_session(id, **read)


class WatchedStore:
    """A store that keeps what is written to it, and can be told to fail at a unit of work."""

    def __init__(self, store, failing=()):
        """Pass all on to ``store``; raise ``failing[n]``, if there is one, at unit of work n."""
        self._store = store
        self._failing = dict(failing)
        self.plans = []
        self.read = []

    def __getattr__(self, name):
        """Return what the store has."""
        return getattr(self._store, name)

    @contextmanager
    def write(self, scope, **how):
        """Open a unit of work that keeps what is done in it."""
        self.plans.append([])
        if error := self._failing.get(len(self.plans) - 1):
            raise error
        with self._store.write(scope, **how) as tx:
            yield WatchedTransaction(tx, self)

    def apply(self, scope, changes, **how):
        """Carry out changes in a unit of work of their own."""
        with self.write(scope, **how) as tx:
            return tx.carry_out(changes)


def watched(memory, failing=()):
    """Put a :class:`WatchedStore` between a memory and its store; return it."""
    store = WatchedStore(memory._services.store, failing)
    memory._services.store = store
    return store
