"""Memories for the tests of the public face: real stores, settings of no machine."""

from functools import cache

import pytest
from both_stores import done
from memory_fixtures import memory, no_settings_of_this_machine, opened, plain, wordless
from model_server import ModelServer, running

__all__ = ["memory", "no_settings_of_this_machine", "opened", "plain", "wordless"]


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


@pytest.fixture(scope="module")
def in_a_file(tmp_path_factory):
    """Return what a flow tells on SQLite; each is run once."""

    @cache
    def told(flow):
        folder = tmp_path_factory.mktemp(flow.__name__)
        return done(flow, str(folder / "memory.db"), folder / "files")

    return told
