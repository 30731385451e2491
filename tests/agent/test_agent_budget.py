"""What an agent is shown: what fits the window, tools counted; and what no model is to see."""

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from noting import agent_of, calling, chosen, noting, talking
from tables import each_row

from memoranda import Memory, Settings
from memoranda.agent import Agent
from memoranda.agent.agent import SILENT
from memoranda.conversation.strategies import STRATEGIES
from memoranda.errors import BudgetTooSmall, ConfigError, SpendLimitReached
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.model.usage import Usage
from memoranda.testing.models import ScriptedLLM
from memoranda.text.recalled import NO_ANSWER
from memoranda.tools import Tool

SPOKEN = {"user", "assistant"}


def replying(input_tokens, requests=1):
    """Return a model whose provider counts so many tokens in each request."""
    return talking(
        always=ChatReply("I see.", (), Usage(requests=requests, input_tokens=input_tokens))
    )


def test_the_definitions_of_tools_are_part_of_the_budget(tmp_path):
    """They stand in the receipt; where there is no room for them, an error says by how much."""
    with noting(tmp_path / "a.db", settings=chosen()) as memory:
        agent = agent_of(memory, talking(always="I see."))
        receipt = agent.process("Hello!").receipt
        (tools,) = [line for line in receipt.included if line.what == "tools"]
        sent = agent._model.chatted[-1]
        assert tools.tokens == agent.chat._states.read().meter.tools(sent.tools)
        assert sum(line.tokens for line in receipt.included) == receipt.tokens <= receipt.budget
        whole = agent.context("Hello!").tokens
        bare = agent.chat.context("Hello!", tools=(), beside=agent._beside())
        assert whole == bare.tokens + tools.tokens
    small = chosen(conversation={"context_limit": 400})
    with noting(tmp_path / "b.db", settings=small) as memory:
        agent = agent_of(memory, talking(always="I see."))
        with pytest.raises(BudgetTooSmall, match="320"):
            agent.process("Hello!")
        assert [message.content for message in agent.chat.messages] == ["Hello!"]


def test_the_counts_of_the_provider_teach_the_next_budget(tmp_path):
    """What the provider counted corrects later estimates, unless it cannot be of this text."""
    with noting(tmp_path / "a.db", settings=chosen()) as memory:
        agent = agent_of(memory, replying(0))
        first = agent.context("Hello!").tokens
        for tokens, requests, learned in (
            (1, 1, 1.0),  # far too few
            (0, 1, 1.0),
            (10**7, 1, 1.0),  # far too many
            (4_000, 3, 1.0),  # the sum of several requests
            (int(first * 1.25), 1, 1.25),
        ):
            agent._model = replying(tokens, requests)
            agent.process("Hello!")
            told = agent.chat._states.read().info.calibration
            assert (told.scale, told.overhead) == (pytest.approx(learned, rel=0.05), 0)
            agent.chat.clear()


def test_the_view_of_the_agent_follows_the_settings(tmp_path):
    """``conversation.max_messages`` limits what is sent; what left the view is in the answer."""
    own = {"max_messages": 8, "keep_recent": 4, "prune_from": 0.0}
    settings = chosen(conversation=own, agent={"system": "You plan trips."})
    with noting(tmp_path / "a.db", settings=settings) as memory:
        agent, told = agent_of(memory, talking(always="I see.")), []
        for number in range(12):
            answer = agent.process(f"Number {number}.")
            told += answer.prunings
            sent = [m for m in agent._model.chatted[-1].messages if m["role"] in SPOKEN]
            assert len(sent) <= 8
            assert sent[-1]["content"] == f"Number {number}."
        assert agent._model.chatted[-1].messages[0]["content"].startswith("You plan trips.")
        assert answer.receipt.left_out
        assert tuple(told) == agent.chat.prunings != ()


