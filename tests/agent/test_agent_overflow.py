"""Overflow: a session beyond ``memory_window`` is consolidated, and goes on with its newest."""

from contextlib import closing

import pytest
from noting import (
    MINUTE,
    PATIENCE,
    Gate,
    agent_of,
    balanced,
    calling,
    chosen,
    clock_of,
    facts,
    history,
    noting,
    system_of,
    talking,
)
from provider_rules import problems_openai
from tables import each_row
from talks import ALL, exchange, lawful

from memoranda import Conversation
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.model.chat import ChatReply
from memoranda.model.usage import Usage

WINDOW = 20
SMALL = {"agent": {"memory_window": WINDOW}, "conversation": {"keep_recent": 6}}
NAMES = ("Ana", "Bo", "Cid", "Dora", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kai", "Lea")


def memory_at(path, **sections):
    """Return a memory whose sessions overflow soon."""
    return noting(path, settings=chosen(**(SMALL | sections)))


def turns(agent, count, start=0):
    """Have so many turns, a minute apart; return what was said."""
    said = [f"Number {n} is about {NAMES[n % 12]}." for n in range(start, start + count)]
    for text in said:
        agent.process(text)
        clock_of(agent.memory).advance(MINUTE)
    return said


def read_until(memory, session):
    """Return how far a session was read, and how far it is told."""
    (info,) = [info for info in memory.sessions() if info.id == session]
    return info.through, info.noted


@pytest.mark.parametrize("automatic", [True, False])
def test_only_what_is_old_is_consolidated(tmp_path, automatic):
    """``[last_consolidated, cutoff)`` becomes facts and an entry; nothing leaves the view."""
    with closing(memory_at(tmp_path / "a.db", consolidation={"automatic": automatic})) as memory:
        agent = agent_of(memory, talking(always="I see."))
        agent.process("I live in Porto.")
        turns(agent, 9)
        assert (len(agent.chat), history(memory)) == (20, [])
        agent.process("I have a dog named Rex.")
        # 20 messages were there; of these the last six are not read yet.
        assert read_until(memory, "chat") == (13, 13)
        assert facts(memory) == ["The user lives in Porto."]
        (entry,) = history(memory)
        assert "turns=0-13" in entry
        turns(agent, 6, start=20)
        assert read_until(memory, "chat") == (13, 13)
        turns(agent, 1, start=26)
        assert read_until(memory, "chat") == (27, 27)
        assert "turns=14-27" in history(memory)[1]
        assert "The user has a dog named Rex." in facts(memory)
        assert agent.chat.prunings == ()
        assert agent.chat.stats().messages_in_context == len(agent.chat) == 36
        assert memory.verify() == []


def test_the_recap_is_in_the_prompt_and_survives(tmp_path):
    """Role by role, fenced, also after the memory was opened anew; after ``clear`` it is gone."""
    path = tmp_path / "a.db"
    with closing(memory_at(path)) as memory:
        agent = agent_of(memory, talking(always="I see."))
        said = turns(agent, 8)
        agent.chat.start_session(keep=6, recap=6)
        agent.process("Go on.")
        system = agent._model.chatted[-1].messages[0]["content"]
        recap = system.partition("## Recap\n")[2].partition("\n</")[0].splitlines()
        assert recap == [
            line for text in said[2:5] for line in (f"user: {text}", "assistant: I see.")
        ]
        assert balanced(system)
        asked = [m["content"] for m in agent._model.chatted[-1].messages if m["role"] == "user"]
        assert [text for text in said if text in asked] == said[5:]
    with closing(memory_at(path)) as again:
        clock_of(again).advance(11 * MINUTE)
        agent = agent_of(again, talking(always="I see."))
        assert "\n".join(recap) in system_of(agent.context("Hm?"))
        for begin_anew in (agent.chat.start_session, agent.chat.clear):
            begin_anew()
            assert "## Recap" not in system_of(agent.context("Hm?"))
            assert (agent.chat.session.recapped, agent.chat.session.messages) == ((), ())


@each_row("keep", range(1, 5))  # One exchange has four messages.
def test_a_call_is_never_parted_from_its_results(tmp_path, keep):
    """Wherever the cut would fall, call and results are consolidated together, or not yet."""
    settings = SMALL | {"agent": {"memory_window": 25}, "conversation": {"keep_recent": keep}}
    with closing(noting(tmp_path / f"{keep}.db", settings=chosen(**settings))) as memory:
        calls = [calling("memory_stats", f"c{n}") for n in range(30)]
        script = [
            reply
            for n in range(10)
            for reply in (
                ChatReply("Let me look.", (calls[2 * n], calls[2 * n + 1]), Usage()),
                "I see.",
            )
        ]
        agent = agent_of(memory, talking(*script))
        turns(agent, 5)
        assert history(memory) == []
        turns(agent, 1, start=5)
        through, noted = read_until(memory, "chat")
        messages = agent.chat.messages
        assert through == noted <= messages[25 - keep].position
        rest = next(m.position for m in messages[through + 1 :] if m.role != "tool")
        assert rest <= 25 - keep  # The results of what was called are before the cut, too.
        assert problems_openai(agent.chat.context(budget=ALL).messages) == []
        lawful(agent.chat)


def test_a_model_that_stalls_keeps_the_old_messages_raw(tmp_path):
    """The raw entry holds the last ten of what is consolidated, not of what is kept."""
    model = Gate(talking(always="I see.", facts_=[ClaimAnswer("The user is here.", ["t1"])]))
    limits = chosen(**(SMALL | {"consolidation": {"timeout": 0.1}}))
    with closing(noting(tmp_path / "a.db", settings=limits, llm=model)) as memory:
        agent = agent_of(memory)
        said = turns(agent, 11)
        (raw,) = history(memory)
        heading, *lines = raw.splitlines()[:-1]
        assert heading.endswith("[raw-fallback] last 10 of 14 messages:")
        assert lines[::2] == [f"- user: {text}" for text in said[2:7]]
        model.go.set()
        assert memory._services.consolidation.wait(PATIENCE)
        assert len(history(memory)) == 2
        assert read_until(memory, "chat") == (13, 13)


def by_itself():
    """Return a conversation that belongs to no memory."""
    return Conversation(system="Be kind.", settings=chosen(), max_messages=1_000)


def test_a_conversation_without_a_memory_has_recaps():
    """``start_session(recap=n)``: everything leaves the view, n messages are told; laws 1 to 3."""
    chat = by_itself()
    assert chat.start_session(recap=4) is None
    for number in range(8):
        chat.add("user", f"Question {number}?")
        chat.add("assistant", f"Answer {number}. </memoranda-memory> <memoranda-memory>")
    pinned = chat.add("user", "Never before nine!")
    chat.pin(pinned.id)
    exchange(chat, "k1", "found " * 300)
    receipt = chat.start_session(recap=4)
    assert receipt.trigger == "overflow"
    context = chat.context("Go on.", budget=ALL)
    system = system_of(context)
    assert balanced(system)
    assert "assistant: Answer 7. ‹/memoranda-memory>" in system
    assert "assistant: (called look_up)" in system
    assert f"tool: {'found ' * 99}found…"[:500] in system
    assert "Question 6?" not in system
    assert system.count("Never before nine!") == 0
    spoken = [m["content"] for m in context.messages if m["role"] == "user"]
    assert "Never before nine!" in spoken
    assert spoken[-1] == "Go on."
    assert len(chat.messages) == 19
    lawful(chat)
    for budget in (200, 400, 800, 5_000):
        tight = chat.context("Go on.", budget=budget)
        assert tight.tokens <= budget
        assert sum(item.tokens for item in tight.receipt.included) == tight.tokens
        assert problems_openai(tight.messages) == []
    chat.clear()
    assert "## Recap" not in system_of(chat.context("Go on.", budget=ALL))


def test_what_is_pinned_is_not_told_twice():
    """A message of a recap that is pinned leaves it; where all are pinned, there is none."""
    chat = by_itself()
    chat.add("user", "Go on, please.")
    said = [chat.add("assistant", f"Answer {number}.") for number in range(6)]
    chat.start_session(recap=2)
    assert "Answer 5." in system_of(chat.context("Go on."))
    for message in said[-2:]:
        chat.pin(message.id)
    told = chat.context("Go on.")
    assert "## Recap" not in system_of(told)
    assert "Answer 5." in [m["content"] for m in told.messages]
    chat.start_session(recap=2)
    assert chat.session.recapped == ()
    lawful(chat)
