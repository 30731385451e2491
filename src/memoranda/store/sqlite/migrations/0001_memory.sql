-- The first schema. Canonical: users, records, conversations, messages, history, consolidations.
-- Derived, and rebuilt from these by rebuild(): records_fts, vectors, pending_vectors,
-- entities, entity_names, record_entities.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
    key           INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    vector_seq    INTEGER NOT NULL DEFAULT 0,  -- number of the newest row in vectors
    index_epoch   INTEGER NOT NULL DEFAULT 0   -- raised when rows a reader knows change or go
);

CREATE TABLE records (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,  -- never one that an erased record had
    id             TEXT NOT NULL UNIQUE,
    user_key       INTEGER NOT NULL REFERENCES users(key),
    agent          TEXT,
    kind           TEXT NOT NULL CHECK (kind IN ('episode', 'fact', 'context', 'reflection')),
    content        TEXT NOT NULL,
    content_hash   TEXT NOT NULL,
    term_count     INTEGER NOT NULL,
    session_id     TEXT,
    position       INTEGER,
    event_time     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    valid_until    INTEGER,
    superseded_by  TEXT,
    confidence     REAL NOT NULL DEFAULT 1.0 CHECK (confidence BETWEEN 0 AND 1),
    access_count   INTEGER NOT NULL DEFAULT 0,
    last_accessed  INTEGER,
    decay_rate     REAL NOT NULL DEFAULT 0.0 CHECK (decay_rate >= 0),
    source_ids     TEXT NOT NULL DEFAULT '[]',
    source_role    TEXT,
    origin         TEXT NOT NULL,
    trust          TEXT NOT NULL,
    tags           TEXT NOT NULL DEFAULT '[]',
    attributes     TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX records_user ON records (user_key);
CREATE INDEX records_kind ON records (user_key, kind, valid_until);
CREATE INDEX records_session ON records (user_key, session_id, position);
CREATE INDEX records_time ON records (user_key, event_time);
CREATE INDEX records_derived ON records (user_key) WHERE source_ids <> '[]';

CREATE VIRTUAL TABLE records_fts USING fts5 (
    terms, scope,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);
CREATE TRIGGER records_fts_insert AFTER INSERT ON records BEGIN
    INSERT INTO records_fts (rowid, terms, scope)
    VALUES (new.key, memoranda_terms(new.content), 'u' || new.user_key);
END;
CREATE TRIGGER records_fts_update AFTER UPDATE OF content ON records BEGIN
    UPDATE records_fts SET terms = memoranda_terms(new.content), scope = 'u' || new.user_key
    WHERE rowid = new.key;
END;
CREATE TRIGGER records_fts_delete AFTER DELETE ON records BEGIN
    DELETE FROM records_fts WHERE rowid = old.key;
END;

-- Float16 rows by user, in the order in which they were made, so that a reader who has some
-- of a user's vectors in memory fetches only those that came after.
CREATE TABLE vectors (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    seq         INTEGER NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    embedding   BLOB NOT NULL,
    PRIMARY KEY (user_key, seq)
) WITHOUT ROWID;
CREATE INDEX vectors_record ON vectors (record_key);

CREATE TABLE pending_vectors (
    record_key  INTEGER PRIMARY KEY REFERENCES records(key) ON DELETE CASCADE,
    user_key    INTEGER NOT NULL
);
CREATE INDEX pending_vectors_user ON pending_vectors (user_key);
CREATE TRIGGER pending_vectors_insert AFTER INSERT ON records BEGIN
    INSERT INTO pending_vectors VALUES (new.key, new.user_key);
END;

CREATE TABLE entities (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    user_key   INTEGER NOT NULL REFERENCES users(key),
    name       TEXT NOT NULL,
    type       TEXT NOT NULL,
    summary    TEXT,
    protected  INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX entities_user ON entities (user_key);

-- Every spelling under which an entity occurs; `folded` is what a look-up compares.
CREATE TABLE entity_names (
    user_key    INTEGER NOT NULL,
    folded      TEXT NOT NULL,
    entity_key  INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    PRIMARY KEY (user_key, folded, entity_key)
) WITHOUT ROWID;

CREATE TABLE record_entities (
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    entity_key  INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    PRIMARY KEY (record_key, entity_key, folded)
) WITHOUT ROWID;
CREATE INDEX record_entities_entity ON record_entities (entity_key, record_key);

CREATE TABLE conversations (
    key              INTEGER PRIMARY KEY,
    user_key         INTEGER NOT NULL REFERENCES users(key),
    agent            TEXT,
    id               TEXT NOT NULL,
    system           TEXT,
    model            TEXT,
    context_limit    INTEGER,
    created_at       INTEGER NOT NULL,
    ended_at         INTEGER,
    cleared_through  INTEGER NOT NULL DEFAULT -1,  -- position of the last message left behind
    UNIQUE (user_key, id)
);

CREATE TABLE messages (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    conversation_key  INTEGER NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    position          INTEGER NOT NULL,
    role              TEXT NOT NULL,
    content           TEXT NOT NULL,
    timestamp         INTEGER NOT NULL,
    tokens            INTEGER NOT NULL,
    importance        REAL,
    pinned            INTEGER NOT NULL DEFAULT 0,
    tool_calls        TEXT NOT NULL DEFAULT '[]',
    tool_result       TEXT,
    record_id         TEXT,
    UNIQUE (conversation_key, position)
);
CREATE INDEX messages_record ON messages (record_id);

CREATE TABLE consolidations (
    user_key         INTEGER NOT NULL REFERENCES users(key),
    session_id       TEXT NOT NULL,
    first_seen_at    INTEGER NOT NULL,
    consolidated_at  INTEGER,
    PRIMARY KEY (user_key, session_id)
) WITHOUT ROWID;

-- What was done, never the text itself: that lives in the record alone, so that
-- erasing the record erases it.
CREATE TABLE history (
    key        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    user_key   INTEGER NOT NULL REFERENCES users(key),
    agent      TEXT,
    record_id  TEXT NOT NULL,
    action     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    detail     TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX history_record ON history (record_id);

CREATE TABLE leases (
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    expires_at  INTEGER NOT NULL
) WITHOUT ROWID;

-- What the planner is to assume, as nothing here ever runs ANALYZE: a user has thousands of
-- records, an id one. Without it, it would walk through all of a user's to find one by its id.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('records', 'sqlite_autoindex_records_1', '100000 1'),
    ('records', 'records_user', '100000 2000'),
    ('records', 'records_kind', '100000 2000 500 500'),
    ('records', 'records_session', '100000 2000 50 1'),
    ('records', 'records_time', '100000 2000 1');
ANALYZE sqlite_schema;
