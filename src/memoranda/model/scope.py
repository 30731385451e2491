"""Whose memory: the line that nothing crosses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of what is stored and found.

    Attributes:
        user: whose memory it is. Nothing of one user is visible to another.
        agent: which of the user's agents. An agent sees its own records and those
            without an agent; ``None`` sees all of the user's.
    """

    user: str
    agent: str | None = None
