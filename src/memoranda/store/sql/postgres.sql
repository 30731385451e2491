-- The schema on PostgreSQL: the tables of schema.sql, which says what the columns mean, with all that
-- the numbered files up to 0007 add. The user's key stands first in every key, so that a server can
-- keep the rows of a user together: in one partition, or on one machine.

CREATE SEQUENCE record_keys;

CREATE TABLE meta (
    name   TEXT PRIMARY KEY,
    value  TEXT NOT NULL
);

CREATE TABLE users (
    key          SERIAL PRIMARY KEY,
    name         TEXT UNIQUE,
    vector_seq   INTEGER NOT NULL DEFAULT 0,
    index_epoch  INTEGER NOT NULL DEFAULT 0,
    item_epoch   INTEGER NOT NULL DEFAULT 0,
    deletions    INTEGER NOT NULL DEFAULT 0,
    deleted      INTEGER NOT NULL DEFAULT 0,
    digest       TEXT UNIQUE,
    revision     INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE records (
    user_key       INTEGER NOT NULL,
    key            INTEGER NOT NULL,
    id             TEXT NOT NULL,
    agent          TEXT,
    kind           TEXT NOT NULL,
    content        TEXT NOT NULL,
    content_hash   TEXT NOT NULL,
    term_count     INTEGER NOT NULL,
    session_id     TEXT,
    position       INTEGER,
    event_time     INTEGER NOT NULL,
    event_until    INTEGER,
    created_at     INTEGER NOT NULL,
    valid_until    INTEGER,
    closed_at      INTEGER,
    superseded_by  TEXT,
    supersedes     TEXT,
    confidence     REAL NOT NULL,
    strength       REAL NOT NULL,
    strength_at    INTEGER NOT NULL,
    access_count   INTEGER NOT NULL DEFAULT 0,
    last_accessed  INTEGER,
    decay_rate     REAL NOT NULL,
    source_ids     TEXT NOT NULL,
    source_role    TEXT,
    origin         TEXT NOT NULL,
    trust          TEXT NOT NULL,
    tags           TEXT NOT NULL,
    metadata       TEXT NOT NULL,
    reason         TEXT NOT NULL,
    enriched_at    INTEGER,
    indexed        INTEGER NOT NULL DEFAULT 1,
    namespace      TEXT NOT NULL,
    item_key       TEXT,
    subject        TEXT,
    attribute      TEXT,
    value          TEXT,
    revised        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id)
);

CREATE UNIQUE INDEX records_item ON records (
    user_key, namespace, item_key, (coalesce(agent, '')),
    (CASE WHEN closed_at IS NULL THEN 0 ELSE key END)
) WHERE kind = 'item';
CREATE INDEX records_kind ON records (user_key, kind, (coalesce(agent, '')), key);
CREATE INDEX records_session ON records (user_key, session_id, position)
    WHERE session_id IS NOT NULL;
