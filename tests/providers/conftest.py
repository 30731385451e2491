"""A model server for each test, and an environment without keys."""

import socket

import pytest
from model_server import server

__all__ = ["server"]
KEYS = ("API_KEY", "BASE_URL", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """The keys and proxies of the machine's user play no part."""
    for name in KEYS:
        for provider in ("OPENAI", "ANTHROPIC"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def unused_url():
    """The address of a port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
