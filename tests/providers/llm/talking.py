"""A talk with a model of the server, for the tests of models that talk."""

import asyncio

import pytest

from memoranda.errors import LLMError
from memoranda.model.chat import ToolSpec
from memoranda.providers.llm.pydantic_ai_model import PydanticAIModel
from memoranda.providers.llm.spec import ModelConnection, parse_spec

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello?"}]
LOOK = ToolSpec("look", "Looks things up.", {"type": "object", "properties": {"q": {}}})
WORDS = "Grüße, 例え 😀: naïve\n\tfaçade… done."


class Talker:
    """A model of the server, and what it told."""

    def __init__(self, spec, api_key=None, **options):
        """Name the model."""
        self.on_text = []
        self.model = PydanticAIModel(
            ModelConnection(parse_spec(spec), api_key, **({"timeout": 20.0} | options))
        )

    def chat(self, messages=HELLO, *, stream=False, tools=()):
        """Talk in an event loop of its own."""
        on_text = self.on_text.append if stream else None
        return asyncio.run(self.model.chat(messages, tools=tools, on_text=on_text))

    def fail(self, **options):
        """Return the error that talking ends with."""
        with pytest.raises(LLMError) as caught:
            self.chat(**options)
        return caught.value