def test_a_warning_counts_what_stats_count(tmp_path):
    """It comes with the message with which the whole request passes the share, and names it."""
    roomy = {"budget_share": 1.0, "prune_at": 1.0, "aggressive_at": 1.0, "warn_at": 0.6}
    own = chosen(conversation=roomy | {"context_limit": 4_000})
    with noting(tmp_path / "a.db", settings=own) as memory:
        agent = agent_of(memory, talking(always="I see."))
        told = []
        agent.chat.on(
            "approaching_limit",
            lambda event: told.append((event.subject.tokens, agent.chat.stats().total_tokens)),
        )
        while not told:
            before = agent.chat.stats().total_tokens
            agent.process("Is it so? " * 20)
        ((warned, stated),) = told
        assert before < 0.6 * 4_000 <= warned == stated


@settings(max_examples=examples(6))
@given(
    limit=st.integers(2_200, 6_000),
    sizes=st.lists(st.tuples(st.integers(1, 90), st.booleans()), min_size=2, max_size=6),
    facts=st.integers(0, 12),
    conversation=st.fixed_dictionaries(
        {
            "strategy": st.sampled_from(sorted(STRATEGIES)),
            "keep_recent": st.integers(1, 8),
            "max_messages": st.integers(8, 50),
        }
    ),
)
def test_stats_say_what_each_request_sends(limit, sizes, facts, conversation):
    """Messages and tokens in context are those of the request, tools, notes and recall counted."""
    own = chosen(conversation=conversation | {"context_limit": limit})
    told = []

    def reply(turn):
        stats, found = agent.chat.stats(), agent.chat.explain()
        assert found.figures == stats
        quoting = sum(marker.quotes for marker in found.markers)
        spoken = [each for each in turn.messages if each["role"] != "system"]
        assert stats.messages_in_context == len(spoken) - quoting
        told.append(stats)
        calls = calling("memory_stats", f"c{len(told)}")
        return calls if wants and spoken[-1]["role"] == "user" else "It is noted. " * 20

    with noting(":memory:", settings=own) as memory:
        memory.remember_many([f"The harbour of town {n} has {n} boats" for n in range(facts)])
        agent = agent_of(memory, talking(always=reply))
        for number, (size, wants) in enumerate(sizes):  # noqa: B007 - reply reads it
            try:
                answer = agent.process(f"Is {number} right? {'The harbour of a town. ' * size}")
            except BudgetTooSmall:
                assert agent.chat.stats().total_tokens > own.conversation.budget_share * limit
                continue
            assert told[-1].total_tokens == answer.receipt.tokens
            assert told[-1].percent_used == round(answer.receipt.tokens / limit * 100, 1)
            assert sum(told[-1].tokens_by_role.values()) == answer.receipt.tokens
            # The next request goes on from there, with what memory recalled for the last one.
            assert agent.chat.stats().total_tokens <= own.conversation.budget_share * limit


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


def scripted_agent(memory, *script, **given):
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


def test_the_words_of_memorys_own_tools_are_no_episodes(memory):
    """What a tool of memory says is not remembered as said; of one that raises the model reads why.

    A schema needs no list of what is required; and a model is told the present date.
    """

    def fails(x: str) -> str:
        message = f"no {x}"
        raise ValueError(message)

    own = Tool("own", "Fails.", {"type": "object", "properties": {"x": {"type": "string"}}}, fails)
    calls = [
        ToolCall("c1", "store_memory", '{"content": "Ana plays chess"}'),
        ToolCall("c2", "no_such_tool", "{}"),
        ToolCall("c3", "own", '{"x": "luck"}'),
    ]
    agent = scripted_agent(memory, calls, "Kept.", tools=[own])
    answer = agent.process("Remember that I play chess")
    assert (answer.text, answer.tools) == ("Kept.", ("store_memory", "no_such_tool", "own"))
    said = [record.content for record in memory.records(kind="episode")]
    assert said == ["Remember that I play chess", "Error: own failed: no luck", "Kept."]
    assert agent.chat.by_role("tool")[-1].content == "Error: own failed: no luck"
    # What the rules have kept is told to the model; its own wording of it is nothing new.
    beside = agent._model.chatted[0].messages[-2]["content"]
    assert "Today is " in beside
    assert "Already kept, as the user asked: I play chess" in beside
    assert [record.content for record in memory.records(kind="fact")] == ["I play chess."]


