"""Tokens that open one user's memory over HTTP: made, listed, revoked and checked."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic
from weakref import WeakKeyDictionary

import anyio.to_thread

from memoranda.errors import InvalidInput, NotFound
from memoranda.memory import Memory, services_of
from memoranda.model.checks import clean
from memoranda.model.clock import Clock, IdFactory
from memoranda.model.tokens import ApiToken, TokenScope, token_digest
from memoranda.store.sql.store import Store

# So that a scanner for secrets knows one where it finds it.
PREFIX = "memoranda_"
BYTES = 32
# How long a browser stays signed in.
SESSION = timedelta(hours=12)
# Seconds for which a token that a server was asked for is not looked up again, and those that were:
# of each store, by their digests, with the time until then.
RECENT = 1.0
_recent: WeakKeyDictionary[Store, dict[str, tuple[ApiToken, float]]] = WeakKeyDictionary()
# Stands in the id of a session between that of its token and a number.
JOINT = "."


@dataclass(frozen=True, slots=True)
class TokenService:
    """The tokens of a store.

    Attributes:
        store: where their digests are kept.
        clock: tells what has expired.
        ids: makes their ids.
    """

    store: Store
    clock: Clock
    ids: IdFactory

    @classmethod
    def of(cls, memory: Memory) -> TokenService:
        """Return the tokens of the store of a memory."""
        services = services_of(memory)
        return cls(services.store, services.clock, IdFactory(services.clock))

    def create(
        self, user: str, scope: TokenScope, expires: timedelta | None = None
    ) -> tuple[str, ApiToken]:
        """Make a token; return its text, which is kept nowhere, and what is known of it.

        Raises:
            InvalidInput: the user has no name, or it would have expired already.
        """
        now = self.clock.now()
        if expires is not None and expires <= timedelta(0):
            raise InvalidInput(f"expires={expires} is over at once; write a span such as 90d")
        token = ApiToken(
            id=self.ids.new("tok"),
            user=clean(user, "user"),
            scope=scope,
            created_at=now,
            expires_at=now + expires if expires else None,
        )
        return self._keep(token), token

    def open_session(self, text: str) -> str | None:
        """Return the text of a session of a browser, for that of a token; ``None`` without one.

        It allows what the token does, and ends with it, or after :data:`SESSION`.
        """
        token, now = self.verify(text), self.clock.now()
        if token is None or JOINT in token.id:
            return None
        until = min(now + SESSION, token.expires_at or now + SESSION)
        own_id = f"{token.id}{JOINT}{secrets.token_hex(4)}"
        return self._keep(replace(token, id=own_id, created_at=now, expires_at=until))

    def _keep(self, token: ApiToken) -> str:
        """Store a token; return its text."""
        text = PREFIX + secrets.token_urlsafe(BYTES)
        with self.store.write(self.store.scope(token.user)) as tx:
            tx.add_token(token, token_digest(text))
            tx.drop_sessions(now=self.clock.now())
        return text

    def all(self) -> list[ApiToken]:
        """Return all tokens, also those that have expired, the oldest first."""
        return self.store.tokens()

    def revoke(self, id: str) -> ApiToken:
        """Let a token and its sessions open nothing from now on; return what was known of it.

        Raises:
            NotFound: there is none with this id.
        """
        found = next((each for each in self.all() if each.id == id), None)
        if found is None:
            raise NotFound(
                f"there is no token {id!r:.80}; memoranda token list shows those there are"
            )
        with self.store.write(self.store.scope(found.user)) as tx:
            tx.drop_token(id)
        self.forget_recent()
        return found

    def forget_recent(self) -> None:
        """Look every token up again: one of them opens nothing any more."""
        _recent.pop(self.store, None)

    async def find(self, text: str) -> ApiToken | None:
        """Return what :meth:`verify` does; what another process revoked may open for a second."""
        recent, digest, now = _recent.setdefault(self.store, {}), token_digest(text), monotonic()
        found, until = recent.get(digest, (None, now))
        if until <= now and (found := await anyio.to_thread.run_sync(self.verify, text)):
            recent[digest] = found, now + RECENT
        return None if found is None or self._is_over(found) else found

    def verify(self, text: str) -> ApiToken | None:
        """Return the token of this text, unless it has expired or there is none."""
        found = self.store.token(token_digest(text))
        return None if found is None or self._is_over(found) else found

    def revision(self, token: ApiToken) -> int | None:
        """Return what tells of changes to the memory of a token; ``None`` once it opens nothing."""
        return None if self._is_over(token) else self.store.token_revision(token)

    def _is_over(self, token: ApiToken) -> bool:
        return token.expires_at is not None and token.expires_at <= self.clock.now()
