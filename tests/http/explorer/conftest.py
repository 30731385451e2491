"""The servers and browsers' sessions that the tests of the explorer share."""

from contextlib import contextmanager
from functools import partial

import pytest
from explorer_pages import fill, send
from http_server import serving


@pytest.fixture(scope="module")
def served():
    """One server for the tests of a file, with something of everything in Ana's memory."""
    with serving(http={"body_seconds": 30.0}) as running:
        running.fact = fill(running.memory)
        yield running


@pytest.fixture(scope="module")
def signed_in(served):
    """Open a client that has signed in with a new token of a user and a scope."""

    @contextmanager
    def open_client(user="ana", scope="write"):
        with served.client(None, Origin=served.url) as client:
            answer = client.post("/sign-in", data={"token": served.token(user, scope)})
            assert answer.status_code == 303
            yield client

    return open_client


@pytest.fixture
def ana(signed_in):
    """Ana, who may do everything."""
    with signed_in(scope="admin") as client:
        yield client


@pytest.fixture
def post(ana):
    """Send a form of Ana's; return the page that comes of it."""
    return partial(send, ana)
