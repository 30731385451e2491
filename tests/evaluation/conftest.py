"""What the tests of replayed conversations share."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def replay():
    """The replay, from where the benchmarks have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2]))
        yield importlib.import_module("benchmarks.replay")
