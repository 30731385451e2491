"""Overflow: a session beyond ``memory_window`` is consolidated, and goes on with its newest."""

import pytest
from noting import MINUTE, agent_of, calling, chosen, clock_of, facts, history, noting, talking
from provider_rules import problems_openai
from tables import each_row
from talks import ALL, lawful

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
    with memory_at(tmp_path / "a.db", consolidation={"automatic": automatic}) as memory:
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
        assert "The user's dog is called Rex." in facts(memory)
        assert agent.chat.prunings == ()
        assert agent.chat.stats().messages_in_context == len(agent.chat) == 36
        assert memory.verify() == []


def test_a_marker_quotes_what_binds_and_survives(tmp_path):
    """In a new session and after the memory was opened anew; after ``clear`` it is gone."""
    path, rule = tmp_path / "a.db", "Never book a table before nine."
    with memory_at(path) as memory:
        agent = agent_of(memory, talking(always="I see."))
        agent.process(rule)
        said = turns(agent, 8)
        agent.chat.start_session()
        agent.process("Go on.")
        sent = [message["content"] for message in agent._model.chatted[-1].messages]
        assert [text for text in sent if text in said] == []
        (marker,) = agent.chat.view().markers
        assert f"rule: {rule}" in marker.text
        assert any(marker.text in text for text in sent)
    with memory_at(path) as again:
        agent = agent_of(again, talking(always="I see."))
        assert marker.text in str([m["content"] for m in agent.context("Hm?").messages]).replace(
            "\\n", "\n"
        )
        agent.chat.clear()
        assert agent.context("Hm?").receipt.markers == ()


@each_row("keep", range(1, 5))  # One exchange has four messages.
def test_a_call_is_never_parted_from_its_results(tmp_path, keep):
    """Wherever the cut would fall, call and results are consolidated together, or not yet."""
    settings = SMALL | {"agent": {"memory_window": 25}, "conversation": {"keep_recent": keep}}
    with noting(tmp_path / f"{keep}.db", settings=chosen(**settings)) as memory:
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
