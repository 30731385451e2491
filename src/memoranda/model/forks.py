"""What a forked process cannot inherit: connections, files and threads of the one before it.

Each object that holds such things names itself here once, and gives them up in a child process
before anything else happens there: it opens its own when it is used next. Every process of
``gunicorn --preload``, Celery and ``multiprocessing`` begins so.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkFollower(Protocol):
    """An object with something that a forked process cannot inherit."""

    def before_fork(self) -> None:
        """Wait until nothing is half done that the child would find so; others wait meanwhile."""

    def after_fork_in_parent(self) -> None:
        """Let others go on."""

    def after_fork(self) -> None:
        """Give up, in the child, what is the parent's, and make locks that nobody holds."""


_followers: WeakSet[ForkFollower] = WeakSet()


def follow_forks(follower: ForkFollower) -> None:
    """Call ``follower`` at every fork of this process, as long as anybody refers to it."""
    _followers.add(follower)


def _before() -> None:
    for each in list(_followers):
        each.before_fork()


def _in_parent() -> None:
    for each in list(_followers):
        each.after_fork_in_parent()


def _in_child() -> None:
    for each in list(_followers):
        each.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
