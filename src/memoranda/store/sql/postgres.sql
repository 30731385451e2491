-- What only PostgreSQL has beside schema.sql: keys, what a crash takes away, the full-text index.

CREATE SEQUENCE record_keys;

-- The server empties it when it starts after a crash, and where another server takes its place.
CREATE UNLOGGED TABLE server_starts (
    id     INTEGER PRIMARY KEY,
    token  TEXT NOT NULL
);

-- A row for each record, more for the longest. No index leads with the user: every lexeme does,
-- and the planner would rather walk through all that a user has.
CREATE TABLE record_terms (
    user_key    INTEGER NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records (key) ON DELETE CASCADE,
    terms       tsvector NOT NULL
);
ALTER TABLE record_terms ALTER COLUMN terms SET STATISTICS 0;
CREATE INDEX record_terms_record ON record_terms (record_key);
-- A list of what is to be indexed later would keep what was erased.
CREATE INDEX record_terms_terms ON record_terms USING gin (terms) WITH (fastupdate = off);

-- Users of whom candidates come from the database: see store/postgres_nearest.py.
CREATE TABLE large_users (
    user_key    INTEGER PRIMARY KEY REFERENCES users (key),
    records     INTEGER NOT NULL,   -- memories, when they were last counted
    terms       REAL NOT NULL,      -- of one of them, in the mean
    dimensions  INTEGER NOT NULL,   -- of the vectors in the user's table
    counted_at  INTEGER NOT NULL    -- number of the newest vector then
);

-- In how many records a term of theirs stands, where these are many.
CREATE TABLE common_terms (
    user_key  INTEGER NOT NULL,
    term      TEXT NOT NULL,
    records   INTEGER NOT NULL,
    PRIMARY KEY (user_key, term)
);

-- Workers take what waits longest, of any user.
CREATE INDEX derivations_waiting ON derivations (work, record_key);
