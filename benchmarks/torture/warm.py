"""Importing this makes a process ready to be forked into writers: all is loaded and compiled."""

from __future__ import annotations

from benchmarks.torture import writers

writers.warm_up()
