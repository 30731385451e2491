"""Events: what subscribers are told, and how a failing one is kept from doing harm."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from memoranda.model.checks import refuse_unknown, required_callable

log = logging.getLogger("memoranda.events")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its ``name`` and what it concerns."""

    name: str
    subject: Any


Callback = Callable[[Event], None]


class Events(dict[str, tuple[Callback, ...]]):
    """The subscribers of each event, called in the order in which they subscribed.

    Thread-safe. An exception in a subscriber is logged and goes no further.
    """

    def __init__(self, *names: str) -> None:
        """Start without subscribers; ``names`` are what can happen."""
        super().__init__(dict.fromkeys(names, ()))
        self._lock = Lock()

    def on(self, name: str, callback: Callback) -> None:
        """Call ``callback`` whenever ``name`` happens.

        Raises:
            InvalidInput: there is no such event, or the callback cannot be called.
        """
        refuse_unknown([name], self, "event")
        required_callable(callback, "callback", optional=False)
        with self._lock:
            self[name] += (callback,)

    def emit(self, name: str, subject: Any) -> None:
        """Tell the subscribers of ``name``."""
        for callback in self[name]:
            try:
                callback(Event(name, subject))
            except Exception:
                log.exception("a subscriber of %r failed", name)
