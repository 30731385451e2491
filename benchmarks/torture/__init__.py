"""Attempts to break a memory, for as long as one likes: ``python -m benchmarks torture``.

Each part is a file with a ``run`` that is given a moment to stop at, and returns what it found as
:class:`~benchmarks.torture.figures.Figure`. ``runner.py`` has the list of parts.
"""
