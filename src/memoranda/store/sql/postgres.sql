-- What only PostgreSQL has beside schema.sql: the full-text index.

CREATE TABLE record_terms (
    user_key    INTEGER NOT NULL,
    term        TEXT NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records (key) ON DELETE CASCADE,
    times       INTEGER NOT NULL,
    PRIMARY KEY (user_key, term, record_key)
);
CREATE INDEX record_terms_record ON record_terms (record_key);
