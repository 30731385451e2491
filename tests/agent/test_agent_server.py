"""The reference agent on a real server: 80 turns, two ``/new``, overflows, and nothing lost."""

import json
import re
from contextlib import closing

import pytest
from model_server import failing, said, talked
from noting import HISTORY, MINUTE, balanced, chosen, clock_of, facts, items, noting, words
from wire_shapes import wire_problems

from memoranda.agent import Agent
from memoranda.errors import LLMError
from memoranda.tools import Tool

TURNS = 80
NEW_AT = (27, 54)
STAMP = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
NAMED = re.compile(r"\bQ\w+x\d+\b")


def is_chat(body):
    """Return whether a request is a turn of the agent, and no question of a stage."""
    names = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools") or ()]
    return "search_memories" in names


def last_of(body):
    """Return who spoke last in a request, ``user`` or ``tool``, and what was said."""
    last = body["messages"][-1]
    content = last["content"]
    if last["role"] == "tool":
        return "tool", content
    if isinstance(content, str):
        return "user", content
    kinds = {part["type"] for part in content}
    text = " ".join(part.get("text", "") for part in content if part["type"] == "text")
    return ("tool" if "tool_result" in kinds else "user"), text


class Model:
    """What the server plays: calls of tools now and then, a word of thanks otherwise."""

    def __init__(self):
        """Nothing was said yet."""
        self.calls = 0

    def __call__(self, handler, body):
        """Answer a turn, or a question of a stage."""
        if not is_chat(body):
            names = sorted(set(NAMED.findall(json.dumps(body["messages"]))))
            entry = f"They spoke of {', '.join(names)}."
            said(json.dumps({"claims": [], "history_entry": entry, "memory_update": ""}))(
                handler, body
            )
            return
        who, text = last_of(body)
        calls = () if who == "tool" else self.wanted(text)
        talked("" if calls else "I see.", *calls)(handler, body)

    def wanted(self, text):
        """Return the calls that a statement asks for."""
        word, number = NAMED.findall(text)[-1], int(text.rpartition("x")[2].rstrip("."))
        calls = []
        if number % 10 == 3:
            calls.append(("search_memories", {"query": word}))
        if number % 10 == 6:
            calls.append(("store_memory", {"content": f"Ana keeps a {word} at home."}))
        if number % 7 == 0:
            calls.append(("stamp", {"n": number}))
        made = []
        for name, arguments in calls:
            self.calls += 1
            made.append((f"call{self.calls}", name, json.dumps(arguments)))
        return made


class Talk:
    """An agent with a tool that counts, driven turn by turn."""

    def __init__(self, memory, server):
        """Begin."""
        self.memory, self.server, self.stamped = memory, server, []
        self.agent = Agent(memory, tools=[Tool("stamp", "Stamps.", STAMP, self.stamp)])
        self.created, self.said, self.recaps = {}, [], 0

    def stamp(self, n):
        """Stamp a number."""
        self.stamped.append(n)
        return f"stamped {n}"

    def turn(self, number, text, *, streamed):
        """Say something; check every request it made."""
        before, place = items(self.memory), len(self.server.received)
        pieces = []
        answer = self.agent.process(text, on_text=pieces.append if streamed else None)
        self.said.append(text)
        requests = [each for each in self.server.received[place:] if is_chat(each.body)]
        assert requests
        for request in requests:
            assert wire_problems(request) == []
            assert balanced(request.system)
            assert [line for line in before if line not in request.system] == []
            assert (not before) or "MEMORY.md" in request.system
        if streamed:
            assert requests[0].body["stream"]
            assert "".join(pieces) == answer.text == "I see."
        assert answer.tools == tuple(self.names(number))
        assert sum(item.tokens for item in answer.receipt.included) == answer.receipt.tokens
        for info in self.memory.conversations():
            assert self.created.setdefault(info.id, info.created_at) == info.created_at
        return requests

    @staticmethod
    def names(number):
        """Return the tools that the model called in a turn."""
        wanted = {
            "search_memories": number % 10 == 3,
            "store_memory": number % 10 == 6,
            "stamp": number % 7 == 0,
        }
        return [name for name, called in wanted.items() if called]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_eighty_turns_lose_nothing(server, tmp_path, form):
    """Through /new and overflows every statement is found, every tool ran once, no request bad."""
    server.play(Model())
    model = {"model": getattr(server, form), "api_key": "k", "timeout": 30.0}
    names = words(TURNS)
    with closing(noting(tmp_path / "a.db", settings=chosen(llm=model))) as memory:
        talk = Talk(memory, server)
        sessions, overflows = [talk.agent.chat.id], 0
        for number, word in enumerate(names):
            if number in NEW_AT:
                assert talk.agent.process("/new").text == "Session cleared."
                sessions.append(talk.agent.chat.id)
            prunings = len(talk.agent.chat.prunings)
            requests = talk.turn(number, f"Today I saw {word}.", streamed=number % 2 == 1)
            clock_of(memory).advance(MINUTE)
            new = [done.trigger for done in talk.agent.chat.prunings[prunings:]]
            if "overflow" in new:
                overflows += 1
                assert all("## Recap" in request.system for request in requests)
                assert talk.said[-2] in json.dumps(requests[0].body["messages"])
        assert sessions == ["chat", "chat-2", "chat-3"]
        assert overflows >= 3
        kept(memory, talk, sessions)
        assert memory.verify() == []


def kept(memory, talk, sessions):
    """Check that all that was said is in the transcripts, found, and told where it is due."""
    heard = [message for name in sessions for message in memory.conversation(name).messages]
    assert [message.content for message in heard if message.role == "user"] == talk.said
    calls = [call.id for message in heard for call in message.tool_calls]
    results = [message.tool_result.call_id for message in heard if message.tool_result]
    assert sorted(calls) == sorted(results)
    assert len(calls) == len(set(calls))
    assert talk.stamped == [number for number in range(TURNS) if number % 7 == 0]
    for text in talk.said:
        word = NAMED.findall(text)[0]
        assert text in [hit.record.content for hit in memory.search(word, limit=10)], word
    assert facts(memory) == sorted(
        f"Ana keeps a {NAMED.findall(talk.said[number])[0]} at home."
        for number in range(TURNS)
        if number % 10 == 6
    )
    for text in talk.said[: NEW_AT[1]]:  # The third session still goes on.
        assert memory.notes.search(NAMED.findall(text)[0]), text
    assert "raw-fallback" not in (memory.notes.folder / HISTORY).read_text()


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_what_was_said_to_a_server_that_fails_is_kept(server, tmp_path, form):
    """The statement stands in the transcript, is found, and the talk goes on well-formed."""
    model = {"model": getattr(server, form), "api_key": "k", "retries": 0}
    with closing(noting(tmp_path / "a.db", settings=chosen(llm=model))) as memory:
        agent = Agent(memory)
        server.play(failing(500))
        with pytest.raises(LLMError):
            agent.process("I moved to Porto.")
        assert [hit.record.content for hit in memory.search("Porto")] == ["I moved to Porto."]
        server.play(Model())
        agent.process("I saw Qix1.")
        (request,) = server.received
        assert wire_problems(request) == []
        assert "I moved to Porto." in json.dumps(request.body["messages"])
        roles = ["user", "assistant", "user", "assistant"]
        assert [m.role for m in agent.chat.messages] == roles
        assert agent.chat.messages[1].content == "(no answer)"
        said = [record.content for record in memory.records(kind="episode")]
        assert "(no answer)" not in said  # It stands for words, and says nothing itself.
