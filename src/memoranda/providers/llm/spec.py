"""Which model is meant: ``anthropic:NAME``, ``openai:NAME``, or either ``@`` a server's URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from memoranda.errors import ConfigError

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
FORMS = "anthropic:NAME, openai:NAME or openai:NAME@http://host:port/v1"
EXCERPT = 120  # characters of a wrong value in a message


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model and who serves it.

    Attributes:
        provider: whose format is spoken: ``anthropic`` or ``openai``.
        model: the model's name there.
        url: the server, where it is not the provider's own.
    """

    provider: str
    model: str
    url: str | None = None

    def __str__(self) -> str:
        """Return the form that :func:`parse_spec` reads."""
        at = "" if self.url is None else f"@{self.url}"
        return f"{self.provider}:{self.model}{at}"


def parse_spec(text: str) -> ModelSpec:
    """Return the model that ``text`` names.

    Raises:
        ConfigError: it has none of the known forms.
    """
    provider, colon, rest = text.strip().partition(":")
    provider = provider.lower()
    if not colon or provider not in KEY_VARIABLES:
        raise ConfigError(f"the model {_shown(text)!r} cannot be read: write {FORMS}")
    # Names may hold colons and at signs of their own (llama3:8b, org/model@main).
    place = max(rest.find("@http://"), rest.find("@https://"))
    name, url = (rest, None) if place < 0 else (rest[:place], rest[place + 1 :])
    if not name.strip() or any(character.isspace() for character in name):
        raise ConfigError(f"the model {_shown(text)!r} has no name: write {FORMS}")
    if "://" in name:
        raise ConfigError(
            f"the server in {_shown(text)!r} is no http address: write {provider}:NAME@http://…"
        )
    return ModelSpec(provider, name, None if url is None else _checked(url, provider))


def find_key(spec: ModelSpec, given: str | None) -> str | None:
    """Return the key to send: the one given, or that of the environment to a public provider.

    A server by URL gets no key but the one given for it.

    Args:
        spec: the model.
        given: the caller's key.

    Raises:
        ConfigError: the public provider needs one, and there is none.
    """
    if given or spec.url is not None:
        return given or None
    variable = KEY_VARIABLES[spec.provider]
    key = os.environ.get(variable)
    if not key:
        raise ConfigError(
            f"the model {spec} needs a key: set {variable} or llm.api_key, name a server of "
            f"your own with {spec.provider}:NAME@http://host:port/v1, or name no model: none "
            f"is needed"
        )
    return key


def _checked(url: str, provider: str) -> str:
    example = f"write {provider}:NAME@http://host:port/v1"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(
            f"the server {_shown(url)!r} is no address ({error}): {example}"
        ) from error
    if not host or any(character.isspace() for character in url):
        raise ConfigError(f"the server {_shown(url)!r} has no host: {example}")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"the server {_shown(url)!r} holds a user or a password, which would be shown and "
            f"logged: {example} and give the key as llm.api_key"
        )
    if parts.query or parts.fragment:
        raise ConfigError(f"the server {_shown(url)!r} has more than a path: {example}")
    return url.rstrip("/")


def _shown(text: str) -> str:
    """Return ``text`` for a message: short, and without what stands before an at sign in a URL."""
    scheme, mark, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    if mark and "@" in authority:
        text = f"{scheme}://…@{authority.rpartition('@')[2]}{slash}{path}"
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"
