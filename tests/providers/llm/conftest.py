"""A model server for each test, and an environment without keys."""

import pytest
from model_server import ModelServer, running


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """The keys and proxies of the machine's user play no part."""
    for name in ("API_KEY", "BASE_URL", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "CUSTOM_HEADERS"):
        for provider in ("OPENAI", "ANTHROPIC"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    """A running :class:`ModelServer`."""
    state = ModelServer()
    stop = running(state)
    yield state
    stop()


@pytest.fixture(params=["openai", "anthropic"])
def spec(request, server):
    """The name of a model of the server, in either format."""
    return getattr(server, request.param)


@pytest.fixture(params=[False, True], ids=["plain", "streamed"])
def stream(request):
    """Whether words are told as they come."""
    return request.param
