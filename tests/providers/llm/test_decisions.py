"""Yes-or-no questions over HTTP: a model answers them with a list of probabilities."""

import asyncio

from model_server import answered

from memoranda.learning.llm.decisions import ModelDecider
from memoranda.providers.opening import open_language_model
from memoranda.settings.sections import LLMSettings

QUESTIONS = ["Is it red?", "Is it blue?"]


def test_a_model_gives_a_list(server):
    """In the form of either provider, in one call with all questions."""
    for name in (server.openai, server.anthropic):
        server.play(answered({"probabilities": [0.7, 0.2]}))
        model = open_language_model(LLMSettings(api_key="k", retries=0), name)
        found = asyncio.run(ModelDecider(model).decide("The sky.", QUESTIONS))
        assert found == [0.7, 0.2]
        [received] = server.received
        assert "1. Is it red?\n2. Is it blue?" in received.prompt
