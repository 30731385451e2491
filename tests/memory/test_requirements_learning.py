"""Requirements on what is learned and kept true that no test elsewhere proves by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from learning_talks import DAY, START, by_hand, clock_of, contents, facts, remembering, talk

from memoranda import Settings
from memoranda.learning import reflection as reflect
from memoranda.learning.consolidation_plan import SUPERSEDED
from memoranda.learning.consolidator import PAGE
from memoranda.maintenance.service import A_NIGHT, FEW

HOUR = timedelta(hours=1)


@pytest.fixture
def memory():
    """Ana's memory, which learns only when it is told to."""
    with remembering() as made:
        yield made


def test_five_facts_of_other_sessions_are_recalled():
    """S4.07: by words and meaning, the present session and all that is no fact left out."""
    with remembering(settings=by_hand(retrieval={"recall": "facts"})) as memory:
        for number in range(7):
            memory.remember(f"Rita's cat number {number} likes tuna", session="before")
        memory.remember("Rita's cat likes tuna, it was said", kind="episode", session="before")
        own = memory.remember("Rita's cat likes tuna most of all", session="now")
        chat = memory.conversation("now", system="You feed cats.")
        found = memory.recall("What does Rita's cat like?", exclude_session="now")
        assert len(found.hits) == 5
        assert {(hit.record.kind, hit.record.session_id) for hit in found.hits} == {
            ("fact", "before")
        }
        assert all({"lexical", "vector"} <= hit.why.arms.keys() for hit in found.hits)
        assert len(memory.recall("What do you know about me?").hits) == 5
        context = chat.context("What does Rita's cat like?", budget=2_000).messages[-2]["content"]
        assert context.count("likes tuna") == 5
        assert own.content not in context


def test_a_reflection_has_its_vector(memory):
    """S4.29: it is embedded as all records are, and found by the vector arm."""
    talk(memory, "s", "I live in Porto.", "I have a dog named Rex.", "I work at Acme.")
    memory.consolidate()
    memory.reflect()
    memory.embed_pending()
    (hit,) = memory.search("What was my week like?", kind="reflection", limit=1)
    assert "vector" in hit.why.arms
    assert memory.stats().pending_vectors == 0


def test_an_entity_has_all_that_is_known_of_it(memory):
    """S4.44: canonical name, type, aliases, a summary and how often it was mentioned."""
    talk(memory, "s", "My sister Melanie lives in Berlin.", "Mel came by yesterday.")
    memory.consolidate()
    found = memory.entity("Mel")
    assert (found.name, found.type, found.aliases) == ("Melanie", "person", ("Mel",))
    assert found.mention_count == len(found.records) >= 3
    assert "Berlin" in found.summary


def test_completion_of_a_session_is_recorded(memory):
    """S4.25, S4.51: first_seen_at and consolidated_at."""
    talk(memory, "s", "I live in Porto.")
    talk(memory, "t", "Hello again.")
    assert memory.consolidate("s").counts["sessions"] == 1
    first, second = memory.sessions()
    assert first.first_seen_at == START
    assert first.consolidated_at == clock_of(memory).now()
    assert second.consolidated_at is None
    assert [item.id for item in memory.sessions(pending=True)] == ["t"]


def test_what_an_agent_saves_is_embedded_and_linked(memory):
    """S4.62, S4.63: found by meaning and by name; what it replaces is soft-deleted."""
    tools = {tool.name: tool for tool in memory.tools()}
    tools["store_memory"](content="Melanie keeps bees")
    (fact,) = facts(memory)
    assert [item.id for item in memory.entity("Melanie").records] == [fact.id]
    (hit,) = memory.search("Who keeps bees?")
    assert (hit.record.id, hit.why.arms["vector"].rank) == (fact.id, 1)
    clock_of(memory).advance(HOUR)
    tools["correct_fact"](memory_id=fact.id, content="Melanie keeps hens")
    assert memory.get(fact.id).valid_until == clock_of(memory).now()
    assert contents(memory) == ["Melanie keeps hens"]


def test_the_figures_of_the_requirements_are_the_defaults():
    """S2.30, S4.15, S4.20, S4.22, S4.24, S4.26 to S4.28, S4.54: the defaults."""
    usual = Settings()
    assert usual.consolidation.automatic
    assert usual.consolidation.timeout == 30
    assert usual.consolidation.duplicate_at == 0.75
    assert usual.consolidation.decay_rate == 0.1
    assert usual.decay.threshold == 0.05
    assert (PAGE, SUPERSEDED) == (30, 0.3)
    assert (FEW, A_NIGHT) == (2, 50)
    assert (reflect.REST, reflect.WEEK) == (6 * DAY, 7 * DAY)
    assert (reflect.LEAST_FACTS, reflect.LIMIT) == (3, 200)