def test_a_turn_goes_on_whatever_a_tool_returns(memory):
    """Its text goes to the model and is stored; and so of one that raises."""

    def fails():
        raise ValueError("a\x00b")

    given = {"nothing": None, "figures": {"celsius": 21}, "binary": b"\x00\xff"}
    schema = {"type": "object", "properties": {}}
    tools = [Tool(name, "Looks.", schema, lambda name=name: given[name]) for name in given]
    calls = [ToolCall(name, name, "{}") for name in (*given, "fails")]
    agent = scripted_agent(
        memory, calls, "Done.", tools=[*tools, Tool("fails", "Fails.", schema, fails)]
    )
    assert agent.process("Look at it, please").text == "Done."
    assert [message.content for message in agent.chat.by_role("tool")] == [
        "(no result)",
        '{"celsius": 21}',
        "\\x00\\xff",
        "Error: fails failed: a\\x00b",
    ]


@each_row("reply", ["", "  \n "])
def test_a_model_that_says_nothing_is_told_of(memory, reply):
    """The person reads so; the transcript has no empty message, and the talk goes on."""
    agent = scripted_agent(memory, reply, "Fine.")
    assert agent.process("Where is it?").text == SILENT
    assert agent.process("Where is it now?").text == "Fine."
    said = [message.content for message in agent.chat.messages[-4:]]
    assert said == ["Where is it?", NO_ANSWER, "Where is it now?", "Fine."]


def test_the_tools_of_the_agent_are_chosen(tmp_path):
    """All, none or some of memory's; your own are always there, and a wrong name is refused."""

    def sent(tools):
        settings = Settings(timezone="UTC", embedding={"model": "none"}, agent={"tools": tools})
        with Memory(":memory:", settings=settings) as memory:
            model = ScriptedLLM(["Fine."])
            own = Tool("stamp", "Stamps.", {"type": "object"}, lambda: "stamped")
            Agent(memory, llm=model, tools=[own]).process("Hello")
            return [tool.name for tool in model.chatted[0].tools]

    assert len(sent("all")) == 11
    assert sent("none") == ["stamp"]
    assert sent(["search_memories"]) == ["search_memories", "stamp"]
    with pytest.raises(ConfigError, match=r"agent.tools: 'serch' is unknown; there are .*recall"):
        sent(["serch"])
    assert tmp_path.exists()


def test_a_session_costs_no_more_than_it_may(memory):
    """Beyond ``agent.spend_limit`` no model is asked, in the background too; /new begins anew."""
    memory._services.settings = memory.settings.with_values(agent={"spend_limit": 0.0015})
    agent = scripted_agent(memory, *["I see."] * 4)  # A tenth of a cent each.
    agent.process("One.")
    agent.process("Two.")
    (taken,) = agent.spending()
    assert (taken.stage, taken.usage.requests, taken.usage.cost) == ("chat", 2, 0.002)
    with pytest.raises(SpendLimitReached, match=r"has cost \$0.0020, .* \$0.0015; raise that with"):
        agent.process("Three.")
    assert agent.chat.messages[-2].content == "Three."
    stage = memory._services.models
    stage.model = ScriptedLLM({str: "never said"})
    model = stage.for_stage(agent._scope, "consolidate")
    with pytest.raises(SpendLimitReached):
        stage.wait(model.ask("Read.", "Ana", str))
    agent.new()
    assert agent.spending() == []
    assert agent.process("Four.").text == "I see."
