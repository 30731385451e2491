"""Every line of seed 001's ``MemoryManager``, in our verbs, under its own configuration."""

import asyncio
import logging
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pytest

from memoranda import AsyncMemory, Memory, Settings, errors
from memoranda.maintenance.service import REMOVED
from memoranda.providers.opening import open_embedder
from memoranda.settings.profile import MODEL
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PROFILE = {"context_window_size": 5, "embedding_model": MODEL, "cleanup_interval": 3600}
NEAR = 2e-3  # of a cosine whose vectors are stored with half precision


@pytest.fixture
def location(tmp_path):
    """Where the memory is: the folder that the profile names, on Chroma."""
    pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    return f"chroma://{(tmp_path / 'memory').as_posix()}"


@pytest.fixture
def profile():
    """The settings of seed 001, in UTC."""
    return Settings(memory=PROFILE, timezone="UTC")


@pytest.fixture
def clock():
    """A Monday at nine."""
    return FrozenClock(START)


@pytest.fixture
def robot(opened, location, profile, clock):
    """Open the memory of the robot, again and again; what is open is closed in the end."""
    return partial(opened, location, settings=profile, clock=clock)


def test_store_search_and_forget_are_remember_search_and_forget(location, profile, clock):
    """S1.12 to S1.17, awaited: an id each, the expiry of the type, the least score of 0.3."""

    async def live():
        async with AsyncMemory(
            location, settings=profile, clock=clock, embedder=HashEmbedder()
        ) as manager:
            about = {"source": "talk"}
            fact = await manager.remember("Alex likes robots", kind="fact", metadata=about)
            talk = await manager.remember("Alex said hello to the robot", kind="conversation")
            assert (fact.kind, talk.kind) == ("fact", "episode")
            assert (fact.created_at, fact.metadata) == (START, about)
            assert (fact.valid_until, talk.valid_until) == (None, START + 30 * DAY)
            hits = await manager.search("Alex and robots")
            assert {hit.record.id for hit in hits} == {fact.id, talk.id}
            assert all(0.3 <= hit.score <= 1 for hit in hits)
            (hit,) = await manager.search("Alex and robots", kind="fact", limit=5, min_score=0.3)
            assert hit.record.metadata == about
            assert await manager.search("Alex and robots", min_score=0.999) == []
            assert (await manager.forget(talk.id)).id == talk.id
            with pytest.raises(errors.NotFound):
                await manager.forget("no-such-id")
            assert [hit.record for hit in await manager.search("Alex and robots")] == [fact]

    asyncio.run(live())


def test_the_types_of_its_first_version_are_kinds_of_today(robot):
    """S1.07: observations are conversation, preferences facts, events and tasks context."""
    meant = {
        "conversation": "episode",
        "observation": "episode",
        "fact": "fact",
        "preference": "fact",
        "context": "context",
        "event": "context",
        "task": "context",
    }
    memory = robot()
    records = memory.remember_many({"content": f"A {kind}, it was", "kind": kind} for kind in meant)
    assert [record.kind for record in records] == list(meant.values())
    for name, kind in meant.items():
        same = [record for record in records if record.kind == kind]
        assert memory.records(kind=name) == same
        hits = memory.search(f"A {name}, it was", kind=name, min_score=0)
        assert {hit.record.id for hit in hits} == {record.id for record in same}


def test_a_model_sees_so_many_turns_as_the_window_has(profile):
    """S1.23, S1.28: the last five stand in each context, and no older one, though it would fit."""
    with Memory(":memory:", settings=profile, embedder=HashEmbedder()) as memory:
        chat = memory.conversation("kitchen", system="You are Reachy.")
        for turn in range(8):
            chat.add("user", f"question {turn}")
            chat.add("assistant", f"answer {turn}")
            sent = [each["content"] for each in chat.context("And now?").messages]
            shown = [text for text in sent if text.startswith(("question", "answer"))]
            assert shown == [each.content for each in chat.window()]
            assert (sent[0], sent[-1]) == ("You are Reachy.", "And now?")


