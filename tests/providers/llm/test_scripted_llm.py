"""The scripted model that is shipped for tests."""

import asyncio
from dataclasses import dataclass

import pytest

from memoranda.errors import LLMError
from memoranda.model.ports import LanguageModel
from memoranda.model.usage import Usage
from memoranda.testing.models import ModelRequest, ScriptedLLM


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


def test_answers_come_in_order_and_questions_are_kept():
    """Each question takes the next answer, whatever it is about."""
    model = ScriptedLLM([Word("a"), Number(1)], usage=Usage(requests=1, cost=0.5))
    assert ask(model).value == Word("a")
    assert ask(model, Number).usage.cost == 0.5
    assert model.asked == [ModelRequest("i", "p", Word), ModelRequest("i", "p", Number)]
    with pytest.raises(AssertionError, match="Word was asked for"):
        ask(model)


def test_answers_come_by_type():
    """By type: a list is used up, anything else is said every time."""
    model = ScriptedLLM({Word: [Word("a"), Word("b")], Number: Number(1)})
    assert [ask(model).value, ask(model, Number).value, ask(model).value] == [
        Word("a"),
        Number(1),
        Word("b"),
    ]
    assert ask(model, Number).value == Number(1)
    with pytest.raises(AssertionError):
        ask(model)


def test_answers_can_be_made_of_the_question():
    """A function sees the question."""
    model = ScriptedLLM({Word: lambda asked: Word(asked.prompt.upper())})
    assert ask(model, prompt="hey").value == Word("HEY")


def test_failures_cost_too():
    """A scripted LLMError is raised with what was spent, unless it says so itself."""
    model = ScriptedLLM([LLMError("down"), LLMError("slow", Usage(requests=3)), ValueError("x")])
    with pytest.raises(LLMError, match="down") as caught:
        ask(model)
    assert caught.value.usage.failures == 1
    with pytest.raises(LLMError) as caught:
        ask(model)
    assert caught.value.usage.requests == 3
    with pytest.raises(ValueError, match="x"):
        ask(model)


def test_an_answer_of_another_type_is_the_scripts_mistake():
    """It does not reach the code under test."""
    with pytest.raises(AssertionError, match="Number was asked for"):
        ask(ScriptedLLM([Word("a")]), Number)
