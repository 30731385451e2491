"""Notifies clients of changed resources and failed calls, where they subscribed."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import anyio
from mcp.server import ServerRequestContext
from mcp.server.connection import allowed_log_levels
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memoranda.mcp.reading import MEMORY, RECORD
from memoranda.mcp.tools import caller

# Of those that watch, the newest are kept: the SDK does not tell when one has gone.
MOST_SESSIONS = 256
MOST_URIS = 1_000
# Seconds that a session has to take a message, before it is taken for gone.
PATIENCE = 1.0
CHANGING = frozenset({"store_memory", "forget_memory", "correct_fact", "confirm_fact"})
Request = ServerRequestContext[Any, Any]
# From ``debug`` to ``emergency``.
LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)


def changed(tool: str, result: Mapping[str, Any]) -> list[str]:
    """Return the resources that a call has changed, by what it returned."""
    if tool not in CHANGING or result.get("success") is False:
        return []
    ids = [result[name] for name in ("id", "supersedes") if name in result]
    return [MEMORY, *(RECORD.format(id=each) for each in ids)]


@dataclass(slots=True)
class Watcher:
    """The subscriptions of one session, in protocol revisions with a handshake."""

    session: ServerSession
    user: str | None
    uris: set[str] = field(default_factory=set)
    level: LoggingLevel | None = None


class Watchers:
    """The subscriptions of all clients; each is notified of its own user's memory alone.

    It is the SDK's ``SubscriptionBus``, by which the present revision listens, and holds the
    subscriptions and levels of sessions of the revisions before. All of it runs in the event loop.
    """

    def __init__(self) -> None:
        """Nobody watches yet."""
        self._streams: defaultdict[str | None, InMemorySubscriptionBus] = defaultdict(
            InMemorySubscriptionBus
        )
        self._sessions: OrderedDict[int, Watcher] = OrderedDict()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Let ``listener`` hear of the caller's memory; return what ends that."""
        return self._streams[caller()].subscribe(listener)

    async def publish(self, event: ServerEvent) -> None:
        """Tell of the caller's memory to those who listen to it."""
        user = caller()
        await self._streams[user].publish(event)
        if not isinstance(event, ResourceUpdated):
            return
        for key, watcher in list(self._sessions.items()):
            if watcher.user == user and event.uri in watcher.uris:
                with anyio.move_on_after(PATIENCE) as waiting:
                    await watcher.session.send_resource_updated(event.uri)
                if waiting.cancelled_caught:
                    self._sessions.pop(key, None)

    async def failed(self, ctx: Request, message: str) -> None:
        """Tell ``message`` to the client of a request, if it asked for a log of errors."""
        watcher = self._sessions.get(id(ctx.session.client_params))
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            wanted = "error" in allowed_log_levels(ctx.protocol_version, ctx.meta)
        else:
            level = watcher and watcher.level
            wanted = level is not None and LEVELS.index(level) <= LEVELS.index("error")
        if wanted:
            told = LoggingMessageNotificationParams(level="error", logger="memoranda", data=message)
            line = LoggingMessageNotification(params=told)
            await ctx.session.send_notification(line, related_request_id=ctx.request_id)

    def serve(self, server: Server[Any]) -> None:
        """Answer the requests of the revisions with a handshake."""
        add = server.add_request_handler
        add("resources/subscribe", SubscribeRequestParams, self._subscribe)
        add("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)
        add("logging/setLevel", SetLevelRequestParams, self._set_level)

    async def _subscribe(self, ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
        watcher = self._watcher(ctx)
        if len(watcher.uris) >= MOST_URIS and params.uri not in watcher.uris:
            message = f"a session can watch {MOST_URIS} resources; unsubscribe from some first"
            raise MCPError(INVALID_REQUEST, message)
        # One that does not exist yet may come to be; then it is told of.
        watcher.uris.add(params.uri)
        return EmptyResult()

    async def _unsubscribe(self, ctx: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        self._watcher(ctx).uris.discard(params.uri)
        return EmptyResult()

    async def _set_level(self, ctx: Request, params: SetLevelRequestParams) -> EmptyResult:
        self._watcher(ctx).level = params.level
        return EmptyResult()

    def _watcher(self, ctx: Request) -> Watcher:
        """Return what is known of a session: that which began with these parameters."""
        begun = ctx.session.client_params
        if begun is None:
            raise MCPError(INVALID_REQUEST, "a session begins with the request initialize")
        # A watcher holds the session and so its parameters: no other object has their id.
        watcher = self._sessions.setdefault(id(begun), Watcher(ctx.session, caller()))
        self._sessions.move_to_end(id(begun))
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return watcher
