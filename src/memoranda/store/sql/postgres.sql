-- What only PostgreSQL has beside schema.sql: keys, what a crash takes away, the full-text index.

CREATE SEQUENCE record_keys;

-- The server empties it when it starts after a crash, and where another server takes its place.
CREATE UNLOGGED TABLE server_starts (
    id     INTEGER PRIMARY KEY,
    token  TEXT NOT NULL
);

CREATE TABLE record_terms (
    user_key    INTEGER NOT NULL,
    term        TEXT NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records (key) ON DELETE CASCADE,
    times       INTEGER NOT NULL,
    PRIMARY KEY (user_key, term, record_key)
);
CREATE INDEX record_terms_record ON record_terms (record_key);
