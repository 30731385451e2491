"""A real language model of 135 million parameters: whatever it answers, these laws hold.

What it says is looked at nowhere. It repeats itself, invents and contradicts itself, so it finds
what a scripted model does not say.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

import pytest
from benchmarks.local_model import LONGEST

from memoranda import Agent, Memory, Settings
from memoranda.agent.agent import CUT_OFF, SILENT
from memoranda.agent.session import (
    AnswerFinished,
    ChatSession,
    ConversationChanged,
    Notice,
    TextPiece,
)
from memoranda.errors import UnusableAnswer
from memoranda.model.models import ToolCall, ToolResult, Trust
from memoranda.providers.llm.message_conversion import NOTE
from memoranda.text.recalled import NO_ANSWER

pytestmark = [pytest.mark.local_model, pytest.mark.slow, pytest.mark.timeout(3_600)]

# Seconds that an answer may take, on a machine that does much else.
PATIENCE = 1_200
LINES = (
    "Hi, I'm Ana. I moved to Porto with my cat Luna.",
    "My sister Rita works at Tidepool as a welder.",
    "I'm allergic to nuts, and I never fly before nine. Any ideas for Lisbon?",
)
TOOLS = "search_memories, store_memory, forget_memory"
# Earlier calls, which it imitates, and what each request of an agent has beside the question.
DATED = NOTE.format(text="Today is Monday, 2 March 2026.")
CALLS = (
    (
        "Where do I live?",
        "search_memories",
        {"query": "home"},
        "The user lives in Porto.",
        "Porto.",
    ),
    (
        "Remember that I have a dog.",
        "store_memory",
        {"content": "The user has a dog."},
        "Stored.",
        "Stored.",
    ),
    ("What do I eat?", "search_memories", {"query": "food"}, "Nothing.", "I do not know."),
    ("Remember that I run.", "store_memory", {"content": "The user runs."}, "Stored.", "Stored."),
    ("Who is my boss?", "search_memories", {"query": "boss"}, "Nothing.", "I do not know."),
    (
        "Remember that I hate snow.",
        "store_memory",
        {"content": "The user hates snow."},
        "Stored.",
        "Stored.",
    ),
)
WORD = re.compile(r"\w+")


def settings_for(model, **sections):
    """Return settings with the model, which waits as long as it takes."""
    whole = {
        "timezone": "UTC",
        "embedding": {"model": "none"},
        "llm": {"model": model, "timeout": PATIENCE, "retries": 0},
        "agent": {"tools": "none"},
        "consolidation": {"timeout": PATIENCE},
    }
    return Settings(**(whole | sections))


@pytest.fixture
def opened(tmp_path):
    """Open Ana's memory in a file, with the model and sections of settings."""
    memories = []

    def start(model, **sections):
        memory = Memory(tmp_path / "a.db", user="ana", settings=settings_for(model, **sections))
        memories.append(memory)
        return memory

    yield start
    for each in memories:
        each.close()


def supported(memory, fact):
    """Return whether a person said what a fact says: half of its words, and every name and number.

    Of an attribute that is its value. A word is compared by its first letters, and the first word
    of a sentence is no name.
    """
    sources = [memory.get(each) for each in fact.source_ids]
    said = " ".join(each.content for each in sources if each.trust is Trust.PERSON)
    known = {word.casefold()[:4] for word in WORD.findall(said)}
    words = WORD.findall(fact.value or fact.content.partition("” (")[0])
    about = [each for each in words if len(each) > 3 and each != "user"]
    sure = [each for each in words[1:] if each[0].isupper() or each.isdigit()]
    held = [each.casefold()[:4] in known for each in about]
    return sum(held) * 2 >= len(held) and all(each.casefold()[:4] in known for each in sure)


def check_facts(memory):
    """Check that every fact is what a person said; return them."""
    facts = memory.records(kind="fact", limit=1_000)
    assert [each.content for each in facts if not supported(memory, each)] == []
    return facts


def check_used(memory, stage):
    """Check that the use of the model was written down; return how many calls there were."""
    (usage,) = [each.usage for each in memory.usage() if each.stage == stage]
    assert 0 < usage.output_tokens <= usage.requests * LONGEST
    assert usage.input_tokens > usage.requests
    assert usage.seconds > 0
    return usage.requests


def test_a_chat_is_streamed_stored_and_learned_from(opened, model):
    """Pieces make the answer, a limit is told, what was said is stored, and /new loses nothing."""
    memory = opened(model)
    chat = ChatSession(memory)
    for line in LINES[:2]:
        _, *pieces, last = chat.send(line)
        assert isinstance(last, AnswerFinished), last
        words = last.answer.text
        assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) in {words, ""}
        assert words.endswith(CUT_OFF) is (last.answer.usage.output_tokens == LONGEST)
        assert words == chat.agent.chat.messages[-1].content or words == SILENT
    assert [each.content for each in chat.agent.chat.by_role("user")] == [*LINES[:2]]
    assert check_used(memory, "chat") == 2
    *_, last = chat.send("/new")
    assert isinstance(last, ConversationChanged), last
    said = [each.content for each in memory.records(kind="episode", session="chat")]
    assert {*LINES[:2]} <= {*said}
    assert memory.sessions(pending=True) == []
    assert check_facts(memory)
    assert len(memory.notes.history()) == 1
    check_used(memory, "consolidate")
    check_used(memory, "history")
    assert memory.verify() == []


