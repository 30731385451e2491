"""Memories that the program of requirements S1 wrote into Chroma come in."""

import uuid
from datetime import UTC, datetime

import chromadb
import pytest
from chromadb.config import Settings as ChromaSettings

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput

WHEN = datetime(2026, 3, 2, 10, 0)  # noqa: DTZ001 - as its program has it: UTC without a zone


def seed_001(folder):
    """Store memories as the memory manager of requirements S1 does."""
    client = chromadb.PersistentClient(
        path=str(folder), settings=ChromaSettings(anonymized_telemetry=False)
    )
    collection = client.get_or_create_collection(
        name="memories", metadata={"hnsw:space": "cosine"}, embedding_function=None
    )
    for text, more in (
        ("User prefers to be called Alex", {"type": "fact", "category": "user_profile"}),
        ("Alex asked for the weather", {"type": "conversation"}),
        ("water the plants", {"type": "context", "context_key": "task"}),
    ):
        collection.add(
            ids=[str(uuid.uuid4())],
            embeddings=[[1.0, *[0.0] * 383]],
            documents=[text],
            metadatas=[{"created_at": WHEN.isoformat(), **more}],
        )
    client.close()


@pytest.mark.parametrize("inside", [True, False])
def test_the_memories_of_s1_come_in(tmp_path, inside):
    """Types, times and metadata are kept; twice adds nothing; also into the very same folder."""
    folder = tmp_path / "memory"
    seed_001(folder)
    place = f"chroma://{folder}" if inside else tmp_path / "m.db"
    with Memory(place, settings=Settings(embedding={"model": "none"})) as memory:
        report = memory.import_(folder)
        assert (report.format, report.records) == ("chroma", 3)
        assert memory.import_(folder).records == 0
        (fact,) = memory.records(kind="fact")
        assert fact.content == "User prefers to be called Alex"
        assert fact.metadata["category"] == "user_profile"
        assert fact.event_time == WHEN.replace(tzinfo=UTC)
        assert [each.content for each in memory.records(kind="conversation")] == [
            "Alex asked for the weather"
        ]
        assert memory.search("Alex", metadata={"category": "user_profile"})


def test_a_folder_without_memories_is_refused(tmp_path):
    """Chroma's folder of something else is named in an error."""
    client = chromadb.PersistentClient(
        path=str(tmp_path / "other"), settings=ChromaSettings(anonymized_telemetry=False)
    )
    client.close()
    with (
        Memory(tmp_path / "m.db", settings=Settings(embedding={"model": "none"})) as memory,
        pytest.raises(InvalidInput, match="has no collection 'memories'"),
    ):
        memory.import_(tmp_path / "other")
