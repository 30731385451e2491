"""Yes-or-no questions over HTTP: probabilities of words where a server tells them, else a list."""

import asyncio
import json
import math

import pytest
from model_server import answered, failing, raw, said

from memoranda.learning.llm.decisions import ModelDecider
from memoranda.providers.opening import open_language_model
from memoranda.settings.sections import LLMSettings

QUESTIONS = ["Is it red?", "Is it blue?"]


def token(text, *others):
    """A token as OpenAI's form has it, with what could have stood there and how likely."""
    weighed = [{"token": word, "logprob": math.log(chance)} for word, chance in others]
    first = weighed[0]["logprob"] if weighed else 0.0
    return {"token": text, "logprob": first, "bytes": None, "top_logprobs": weighed}


def in_words(text, *tokens):
    """Answer with words, and how likely each of them was."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": {"content": list(tokens), "refusal": None},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "small"}
    return raw(json.dumps(whole | {"choices": [choice], "usage": usage}).encode())


TOLD = in_words(
    "1. yes\n2. no",
    token("1."),
    token(" yes", (" yes", 0.6), (" Yes", 0.15), (" no", 0.25)),
    token("\n2."),
    token(" no", (" no", 0.9), ("maybe", 0.1)),
)


def decide(name):
    """Return what a model decides."""
    model = open_language_model(LLMSettings(api_key="k", retries=0), name)
    return asyncio.run(ModelDecider(model).decide("The sky.", QUESTIONS)), model


def test_the_probabilities_of_words_are_read_from_one_call(server):
    """Yes against no, whatever else could have stood there."""
    server.play(TOLD)
    found, _ = decide(server.openai)
    assert found == [pytest.approx(0.75), pytest.approx(0.0)]
    [received] = server.received
    assert received.body["logprobs"] is True
    assert "1. Is it red?\n2. Is it blue?" in received.prompt


@pytest.mark.parametrize(
    "first", [said("1. yes\n2. no"), failing(400), in_words("Red.", token("Red."))]
)
def test_a_server_that_tells_none_gives_a_list(server, first):
    """It is asked for words once, and then never again."""
    server.play(first, answered({"probabilities": [0.7, 0.2]}))
    found, model = decide(server.openai)
    assert found == [0.7, 0.2]
    assert "logprobs" not in server.received[1].body
    server.play(answered({"probabilities": [0.1, 0.3]}))
    assert asyncio.run(ModelDecider(model).decide("The sea.", QUESTIONS)) == [0.1, 0.3]
    assert len(server.received) == 1


def test_anthropics_form_gives_a_list(server):
    """It tells no probabilities of words."""
    server.play(answered({"probabilities": [0.7, 0.2]}))
    assert decide(server.anthropic)[0] == [0.7, 0.2]
