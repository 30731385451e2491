"""Connections of an HTTP server: how many there may be, and how long one may take to ask.

Uvicorn limits neither: a client that sends half a header is waited for without end, and
``limit_concurrency`` refuses everybody once slow clients have taken the places. Here whoever has
not finished asking gives way to who comes next, so that slow clients only take places from each
other.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from importlib import import_module
from typing import Any

from memoranda.settings.sections import HttpSettings

# Connections that are accepted at once, before they are counted.
BACKLOG = 128
# Files that the rest of the process needs.
RESERVED_FILES = BACKLOG + 128
FEWEST = 16


class ConnectionLimits:
    """Counts the connections of a server, and closes some where there are too many.

    Args:
        settings: how many there may be, and how long they may take.
    """

    def __init__(self, settings: HttpSettings) -> None:
        """Count none yet."""
        self.settings = settings
        self._most = _most_connections(settings.connections)
        self._by_address: Counter[str] = Counter()
        # Those that have no request under way, with their address; the oldest first.
        self._waiting: dict[asyncio.Transport, str] = {}
        self._busy: dict[asyncio.Transport, str] = {}

    def admit(self, transport: asyncio.Transport) -> bool:
        """Count a new connection; return whether it may stay."""
        address = str((transport.get_extra_info("peername") or ("",))[0])
        crowded = self._by_address[address] >= self.settings.connections_per_address
        if crowded or self._by_address.total() >= self._most:
            oldest = next(
                (each for each, its in self._waiting.items() if its == address or not crowded), None
            )
            if oldest is None:
                return False
            self.leave(oldest)
            oldest.abort()
        self._by_address[address] += 1
        self._waiting[transport] = address
        return True

    def wait(self, transport: asyncio.Transport, *, waiting: bool) -> None:
        """Note whether a connection waits for a request to be complete, or has one under way."""
        source, target = self._waiting, self._busy
        if waiting:
            source, target = target, source
        if transport in source:
            target[transport] = source.pop(transport)

    def leave(self, transport: asyncio.Transport) -> None:
        """Count a connection no more."""
        address = self._waiting.pop(transport, None) or self._busy.pop(transport, None)
        if address is not None:
            self._by_address[address] -= 1
            self._by_address += Counter()  # Without those of whom there is none left.


def _most_connections(asked: int) -> int:
    """Return how many connections there may be, so that files are left for the rest."""
    with suppress(ImportError):  # Not on Windows.
        resource: Any = import_module("resource")
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return int(max(FEWEST, min(asked, soft - RESERVED_FILES)))
    return asked
