"""Memories for tests of several rooms: real stores, settings of no machine."""

import os
from contextlib import ExitStack

import pytest
from model_server import ModelServer, running

from memoranda import Memory, Settings
from memoranda.testing.embedders import HashEmbedder


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(tmp_path, monkeypatch):
    """Neither a settings file nor the environment of the machine reaches a test."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))


@pytest.fixture
def wordless():
    """Settings without an embedding model, in UTC."""
    return Settings(embedding={"model": "none"}, timezone="UTC")


@pytest.fixture
def opened():
    """Open memories that are closed when the test ends: ``opened(location, user=…, …)``."""
    with ExitStack() as stack:

        def start(location=":memory:", **arguments):
            arguments.setdefault("embedder", HashEmbedder())
            arguments.setdefault("settings", Settings(timezone="UTC"))
            return stack.enter_context(Memory(location, **{"user": "ana"} | arguments))

        yield start


@pytest.fixture
def memory(opened):
    """Ana's memory, in memory, with hashed vectors."""
    return opened()


@pytest.fixture
def plain(opened, wordless):
    """Ana's memory without any vectors."""
    return opened(embedder=None, settings=wordless)


@pytest.fixture
def server(monkeypatch):
    """A server of this machine that speaks the formats of OpenAI and Anthropic."""
    pytest.importorskip("pydantic_ai", reason="the extra llm is not installed")
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state = ModelServer()
    stop = running(state)
    yield state
    stop()
