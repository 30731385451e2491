"""Which conversation an agent is in: the newest of its name that has not ended.

It stands in the store alone, so an exit, a crash or another process change nothing about it.
"""

from __future__ import annotations

import re

from memoranda.memory import Memory


def present(memory: Memory, name: str) -> str:
    """Return the id of the current conversation: ``chat``, or ``chat-2`` once that has ended."""
    numbered = re.compile(rf"{re.escape(name)}(?:-(\d{{1,9}}))?")
    last, over = 0, True
    for info in memory.conversations():
        found = numbered.fullmatch(info.id)
        number = int(found[1] or 1) if found else 0
        if number > last:
            last, over = number, info.ended_at is not None
    number = last + 1 if over else last
    return name if number == 1 else f"{name}-{number}"
