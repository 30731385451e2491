"""What the agent sends fits the model's window: tools count, and the provider's counts teach."""

from contextlib import closing
from dataclasses import replace

import pytest
from noting import agent_of, chosen, noting, talking

from memoranda.errors import BudgetTooSmall
from memoranda.model.chat import ChatReply
from memoranda.model.usage import Usage


def replying(input_tokens, requests=1):
    """Return a model whose provider counts so many tokens in each request."""
    return talking(
        always=ChatReply("I see.", (), Usage(requests=requests, input_tokens=input_tokens))
    )


def test_the_definitions_of_tools_are_part_of_the_budget(tmp_path):
    """They stand in the receipt, and the whole with them is within the budget."""
    with closing(noting(tmp_path / "a.db", settings=chosen())) as memory:
        agent = agent_of(memory, talking(always="I see."))
        receipt = agent.process("Hello!").receipt
        (tools,) = [line for line in receipt.included if line.what == "tools"]
        sent = agent._model.chatted[-1]
        assert tools.why == f"{len(sent.tools)} definitions"
        shortest = sum(len(tool.description) for tool in sent.tools) / 8
        assert tools.tokens > shortest
        assert sum(line.tokens for line in receipt.included) == receipt.tokens <= receipt.budget
        plain = agent.chat.context("Hello!")
        assert agent.context("Hello!").tokens == plain.tokens + tools.tokens


def test_a_window_without_room_for_the_tools_is_refused(tmp_path):
    """An error says by how much, before anything is sent; what was said is kept."""
    settings = chosen(conversation={"context_limit": 400})
    with closing(noting(tmp_path / "a.db", settings=settings)) as memory:
        agent = agent_of(memory, talking(always="I see."))
        with pytest.raises(BudgetTooSmall, match="320"):
            agent.process("Hello!")
        assert [message.content for message in agent.chat.messages] == ["Hello!"]


def test_the_counts_of_the_provider_teach_the_next_budget(tmp_path):
    """What the model's provider counted corrects later estimates of the same conversation."""
    with closing(noting(tmp_path / "a.db", settings=chosen())) as memory:
        agent = agent_of(memory, replying(0))
        first = agent.context("Hello!").tokens
        agent._model = replying(int(first * 1.25))
        agent.process("Hello!")
        learned = memory.conversation(agent.chat.id).stats()
        assert learned.total_tokens > 0
        scale = agent.chat._states.read().info.calibration.scale
        assert scale == pytest.approx(1.25, rel=0.05)


@pytest.mark.parametrize(("tokens", "requests"), [(1, 1), (0, 1), (10**7, 1), (4_000, 3)])
def test_a_count_that_cannot_be_of_this_text_teaches_nothing(tmp_path, tokens, requests):
    """Far too few, far too many, or the sum of several requests."""
    with closing(noting(tmp_path / "a.db", settings=chosen())) as memory:
        agent = agent_of(memory, replying(tokens, requests))
        agent.process("Hello!")
        before = agent.chat._states.read().info.calibration
        assert before == replace(before, scale=1.0, overhead=0)


def test_the_view_of_the_agent_follows_the_settings(tmp_path):
    """``conversation.max_messages`` limits what is sent, and ``memory_window`` what is unread."""
    settings = chosen(conversation={"max_messages": 8, "keep_recent": 4})
    with closing(noting(tmp_path / "a.db", settings=settings)) as memory:
        agent = agent_of(memory, talking(always="I see."))
        for number in range(12):
            answer = agent.process(f"Number {number}.")
            sent = [
                m for m in agent._model.chatted[-1].messages if m["role"] in {"user", "assistant"}
            ]
            assert len(sent) <= 8
            assert sent[-1]["content"] == f"Number {number}."
        assert answer.receipt.left_out


def test_what_leaves_the_view_is_part_of_the_answer(tmp_path):
    """An answer carries the receipts of what left the view since the one before."""
    settings = chosen(conversation={"max_messages": 8, "keep_recent": 4})
    with closing(noting(tmp_path / "a.db", settings=settings)) as memory:
        agent = agent_of(memory, talking(always="I see."))
        told = [receipt for n in range(12) for receipt in agent.process(f"Number {n}.").prunings]
        assert tuple(told) == agent.chat.prunings != ()
