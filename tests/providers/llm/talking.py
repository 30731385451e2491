"""Talks with a model of the server, and questions to it, for the tests of language models."""

import asyncio
from dataclasses import dataclass, field

import pytest

from memoranda.errors import LLMError
from memoranda.model.chat import ToolSpec
from memoranda.providers.llm.pydantic_ai_model import PydanticAIModel
from memoranda.providers.llm.spec import parse_spec

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello?"}]
LOOK = ToolSpec("look", "Looks things up.", {"type": "object", "properties": {"q": {}}})
WORDS = "Grüße, 例え 😀: naïve\n\tfaçade… done."
FORMATS = ("openai", "anthropic")
WAYS = ("ask", "chat", "stream")
"""How a model is called: asked for a typed answer, or talked with, plain or word by word."""


@dataclass
class Item:
    """One claim."""

    text: str
    sure: float = 0.8


@dataclass
class Answer:
    """What is wanted.

    Attributes:
        name: whom it is about.
        claims: what is said.
    """

    name: str
    claims: list[Item] = field(default_factory=list)


class Talker:
    """A model of the server, and what it told."""

    def __init__(self, spec, api_key=None, **options):
        """Name the model."""
        self.on_text = []
        self.model = PydanticAIModel(parse_spec(spec, key=api_key, **{"timeout": 20.0} | options))

    def ask(self, answer=Answer):
        """Ask in an event loop of its own."""
        return asyncio.run(self.model.ask("Find the claims.", "Ana: I moved.", answer))

    def chat(self, messages=HELLO, *, stream=False, tools=()):
        """Talk in an event loop of its own."""
        on_text = self.on_text.append if stream else None
        return asyncio.run(self.model.chat(messages, tools=tools, on_text=on_text))

    def call(self, way, **options):
        """Call the model in a way; return its reply."""
        return self.ask() if way == "ask" else self.chat(stream=way == "stream", **options)

    def fail(self, way, **options):
        """Return the error that calling it ends with; it names the model."""
        with pytest.raises(LLMError) as caught:
            self.call(way, **options)
        assert self.model.name in str(caught.value)
        return caught.value
