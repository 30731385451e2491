"""Plugins for pytest that put our classes in the place of those that a framework tests."""
