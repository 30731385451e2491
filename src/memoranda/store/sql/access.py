"""What a store keeps for those who reach it over HTTP: tokens, and answers to repeated writes."""

from __future__ import annotations

from datetime import datetime

from memoranda.model.checks import to_ms
from memoranda.model.models import Change, Scope
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.store.sql import rows
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.record_writes import RecordWrites
from memoranda.store.sql.rows import insertion

# Changes that are told at once.
AT_ONCE = 100
TOKENS = rows.Columns(
    ApiToken,
    {"scope": rows.choice(TokenScope), "created_at": rows.TIME, "expires_at": rows.TIME},
    user="user_key",
)
READ_TOKENS = f"""
SELECT {TOKENS.selected("t", user_key="u.name")} FROM tokens t JOIN users u ON u.key = t.user_key
"""
EVERY_TOKEN = f"{READ_TOKENS} ORDER BY t.id"
TOKEN = f"{READ_TOKENS} WHERE t.digest = :digest"
OPENED_REVISION = """
SELECT u.revision FROM tokens t JOIN users u ON u.key = t.user_key
WHERE u.name = :name AND t.id = :id
"""
# With a token the sessions go that were begun with it: their ids are its id and more.
REVOKE = """
DELETE FROM tokens
WHERE user_key = :user AND (id = :id OR substr(id, 1, length(:id) + 1) = :id || '.')
"""
FORGET_SESSIONS = """
DELETE FROM tokens WHERE user_key = :user AND expires_at <= :now AND id <> replace(id, '.', '')
"""
FORGET_EXPIRED = "DELETE FROM idempotency_keys WHERE user_key = :user AND expires_at <= :now"
CLAIM_KEY = f"""
{insertion("idempotency_keys", ("user_key", "key", "request", "expires_at"))}
ON CONFLICT (user_key, key) DO NOTHING
"""
KNOWN_KEY = "SELECT request, answer FROM idempotency_keys WHERE user_key = :user AND key = :key"
KEEP_ANSWER = """
UPDATE idempotency_keys SET answer = :answer, expires_at = :expires_at
WHERE user_key = :user AND key = :key
"""
RELEASE_KEY = "DELETE FROM idempotency_keys WHERE user_key = :user AND key = :key"
# Places in the history: the last record, and the last change of one.
NEWEST_PLACE = """
SELECT (SELECT coalesce(max(key), 0) FROM records WHERE user_key = :user),
    (SELECT coalesce(max(key), 0) FROM history WHERE user_key = :user)
"""
NEW_RECORDS = f"""
SELECT r.created_at, 'insert', r.reason, r.id, '{{}}', r.key FROM records r
WHERE r.key > :after AND {{mine}} ORDER BY r.key LIMIT {AT_ONCE}
"""
NEW_CHANGES = f"""
SELECT {rows.CHANGES.selected("r", record="r.record_id")}, r.key FROM history r
WHERE r.key > :after AND {{mine}} ORDER BY r.key LIMIT {AT_ONCE}
"""


class AccessReads(SqlReads):
    """Looks up tokens, whoever's they are, and what happened lately."""

    def tokens(self) -> list[ApiToken]:
        """Return every token, the oldest first."""
        return self._made(None, EVERY_TOKEN, TOKENS.make)

    def token(self, digest: str) -> ApiToken | None:
        """Return the token whose text has this digest."""
        found = self._made(None, TOKEN, TOKENS.make, digest=digest)
        return found[0] if found else None

    def token_revision(self, token: ApiToken) -> int | None:
        """Return the revision of the memory that a token opens; ``None`` without the token."""
        found = self._made(None, OPENED_REVISION, name=token.user, id=token.id)
        return found[0][0] if found else None

    def newest_place(self, scope: Scope) -> tuple[int, int]:
        """Return the place in the history of a user after which nothing has happened yet."""
        ((records, changes),) = self._made(scope, NEWEST_PLACE)
        return records, changes

    def changes_after(
        self, scope: Scope, place: tuple[int, int]
    ) -> list[tuple[tuple[int, int], Change]]:
        """Return what happened after a place in the history, each with its own place."""
        records, changes = place
        new = self._made(scope, NEW_RECORDS, _placed, after=records)
        found = [((key, changes), change) for key, change in new]
        records = new[-1][0] if new else records
        done = self._made(scope, NEW_CHANGES, _placed, after=changes)
        return found + [((records, key), change) for key, change in done]


def _placed(row: rows.Row) -> tuple[int, Change]:
    *change, key = row
    return key, rows.CHANGES.make(change)


class AccessWrites(RecordWrites):
    """Changes the tokens of a user, and what is known of writes that may come twice."""

    def add_token(self, token: ApiToken, digest: str) -> None:
        """Store a token by the digest of its text."""
        self.register()
        self.add("tokens", [TOKENS.values(token) | {"digest": digest, "user_key": self.user}])

    def drop_token(self, id: str) -> None:
        """Remove a token with its sessions, which open nothing from now on."""
        if not self.change(REVOKE, id=id):
            raise self.missing("token", id)

    def drop_sessions(self, *, now: datetime) -> None:
        """Remove the sessions that have expired."""
        self.run(FORGET_SESSIONS, now=to_ms(now))

    def claim_key(
        self, key: str, request: str, *, now: datetime, until: datetime
    ) -> tuple[str, str | None] | None:
        """Take the key of a write; where it is taken, return the request and its answer so far."""
        self.register()
        self.run(FORGET_EXPIRED, now=to_ms(now))
        whose = {"user_key": self.user, "key": key}
        if self.change(CLAIM_KEY, request=request, expires_at=to_ms(until), **whose):
            return None
        ((asked, answer),) = self.all(KNOWN_KEY, key=key)
        return asked, answer

    def keep_answer(self, key: str, answer: str | None, *, until: datetime) -> None:
        """Keep what was answered to the write of a key; without an answer, release the key."""
        if answer is None:
            self.run(RELEASE_KEY, key=key)
        else:
            self.run(KEEP_ANSWER, key=key, answer=answer, expires_at=to_ms(until))
