"""Uvicorn's protocol with limits. Imported only where something is served over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from memoranda.serving.connections import ConnectionLimits


class LimitedProtocol(H11Protocol):
    """A connection whose requests have to be complete in time.

    Attributes:
        limits: those of the server, of a subclass of its own.
    """

    limits: ClassVar[ConnectionLimits]
    _timer: asyncio.TimerHandle | None = None
    _timed: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, if there is a place."""
        super().connection_made(transport)
        if self.limits.admit(transport):
            self._time(h11.IDLE)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place to another."""
        self._time(None)
        self.limits.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin to wait for the rest of a request, where these are its first bytes."""
        if self.conn.their_state is h11.IDLE:
            self._time(h11.IDLE)
        super().data_received(data)

    def handle_events(self) -> None:
        """Wait for what a request still lacks; no more where it is complete."""
        super().handle_events()
        state = self.conn.their_state
        self._time(state if state in {h11.IDLE, h11.SEND_BODY} else None)

    def on_response_complete(self) -> None:
        """Let uvicorn close a connection that stays idle, and others take its place."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._time(None)
            self.limits.wait(self.transport, waiting=True)

    def _time(self, state: Any) -> None:
        """Give the client time for what it is sending; not more while that goes on."""
        if state is self._timed:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = state
        self.limits.wait(self.transport, waiting=state is not None)
        if state is not None:
            chosen = self.limits.settings
            most = chosen.header_timeout if state is h11.IDLE else chosen.body_timeout
            self._timer = self.loop.call_later(most, self.transport.abort)
