"""How to choose the messages that stay in a view: one strategy a file, all pure functions."""
