"""Upkeep where people are: it runs beside what serves them, and holds up nobody."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from threading import Event
from time import monotonic

import pytest

from memoranda import Memory, Settings, services
from memoranda.agent import Agent
from memoranda.errors import InvalidInput
from memoranda.maintenance.service import STAGES
from memoranda.memory import agent_tools
from memoranda.serving.late import LateMemory
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.models import ScriptedLLM

THREAD = "memoranda-schedule"
QUIET = {"embedding": {"model": "none"}, "consolidation": {"automatic": False}, "timezone": "UTC"}


def memory_with(tmp_path, *, clock=None, llm=None, **settings):
    """Return a memory in a file."""
    chosen = Settings(**QUIET | settings)
    return Memory(tmp_path / "agent.db", user="ana", settings=chosen, clock=clock, llm=llm)


def talked(tmp_path):
    """Make a file with a session of two weeks ago that waits."""
    with memory_with(tmp_path, clock=FrozenClock(datetime.now(UTC) - timedelta(days=14))) as memory:
        memory.conversation("trip").add("user", "I live in Porto.")


def threads():
    """Return the names of the threads that run."""
    return [thread.name for thread in threading.enumerate()]


def check(memory):
    """Return what the doctor says of the upkeep."""
    return next(each for each in memory.doctor() if each.name == "upkeep")


@pytest.fixture
def clock():
    """A clock at noon of a Thursday."""
    return FrozenClock()


@pytest.fixture
def memory(tmp_path, clock):
    """A memory on which no upkeep runs by itself."""
    with memory_with(tmp_path, clock=clock) as opened:
        yield opened


def test_an_agent_catches_up_when_it_starts(tmp_path):
    """All that was missed is done while it waits, once however many agents a memory has."""
    talked(tmp_path)
    with memory_with(tmp_path) as memory:
        agents = [Agent(memory, session=name, upkeep=True) for name in ("a", "b")]
        assert threads().count(THREAD) == 1
        since = monotonic()
        while len(memory.stats().upkeep) < len(STAGES):
            assert monotonic() - since < 30
            Event().wait(0.01)
        assert [each.content for each in memory.records(kind="fact")] == [
            "The user lives in Porto."
        ]
        assert agents[0].process("Where do I live?").text
    assert THREAD not in threads()


@pytest.mark.parametrize(("asked", "setting"), [(False, True), (True, False)])
def test_an_agent_keeps_nothing_up_unasked(tmp_path, asked, setting):
    """Neither where the program does not ask for it, nor where the setting is off."""
    with memory_with(tmp_path, schedule={"in_background": setting}) as memory:
        Agent(memory, upkeep=asked)
        assert THREAD not in threads()
        assert memory.stats().upkeep == ()


class SilentModel(ScriptedLLM):
    """Never answers a stage, and says when it was asked."""

    def __init__(self):
        """Wait to be asked."""
        super().__init__()
        self.waits = Event()

    async def ask(self, *_):
        """Answer never."""
        self.waits.set()
        await asyncio.Event().wait()


def test_closing_waits_for_no_stage_that_asks_a_model(tmp_path, caplog):
    """Who closes a chat is free at once, no failure is told, and the run stays to be made."""
    talked(tmp_path)
    model = SilentModel()
    memory = memory_with(tmp_path, llm=model)
    Agent(memory, upkeep=True)
    assert model.waits.wait(30)
    since = monotonic()
    memory.close()
    assert monotonic() - since < services.LAST_MOMENTS  # That long it would wait for a stage.
    assert THREAD not in threads()
    assert [record.levelname for record in caplog.records if record.levelno > 20] == []
    with memory_with(tmp_path) as again:
        assert "consolidate" not in {run.job for run in again.stats().upkeep}
        assert [session.id for session in again.sessions(pending=True)] == ["trip"]


def test_the_doctor_says_when_each_stage_ran(tmp_path, clock):
    """First that none has; then when, and what it did; at last which have been missed."""
    with memory_with(tmp_path, clock=clock, schedule={"decay": "off"}) as memory:
        assert check(memory).ok is True
        assert all(f"{stage}: not yet" in check(memory).detail for stage in {*STAGES} - {"decay"})
        memory.set_context("task", "water the plants")
        clock.advance(timedelta(days=1))
        memory.schedule().step()
        assert "expire: ran 2026-01-02 12:00, 1 context" in check(memory).detail
        assert (check(memory).ok, check(memory).remedy) == (True, None)
        clock.advance(timedelta(days=1, hours=17))  # The night of Saturday is over for a day.
        late = check(memory)
        assert late.ok is None
        assert "decay: off" in late.detail
        assert late.detail.endswith("missed for a day or longer: expire, enrich, consolidate")
        assert late.remedy.startswith("memoranda maintain expire enrich consolidate;")
        memory.schedule().step()
        assert check(memory).ok is True


def test_the_doctor_names_a_time_that_cannot_be_read(tmp_path, clock):
    """The setting is wrong then, and is what is to be changed."""
    with memory_with(tmp_path, clock=clock, schedule={"decay": "at noon"}) as memory:
        found = check(memory)
        assert (found.ok, found.remedy) == (False, "write schedule.decay anew")
        assert "'at noon'" in found.detail


# Memories that are served: opened late, kept up while they are open


SETTINGS = Settings(embedding={"model": "none"})


@pytest.fixture
def tools(tmp_path):
    """Give what a model may do with a new memory."""
    late = LateMemory(str(tmp_path / "agent.db"), user="ana", settings=SETTINGS)
    yield agent_tools(late.of())
    late.close()


def test_metadata_that_says_more_is_kept(tools):
    """A known fact is not stored twice, unless something new is to be kept with it."""

    def store(metadata):
        return tools.store_memory(content="Ana lives in Lisbon", metadata=metadata).value

    first = store({"category": "user_profile"})
    assert store(None).id == first.id
    assert store({"category": "user_profile"}).id == first.id
    second = store({"field": "home"})
    assert second.id != first.id
    assert second.metadata == {"field": "home"}


def test_metadata_is_bounded(tools):
    """It comes back with every hit, so what is long belongs into the content."""
    with pytest.raises(InvalidInput, match=r"metadata has .* put what is long into content"):
        tools.store_memory(content="Ana likes tea", metadata={"notes": "x" * 5_000})


def test_a_wrong_date_is_newest_for_nobody_and_blocks_nobody(tmp_path):
    """A message of a clock that was ahead gives way to what is said now; one of no time is read."""
    for zone in ("America/Los_Angeles", "Asia/Tokyo"):
        settings = Settings(timezone=zone, embedding={"model": "none"})
        clock = FrozenClock(datetime(2026, 3, 2, 12, tzinfo=UTC))
        path = tmp_path / f"{zone[:4]}.db"
        with Memory(path, user="ana", settings=settings, clock=clock) as memory:
            for at, said in (
                (datetime.min, "I like tea."),  # noqa: DTZ901 - the zone follows
                (datetime.max, "I like coffee."),  # noqa: DTZ901
                (datetime(2038, 1, 19), "I live in Paris."),  # noqa: DTZ001
            ):
                chat = memory.conversation(f"in {at.year}")
                chat.add("user", said, timestamp=at.replace(tzinfo=UTC))
            clock.advance(timedelta(days=2))
            memory.conversation("now").add("user", "I moved, I live in Rome now.")
            clock.advance(timedelta(days=2))
            memory.consolidate()
            memory.maintain()
            known = {each.record.content for each in memory.facts()}
            assert "The user lives in Rome." in known
            assert "The user lives in Paris." not in known
            assert {"The user likes tea.", "The user likes coffee."} <= known
            assert memory.sessions(pending=True) == []
