"""Tokens that open the memory of a user over HTTP."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


def token_digest(text: str) -> str:
    """Return by what a token is known: nobody can guess or read its text from it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TokenScope(StrEnum):
    """What a token allows: each scope allows what those before it do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def allows(self, wanted: TokenScope) -> bool:
        """Return whether this scope allows what ``wanted`` does."""
        order = list(TokenScope)
        return order.index(self) >= order.index(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """What is known of a token; its text is known to its holder alone.

    Attributes:
        id: ``tok_…``; sorts by creation.
        user: whose memory it opens.
        scope: what it allows.
        created_at: when it was made.
        expires_at: from when on it opens nothing; ``None`` is never.
    """

    id: str
    user: str
    scope: TokenScope
    created_at: datetime
    expires_at: datetime | None = None
