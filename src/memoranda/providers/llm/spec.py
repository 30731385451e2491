"""Which model is meant, and how it is reached.

``anthropic:NAME``, ``openai:NAME``, or either ``@`` a server's URL.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from memoranda.errors import ConfigError
from memoranda.model.passwords import hide_password
from memoranda.text.patterns import compile_pattern

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
FORMS = "anthropic:NAME, openai:NAME or openai:NAME@http://host:port/v1"
EXCERPT = 120  # characters of a wrong value in a message
# Names may hold colons and at signs of their own (llama3:8b, org/model@main). A URL has neither
# a user nor a query: it is shown and logged.
SPEC = compile_pattern(
    r"(?P<provider>anthropic|openai):(?P<model>\S+?)"
    r"(?:@(?P<url>https?://(?:\[[\da-f:.]+\]|[^\s@?#/:\[\]]+)(?::\d+)?(?:/[^\s@?#]*)?))?",
    re.IGNORECASE,
)


@dataclass(slots=True)
class ModelConnection:
    """A model, who serves it, and how it is reached.

    Attributes:
        provider: whose format is spoken: ``anthropic`` or ``openai``.
        model: the model's name there.
        url: the server, where it is not the provider's own.
        key: the key to send, if any.
        timeout: seconds in which a call must have its whole answer, retries included; where words
            are passed on as they come, the longest silence between two pieces.
        retries: how often a busy, failing or unreachable server is asked again.
        schema_refused: whether the server answers only without a schema; learned by asking.
    """

    provider: str
    model: str
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 2
    schema_refused: bool = False

    def __str__(self) -> str:
        """Return the form that :func:`parse_spec` reads."""
        at = "" if self.url is None else f"@{self.url}"
        return f"{self.provider}:{self.model}{at}"


def parse_spec(text: str, **options: Any) -> ModelConnection:
    """Return the connection to the model that ``text`` names.

    Args:
        text: of the form that this module states.
        options: the connection's other attributes.

    Raises:
        ConfigError: it has none of the known forms.
    """
    found = SPEC.fullmatch(text.strip())
    if found is None or "://" in found["model"]:
        shown = hide_password(text)[:EXCERPT]
        raise ConfigError(
            f"the model {shown!r} cannot be read: write {FORMS}; the URL of a server is http(s) "
            f"and holds no user, password or query: give the key as llm.api_key"
        )
    url = found["url"].rstrip("/") if found["url"] else None
    return ModelConnection(found["provider"].lower(), found["model"], url, **options)


def is_local(url: str | None) -> bool:
    """Return whether a server is on this machine or in its own network."""
    host = urlsplit(url or "").hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".internal")))


def require_key(to: ModelConnection) -> None:
    """Give a connection to a public provider the key of the environment, unless it has one.

    A server by URL gets no key but the one given for it.

    Raises:
        ConfigError: the public provider needs one, and there is none.
    """
    if to.key or to.url is not None:
        return
    variable = KEY_VARIABLES[to.provider]
    to.key = os.environ.get(variable)
    if not to.key:
        raise ConfigError(
            f"the model {to} needs a key: set {variable} or llm.api_key, name a server of your "
            f"own with {to.provider}:NAME@http://host:port/v1, or name no model: none is needed"
        )
