"""Bearer tokens: each is that of one user."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from hmac import compare_digest

from mcp.server.auth.provider import AccessToken


class Tokens:
    """Knows the user of a token (the SDK's ``TokenVerifier``).

    Args:
        users: token → user.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        """Keep digests, which are of one length whatever the token's."""
        self._users = {_digest(token): user for token, user in users.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who may ask with ``token``; looks at all of them, however the first compare."""
        given = _digest(token)
        found = [user for each, user in self._users.items() if compare_digest(each, given)]
        if not found:
            return None
        # A session belongs to the token that began it, and not to any other of its user.
        return AccessToken(token=token, client_id=given.hex(), scopes=[], subject=found[0])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
