"""``/new``: what was said is learned and told before the next session begins (seed 002)."""

import re
from threading import Thread
from time import monotonic

import pytest
from noting import (
    MINUTE,
    PATIENCE,
    Gate,
    agent_of,
    chosen,
    clock_of,
    facts,
    history,
    items,
    noting,
    talking,
)

from memoranda.errors import LLMError, UnusableAnswer
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ScriptedLLM

PORTO = "I live in Porto."
LIVES = ClaimAnswer("The user lives in Porto.", ["t1"])
FACT = "The user lives in Porto."


def told(memory):
    """Return the texts of the entries, without their comments."""
    return [re.sub(r"\n<!--.*?-->", "", text) for text in history(memory)]


def say(agent, *texts):
    """Say texts, a minute apart."""
    for text in texts:
        agent.process(text)
        clock_of(agent.memory).advance(MINUTE)


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("modelled", [True, False])
def test_all_is_there_when_new_returns(tmp_path, automatic, modelled):
    """Facts, entry and MEMORY.md are there at once; the next session is empty and another."""
    settings = chosen(consolidation={"automatic": automatic, "timeout": PATIENCE})
    model = talking(always="Nice.", facts_=[LIVES], entry="They moved.") if modelled else None
    with noting(tmp_path / "a.db", settings=settings, llm=model) as memory:
        agent = agent_of(memory)
        say(agent, PORTO, "I have a dog named Rex.")
        first = agent.chat
        answer = agent.process("/new")
        assert answer.text.startswith("Session ended; learned: ")
        assert ("you live in Porto" in answer.text, answer.command) == (True, "/new")
        assert FACT in facts(memory)
        assert FACT in items(memory)
        (entry,) = told(memory)
        assert entry.startswith("[2026-03-02 ")
        assert ("They moved." if modelled else "Porto") in entry
        assert agent.chat.id != first.id
        assert len(agent.chat) == 0
        assert PORTO in [m.content for m in memory.conversation(first.id).messages]
        say(agent, "What do you know?")
        assert agent.chat.id == "chat-2"
        with noting(tmp_path / "a.db", settings=settings, llm=model) as other:
            assert agent_of(other).chat.id == "chat-2"


@pytest.mark.parametrize("automatic", [True, False])
def test_a_model_that_stalls_holds_nobody_up(tmp_path, automatic):
    """After ``consolidation.timeout`` the last ten messages are kept raw, 200 characters each."""
    settings = chosen(consolidation={"automatic": automatic, "timeout": 0.1})
    model = Gate(talking(always="Nice. " + "y" * 300, facts_=[LIVES], entry="They moved."))
    with noting(tmp_path / "a.db", settings=settings, llm=model) as memory:
        agent = agent_of(memory)
        say(agent, PORTO, *[f"Number {n} {'x' * 300}" for n in range(6)])
        begun = monotonic()
        assert agent.process("/new").text.startswith("Session ended")
        assert monotonic() - begun < PATIENCE / 3
        assert model.asked.wait(PATIENCE)
        (entry,) = told(memory)
        heading, *lines = entry.splitlines()
        assert heading == "[2026-03-02 09:06] [raw-fallback] last 10 of 14 messages:"
        assert len(lines) == 10
        assert lines[0] == f"- user: {f'Number 1 {chr(120) * 300}'[:200]}"
        assert {len(line.partition(": ")[2]) for line in lines} == {200}
        assert facts(memory) == []
        model.go.set()
        assert memory._services.consolidation.wait(PATIENCE)
        assert facts(memory) == items(memory) == [FACT]
        raw, whole = told(memory)
        assert raw == entry
        assert "They moved." in whole
        memory.consolidate()
        assert told(memory) == [raw, whole]
        assert memory.verify() == []


