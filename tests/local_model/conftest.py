"""A server of a real language model, which ``make test-model`` installs and asks for."""

import pytest
from benchmarks.local_model import is_installed, serving
from memory_fixtures import no_settings_of_this_machine

__all__ = ["no_settings_of_this_machine"]
WANTED = "make test-model installs a language model and asks it, which takes minutes"


@pytest.fixture(scope="session")
def serve(request):
    """Serve the model; skip the test where nobody asked for it, or it is not installed."""
    if "local_model" not in request.config.option.markexpr or not is_installed():
        pytest.skip(WANTED)
    return serving


@pytest.fixture(scope="session")
def model(serve):
    """The name of the model on a server that runs as long as the tests do."""
    with serve() as name:
        yield name