def test_what_expired_is_cleaned_up_when_the_agent_starts(robot, clock, caplog):
    """S1.38, S1.40: removed when the memory is robot, the number logged; of none, no line."""
    with closing(robot()) as memory:
        said = memory.remember("Hello robot", kind="conversation")
        memory.remember("Alex likes robots")
        memory.set_context("task", "wave")
    with caplog.at_level(logging.INFO, "memoranda.maintenance"):
        robot().close()
        assert caplog.messages == []
        clock.advance(30 * DAY)
        with closing(robot()) as memory:
            assert caplog.messages == ["memory_cleanup deleted=2 (expire: 1 episode, 1 context)"]
            (change,) = memory.history(said.id)
            assert (change.action, change.reason) == ("erase", REMOVED)
            assert memory.expire().count == 0
        caplog.clear()
        robot().close()
        assert caplog.messages == []


def test_what_the_clean_up_removed_is_in_no_file_of_the_notes(robot, tmp_path):
    """S1.17, S1.18: where there is a MEMORY.md, its lines go with what was forgotten."""
    with closing(robot()) as memory:
        fact = memory.remember("Alex owns a wombat")
        memory.remember("Alex likes robots")
        assert "wombat" in memory.notes.read_memory()
        memory.forget(fact.id)
        assert memory.expire().counts == {"fact": 1}
        assert [each.name for each in tmp_path.rglob("*") if holds(each, b"wombat")] == []
        assert "- Alex likes robots" in memory.notes.read_memory()
        assert [each.content for each in memory.records()] == ["Alex likes robots"]


def holds(path, text):
    """Return whether a file has these bytes."""
    return path.is_file() and text in path.read_bytes()


def test_a_clean_up_that_fails_keeps_nobody_from_the_memory(robot, caplog):
    """It is logged, and made at the next start."""
    memory = robot()
    memory.close()
    with caplog.at_level(logging.WARNING, "memoranda.maintenance"):
        memory._maintenance.clean_up()
    (line,) = caplog.messages
    assert line.startswith("memory_cleanup failed: ")
    assert line.endswith("; it is tried again at the next start")


def test_it_is_cleaned_up_every_interval(robot, clock):
    """S1.39: at start and every ``cleanup_interval`` seconds after that, and nothing else runs."""
    memory = robot()
    memory.set_context("task", "wave")
    keeper = memory.schedule()
    assert [run.stage for run in keeper.step()] == ["expire"]
    clock.advance(HOUR - timedelta(seconds=1))
    assert keeper.step() == []
    clock.advance(timedelta(seconds=1))
    assert [run.stage for run in keeper.step()] == ["expire"]
    clock.advance(DAY)
    (run,) = keeper.step()
    assert (run.stage, run.failed, run.counts) == ("expire", {}, {"context": 1})


def test_scores_are_those_of_the_model_of_the_specification(location, profile, clock):
    """S1.15: 1 minus the cosine distance of all-MiniLM-L6-v2, and nothing below 0.3."""
    pytest.importorskip("onnxruntime", reason="the extra local is not installed")
    model, because = open_embedder(profile.embedding)
    if model is None:
        pytest.skip(because)
    texts = ["Alex loves robotics and AI", "The kitchen light is off", "Robots need charging"]
    query = "What is the user interested in, machines?"
    made = model.embed([query, *texts])
    first, *others = (each.vector.astype(np.float64) for each in made)
    likeness = {text: float(first @ other) for text, other in zip(texts, others, strict=True)}
    assert model.dimensions == 384
    with Memory(location, settings=profile, clock=clock) as memory:
        memory.remember_many(texts)
        hits = memory.search(query, min_score=0)
        assert [hit.record.content for hit in hits] == sorted(texts, key=lambda t: -likeness[t])
        for hit in hits:
            assert hit.score == pytest.approx(likeness[hit.record.content], abs=NEAR)
        usual = {hit.record.content for hit in memory.search(query)}
        assert usual == {text for text, score in likeness.items() if score >= 0.3}
        assert 0 < len(usual) < len(texts)
