"""Memories for the tests of the public face: real stores, settings of no machine."""

from functools import cache

import pytest
from both_stores import done
from memory_fixtures import memory, no_settings_of_this_machine, opened, plain, server, wordless

__all__ = ["memory", "no_settings_of_this_machine", "opened", "plain", "server", "wordless"]


@pytest.fixture(scope="module")
def in_a_file(tmp_path_factory):
    """Return what a flow tells on SQLite; each is run once."""

    @cache
    def told(flow):
        folder = tmp_path_factory.mktemp(flow.__name__)
        return done(flow, str(folder / "memory.db"), folder / "files")

    return told
