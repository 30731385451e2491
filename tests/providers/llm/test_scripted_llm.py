"""The scripted model that is shipped for tests: one that is asked, and one that talks."""

import asyncio
from dataclasses import dataclass

import pytest
from tables import each_row

from memoranda.errors import LLMError
from memoranda.model.chat import ChatModel, ChatReply, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.model.ports import LanguageModel
from memoranda.model.usage import Usage
from memoranda.testing.models import ModelRequest, ScriptedLLM

LOOK = ToolSpec("look", "Looks.", {"type": "object"})
CALL = ToolCall("c1", "look", '{"q": 1}')


@dataclass
class Word:
    """A word."""

    text: str


@dataclass
class Number:
    """A number."""

    value: int


def ask(model: LanguageModel, answer=Word, prompt="p"):
    """Return what the model answers."""
    return asyncio.run(model.ask("i", prompt, answer))


def chat(model: ChatModel, text="Hello?", *, tools=(), on_text=None):
    """Return what the model replies."""
    messages = [{"role": "user", "content": text}]
    return asyncio.run(model.chat(messages, tools=tools, on_text=on_text))


def test_answers_and_turns_come_in_order():
    """Each question takes the next entry; a turn takes words, calls, or a whole reply."""
    whole = ChatReply("And?", (CALL,), Usage(requests=3))
    script = [Word("a"), Number(1), "Hi.", CALL, [CALL, CALL], whole]
    model = ScriptedLLM(script, usage=Usage(requests=1, cost=0.5))
    assert ask(model).value == Word("a")
    assert ask(model, Number).usage.cost == 0.5
    assert model.asked == [ModelRequest("i", "p", Word), ModelRequest("i", "p", Number)]
    assert chat(model) == ChatReply("Hi.", (), Usage(requests=1, cost=0.5))
    assert [chat(model).tool_calls for _ in range(2)] == [(CALL,), (CALL, CALL)]
    assert chat(model) == whole
    for call, wanted in ((chat, "ChatReply"), (ask, "Word")):
        with pytest.raises(AssertionError, match=f"{wanted} was asked for"):
            call(model)


def test_answers_and_replies_come_by_type():
    """A list is used up, anything else is said every time; talk has a script of its own."""
    script = {Word: [Word("a"), Word("b")], Number: Number(1), ChatReply: ["One.", "Two."]}
    model = ScriptedLLM(script)
    assert [ask(model).value, ask(model).value] == [Word("a"), Word("b")]
    assert [ask(model, Number).value, ask(model, Number).value] == [Number(1)] * 2
    assert [chat(model).text, chat(model).text] == ["One.", "Two."]
    assert (len(model.chatted), len(model.asked)) == (2, 4)
    with pytest.raises(AssertionError):
        ask(model)


def test_answers_and_replies_can_be_made_of_what_was_asked():
    """A function sees the question, or the messages and the tools."""

    def reply(turn):
        return f"{turn.messages[-1]['content']} {turn.tools[0].name}"

    model = ScriptedLLM({Word: lambda asked: Word(asked.prompt.upper()), ChatReply: reply})
    assert ask(model, prompt="hey").value == Word("HEY")
    assert chat(model, "x", tools=[LOOK]).text == "x look"


@each_row("call", [ask, chat])
def test_failures_are_raised_with_what_they_cost(call):
    """A scripted error comes before any word; an LLMError says what was spent."""
    model = ScriptedLLM([LLMError("down"), LLMError("slow", Usage(requests=3)), ValueError("x")])
    with pytest.raises(LLMError, match="down") as caught:
        call(model)
    assert caught.value.usage.failures == 1
    with pytest.raises(LLMError) as caught:
        call(model)
    assert caught.value.usage.requests == 3
    with pytest.raises(ValueError, match="x"):
        call(model)


@each_row("entry", [7, [], [CALL, "x"], Word("w")])
def test_what_does_not_fit_is_the_scripts_mistake(entry):
    """It does not reach the code under test."""
    with pytest.raises(AssertionError, match="the script replies"):
        chat(ScriptedLLM([entry]))
    with pytest.raises(AssertionError, match="Number was asked for"):
        ask(ScriptedLLM([Word("a")]), Number)
