"""Memories for the tests of the tools of agents: real stores, settings of no machine."""

from learning_talks import memory
from memory_fixtures import no_settings_of_this_machine, opened, plain, server, wordless

__all__ = ["memory", "no_settings_of_this_machine", "opened", "plain", "server", "wordless"]
