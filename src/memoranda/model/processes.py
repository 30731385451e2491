"""What a process holds beside its values: threads that end before it, handles no fork inherits.

Python kills the threads that are left when it ends. One that is in the middle of code in C++, that
of a pattern or a model, takes that for a fault and aborts the process.

What a forked process cannot inherit are connections, files and threads of the one before it.
Whatever holds such a thing says so once. In a child process it gives up what is the parent's before
anything else happens there, and opens its own when it is used next. The processes of
``gunicorn --preload``, of Celery and of ``multiprocessing`` begin so.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - it cannot be loaded when the process ends
import os
import sys
from collections.abc import Callable
from functools import cached_property
from threading import Event, Lock, RLock, Thread
from typing import Any, Protocol
from weakref import WeakKeyDictionary

# Seconds that a process which ends waits for what each thread is at.
LONGEST_END = 30.0
# Seconds that a fork waits at most for what is being done under a lock.
LONGEST_WAIT = 5.0


class ForkFollower(Protocol):
    """An object with something that a forked process cannot inherit."""

    def after_fork(self) -> None:
        """Give up, in the child, what is the parent's, and make locks that nobody holds."""


# Each with whether it is held still meanwhile.
_followers: WeakKeyDictionary[ForkFollower, bool] = WeakKeyDictionary()
_held: list[Any] = []


def follow_forks(follower: ForkFollower, *, hold: bool = False) -> None:
    """Have ``follower`` told of every fork of this process, as long as anybody refers to it.

    Args:
        follower: what holds connections, files, threads or locks.
        hold: whether it has the methods of a lock, and is held while the process forks, so that
            nothing is half done then.
    """
    _followers[follower] = hold


def _before() -> None:
    locks: list[Any] = [each for each in _alive() if _followers.get(each)]
    _held.extend(each for each in locks if each.acquire(timeout=LONGEST_WAIT))


def _in_parent() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    _free_properties()
    for each in _alive():
        each.after_fork()


def _alive() -> list[ForkFollower]:
    """Return the followers there are, whatever other threads do meanwhile."""
    there = [reference() for reference in _followers.keyrefs()]
    return [each for each in there if each is not None]


def _free_properties() -> None:
    """Let nobody hold the locks that ``cached_property`` has before Python 3.12.

    A thread of the parent may have been computing any of them.
    """
    ours = [each for name, each in list(sys.modules.items()) if name.startswith("memoranda.")]
    kinds = [kind for module in ours for kind in vars(module).values() if isinstance(kind, type)]
    for each in (each for kind in kinds for each in vars(kind).values()):
        if isinstance(each, cached_property) and hasattr(each, "lock"):
            each.lock = RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


class BackgroundThread:
    """A thread that is started when it is first needed, once; a forked process starts its own.

    Attributes:
        ending: set once it is to end.
        thread: what runs; ``None`` before it was started.
    """

    def __init__(self, name: str) -> None:
        """Start nothing yet."""
        self._name = name
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have no thread, as in a process that was forked: the one before it goes on."""
        self.ending = Event()
        self._lock = Lock()
        self.thread: Thread | None = None

    def start(self, work: Callable[[], object], stop: Callable[[], object] | None = None) -> None:
        """Start the thread, unless it runs already or is to end; it ends before the process does.

        Args:
            work: what it does, until :attr:`ending` is set.
            stop: sets it, and wakes the thread where it may wait for something else.
        """
        stop, is_ending = stop or self.ending.set, list[bool]()

        def run() -> None:
            try:
                work()
            finally:
                if not is_ending:
                    atexit.unregister(end)

        def end() -> None:
            is_ending.append(True)
            stop()
            thread.join(LONGEST_END)

        with self._lock:
            if self.thread is None and not self.ending.is_set():
                self.thread = thread = Thread(target=run, name=self._name, daemon=True)
                atexit.register(end)
                thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the thread, but never for longer than this."""
        if self.thread is not None:
            self.thread.join(seconds)
