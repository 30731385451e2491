"""The storage for CrewAI's memory keeps and finds what CrewAI's own does."""

import asyncio
from datetime import datetime, timedelta

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Memory, Settings

pytest.importorskip("crewai", reason="not installed: pip install 'memoranda[crewai]'")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.lancedb_storage import LanceDBStorage
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory as CrewMemory

from memoranda.integrations.crewai import MemorandaStorage

PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
NOON = datetime(2026, 5, 1, 12, 0)  # noqa: DTZ001 - CrewAI's own times are naive


def record(number: int, scope: str = "/team/a") -> MemoryRecord:
    """Return a record whose vector, category, metadata and time go with a number."""
    return MemoryRecord(
        id=f"r{number}",
        content=f"Number {number}.",
        scope=scope,
        categories=["odd" if number % 2 else "even", "all"],
        metadata={"third": number % 3},
        created_at=NOON + timedelta(minutes=number),
        last_accessed=NOON,
        embedding=[float(number), 1.0],
    )


SCOPES = st.sampled_from(["/", "/team", "/team/a", "/teamwork"])
WHICH = st.fixed_dictionaries(
    {},
    optional={
        "scope_prefix": st.sampled_from([None, "/", "/team", "/team/a", "/none"]),
        "categories": st.sampled_from([None, ["odd"], ["odd", "even"], ["none"]]),
        "metadata_filter": st.sampled_from([None, {"third": 0}, {"none": 1}]),
    },
)


@given(places=st.lists(SCOPES, max_size=8), which=WHICH, asked=st.integers(0, 8))
@settings(max_examples=examples(6))
def test_it_finds_what_the_storage_of_crewai_does(tmp_path_factory, places, which, asked):
    """By vector, scope, categories and metadata, with its scores; and so it lists and counts."""
    theirs = LanceDBStorage(path=tmp_path_factory.mktemp("lance"), vector_dim=2, compact_every=0)
    with Memory(":memory:", settings=PLAIN) as memory:
        ours = MemorandaStorage(memory)
        assert isinstance(ours, StorageBackend)
        records = [record(number, scope) for number, scope in enumerate(places)]
        for storage in (ours, theirs):
            storage.save(records)
        vector, scope = [float(asked), 1.0], which.get("scope_prefix")
        found = [storage.search(vector, limit=20, **which) for storage in (ours, theirs)]
        told = [{each.id: pytest.approx(score) for each, score in one} for one in found]
        assert told[0] == {each.id: score for each, score in found[1]}
        for read in (
            lambda storage: storage.list_records(scope, 3, 1),
            lambda storage: storage.get_record(f"r{asked}"),
            lambda storage: storage.get_scope_info(scope or "/"),
            lambda storage: storage.list_scopes(scope or "/"),
            lambda storage: storage.list_categories(scope),
            lambda storage: storage.count(scope),
        ):
            assert read(ours) == read(theirs)


def test_records_are_replaced_and_deleted_by_every_condition():
    """One that moves to another scope is in that alone; nothing else goes."""
    with Memory(":memory:", settings=PLAIN) as memory:
        storage = MemorandaStorage(memory)
        asyncio.run(storage.asave([record(number) for number in range(10)]))
        moved = record(3, "/other").model_copy(update={"content": "Moved."})
        storage.update(moved)
        assert (storage.get_record("r3"), storage.count("/team")) == (moved, 9)
        older = NOON + timedelta(minutes=5)
        assert storage.delete(scope_prefix="/team", categories=["odd"], older_than=older) == 1
        assert asyncio.run(storage.adelete(record_ids=["r2", "none"])) == 1
        assert storage.delete(metadata_filter={"third": 2}) == 2
        assert sorted(each.id for each in storage.list_records()) == [
            "r0", "r3", "r4", "r6", "r7", "r9",
        ]  # fmt: skip
        (nearest, _), *_ = asyncio.run(storage.asearch([3.9, 1.0], scope_prefix="/team"))
        assert nearest.id == "r4"
        with pytest.raises(EmbeddingDimensionMismatchError, match="2-dimensional"):
            storage.search([1.0, 2.0, 3.0])
        storage.reset("/team")
        assert storage.list_scopes() == ["/other"]
        storage.reset()
        assert storage.count() == 0


def test_the_memory_of_crewai_goes_on_in_another_process(tmp_path):
    """Its scopes and its recall work on what was kept before."""

    def opened(memory):
        vectors = {"cat": [1.0, 0.0], "other": [0.0, 1.0]}
        return CrewMemory(
            storage=MemorandaStorage(memory),
            embedder=lambda texts: [vectors["cat" if "cat" in text else "other"] for text in texts],
        )

    known = {"categories": ["pets"], "importance": 0.5, "metadata": {}}
    with Memory(tmp_path / "crew.db", settings=PLAIN) as memory:
        crew = opened(memory)
        crew.remember("My cat is called Schnurri.", scope="/ana", **known)
        crew.remember("It rains.", scope="/ana", **known)
        crew.close()
    with Memory(tmp_path / "crew.db", settings=PLAIN) as memory:
        crew = opened(memory)
        best = crew.recall("What is the cat called?", scope="/ana", depth="shallow")[0]
        assert best.record.content == "My cat is called Schnurri."
        assert crew.list_scopes() == ["/ana"]
        crew.close()
