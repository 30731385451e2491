"""Which model is meant, and how it is reached.

``anthropic:NAME``, ``openai:NAME``, or either ``@`` a server's URL.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from memoranda.errors import ConfigError
from memoranda.text.patterns import compile_pattern

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
FORMS = "anthropic:NAME, openai:NAME or openai:NAME@http://host:port/v1"
EXCERPT = 120  # characters of a wrong value in a message
# Names may hold colons and at signs of their own (llama3:8b, org/model@main). A URL has neither
# a user nor a query: it is shown and logged.
SPEC = compile_pattern(
    r"(?P<provider>anthropic|openai):(?P<model>(?:(?!://)\S)+?)(?:@(?P<url>https?://[^\s@?#]+))?",
    re.IGNORECASE,
)
PASSWORD = compile_pattern(r"(?<=://)[^/]*@")


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


@dataclass(slots=True)
class ModelConnection:
    """How a model is reached.

    Attributes:
        spec: the model.
        key: the key to send, if any.
        timeout: seconds in which a call must have its whole answer, retries included; where words
            are passed on as they come, the longest silence between two pieces.
        retries: how often a busy, failing or unreachable server is asked again.
        schema_refused: whether the server answers only without a schema; learned by asking.
    """

    spec: ModelSpec
    key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 2
    schema_refused: bool = False


def parse_spec(text: str) -> ModelSpec:
    """Return the model that ``text`` names.

    Raises:
        ConfigError: it has none of the known forms.
    """
    found = SPEC.fullmatch(text.strip())
    try:
        server = urlsplit(found["url"] or "http://default") if found else None
        if found and server and server.hostname and server.port != 0:
            url = found["url"].rstrip("/") if found["url"] else None
            return ModelSpec(found["provider"].lower(), found["model"], url)
    except ValueError:  # A port that is no number, or half an address.
        pass
    shown = PASSWORD.sub("…@", text)[:EXCERPT]
    raise ConfigError(
        f"the model {shown!r} cannot be read: write {FORMS}; the URL of a server is http(s) and "
        f"holds no user, password or query: give the key as llm.api_key"
    )


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
