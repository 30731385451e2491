"""What a forked process cannot inherit: connections, files and threads of the one before it.

Whatever holds such a thing says so once. In a child process it gives up what is the parent's before
anything else happens there, and opens its own when it is used next. The processes of
``gunicorn --preload``, of Celery and of ``multiprocessing`` begin so.
"""

from __future__ import annotations

import os
from typing import Any, Protocol
from weakref import WeakKeyDictionary

# Seconds that a fork waits at most for what is being done under a lock.
LONGEST_WAIT = 5.0


class ForkFollower(Protocol):
    """An object with something that a forked process cannot inherit."""

    def after_fork(self) -> None:
        """Give up, in the child, what is the parent's, and make locks that nobody holds."""


# Each with the lock that is held meanwhile, if there is one.
_followers: WeakKeyDictionary[ForkFollower, Any] = WeakKeyDictionary()
_held: list[Any] = []


def follow_forks(follower: ForkFollower, *, hold: Any = None) -> None:
    """Have ``follower`` told of every fork of this process, as long as anybody refers to it.

    Args:
        follower: what holds connections, files, threads or locks.
        hold: a lock that is held while the process forks, so that nothing is half done then.
    """
    _followers[follower] = hold


def _before() -> None:
    locks = [each for each in _followers.values() if each is not None]
    _held.extend(each for each in locks if each.acquire(timeout=LONGEST_WAIT))


def _in_parent() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    for each in list(_followers):
        each.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
