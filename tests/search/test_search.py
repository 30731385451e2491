"""The retriever: arms alone, what is skipped, and a failing model."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from retrieving import LATE, adds_up, found, retriever_of
from tables import each_row, each_text

from memoranda import Memory, Settings
from memoranda.model.models import Scope
from memoranda.model.ports import VECTORS
from memoranda.model.query import Filter
from memoranda.search.evidence import WEIGHTS
from memoranda.testing.embedders import HashEmbedder

BOUGHT = (
    "I bought an instrument",
    "Tell me what to buy",
    "I said I would buy strings",
    "Please buy a violin",
    "She told me about the piano she bought",
    "Which guitar did I say to buy",
    "We talked about music",
)


@pytest.fixture(scope="module")
def memory():
    """Twelve records about tea, with vectors."""
    chosen = Settings(timezone="UTC")
    with Memory(":memory:", user="ana", embedder=HashEmbedder(), settings=chosen) as made:
        made.remember_many([f"Ana drinks tea number {n} {'and more ' * n}" for n in range(12)])
        made.embed_pending()
        yield made


@each_row(("fusion", "arm"), [(f, a) for f in ("blend", "rrf") for a in ("lexical", "vector")])
def test_an_arm_can_be_asked_alone(memory, fusion, arm):
    """What is left out is in no score and no reason: the share of one arm is the whole score."""
    hits = found(memory, "tea number 7", fusion=fusion, without={*WEIGHTS, "entity"} - {arm})
    assert hits
    assert all({*hit.why.arms} <= {arm} and adds_up(hit) for hit in hits)
    assert arm in hits[0].why.arms


def test_what_is_skipped_makes_room_for_the_next(memory):
    """Records that are not wanted take no place in the list; the index is only a copy."""
    retriever, whole = retriever_of(memory), found(memory, "tea")
    skip = frozenset(hit.record.id for hit in whole[:3])
    for _ in range(2):
        rest = retriever.search(Scope("ana"), "tea", Filter(now=LATE), limit=4, skip=skip)
        assert [hit.record.id for hit in rest] == [hit.record.id for hit in whole[3:7]]
        retriever.cache.clear()


@each_text
def test_the_record_of_a_rare_word_is_found_before_it_has_a_vector(question):
    """Law 8: whatever else of the question those hold that have one.

    theremin | When did I buy the theremin? | which instrument, a theremin, did I buy
    Tell me about the theremin please | What did I say about a theremin?
    """
    chosen = Settings(embedding={"background": False}, retrieval={"wait": 0})
    said = [f"{what} for {whom}." for what in BOUGHT for whom in ("Ana", "the kids", "Bo")]
    with Memory(":memory:", settings=chosen) as memory:
        own = {"kind": "episode", "role": "user"}
        memory.remember_many([{"content": text} | own for text in said])
        memory.embed_pending()
        last = memory.remember("It was a theremin in the end.", **own)
        lock = memory._services.derivations._locks[VECTORS]  # As if another thread made vectors.
        with ThreadPoolExecutor(1) as other:
            other.submit(lock.acquire).result()
            assert memory.search(question, limit=1)[0].record == last
            other.submit(lock.release).result()


@each_row("ended", [0, 2])
def test_what_a_search_reads_is_read_once_a_revision(tmp_path, ended):
    """Also where facts have ended: they have no vector any more, and nothing waits for one."""
    chosen = Settings(timezone="UTC", embedding={"background": False})
    path = tmp_path / f"{ended}.db"
    with Memory(path, embedder=HashEmbedder(), settings=chosen) as memory:
        facts = memory.remember_many([f"Ana drinks tea number {number}" for number in range(9)])
        memory.remember_many([{"content": "Which tea?", "kind": "episode", "role": "user"}] * 9)
        memory.embed_pending()
        for fact in facts[:ended]:
            memory.forget(fact.id)
        memory.search("Which tea does Ana drink?", limit=10)
        asked, reader = list[str](), memory._services.store._idle[-1].raw
        reader.exec_trace = lambda _cursor, sql, _values: asked.append(sql) or True
        hits = memory.search("Does Ana drink tea number 7?", limit=10)
        warm = [sql for sql in asked if "SELECT" in sql]
        assert 1 <= len(warm) <= 3, warm  # The user's revision, and what nobody asked for before.
        asked.clear()
        memory.search("Does Ana drink tea number 7?", limit=10)
        assert len([sql for sql in asked if "SELECT" in sql]) == 1
        memory.recall("Does Ana drink tea number 7?")
        memory.remember("Ana drinks coffee")
        again = memory.search("Does Ana drink tea number 7?", limit=10)
        reader.exec_trace = None
        assert len(hits) == len(again) == 10
        top = next(hit.record for hit in again if hit.record.id == hits[0].record.id)
        assert top.access_count == hits[0].record.access_count + 1


def test_ranks_are_places_in_the_arm(memory):
    """The best of an arm has rank 1, and ranks grow as its scores fall."""
    hits = found(memory, "tea")
    for arm in ("lexical", "vector"):
        told = sorted((h.why.arms[arm].rank, -h.why.arms[arm].score) for h in hits)
        assert told[0][0] == 1
        assert [score for _, score in told] == sorted(score for _, score in told)


@each_text
def test_a_time_in_a_question_is_evidence(question):
    """What happened then is raised, however the time is written; without one there is no such arm.

    What did I do in March 2024? | What did I do on 5 March 2024 | Was tat ich im März 2024?
    """
    own = {"kind": "episode", "role": "user"}
    with Memory(":memory:", settings=Settings(timezone="UTC", embedding={"model": "none"})) as one:
        one.remember("I did something.", event_time=datetime(2024, 1, 5, tzinfo=UTC), **own)
        then = one.remember("I did this, too.", event_time=datetime(2024, 3, 5, tzinfo=UTC), **own)
        best = one.search(question)[0]
        assert (best.record, best.why.arms["temporal"].rank) == (then, 1)
        assert all("temporal" not in hit.why.arms for hit in one.search("What did I do?"))
