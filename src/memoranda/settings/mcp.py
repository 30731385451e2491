"""The settings of the MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from memoranda.settings.section import Section

LEAST_TOKEN = 16
"""Characters of a token at least: shorter ones can be guessed."""
FORM = "write TOKEN=USER, and a comma between several"


class McpSettings(Section):
    """The MCP server: ``memoranda mcp``."""

    tools: Literal["full", "basic"] = Field(default="full", examples=["basic"])
    """Which tools clients are offered. ``basic``: search, store and forget; ``full``: recalling,
    correcting, confirming, figures and entities, too."""
    upkeep: bool = Field(default=True, examples=[False])
    """Whether the server runs the jobs of ``schedule``. Once it has opened a memory; of several
    on one store, one runs each job."""
    tokens: SecretStr | None = Field(default=None, examples=["0123456789abcdef=ana"])
    """Who may ask over HTTP, as ``TOKEN=USER, TOKEN=USER``. Each token opens the memory of its
    user and no other; without any, only this machine can ask."""
    allowed_hosts: str | None = Field(default=None, examples=["memory.example.org"])
    """Names of the server beside the address it listens on. As clients write them, with a comma
    between them; ``NAME:*`` is any port."""
    allowed_origins: str | None = Field(default=None, examples=["https://app.example.org"])
    """Origins of web pages that may ask, beside its own. With a comma between them."""

    @field_validator("tokens", mode="before")
    @classmethod
    def _joined(cls, value: Any) -> Any:
        """Take a mapping, too, as programs have it: token → user. What is blank is none."""
        if isinstance(value, str) and not value.strip():
            return None
        if isinstance(value, Mapping):
            return ", ".join(f"{token}={user}" for token, user in value.items())
        return value

    @field_validator("tokens")
    @classmethod
    def _readable(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            users_by_token(value)
        return value


def users_by_token(tokens: SecretStr) -> dict[str, str]:
    """Return the user of each token.

    Raises:
        ValueError: the text is not of the form of the setting. It never quotes a token.
    """
    found: dict[str, str] = {}
    pairs = [each.strip() for each in tokens.get_secret_value().split(",")]
    for place, pair in enumerate(pairs, 1):
        token, _, user = (part.strip() for part in pair.rpartition("="))
        if not token or not user:
            message = f"entry {place} of {len(pairs)} is no token with its user; {FORM}"
            raise ValueError(message)
        if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
            message = (
                f"the token of entry {place} has {len(token)} characters; use {LEAST_TOKEN} or "
                f"more of plain ASCII, such as openssl rand -hex 32 prints"
            )
            raise ValueError(message)
        if token in found:
            message = f"the token of entry {place} stands twice; give each user one of their own"
            raise ValueError(message)
        found[token] = user
    return found