def test_an_answer_that_is_stopped_leaves_the_next_one_alone(opened, model):
    """The server ends it, too: it serves one at a time, and the next is not kept waiting."""
    chat = ChatSession(opened(model))
    events = chat.send("Tell me a very long story about a lighthouse.")
    for event in events:
        if isinstance(event, TextPiece):
            chat.stop()
            break
    *_, last = events
    assert isinstance(last, Notice), last
    assert chat.agent.chat.messages[-1].content == NO_ANSWER
    *_, last = chat.send("Hello?")
    assert isinstance(last, AnswerFinished), last


def test_whatever_it_calls_comes_back_as_one_message(opened, serve):
    """Each call has its result, in one line where it failed; no word of it is the person's."""
    with serve(64, greedy=True) as name:
        memory = opened(name, agent={"tools": TOOLS, "max_steps": 2})
        agent = Agent(memory, system="You help with a memory.")
        for number, (said, tool, arguments, result, answer) in enumerate(CALLS):
            agent.chat.add("user", f"{DATED}\n\n{said}")
            call = ToolCall(f"c{number}", tool, json.dumps(arguments))
            agent.chat.add("assistant", "", tool_calls=(call,))
            agent.chat.add("tool", result, tool_result=ToolResult(call.id))
            agent.chat.add("assistant", answer)
        before, known = len(agent.chat), {each.id for each in memory.records(kind="fact")}
        for said in ("Where does my sister live?", "Remember that I paint.", "Forget that I run."):
            assert agent.process(said).text.strip()
    new = agent.chat.messages[before:]
    called = [call.id for each in new for call in each.tool_calls]
    results = [each for each in new if each.role == "tool"]
    assert called == [each.tool_result.call_id for each in results]
    assert called, "it called nothing; show it other examples"
    for each in results:
        assert each.tool_result.is_error is each.content.startswith("Error: ")
        assert not (each.tool_result.is_error and "\n" in each.content)
    for each in memory.records(kind="fact"):
        assert each.id in known or each.trust is Trust.AGENT or each.content == "I paint."
    assert memory.verify() == []


def test_a_session_is_read_whatever_the_model_draws_from_it(opened, model):
    """It is consolidated, its facts are what the person said, and a second reading adds nothing."""
    memory = opened(model, consolidation={"automatic": False})
    chat = memory.conversation("trip")
    for line in LINES:
        chat.add("user", line)
        chat.add("assistant", "Your brother Karl lives in Rome, and you owe him 500 euros.")
    report = memory.consolidate("trip")
    assert (dict(report.failed), report.counts["sessions"]) == ({}, 1)
    assert check_facts(memory)
    check_used(memory, "consolidate")
    assert memory.consolidate().count == 0


def test_the_insight_of_a_week_tells_nothing_new(opened, model):
    """Names and numbers in it are of the records it was shown; it is no evidence for facts."""
    memory = opened(model)
    for line in ("Ana lives in Porto.", "Ana is allergic to nuts.", "Rita works at Tidepool."):
        memory.remember(line)
    assert memory.reflect().count == 1
    (insight,) = memory.records(kind="reflection")
    facts = memory.records(kind="fact")
    known = {word for each in facts for word in WORD.findall(each.content)}
    if insight.metadata["by"] != "digest":
        names = re.findall(r"(?<=[a-z] )[A-Z]\w+|\d+", insight.content)
        assert {*names} <= known
    assert len(facts) == 3
    check_used(memory, "reflect")


@dataclass
class Weather:
    """The weather of a day."""

    sky: Literal["sun", "rain", "snow"]
    degrees: int


def test_a_schema_is_kept(opened, model):
    """The server holds the model to it, so that even such a model gives an answer of the type."""
    asked = opened(model)._services.models
    given = []
    for city in ("Porto", "Oslo", "Cairo"):
        question = asked.model.ask("Invent the weather.", f"The weather in {city}?", Weather)
        try:
            given.append(asked.wait(question).value)
        except UnusableAnswer:  # It talked until its limit.
            continue
    assert given
    assert all(isinstance(each, Weather) for each in given)


def test_a_limit_of_a_few_tokens_loses_nothing(opened, serve):
    """Every answer is cut off: it is stored so, and the rules learn what the model cannot say."""
    with serve(8) as name:
        memory = opened(name)
        chat = ChatSession(memory)
        *_, last = chat.send(LINES[0])
        assert isinstance(last, AnswerFinished), last
        assert last.answer.text.endswith(CUT_OFF)
        assert chat.agent.chat.messages[-1].content == last.answer.text
        *_, last = chat.send("/new")
        assert memory.sessions(pending=True) == []
        assert any("Porto" in each.content for each in check_facts(memory))
        assert "raw-fallback" not in memory.notes.history()[0].text
        used = [each.usage for each in memory.usage() if each.stage == "consolidate"]
        assert [(each.requests, each.failures) for each in used] == [(2, 2)]
