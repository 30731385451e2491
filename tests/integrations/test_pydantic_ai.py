"""A history that fits a budget and the tools of a memory, under Pydantic AI's real agent."""

import asyncio

import pytest

from memoranda import AsyncMemory, Memory, Settings, errors

pytest.importorskip("memoranda.integrations.pydantic_ai", reason="pydantic-ai is not installed")

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memoranda.integrations.pydantic_ai import FittingHistory, make_toolset, read_messages

WORDLESS = Settings(embedding={"model": "none"})


def test_what_fits_is_sent_and_all_is_kept(tmp_path):
    """Requests stay within the budget, with whole exchanges; a new process goes on with all."""
    requests: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        requests.append(list(messages))
        thinking = ThinkingPart("Let me see.", signature="c2VjcmV0")
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([thinking, TextPart("It is sunny in both.")])
        calls = [ToolCallPart("look_up", {"place": place}) for place in ("Faro", "Lagos")]
        return ModelResponse([thinking, *calls])

    def look_up(place: str) -> str:
        """Return the weather."""
        return f"sun over {place} " * 20

    def run(memory: Memory, prompts: list[str]) -> list[ModelMessage]:
        chat = memory.conversation("weather", max_tokens=10_000, keep_recent=3)
        history = FittingHistory(chat, 400)
        agent = Agent(
            FunctionModel(answer), tools=[look_up], capabilities=[ProcessHistory(history)]
        )
        said: list[ModelMessage] = []
        for prompt in prompts:
            # `run_sync` would leave an open event loop behind.
            said = asyncio.run(agent.run(prompt, message_history=said)).all_messages()
        history(said)
        return read_messages(chat.messages)

    with Memory(tmp_path / "a.db", settings=WORDLESS) as memory:
        before = run(memory, [f"And day {number}?" for number in range(6)])
        assert len(before) == 6 * 5
    with Memory(tmp_path / "a.db", settings=WORDLESS) as memory:
        after = run(memory, ["And tomorrow?"])
        assert after[: len(before)] == before
        assert len(after) == 7 * 5
        assert not any("Let me see" in record.content for record in memory.records())
    assert len(requests[-1]) > 3
    for sent in requests:
        assert len(sent) < 12
        parts = [part for one in sent for part in one.parts]
        called, answered = (
            sorted(part.tool_call_id for part in parts if isinstance(part, kind))
            for kind in (ToolCallPart, ToolReturnPart)
        )
        assert called == answered


@pytest.mark.parametrize("budget", [200, 1_000])
def test_a_long_result_is_shortened_and_a_long_prompt_refused(budget):
    """The model never answers an older question, and what was said is kept once."""
    requests: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        requests.append(list(messages))
        if isinstance(messages[-1].parts[0], ToolReturnPart):
            return ModelResponse([TextPart("Done.")])
        return ModelResponse([ToolCallPart("look_up", {"n": n}) for n in (1, 5_000)])

    def look_up(n: int) -> str:
        """Return a text."""
        return "data " * n

    with Memory(":memory:", settings=WORDLESS) as memory:
        chat = memory.conversation("c")
        agent = Agent(
            FunctionModel(answer),
            tools=[look_up],
            capabilities=[ProcessHistory(FittingHistory(chat, budget))],
        )
        said = asyncio.run(agent.run("Look it up.")).all_messages()
        short, long = requests[-1][-1].parts
        assert short.content == "data "
        assert len(long.content) < budget * 5
        assert "characters removed" in long.content
        for prompt in ("BIG " * 5_000, ["BIG " * 5_000]):
            with pytest.raises(errors.BudgetTooSmall, match=f"the budget of {budget}"):
                asyncio.run(agent.run(prompt, message_history=said))
        asyncio.run(agent.run("And now?", message_history=said))
        assert [each.content for each in chat.messages if each.role == "user"] == [
            "Look it up.",
            *["BIG " * 5_000] * 2,
            "And now?",
        ]
        assert "data " * 5_000 in [each.content for each in chat.messages]


def test_an_answer_in_a_form_is_kept_once():
    """Its tool's result, which Pydantic AI joins to the next prompt, may leave without that."""

    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": 1})])

    with Memory(":memory:", settings=WORDLESS) as memory:
        chat = memory.conversation("c", keep_recent=1)
        history = FittingHistory(chat, 200)
        agent = Agent(
            FunctionModel(answer), output_type=int, capabilities=[ProcessHistory(history)]
        )
        said: list[ModelMessage] = []
        prompts = [f"{number} " * 40 for number in range(5)]
        for prompt in prompts:
            said = asyncio.run(agent.run(prompt, message_history=said)).all_messages()
        assert [each.content for each in chat.messages if each.role == "user"] == prompts


def test_what_others_said_is_read_as_well():
    """Messages of any origin, by who said them; what is no message of either is left out."""
    with Memory(":memory:", settings=WORDLESS) as memory:
        chat = memory.conversation("c", system="Be short.")
        chat.add("user", "Hello")
        chat.add("assistant", "Hi")
        read = read_messages(chat.messages)
    assert [each.parts[0].content for each in read] == ["Hello", "Hi"]
    assert [each.kind for each in read] == ["request", "response"]


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_an_agent_has_the_tools_of_a_memory(kind, tmp_path):
    """It remembers and finds with them, whichever memory they are of."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if not isinstance(last, ToolReturnPart):
            return ModelResponse([ToolCallPart("store_memory", {"content": "Ana drinks oolong"})])
        if last.tool_name == "store_memory":
            return ModelResponse([ToolCallPart("search_memories", {"query": "oolong"})])
        return ModelResponse([TextPart(last.model_response_str())])

    async def use(toolset) -> str:
        agent = Agent(FunctionModel(answer), toolsets=[toolset])
        return (await agent.run("Remember that.")).output

    async def use_async() -> str:
        async with AsyncMemory(tmp_path / "a.db", settings=WORDLESS) as memory:
            return await use(make_toolset(memory))

    if kind is AsyncMemory:
        assert "Ana drinks oolong" in asyncio.run(use_async())
        return
    with Memory(tmp_path / "b.db", settings=WORDLESS) as memory:
        assert "Ana drinks oolong" in asyncio.run(use(make_toolset(memory)))
