"""The scripted model as one that talks."""

import asyncio
from dataclasses import dataclass

import pytest
from tables import each_row

from memoranda.errors import LLMError
from memoranda.model.chat import ChatModel, ChatReply, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.model.usage import Usage
from memoranda.testing.models import ChatTurn, ScriptedLLM

LOOK = ToolSpec("look", "Looks.", {"type": "object"})
CALL = ToolCall("c1", "look", '{"q": 1}')


@dataclass
class Word:
    """A word."""

    text: str


def chat(model: ChatModel, text="Hello?", *, tools=(), on_text=None):
    """Return what the model replies."""
    messages = [{"role": "user", "content": text}]
    return asyncio.run(model.chat(messages, tools=tools, on_text=on_text))


def test_words_and_calls_come_in_order():
    """Each turn takes the next entry: words, one call, several calls, or a whole reply."""
    whole = ChatReply("And?", (CALL,), Usage(requests=3))
    model = ScriptedLLM(["Hi.", CALL, [CALL, CALL], whole], usage=Usage(requests=1, cost=0.5))
    assert chat(model) == ChatReply("Hi.", (), Usage(requests=1, cost=0.5))
    assert chat(model).tool_calls == (CALL,)
    assert chat(model).tool_calls == (CALL, CALL)
    assert chat(model) == whole
    with pytest.raises(AssertionError, match="ChatReply was asked for"):
        chat(model)


def test_words_are_told_in_pieces():
    """A listener hears the words one by one, and together they are the reply."""
    text = "  Two  words\n\nand 例え 😀 "
    on_text = []
    assert chat(ScriptedLLM([text]), on_text=on_text.append).text == text == "".join(on_text)
    assert len(on_text) == 6
    assert chat(ScriptedLLM([CALL]), on_text=on_text.append).text == ""
    assert len(on_text) == 6


def test_turns_are_remembered_as_they_were():
    """What is done to the messages afterwards does not change what was asked."""
    model = ScriptedLLM({ChatReply: "Hi."})
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    asyncio.run(model.chat(messages, tools=[LOOK]))
    messages[0]["content"][0]["text"] = "b"
    assert model.chatted == [
        ChatTurn(({"role": "user", "content": [{"type": "text", "text": "a"}]},), (LOOK,))
    ]
    assert model.asked == []


def test_talk_and_questions_have_scripts_of_their_own():
    """By type, talk stands under ChatReply and does not use up the answers."""
    model = ScriptedLLM({ChatReply: ["One.", "Two."], Word: Word("w")})
    assert [chat(model).text, chat(model).text] == ["One.", "Two."]
    assert asyncio.run(model.ask("i", "p", Word)).value == Word("w")
    assert (len(model.chatted), len(model.asked)) == (2, 1)


def test_replies_can_be_made_of_the_turn():
    """A function sees the messages and the tools."""
    model = ScriptedLLM(
        {ChatReply: lambda turn: f"{turn.messages[-1]['content']} {turn.tools[0].name}"}
    )
    assert chat(model, "x", tools=[LOOK]).text == "x look"


def test_failures_are_raised_with_what_they_cost():
    """A scripted error comes before any word, and an LLMError says what was spent."""
    model = ScriptedLLM([LLMError("down"), lambda _: ValueError("x")])
    on_text = []
    with pytest.raises(LLMError, match="down") as caught:
        chat(model, on_text=on_text.append)
    assert caught.value.usage.failures == 1
    with pytest.raises(ValueError, match="x"):
        chat(model, on_text=on_text.append)
    assert on_text == []


@each_row("entry", [7, [], [CALL, "x"], Word("w")])
def test_what_is_no_reply_is_the_scripts_mistake(entry):
    """It does not reach the code under test."""
    with pytest.raises(AssertionError, match="the script replies"):
        chat(ScriptedLLM([entry]))
