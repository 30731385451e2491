"""A real Chroma server, started once for the tests of this folder."""

import pytest
from chroma_server import running


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory):
    """Give host and port of a ``chroma run`` that keeps its data in a new folder."""
    with running(tmp_path_factory.mktemp("chroma-server")) as address:
        yield address
