"""Memories that the program of requirements S1 wrote into Chroma come in."""

import uuid
from datetime import UTC, datetime, timedelta

import chromadb
import pytest
from chromadb.config import Settings as ChromaSettings

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput
from memoranda.testing.clocks import FrozenClock

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
SECRET = "sk-proj-4f9aT7kQ2mX8vB3nL6pR1sW5yZ0cD7eF"  # noqa: S105 - of nobody
ROWS = (
    ("User prefers to be called Alex", {"type": "fact", "category": "user_profile"}, 90),
    ("old talk about the weather", {"type": "conversation"}, 40),
    ("Alex asked for the time", {"type": "conversation"}, 10),
    ("yesterday's task", {"type": "context", "context_key": "old"}, 1),
    ("feed the cat", {"type": "context", "context_key": "task"}, 0),
    ("water the plants", {"type": "context", "context_key": "task"}, 0.1),
    ("Alex waved", {"type": "observation", "user": "camera"}, 2),
)


def client_of(folder):
    """Return the client of Chroma alone, as another program has it."""
    settings = ChromaSettings(anonymized_telemetry=False)
    return chromadb.PersistentClient(path=str(folder), settings=settings)


def write_as_s1(folder, rows=ROWS, dimensions=384):
    """Store memories as the memory manager of requirements S1 does, so many days ago."""
    client = client_of(folder)
    collection = client.get_or_create_collection(name="memories", metadata={"hnsw:space": "cosine"})
    for text, more, days in rows:
        made = (NOW - timedelta(days=days)).replace(tzinfo=None).isoformat()
        collection.add(
            ids=[str(uuid.uuid4())],
            embeddings=[[1.0] * dimensions],
            documents=[text],
            metadatas=[{"created_at": made, **more}],
        )
    client.close()


def open_memory(place, **settings):
    """Open a memory at the time of the test."""
    chosen = Settings(embedding={"model": "none"}, timezone="UTC", **settings)
    return Memory(place, user="alex", settings=chosen, clock=FrozenClock(NOW))


def require_imported(memory):
    """Check types, times, metadata and expiry of what came in."""
    found = {each.content: each for each in memory.records()}
    assert found.keys() == {
        "User prefers to be called Alex",
        "Alex asked for the time",
        "feed the cat",
        "water the plants",
        "Alex waved",
    }
    fact = found["User prefers to be called Alex"]
    assert fact.created_at == fact.event_time == NOW - timedelta(days=90)
    assert (fact.valid_until, fact.metadata["category"]) == (None, "user_profile")
    talk = found["Alex asked for the time"]
    assert talk.kind == "episode"
    assert talk.valid_until == NOW + timedelta(days=20)
    assert found["Alex waved"].metadata["user"] == "camera"
    assert (memory.get_context("old"), memory.get_context("task")) == (None, "feed the cat")
    assert not memory.search("old talk about the weather", kind="conversation", min_score=0.5)
    assert len(memory.records(kind="episode")) == 2
    assert memory.verify() == []


@pytest.mark.parametrize("into", ["file", "folder"])
def test_the_memories_of_s1_come_in(tmp_path, into):
    """Types, times, expiry and metadata are kept; twice adds nothing; the source stays."""
    write_as_s1(tmp_path / "old")
    place = tmp_path / "m.db" if into == "file" else f"chroma://{tmp_path}/new"
    with open_memory(place) as memory:
        report = memory.import_(tmp_path / "old")
        assert (report.format, report.records) == ("chroma", len(ROWS))
        assert memory.import_(tmp_path / "old").records == 0
        require_imported(memory)
    client = client_of(tmp_path / "old")
    assert [each.name for each in client.list_collections()] == ["memories"]
    assert client.get_collection("memories").count() == len(ROWS)
    client.close()


def test_the_settings_decide_where_they_know_an_end(tmp_path):
    """A retention of one's own is counted from the time of the memory."""
    write_as_s1(tmp_path / "old")
    with open_memory(tmp_path / "m.db", retention={"episode": "7d"}) as memory:
        memory.import_(tmp_path / "old")
        assert [each.content for each in memory.records(kind="episode")] == ["Alex waved"]


def test_a_folder_of_s1_is_adopted_where_it_is(tmp_path, caplog):
    """Opened in place its memories are ours, each once, with their times; the log says so."""
    folder = tmp_path / "memory"
    write_as_s1(folder, (*ROWS, (f"The key is {SECRET}", {"type": "fact"}, 3)), dimensions=1536)
    for turn in range(2):
        with open_memory(f"chroma://{folder}", schedule={"expire_at_start": True}) as memory:
            if not turn:
                assert f"{len(ROWS)} memories of another program" in caplog.text
                assert "records that hold secrets: 1" in caplog.text
            require_imported(memory)
    client = client_of(folder)
    found = client.get_collection("memories").get()
    client.close()
    told = dict(zip(found["documents"], found["metadatas"], strict=True))
    assert len(found["ids"]) == len(told)
    assert f"The key is {SECRET}" in told  # What was left out stays where it was.
    fact = told["User prefers to be called Alex"]
    made = datetime.fromisoformat(fact["created_at"])
    assert made == (NOW - timedelta(days=90)).replace(tzinfo=None)
    assert (fact["user"], fact["type"], fact["category"]) == ("alex", "fact", "user_profile")
    assert "old talk about the weather" not in told


def test_a_memory_with_a_bad_time_stops_nothing(tmp_path, caplog):
    """The folder opens, the log names the memory, and all stays as it is."""
    folder = tmp_path / "memory"
    write_as_s1(folder, (("Alex", {"type": "fact", "created_at": "soon"}, 1),), dimensions=1536)
    with open_memory(f"chroma://{folder}") as memory:
        assert memory.records() == []
        assert "0 memories of another program" in caplog.text
        assert "created_at='soon'" in caplog.text
        memory.remember("tea")
        assert memory.verify() == []
    client = client_of(folder)
    assert set(client.get_collection("memories").get()["documents"]) == {"Alex", "tea"}
    client.close()


def test_a_folder_without_memories_is_refused(tmp_path):
    """Chroma's folder of something else is named in an error."""
    client_of(tmp_path / "other").close()
    with (
        open_memory(tmp_path / "m.db") as memory,
        pytest.raises(InvalidInput, match="has no collection 'memories'"),
    ):
        memory.import_(tmp_path / "other")
