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
    record_key  INTEGER NOT NULL,
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
    counted_at  INTEGER NOT NULL,   -- number of the newest vector then
    listed      INTEGER NOT NULL,   -- key of the last record in the lists of terms
    removed     INTEGER NOT NULL    -- records that lost their terms since these were made
);

-- The records that hold a term of theirs that many hold: see store/postgres_term_lists.py.
CREATE TABLE common_terms (
    user_key   INTEGER NOT NULL,
    term       TEXT NOT NULL,
    first_key  INTEGER NOT NULL,  -- of the records that the list may have
    keys       BLOB NOT NULL,     -- how far after it each record is, four bytes each
    times      BLOB NOT NULL,     -- how often each holds the term, a byte each
    PRIMARY KEY (user_key, term, first_key)
);
ALTER TABLE common_terms ALTER COLUMN keys SET STORAGE EXTERNAL;
ALTER TABLE common_terms ALTER COLUMN times SET STORAGE EXTERNAL;

-- Workers take what waits longest, of any user.
CREATE INDEX derivations_waiting ON derivations (work, record_key);

-- What is written and removed with its record, in one transaction that no other of the user runs
-- beside, is there and gone with it: to check that for each new record took a seventh of its time.
ALTER TABLE records DROP CONSTRAINT records_user_key_fkey;
ALTER TABLE derivations DROP CONSTRAINT derivations_user_key_record_key_fkey;
-- The primary keys lead with the user.
DROP INDEX records_user;
