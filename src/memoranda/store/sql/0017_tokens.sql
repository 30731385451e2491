-- The tokens that open the memory of a user over HTTP, by the digests of their texts.
CREATE TABLE tokens (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    id          TEXT NOT NULL,
    digest      TEXT NOT NULL,
    scope       TEXT NOT NULL,   -- 'read', 'write' or 'admin'
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,         -- NULL: never
    PRIMARY KEY (user_key, id)
) WITHOUT ROWID;
CREATE INDEX tokens_digest ON tokens (digest);

-- What was answered to writes whose client gave them a key, so that none is done twice.
CREATE TABLE idempotency_keys (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    key         TEXT NOT NULL,
    request     TEXT NOT NULL,   -- digest of all that was asked
    answer      TEXT,            -- NULL: it is not done yet
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (user_key, key)
) WITHOUT ROWID;
