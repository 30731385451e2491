"""Memory that is free again, and that the C library would keep: it goes back to the system.

The GNU C library keeps what was freed for each thread apart, so that each thread that embeds a
long text holds as much as that took, for good. Other C libraries are left as they are.
"""

from __future__ import annotations

import ctypes
import sys

_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
_GNU = _LIBRARY if hasattr(_LIBRARY, "malloc_trim") else None
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h: from how many places threads allocate, at most


def release_memory() -> None:
    """Give back what is free, of all threads; takes a millisecond or two."""
    if _GNU is not None:
        _GNU.malloc_trim(0)


def share_free_memory() -> None:
    """Let what one thread freed serve the others; for a process that is ours alone.

    It holds for threads that begin afterwards.
    """
    if _GNU is not None:
        _GNU.mallopt(_ARENA_MAX, 1)
