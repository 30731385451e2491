"""The reference agent over many turns: tools, ``/new``, overflows, failures, and nothing lost."""

import json
import re
from base64 import b64decode
from contextlib import closing

import pytest
from model_server import talked
from noting import HISTORY, MINUTE, balanced, calling, chosen, clock_of, facts, items, noting, words
from provider_rules import problems_openai
from wire_shapes import wire_problems

from memoranda.agent import Agent
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.model.chat import ChatReply
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ScriptedLLM
from memoranda.tokens.documents import PAGE_TOKENS
from memoranda.tools import Tool

TURNS = 30
NEW_AT = (10, 20)
SMALL = {"agent": {"memory_window": 12}, "conversation": {"keep_recent": 4}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NAMED = re.compile(r"\bQ\w+x\d+\b")


PAGE = b"1 0 obj\n<< /Type /Page >>\nendobj\n"


def wanted(number):
    """Return the tools that a statement of this number asks for."""
    asked = {
        "search_memories": number % 10 == 3,
        "store_memory": number % 10 == 6,
        "stamp": number % 7 == 0,
    }
    return [name for name, called in asked.items() if called]


class Talk:
    """An agent whose model calls tools now and then, and says a word of thanks otherwise."""

    def __init__(self, path):
        """Begin."""
        self.stamped, self.said, self.created, self.calls = [], [], {}, 0
        script = {ChatReply: self.reply, ClaimsAnswer: ClaimsAnswer([]), Consolidation: self.entry}
        self.model = ScriptedLLM(script)
        self.memory = noting(path, settings=chosen(**SMALL), llm=self.model)
        stamp = Tool("stamp", "Stamps.", NUMBER, lambda n: self.stamped.append(n) or f"stamped {n}")
        self.agent = Agent(self.memory, tools=[stamp])

    def reply(self, turn):
        """Call what a statement asks for, and thank for a result."""
        word = NAMED.findall(str(turn.messages[-1]["content"]))[-1:]
        number = int(word[0].rpartition("x")[2]) if word else 0
        if turn.messages[-1]["role"] != "user" or not wanted(number):
            return "I see."
        arguments = {
            "search_memories": {"query": word[0]},
            "store_memory": {"content": f"Ana keeps a {word[0]} at home."},
            "stamp": {"n": number},
        }
        self.calls += 2
        made = enumerate(wanted(number), self.calls)
        return [calling(name, f"call{n}", **arguments[name]) for n, name in made]

    def entry(self, request):
        """Tell of all that was named."""
        return Consolidation(
            f"They spoke of {', '.join(sorted({*NAMED.findall(request.prompt)}))}."
        )

    def turn(self, number, text, *, streamed):
        """Say something; check all that the model was sent."""
        before, place, pieces = items(self.memory), len(self.model.chatted), []
        answer = self.agent.process(text, on_text=pieces.append if streamed else None)
        self.said.append(text)
        sent = [turn.messages for turn in self.model.chatted[place:]]
        for messages in sent:
            assert problems_openai(list(messages)) == []
            assert balanced(messages[0]["content"])
            told = "\n".join(each["content"] for each in messages if each["role"] == "system")
            assert [line for line in before if line not in told] == []
        assert ("".join(pieces) or answer.text) == answer.text == "I see."
        assert answer.tools == tuple(wanted(number))
        assert sum(item.tokens for item in answer.receipt.included) == answer.receipt.tokens
        for info in self.memory.conversations():
            assert self.created.setdefault(info.id, info.created_at) == info.created_at


def test_many_turns_lose_nothing(tmp_path):
    """Through /new and overflows every statement is found, every tool ran once, no request bad."""
    talk = Talk(tmp_path / "a.db")
    with closing(talk.memory) as memory:
        sessions = [talk.agent.chat.id]
        for number, word in enumerate(words(TURNS)):
            if number in NEW_AT:
                assert talk.agent.process("/new").text.startswith("Session ended")
                sessions.append(talk.agent.chat.id)
            talk.turn(number, f"Today I saw {word}.", streamed=number % 2 == 1)
            clock_of(memory).advance(MINUTE)
        assert sessions == ["chat", "chat-2", "chat-3"]
        assert len(memory.notes.history()) > len(NEW_AT)  # Some of them of a session at hand.
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
    assert talk.stamped == list(range(0, TURNS, 7))
    for text in talk.said:
        word = NAMED.findall(text)[0]
        assert text in [hit.record.content for hit in memory.search(word, limit=10)], word
    stored = [NAMED.findall(text)[0] for text in talk.said[6::10]]
    assert facts(memory) == sorted(f"Ana keeps a {word} at home." for word in stored)
    for text in talk.said[: NEW_AT[1]]:  # The third session still goes on.
        assert memory.notes.search(NAMED.findall(text)[0]), text
    assert "raw-fallback" not in (memory.notes.folder / HISTORY).read_text()


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_pdf_reaches_the_server_now_and_in_a_later_run(server, tmp_path, form):
    """It is sent whole, once in each request, counts by its pages, and survives the store."""
    paper, pdf = tmp_path / "offer.pdf", b"%PDF-1.4\n" + 3 * PAGE
    paper.write_bytes(pdf)
    model = {"model": getattr(server, form), "api_key": "k"}
    settings = chosen(llm=model, conversation={"context_limit": 20_000})
    server.play(talked("I see."))
    for text, files in (("What does it cost?", [paper]), ("And the delivery?", [])):
        with noting(tmp_path / "a.db", settings=settings) as memory:
            agent = Agent(memory)
            agent.process(text, files=files)
            (message,) = [each for each in agent.chat.messages if each.images]
            assert 3 * PAGE_TOKENS < message.tokens < 3 * PAGE_TOKENS + 100
        messages = server.received[-1].body["messages"]
        said = [each["content"] for each in messages if isinstance(each["content"], list)]
        (sent,) = [part for parts in said for part in parts if part["type"] in ("file", "document")]
        inside = sent["file"]["file_data"] if form == "openai" else sent["source"]["data"]
        assert b64decode(inside.rpartition(",")[2]) == pdf
        assert json.dumps(messages).count("What does it cost?") == 1
        assert wire_problems(server.received[-1]) == []
