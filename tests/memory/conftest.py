"""Memories for the tests of the public face: real stores, settings of no machine."""

from memory_fixtures import memory, no_settings_of_this_machine, opened, plain, server, wordless

__all__ = ["memory", "no_settings_of_this_machine", "opened", "plain", "server", "wordless"]
