"""Imports and exports are tested on real memories."""

from memory_fixtures import memory, no_settings_of_this_machine, opened, plain, wordless

__all__ = ["memory", "no_settings_of_this_machine", "opened", "plain", "wordless"]
