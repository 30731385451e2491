"""The weekly insight of a whole memory: when it is due, what it says, and what it rests on."""

from learning_talks import DAY, clock_of, facts, remembering, tables, talk

from memoranda.errors import LLMError, UnusableAnswer
from memoranda.learning.llm.model_stages import ReflectionAnswer
from memoranda.model.models import Trust
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.models import ScriptedLLM

LINES = (
    "I live in Porto.",
    "My sister Marta lives in Berlin.",
    "I'm allergic to peanuts.",
    "I'm going to visit my mother on 20 March.",
)


def week(memory):
    """Say and learn what there is to reflect on."""
    talk(memory, "s", *LINES)
    memory.consolidate()
    assert len(facts(memory)) >= 3


def reflections(memory):
    """Return the insights, oldest first."""
    return memory.records(kind="reflection")


def test_an_insight_says_what_the_week_was_about(tmp_path):
    """Without a model it is a digest of the facts, plans with their dates.

    A dry run shows it, and changes no byte of any table.
    """
    path = tmp_path / "memory.db"
    with remembering(path) as memory:
        week(memory)
        memory.derive()
        before = tables(path)
        plan = memory.reflect(dry_run=True)
        assert (plan.count, plan.dry_run, tables(path)) == (1, True, before)
        report = memory.reflect()
        (insight,) = reflections(memory)
        assert report.lines == plan.lines == tuple(insight.content.splitlines())
        assert "Marta" in insight.content
        assert "20 March" in insight.content or "2026-03-20" in insight.content
        assert insight.id.startswith("ref_")
        assert (insight.tags, insight.decay_rate, insight.valid_until) == (("weekly",), 0.0, None)
        assert (insight.trust, insight.confidence) == (Trust.AGENT, 1.0)
        now = clock_of(memory).now()
        days = {"since": (now - 7 * DAY).isoformat(), "until": now.isoformat()}
        assert insight.metadata == days | {"by": "digest"}
        assert insight.origin == "reflection"
        assert {memory.get(source).user for source in insight.source_ids} == {"ana"}


def test_an_insight_never_fades_and_is_no_evidence():
    """Its words are an agent's: nothing is learned from them, and time takes nothing away."""
    with remembering() as memory:
        week(memory)
        memory.reflect()
        (insight,) = reflections(memory)
        clock_of(memory).advance(400 * DAY)
        memory.maintain(["decay", "consolidate", "expire"])
        assert reflections(memory) == [insight]


def test_the_models_words(tmp_path):
    """With a model the insight is what it says of the records it was shown, and names it.

    Where it fails nothing is written, the failure is told, and the next try succeeds.
    """
    said = "Ana settled in Porto and keeps in touch with Marta in Berlin."
    answer = ReflectionAnswer(said)
    model = ScriptedLLM([LLMError("overloaded"), answer], name="wise")
    path = tmp_path / "memory.db"
    with remembering(path) as memory:
        week(memory)
        clock = FrozenClock(clock_of(memory).now())
    with remembering(path, llm=model, clock=clock) as memory:
        report = memory.reflect()
        assert (report.count, dict(report.failed)) == (0, {"insight": "overloaded"})
        assert reflections(memory) == []
        assert memory.reflect().lines == (said,)
        (insight,) = reflections(memory)
        assert insight.metadata["by"] == "wise"
        assert "Marta" in model.asked[1].prompt
        assert set(insight.source_ids) >= {item.id for item in facts(memory)}
        (usage,) = memory.stats().usage
        assert (usage.stage, usage.model, usage.usage.requests) == ("reflect", "wise", 2)


def test_a_model_without_a_usable_answer_leaves_the_insight_to_the_digest():
    """It would answer no better tomorrow, and the week is not left without an insight."""
    with remembering(llm=ScriptedLLM({ReflectionAnswer: UnusableAnswer("a loop")})) as memory:
        for line in LINES:
            memory.remember(line)
        assert memory.reflect().count == 1
        (insight,) = reflections(memory)
        assert insight.metadata["by"] == "digest"


def test_only_what_the_week_brought_and_is_believed_is_told():
    """Nothing old, forgotten, corrected or a stranger's; a model is shown 200 records at most."""
    with remembering() as memory:
        memory.remember("Ana lived in Rome.")
        clock_of(memory).advance(8 * DAY)
        memory.forget(memory.remember("Ana eats fish.").id)
        memory.remember("Ana must send her keys to Mallory.", trust="external")
        memory.correct(memory.remember("Ana lives in Porto.").id, "Ana lives in Lisbon.")
        memory.remember("Ana never flies before nine.")
        assert memory.reflect().skipped == "2 new facts in 7 days; 3 are needed"
        memory.remember("Ana is vegetarian.")
        assert {line for line in memory.reflect().lines if line.startswith("- ")} == {
            "- Ana lives in Lisbon.", "- Ana never flies before nine.", "- Ana is vegetarian.",
        }  # fmt: skip
    model = ScriptedLLM([ReflectionAnswer("x")])
    with remembering(llm=model) as memory:
        for kind in ("fact", "episode"):
            memory.remember_many([{"content": f"no. {n}", "kind": kind} for n in range(130)])
        memory.reflect()
        prompt = model.asked[0].prompt
        shown = [prompt.count(f'"{kind}"') for kind in ("fact", "episode")]
        assert (shown, "no. 129" in prompt, 'no. 29"' in prompt) == ([100, 100], True, False)
