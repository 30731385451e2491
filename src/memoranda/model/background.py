"""Threads in the background that end before their process does.

Python kills those that are left when it ends. One that is in the middle of code in C++, that of a
pattern or a model, takes that for a fault and aborts the process.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from threading import Thread

# Seconds that a process which ends waits for what each is at.
LONGEST_END = 30.0


def start_thread(name: str, work: Callable[[], object], stop: Callable[[], object]) -> Thread:
    """Return a thread that works in the background, and is ended before the process ends.

    Args:
        name: of the thread.
        work: what it does.
        stop: called when the process ends, to have ``work`` return soon; it need not wait.
    """

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

    is_ending: list[bool] = []
    thread = Thread(target=run, name=name, daemon=True)
    atexit.register(end)
    thread.start()
    return thread
