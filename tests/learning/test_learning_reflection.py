"""The weekly insight of a whole memory: when it is due, what it says, and what it rests on."""

from __future__ import annotations

from contextlib import closing

import pytest
from learning_talks import DAY, clock_of, facts, remembering, tables, talk

from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import ReflectionAnswer
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.models import ScriptedLLM

LINES = (
    "I live in Porto.",
    "My sister Marta lives in Berlin.",
    "I'm allergic to peanuts.",
    "I'm going to visit my mother on 20 March.",
)


@pytest.fixture
def memory():
    """Ana's memory, which learned four facts this week."""
    with closing(remembering()) as made:
        week(made)
        yield made


def week(memory):
    """Say and learn what there is to reflect on."""
    talk(memory, "s", *LINES)
    memory.consolidate()
    assert len(facts(memory)) >= 3


def reflections(memory):
    """Return the insights, oldest first."""
    return memory.records(kind="reflection")


def test_an_insight_says_what_the_week_was_about(memory):
    """Without a model it is a digest: whom and what was talked about, plans with their dates."""
    report = memory.reflect()
    (insight,) = reflections(memory)
    assert (report.count, report.lines) == (1, tuple(insight.content.splitlines()))
    assert "Marta" in insight.content
    assert "20 March" in insight.content or "2026-03-20" in insight.content
    assert (insight.tags, insight.decay_rate, insight.origin) == (("weekly",), 0.0, "reflection")
    assert insight.metadata["by"] == "digest"
    assert insight.source_ids
    assert {memory.get(source).user for source in insight.source_ids} == {"ana"}


def test_a_dry_run_shows_the_insight_and_keeps_nothing(tmp_path):
    """The plan is the text; no byte of any table changes."""
    path = tmp_path / "memory.db"
    with closing(remembering(path)) as memory:
        week(memory)
        memory.derive()
        before = tables(path)
        plan = memory.reflect(dry_run=True)
        assert (plan.count, plan.dry_run, tables(path)) == (1, True, before)
        assert memory.reflect().lines == plan.lines


def test_an_insight_never_fades_and_is_no_evidence(memory):
    """Its words are an agent's: nothing is learned from them, and time takes nothing away."""
    memory.reflect()
    (insight,) = reflections(memory)
    clock_of(memory).advance(400 * DAY)
    memory.maintain(["decay", "consolidate", "expire"])
    assert reflections(memory) == [insight]


def test_the_models_words(tmp_path):
    """With a model the insight is what it says of the records it was shown, and names it."""
    said = "Ana settled in Porto and keeps in touch with Marta in Berlin."
    model = ScriptedLLM([ReflectionAnswer(said, ["m1", "m2"])], name="wise")
    path = tmp_path / "memory.db"
    with closing(remembering(path)) as memory:
        week(memory)
        clock = FrozenClock(clock_of(memory).now())
    with closing(remembering(path, llm=model, clock=clock)) as memory:
        assert memory.reflect().lines == (said,)
        (insight,) = reflections(memory)
        assert insight.metadata["by"] == "wise"
        (asked,) = model.asked
        assert "Marta" in asked.prompt
        assert set(insight.source_ids) >= {item.id for item in facts(memory)}
        (usage,) = memory.stats().usage
        assert (usage.stage, usage.model, usage.usage.requests) == ("reflect", "wise", 1)


def test_a_model_that_fails_leaves_the_insight_for_later(tmp_path):
    """Nothing is written, the failure is told, and the next try succeeds."""
    said = "Ana settled in Porto and keeps in touch with Marta in Berlin."
    model = ScriptedLLM([LLMError("overloaded"), ReflectionAnswer(said, ["m1"])])
    path = tmp_path / "memory.db"
    with closing(remembering(path)) as memory:
        week(memory)
        clock = FrozenClock(clock_of(memory).now())
    with closing(remembering(path, llm=model, clock=clock)) as memory:
        report = memory.reflect()
        assert (report.count, dict(report.failed)) == (0, {"insight": "overloaded"})
        assert reflections(memory) == []
        assert memory.reflect().count == 1
        assert reflections(memory)[0].content == said
