"""The servers and clients that the tests of the HTTP server share."""

import pytest
from http_server import serving


@pytest.fixture(scope="module")
def served():
    """One server for the tests of a file."""
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def ana(served):
    """A client of Ana, who may write."""
    with served.client(served.token("ana")) as client:
        yield client


@pytest.fixture(scope="module")
def ben(served):
    """A client of Ben, who may write."""
    with served.client(served.token("ben")) as client:
        yield client
