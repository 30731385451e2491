"""What an agent is shown, and what it is not: secrets, the forgotten, small talk, its own tools."""

import pytest
from tables import each_row

from memoranda import Memory, Settings
from memoranda.agent import Agent
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.testing.models import ScriptedLLM
from memoranda.tools import Tool

SETTINGS = Settings(timezone="UTC", embedding={"model": "none"})
KEY = "My API key is sk-proj-abc123XYZ456def789ghi and the staging host is Brimstone."


@pytest.fixture
def memory(tmp_path):
    """Return a memory without vectors."""
    with Memory(tmp_path / "m.db", settings=SETTINGS) as opened:
        yield opened


def talk(memory, session, *said):
    """Say these in a session, and end it."""
    chat = memory.conversation(session)
    for text in said:
        chat.add("user", text)
    chat.end()


def agent_of(memory, *script, **given):
    """Return an agent whose model says what ``script`` says."""
    return Agent(memory, llm=ScriptedLLM({ChatReply: list(script)}), **given)


def test_a_secret_of_an_earlier_talk_goes_to_no_model(memory):
    """Recall, contexts, tools and the console tell the rest of a turn and mask its secret."""
    talk(memory, "one", KEY)
    chat = memory.conversation("two")
    texts = [
        memory.recall("Which staging host is it?").text,
        str(chat.context("Which staging host is it?").messages),
        next(tool for tool in memory.tools() if tool.name == "search_memories")(
            query="staging host"
        ),
        Agent(memory).process("Which staging host is it?").text,
    ]
    for text in texts:
        assert "Brimstone" in text
        assert "sk-proj" not in text
    assert KEY in [record.content for record in memory.records(kind="episode")]


def test_what_was_forgotten_is_not_told_by_its_turn(memory):
    """A line that was taken out of MEMORY.md comes back neither as a fact nor as what was said."""
    talk(memory, "one", "I'm allergic to peanuts. My brother is called Karl.")
    notes = memory.notes
    assert "Karl" in notes.read_memory()
    file = notes.folder / "MEMORY.md"
    kept = [line for line in file.read_text().splitlines() if "Karl" not in line]
    file.write_text("\n".join(kept) + "\n")
    notes.sync()
    assert "Karl" not in memory.recall("What is my brother called? Karl?").text
    search = next(tool for tool in memory.tools() if tool.name == "search_memories")
    assert "Karl" not in search(query="brother called")
    assert "peanuts" in memory.recall("Am I allergic to peanuts?").text


@each_row("said", ["hi", "Hello!", "thanks a lot", "ok", "Good morning", "Danke!"])
def test_small_talk_recalls_nothing(memory, said):
    """A greeting is no question: nothing of what was said is put before a model for it."""
    talk(memory, "one", "hi", "I live in Porto.", "thanks")
    assert memory.recall(said).hits == ()
    assert Agent(memory).process(said).text == "Noted, and kept in memory."


def test_the_words_of_memorys_own_tools_are_no_episodes(memory):
    """What a tool of memory says about a record is not remembered as something said."""
    call = ToolCall("c1", "store_memory", '{"content": "Ana plays chess"}')
    wrong = ToolCall("c2", "no_such_tool", "{}")
    agent = agent_of(memory, [call, wrong], "Kept.")
    assert agent.process("Remember that I play chess").tools == ("store_memory", "no_such_tool")
    said = [record.content for record in memory.records(kind="episode")]
    assert said == ["Remember that I play chess", "Kept."]


def test_a_tool_that_raises_is_told_to_the_model(memory):
    """The turn goes on, and the model reads what went wrong; a schema needs no list of required."""

    def fails(x: str) -> str:
        message = f"no {x}"
        raise ValueError(message)

    own = Tool("own", "Fails.", {"type": "object", "properties": {"x": {"type": "string"}}}, fails)
    agent = agent_of(memory, ToolCall("c1", "own", '{"x": "luck"}'), "Sorry.", tools=[own])
    assert agent.process("try").text == "Sorry."
    (result,) = agent.chat.by_role("tool")
    assert result.content == "Error: own failed: no luck"


def test_the_date_is_in_the_prompt(memory):
    """A model that reads dates of the past is told the present one."""
    agent = agent_of(memory, "Fine.")
    agent.process("How are you?")
    system = agent._model.chatted[0].messages[0]["content"]
    assert "Today is " in system


def test_what_the_recap_tells_is_not_recalled_beside_it(tmp_path):
    """After an overflow a turn stands in the recap or in what memory tells, not in both."""
    small = Settings(
        timezone="UTC",
        embedding={"model": "none"},
        agent={"memory_window": 4},
        conversation={"keep_recent": 4},
    )
    with Memory(tmp_path / "m.db", settings=small) as memory:
        agent = agent_of(memory, *["Noted, thank you for that."] * 4)
        for text in ("My cat is Biscuit.", "The roof is green.", "The bike is red."):
            agent.process(text)
        context = agent.context("What is my cat called?")
        assert str(context.messages).count("My cat is Biscuit.") == 1


def test_a_marker_can_be_read_by_the_model(memory):
    """What was taken out of view can be asked for by its marker."""
    agent = agent_of(memory, ToolCall("c1", "expand_messages", '{"marker": "cut_0-1"}'), "Read.")
    agent.chat.add("user", "The roof is green.")
    agent.chat.add("assistant", "Good.")
    agent.chat.start_session()
    agent.process("What colour was it?")
    (result,) = agent.chat.by_role("tool")
    assert "user: The roof is green." in result.content