CREATE INDEX records_hash ON records (user_key, content_hash);
CREATE INDEX records_replaced ON records (user_key, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX records_attribute ON records (user_key, attribute, subject)
    WHERE attribute IS NOT NULL;
CREATE INDEX records_decaying ON records (user_key)
    WHERE kind = 'fact' AND decay_rate > 0 AND indexed = 1;
CREATE INDEX records_expired ON records (user_key, valid_until)
    WHERE valid_until IS NOT NULL AND closed_at IS NULL AND indexed = 1;

CREATE INDEX records_session_until ON records (user_key, session_id, valid_until)
    WHERE session_id IS NOT NULL AND valid_until IS NOT NULL AND closed_at IS NULL;

CREATE INDEX records_noteworthy ON records (
    user_key, (trust = 'person'), (decay_rate = 0), confidence, created_at, valid_until, agent
) WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external';

CREATE INDEX records_noteworthy_until ON records (user_key, (coalesce(agent, '')), valid_until)
    WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external'
    AND valid_until IS NOT NULL;

CREATE TABLE noteworthy_epochs (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    PRIMARY KEY (user_key, agent)
);

CREATE TABLE record_sources (
    user_key    INTEGER NOT NULL,
    source_id   TEXT NOT NULL,
    record_key  INTEGER NOT NULL,
    PRIMARY KEY (user_key, source_id, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX record_sources_record ON record_sources (record_key);

CREATE TABLE vectors (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    seq         INTEGER NOT NULL,
    record_key  INTEGER NOT NULL,
    embedding   BLOB NOT NULL,
    PRIMARY KEY (user_key, seq),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX vectors_record ON vectors (record_key);

CREATE TABLE token_vectors (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    record_key  INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    tokens      BLOB NOT NULL,
    PRIMARY KEY (user_key, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);

CREATE TABLE derivations (
    user_key       INTEGER NOT NULL,
    record_key     INTEGER NOT NULL,
    work           TEXT NOT NULL,
    claimed_until  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, record_key, work)
);

CREATE TABLE entities (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    key       SERIAL,
    id        TEXT NOT NULL,
    name      TEXT NOT NULL,
    type      TEXT NOT NULL,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id)
);

CREATE TABLE entity_names (
    user_key    INTEGER NOT NULL,
    folded      TEXT NOT NULL,
    entity_key  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    PRIMARY KEY (user_key, folded, entity_key),
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX entity_names_entity ON entity_names (entity_key, folded);

CREATE TABLE entity_name_keys (
    user_key    INTEGER NOT NULL,
    name_key    TEXT NOT NULL,
    entity_key  INTEGER NOT NULL,
    folded      TEXT NOT NULL,
    PRIMARY KEY (user_key, name_key, entity_key, folded),
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX entity_name_keys_entity ON entity_name_keys (entity_key, folded);

CREATE TABLE record_entities (
    user_key    INTEGER NOT NULL,
    record_key  INTEGER NOT NULL,
    entity_key  INTEGER NOT NULL,
    folded      TEXT NOT NULL,
    PRIMARY KEY (user_key, record_key, entity_key, folded),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE,
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX record_entities_entity ON record_entities (entity_key, record_key);

CREATE TABLE entity_decisions (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    folded    TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (user_key, folded)
);
CREATE INDEX entity_decisions_target ON entity_decisions (user_key, target);

CREATE TABLE conversations (
    user_key         INTEGER NOT NULL REFERENCES users(key),
    key              SERIAL,
    agent            TEXT,
    id               TEXT NOT NULL,
    system           TEXT,
    model            TEXT,
    context_limit    INTEGER,
    created_at       INTEGER NOT NULL,
    ended_at         INTEGER,
    deleted_at       INTEGER,
    cleared_through  INTEGER NOT NULL DEFAULT -1,
    token_scale      REAL NOT NULL DEFAULT 1.0,
    token_overhead   INTEGER NOT NULL DEFAULT 0,
    message_count    INTEGER NOT NULL DEFAULT 0,
    next_position    INTEGER NOT NULL DEFAULT 0,
    revision         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id)
);

CREATE TABLE messages (
    user_key          INTEGER NOT NULL,
    key               SERIAL,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL,
    position          INTEGER NOT NULL,
    role              TEXT NOT NULL,
    content           TEXT NOT NULL,
    timestamp         INTEGER NOT NULL,
    tokens            INTEGER NOT NULL,
    importance        REAL,
    pinned            INTEGER NOT NULL DEFAULT 0,
    tool_calls        TEXT NOT NULL,
    tool_result       TEXT,
    images            TEXT NOT NULL,
    task              TEXT,
    record_id         TEXT,
    raw               TEXT,
    part              INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, conversation_key, position),
    UNIQUE (user_key, id),
    FOREIGN KEY (user_key, conversation_key)
        REFERENCES conversations (user_key, key) ON DELETE CASCADE
);
CREATE INDEX messages_record ON messages (record_id) WHERE record_id IS NOT NULL;

CREATE TABLE tombstones (
    user_key          INTEGER NOT NULL,
    key               SERIAL,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL,
    at                INTEGER NOT NULL,
    count             INTEGER NOT NULL,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, conversation_key, id),
    FOREIGN KEY (user_key, conversation_key)
        REFERENCES conversations (user_key, key) ON DELETE CASCADE
);

CREATE TABLE removed_messages (
    user_key       INTEGER NOT NULL,
    tombstone_key  INTEGER NOT NULL,
    place          INTEGER NOT NULL,
    record_id      TEXT,
    message        TEXT NOT NULL,
    PRIMARY KEY (user_key, tombstone_key, place),
    FOREIGN KEY (user_key, tombstone_key) REFERENCES tombstones (user_key, key) ON DELETE CASCADE
);
CREATE INDEX removed_messages_record ON removed_messages (record_id) WHERE record_id IS NOT NULL;

CREATE TABLE prunings (
    user_key          INTEGER NOT NULL,
    key               SERIAL,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL,
    at                INTEGER NOT NULL,
    triggered_by      TEXT NOT NULL,
    why               TEXT NOT NULL,
    strategy          TEXT NOT NULL,
    tokens_before     INTEGER NOT NULL,
    tokens_after      INTEGER NOT NULL,
    through           INTEGER NOT NULL,
    spans             TEXT NOT NULL,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, conversation_key, id),
    FOREIGN KEY (user_key, conversation_key)
        REFERENCES conversations (user_key, key) ON DELETE CASCADE
);
CREATE INDEX prunings_through ON prunings (conversation_key, through);

CREATE TABLE sessions (
    user_key         INTEGER NOT NULL REFERENCES users(key),
    session_id       TEXT NOT NULL,
    agent            TEXT NOT NULL,
    first_seen_at    INTEGER NOT NULL,
    consolidated_at  INTEGER,
    through          INTEGER NOT NULL DEFAULT -1,
    noted            INTEGER NOT NULL DEFAULT -1,
    unread           INTEGER NOT NULL DEFAULT 0,
    tries            INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_key, session_id, agent)
);
CREATE INDEX sessions_pending ON sessions (user_key) WHERE consolidated_at IS NULL;

CREATE TABLE recalls (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    session_id  TEXT NOT NULL,
    record_key  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (user_key, session_id, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX recalls_record ON recalls (record_key);

CREATE TABLE model_usage (
    user_key       INTEGER NOT NULL REFERENCES users(key),
    agent          TEXT NOT NULL,
    stage          TEXT NOT NULL,
    model          TEXT NOT NULL,
    requests       INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    cost           REAL,
    seconds        REAL NOT NULL,
    PRIMARY KEY (user_key, agent, stage, model)
);

CREATE TABLE notes_bases (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL,
    folder    TEXT NOT NULL,
    lines     TEXT NOT NULL,
    PRIMARY KEY (user_key, agent, folder)
);

CREATE TABLE history (
    user_key   INTEGER NOT NULL REFERENCES users(key),
    key        SERIAL,
    at         INTEGER NOT NULL,
    agent      TEXT,
    record_id  TEXT NOT NULL,
    action     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    PRIMARY KEY (user_key, key)
);
CREATE INDEX history_record ON history (record_id);

CREATE TABLE leases (
    name         TEXT PRIMARY KEY,
    holder       TEXT,
    expires_at   INTEGER,
    claimed_due  INTEGER,
    done_due     INTEGER,
    done_at      INTEGER,
    done_counts  TEXT
);

CREATE INDEX records_revised ON records (user_key, revised) WHERE revised > 0;

-- How often each term stands in each record: the full-text index.
CREATE TABLE record_terms (
    user_key    INTEGER NOT NULL,
    term        TEXT NOT NULL,
    record_key  INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (user_key, term, record_key) INCLUDE (n)
);
CREATE INDEX record_terms_record ON record_terms (user_key, record_key);

-- Users of whom candidates come from the database: see store/postgres_large.py.
CREATE TABLE large_users (
    user_key    INTEGER PRIMARY KEY REFERENCES users (key),
    records     INTEGER NOT NULL,   -- memories, when they were last counted
    terms       REAL NOT NULL,      -- of one of them, in the mean
    dimensions  INTEGER NOT NULL,   -- of the vectors in the user's table
    counted_at  INTEGER NOT NULL    -- number of the newest vector then
);

-- Workers take what waits longest, of any user.
CREATE INDEX derivations_waiting ON derivations (work, record_key);

-- The planner keeps no samples of texts: what is erased would stay in them. (A conversation may
-- have been named after what was said in it.)
DO $$
DECLARE
    kept record;
BEGIN
    FOR kept IN
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type IN ('text', 'bytea')
            AND table_name NOT IN ('meta', 'leases')
            AND (table_name = 'conversations' OR column_name NOT IN ('agent', 'kind', 'id',
                'source_id', 'record_id', 'superseded_by', 'supersedes', 'origin', 'source_role',
                'trust', 'work', 'role', 'strategy', 'triggered_by', 'stage', 'model'))
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0',
            kept.table_name, kept.column_name);
    END LOOP;
END $$;
