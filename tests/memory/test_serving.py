"""A memory that is served: opened late, kept up while it is open."""

import threading
from datetime import UTC, datetime, timedelta
from threading import Event
from time import monotonic

import pytest

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput
from memoranda.serving.late import LateMemory
from memoranda.testing.clocks import FrozenClock

SETTINGS = Settings(embedding={"model": "none"})


def expired(path):
    """Store a context that ended yesterday, and return its id."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=2))
    with Memory(path, settings=SETTINGS, clock=clock) as memory:
        return memory.set_context("task", "water the plants").id


def actions(late, id):
    """Return what was done to a record."""
    return [change.action for change in late.of().memory.history(id)]


def test_what_expired_is_retired_when_a_server_starts(tmp_path):
    """The first request starts the upkeep, which begins with what is past its time (S1.38)."""
    record = expired(tmp_path / "agent.db")
    late = LateMemory(str(tmp_path / "agent.db"), user="default", settings=SETTINGS)
    since = monotonic()
    while "retire" not in actions(late, record):
        assert monotonic() - since < 30
        Event().wait(0.01)
    late.close()


def test_upkeep_can_be_left_to_another(tmp_path):
    """Without ``schedule.in_background`` no thread of a schedule runs."""
    record = expired(tmp_path / "agent.db")
    settings = Settings(embedding={"model": "none"}, schedule={"in_background": False})
    late = LateMemory(str(tmp_path / "agent.db"), user="default", settings=settings)
    assert actions(late, record) == ["insert"]
    assert "memoranda-schedule" not in {thread.name for thread in threading.enumerate()}
    late.close()


@pytest.mark.parametrize("user", [None, "ben"])
def test_nobody_sees_what_is_another_users(tmp_path, user):
    """Who comes with a name has a memory of that name alone."""
    late = LateMemory(str(tmp_path / "agent.db"), user="ana", settings=SETTINGS)
    late.of(user).tools.store_memory("likes tea")
    assert late.of("ana").memory.stats().records["fact"] == (user is None)
    late.close()


@pytest.fixture
def verbs(tmp_path):
    """Give what a model may do with a new memory."""
    late = LateMemory(str(tmp_path / "agent.db"), user="ana", settings=SETTINGS)
    yield late.of()
    late.close()


def test_notes_are_told_without_secrets(verbs):
    """What a person had kept stands in MEMORY.md, and is masked for a model."""
    secret = "sk-proj-abcDEF1234567890abcDEF1234567890abcdef"  # noqa: S105 - made up
    verbs.memory.remember(f"My API key is {secret} for the weather")
    verbs.memory.remember("Ana likes tea")
    told = verbs.notes()
    assert secret not in told
    assert "Ana likes tea" in told


def test_metadata_that_says_more_is_kept(verbs):
    """A known fact is not stored twice, unless something new is to be kept with it."""

    def store(metadata):
        return verbs.tools.store_memory("Ana lives in Lisbon", metadata=metadata).value

    first = store({"category": "user_profile"})
    assert store(None).id == first.id
    assert store({"category": "user_profile"}).id == first.id
    second = store({"field": "home"})
    assert second.id != first.id
    assert second.metadata == {"field": "home"}


def test_metadata_is_bounded(verbs):
    """It comes back with every hit, so what is long belongs into the content."""
    with pytest.raises(InvalidInput, match=r"metadata has .* put what is long into content"):
        verbs.tools.store_memory("Ana likes tea", metadata={"notes": "x" * 5_000})