@pytest.mark.parametrize("failing", ["facts", "entry"])
def test_a_model_that_fails_is_made_up_for(tmp_path, failing):
    """A raw entry at once, and once the model is back facts and entry, each a single time."""
    down = LLMError("overloaded")
    script = {
        "facts": (ClaimsAnswer, ClaimsAnswer([LIVES])),
        "entry": (Consolidation, Consolidation("Moved.")),
    }
    kind, answer = script[failing]
    others = {ClaimsAnswer: ClaimsAnswer([LIVES]), Consolidation: Consolidation("Moved.")}
    model = ScriptedLLM(others | {kind: [down, down, answer]})
    settings = chosen(consolidation={"automatic": False, "timeout": PATIENCE})
    with noting(tmp_path / "a.db", settings=settings, llm=model) as memory:
        talker = talking(always="Nice.")
        agent = agent_of(memory, talker)
        say(agent, PORTO, "It is warm.")
        assert agent.process("/new").text.startswith("Session ended")
        assert facts(memory) == ([FACT] if failing == "entry" else [])
        (raw,) = told(memory)
        assert raw.startswith("[2026-03-02 09:01] [raw-fallback] last 4 of 4 messages:")
        memory.consolidate()  # It fails again.
        assert told(memory) == [raw]
        report = memory.consolidate()
        assert not report.failed
        assert facts(memory) == items(memory) == [FACT]
        assert [text.partition("] ")[2] for text in told(memory)][1:] == ["Moved."]
        memory.consolidate()
        assert len(told(memory)) == 2


def test_what_a_model_has_no_usable_answer_to_rules_learn_and_tell(tmp_path):
    """Facts and entry are those of rules, at once; nothing waits, and nothing is asked again."""
    loop = UnusableAnswer("it repeats itself")
    model = ScriptedLLM({ClaimsAnswer: loop, Consolidation: loop})
    with noting(tmp_path / "a.db", llm=model) as memory:
        agent = agent_of(memory, talking(always="Nice."))
        say(agent, PORTO)
        assert "learned: 1 fact" in agent.process("/new").text
        assert facts(memory) == items(memory) == [FACT]
        (entry,) = told(memory)
        assert "raw-fallback" not in entry
        asked = len(model.asked)
        memory.consolidate()
        assert (told(memory), len(model.asked)) == ([entry], asked)


def test_closing_in_the_middle_loses_nothing(tmp_path):
    """A memory closed while the model still reads: the next one learns and tells it, once."""
    path = tmp_path / "a.db"
    settings = chosen(consolidation={"timeout": 0.05})
    model = Gate(talking(always="Nice.", facts_=[LIVES], entry="They moved."))
    memory = noting(path, settings=settings, llm=model)
    agent = agent_of(memory)
    say(agent, PORTO)
    agent.process("/new")
    assert model.asked.wait(PATIENCE)
    closer = Thread(target=memory.close)
    closer.start()
    closer.join(PATIENCE / 3)
    stuck = closer.is_alive()
    model.go.set()
    closer.join(PATIENCE)
    assert not stuck
    model = talking(always="Nice.", facts_=[LIVES], entry="They moved.")
    with noting(path, settings=settings, llm=model) as again:
        assert agent_of(again).chat.id == "chat-2"
        assert PORTO in [hit.record.content for hit in again.search("Porto")]
        again.consolidate()
        assert facts(again) == items(again) == [FACT]
        whole, raw = told(again)  # The clock of this memory begins anew.
        assert "[raw-fallback]" in raw
        assert whole.endswith("They moved.")
        assert again.verify() == []


def test_a_memory_without_a_file_has_its_notes_in_every_prompt():
    """Also in the first session: MEMORY.md of a memory in memory alone is in a folder for now."""
    model = talking(always="Nice.")
    with noting(":memory:") as memory:
        memory.remember("Ana is vegetarian.")
        agent = agent_of(memory, model)
        agent.process("Hello!")
        assert "Ana is vegetarian." in model.chatted[0].messages[0]["content"]
