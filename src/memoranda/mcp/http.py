"""Serving many clients over streamable HTTP, at ``/mcp``."""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from memoranda.errors import ConfigError, InvalidInput
from memoranda.settings.parsing import names
from memoranda.settings.sections import McpSettings

PATH = "/mcp"
GRACE = 3  # seconds that open requests have to end when the server is told to
LOCAL = ("localhost", "127.0.0.1", "[::1]")
HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address in ``HOST:PORT``; an IPv6 host stands in brackets.

        Raises:
            InvalidInput: it is of no such form.
        """
        host, _, port = text.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        plain = port.isascii() and port.isdigit() and int(port) <= HIGHEST_PORT
        if not bare or not plain or (":" in bare) != (host != bare):
            message = f"--http={text!r:.80} is no address; write HOST:PORT such as 127.0.0.1:8000"
            raise InvalidInput(message)
        return cls(bare, int(port))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        """The address as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bound(address: Address, settings: McpSettings) -> socket.socket:
    """Return a socket that listens at ``address``.

    Raises:
        ConfigError: others could reach it and no tokens are set, or it cannot be listened at.
    """
    if settings.tokens is None and not address.is_local:
        message = (
            f"--http={address} can be reached by other machines, and no tokens are set; set "
            f"mcp.tokens (MEMORANDA_MCP__TOKENS='TOKEN=USER'), or listen at "
            f"127.0.0.1:{address.port}"
        )
        raise ConfigError(message)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named: else asyncio does not send small answers at once (TCP_NODELAY).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
    except OSError as error:
        listening.close()
        message = f"--http={address} cannot be listened at: {error.strerror or error}"
        raise ConfigError(message) from error
    return listening


def web_app(server: MCPServer[Any], address: Address, settings: McpSettings) -> ASGIApp:
    """Return the application that serves ``address``; Host and Origin are always checked."""
    # No page elsewhere can make a browser believe that these are its own names.
    hosts = [str(address), *(f"{name}:{address.port}" for name in LOCAL)]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        host=address.host,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[*hosts, *names(settings.allowed_hosts or "")],
            allowed_origins=[
                *(f"http://{host}" for host in hosts),
                *names(settings.allowed_origins or ""),
            ],
        ),
    )


def serve(server: MCPServer[Any], address: Address, settings: McpSettings) -> None:
    """Serve until the process is told to stop; the server closes its memory then.

    Raises:
        ConfigError: as :func:`bound`.
    """
    uvicorn = import_module("uvicorn")  # Not at the top: standard input and output need none.
    with bound(address, settings) as listening:
        here = Address(address.host, listening.getsockname()[1])
        config = uvicorn.Config(
            web_app(server, here, settings),
            # The same whatever else is installed, and blanks around a field are not part of it.
            http="h11",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=GRACE,
        )
        web = uvicorn.Server(config)
        # Uvicorn ends gracefully and raises the signal again: then it must not kill.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        listening.listen()
        sys.stderr.write(f"listening at http://{here}{PATH}\n")
        sys.stderr.flush()
        with suppress(KeyboardInterrupt):
            anyio.run(web.serve, [listening])
