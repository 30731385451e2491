"""What the agent sends fits the model's window: tools count, and the provider's counts teach."""

from contextlib import closing
from dataclasses import replace

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from noting import agent_of, calling, chosen, noting, talking
from tables import each_row

from memoranda.conversation.strategies import STRATEGIES
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
        whole = agent.context("Hello!").tokens
        assert whole == agent.chat.context("Hello!", tools=()).tokens + tools.tokens


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


@each_row(("tokens", "requests"), [(1, 1), (0, 1), (10**7, 1), (4_000, 3)])
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


def test_a_warning_counts_what_stats_count(tmp_path):
    """It comes with the message with which the whole request passes the share, and names it."""
    roomy = {"budget_share": 1.0, "prune_at": 1.0, "aggressive_at": 1.0, "warn_at": 0.6}
    own = chosen(conversation=roomy | {"context_limit": 4_000})
    with closing(noting(tmp_path / "a.db", settings=own)) as memory:
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


@settings(max_examples=examples(8))
@given(
    limit=st.integers(2_200, 6_000),
    sizes=st.lists(st.tuples(st.integers(1, 90), st.booleans()), min_size=2, max_size=10),
    facts=st.integers(0, 12),
    conversation=st.fixed_dictionaries(
        {
            "strategy": st.sampled_from(sorted(STRATEGIES)),
            "keep_recent": st.integers(1, 8),
            "max_messages": st.integers(8, 50),
            "stable_prefix": st.booleans(),
            "summaries": st.sampled_from(["off", "extractive"]),
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

    with closing(noting(":memory:", settings=own)) as memory:
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
