"""The lines that were trimmed from a session file: kept in ``NAME.trimmed``, one after another.

The line with the number N, from 0, is the message at position N.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memoranda.conversation.sessions.disk import add_private
from memoranda.conversation.sessions.failures import translated


def set_aside(path: Path, lines: Sequence[bytes], first: int) -> None:
    """Add the lines that begin at position ``first``, before they leave their file.

    What is there beyond that position is of a trimming that a crash cut short: those lines
    never left their file, and make place for these.
    """
    with translated(path):
        known = _lines(path)[:first]
        at = sum(len(line) + 1 for line in known)
        add_private(path, b"".join(line + b"\n" for line in lines), at=at)


def trimmed_lines(path: Path, first: int) -> list[bytes]:
    """Return the lines before position ``first``, as far as they are there."""
    with translated(path):
        return _lines(path)[:first]


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []
