"""Starting the server, as ``memoranda serve`` does."""

from __future__ import annotations

from starlette.applications import Starlette

from memoranda.http.app import create_app
from memoranda.memory import Memory
from memoranda.serving.addresses import ListenAddress, require_tokens
from memoranda.serving.listening import AllowedHosts, bound, serve_until_stopped, web_server
from memoranda.serving.tokens import TokenService


def run(memory: Memory, address: ListenAddress, mcp: Starlette | None = None) -> None:
    """Serve a store until the process is told to stop, and at ``/mcp`` what answers there.

    Raises:
        ConfigError: others could reach the address and there is no token, or it cannot be listened
            at.
    """
    require_tokens(address, known=bool(TokenService.of(memory).all()))
    settings = memory.settings
    with bound(address) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        allowed = AllowedHosts.of(here, settings.http)
        app = create_app(memory, allowed=allowed, mcp=mcp)
        server = web_server(app, settings.http)
        app.state.is_stopping = lambda: server.should_exit
        serve_until_stopped(server, listening, f"http://{here}")
