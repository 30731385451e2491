"""A web server with limits, for whatever is served over HTTP."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from memoranda.settings.sections import HttpSettings

GRACE = 3  # seconds that open requests have to end when the server is told to


def web_server(app: Any, settings: HttpSettings) -> Any:
    """Return a server of uvicorn that keeps the limits of the settings.

    Args:
        app: what answers requests.
        settings: the limits.
    """
    # Not at the top: they are optional, and what is not served needs none.
    uvicorn: Any = import_module("uvicorn")
    config = uvicorn.Config(
        app,
        # The same whatever else is installed, and blanks around a field are not part of it.
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        limit_concurrency=settings.connections,
        h11_max_incomplete_event_size=settings.header_size,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)
