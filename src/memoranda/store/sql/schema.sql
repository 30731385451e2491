-- The schema, in what every dialect reads once `Dialect.schema` has put in its types.
--
-- Canonical: users, records, conversations, messages, tombstones, removed_messages, prunings,
-- sessions, entity_decisions, recalls, model_usage, notes_bases, history, leases, meta. Derived, and
-- made again from these by rebuild(): record_sources, vectors, entities, entity_names,
-- entity_name_keys, record_entities and the full-text index, which each database has in a file of
-- its own.
--
-- Every table has a declared primary key and there are no triggers, so that the changes of a
-- transaction can be recorded and applied elsewhere.

CREATE TABLE meta (
    name   TEXT PRIMARY KEY,
    value  TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
    key          SERIAL PRIMARY KEY,
    name         TEXT UNIQUE,                  -- NULL: erased; `digest` is known then
    vector_seq   INTEGER NOT NULL DEFAULT 0,   -- number of the newest row in vectors
    index_epoch  INTEGER NOT NULL DEFAULT 0,   -- raised when rows that a reader knows change or go
    item_epoch   INTEGER NOT NULL DEFAULT 0,   -- the same of items
    deletions    INTEGER NOT NULL DEFAULT 0,   -- how often the user was deleted
    deleted      INTEGER NOT NULL DEFAULT 0,   -- 1: and nothing was stored since
    digest       TEXT UNIQUE                   -- of the name, once the user was erased
);

CREATE TABLE records (
    key            INTEGER PRIMARY KEY,        -- given by `insert`, never one that is gone
    id             TEXT NOT NULL UNIQUE,
    user_key       INTEGER NOT NULL REFERENCES users(key),
    agent          TEXT,
    kind           TEXT NOT NULL,
    content        TEXT NOT NULL,
    content_hash   TEXT NOT NULL,
    term_count     INTEGER NOT NULL,
    session_id     TEXT,
    position       INTEGER,
    event_time     INTEGER NOT NULL,
    event_until    INTEGER,                    -- of what takes a day or longer
    created_at     INTEGER NOT NULL,
    valid_until    INTEGER,
    closed_at      INTEGER,                    -- forgotten or replaced; NULL: ended by itself
    superseded_by  TEXT,
    supersedes     TEXT,
    confidence     REAL NOT NULL,
    strength       REAL NOT NULL,              -- the confidence from which it decays
    strength_at    INTEGER NOT NULL,           -- and since when
    access_count   INTEGER NOT NULL DEFAULT 0,
    last_accessed  INTEGER,
    decay_rate     REAL NOT NULL,
    source_ids     TEXT NOT NULL,
    source_role    TEXT,
    origin         TEXT NOT NULL,
    trust          TEXT NOT NULL,
    tags           TEXT NOT NULL,
    metadata       TEXT NOT NULL,
    reason         TEXT NOT NULL,              -- why it was stored: the first of its history
    enriched_at    INTEGER,                    -- when its entities were looked for again
    indexed        INTEGER NOT NULL DEFAULT 1, -- 0: retired; words alone find it
    namespace      TEXT NOT NULL,              -- of an item: '"a","b",', see encode_namespace
    item_key       TEXT,                       -- of an item
    subject        TEXT,                       -- of a fact: "user", "home", "Delft"
    attribute      TEXT,
    value          TEXT
);
-- One item of a key; those that were forgotten are beside it. A namespace is a range of this index.
CREATE UNIQUE INDEX records_item ON records (
    user_key, namespace, item_key, (coalesce(agent, '')),
    (CASE WHEN closed_at IS NULL THEN 0 ELSE key END)
) WHERE kind = 'item';
CREATE INDEX records_user ON records (user_key);
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
-- Which messages of a conversation have expired.
CREATE INDEX records_session_until ON records (user_key, session_id, valid_until)
    WHERE session_id IS NOT NULL AND valid_until IS NOT NULL AND closed_at IS NULL;
-- The order in which facts get their lines in MEMORY.md. The last two columns tell without a look
-- at the record whether it is active, and who sees it.
CREATE INDEX records_noteworthy ON records (
    user_key, (trust = 'person'), (decay_rate = 0), confidence, created_at, valid_until, agent
) WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external';

-- When the next one of an agent ends by itself.
CREATE INDEX records_noteworthy_until ON records (user_key, (coalesce(agent, '')), valid_until)
    WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external'
    AND valid_until IS NOT NULL;

-- How often the noteworthy facts of an agent (or of none, '') have changed, but for those that
-- were added or ended by themselves: records_kind and records_noteworthy_until tell of these.
CREATE TABLE noteworthy_epochs (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    PRIMARY KEY (user_key, agent)
) WITHOUT ROWID;

-- What cites a record as a source, to be found from that record.
CREATE TABLE record_sources (
    user_key    INTEGER NOT NULL,
    source_id   TEXT NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    PRIMARY KEY (user_key, source_id, record_key)
) WITHOUT ROWID;
CREATE INDEX record_sources_record ON record_sources (record_key);

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

-- One byte a number, token after token; read for the best candidates of a search alone.
CREATE TABLE token_vectors (
    record_key  INTEGER PRIMARY KEY REFERENCES records(key) ON DELETE CASCADE,
    user_key    INTEGER NOT NULL REFERENCES users(key),
    size        INTEGER NOT NULL,              -- numbers of a token
    tokens      BLOB NOT NULL
);

-- What is still to be computed from a record, and which kind of work that is.
CREATE TABLE derivations (
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    work        TEXT NOT NULL,                 -- 'vectors' or 'entities'
    user_key    INTEGER NOT NULL,
    PRIMARY KEY (record_key, work)
) WITHOUT ROWID;

CREATE TABLE entities (
    key       SERIAL PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    user_key  INTEGER NOT NULL REFERENCES users(key),
    name      TEXT NOT NULL,
    type      TEXT NOT NULL
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
CREATE INDEX entity_names_entity ON entity_names (entity_key, folded);

-- Under which keys a name is looked for when another is to be linked.
CREATE TABLE entity_name_keys (
    user_key    INTEGER NOT NULL,
    name_key    TEXT NOT NULL,
    entity_key  INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    PRIMARY KEY (user_key, name_key, entity_key, folded)
) WITHOUT ROWID;
CREATE INDEX entity_name_keys_entity ON entity_name_keys (entity_key, folded);

CREATE TABLE record_entities (
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    entity_key  INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    PRIMARY KEY (record_key, entity_key, folded)
) WITHOUT ROWID;
CREATE INDEX record_entities_entity ON record_entities (entity_key, record_key);

-- What persons decided: the name `folded` belongs to the entity that `target` names. A name that
-- is its own target stands alone. A target never has a target of its own but itself.
CREATE TABLE entity_decisions (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    folded    TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (user_key, folded)
) WITHOUT ROWID;
CREATE INDEX entity_decisions_target ON entity_decisions (user_key, target);

CREATE TABLE conversations (
    key              SERIAL PRIMARY KEY,
    user_key         INTEGER NOT NULL REFERENCES users(key),
    agent            TEXT,
    id               TEXT NOT NULL,
    system           TEXT,
    model            TEXT,
    context_limit    INTEGER,
    created_at       INTEGER NOT NULL,
    ended_at         INTEGER,
    deleted_at       INTEGER,                      -- taken off every list, and not opened since
    cleared_through  INTEGER NOT NULL DEFAULT -1,  -- position of the last message left behind
    token_scale      REAL NOT NULL DEFAULT 1.0,
    token_overhead   INTEGER NOT NULL DEFAULT 0,
    message_count    INTEGER NOT NULL DEFAULT 0,
    next_position    INTEGER NOT NULL DEFAULT 0,   -- never used again
    revision         INTEGER NOT NULL DEFAULT 0,   -- see ConversationInfo
    UNIQUE (user_key, id)
);

CREATE TABLE messages (
    key               SERIAL PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    conversation_key  INTEGER NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
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
    raw               TEXT,                    -- JSON as it was given
    part              INTEGER NOT NULL DEFAULT 0,
    UNIQUE (conversation_key, position)
);
CREATE INDEX messages_record ON messages (record_id) WHERE record_id IS NOT NULL;

-- Messages that were removed from a transcript together, and what was not erased of them since:
-- the row that each had in `messages`, as JSON.
CREATE TABLE tombstones (
    key               SERIAL PRIMARY KEY,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    at                INTEGER NOT NULL,
    count             INTEGER NOT NULL,
    UNIQUE (conversation_key, id)
);

CREATE TABLE removed_messages (
    tombstone_key  INTEGER NOT NULL REFERENCES tombstones(key) ON DELETE CASCADE,
    place          INTEGER NOT NULL,           -- among those removed with it
    record_id      TEXT,
    message        TEXT NOT NULL,
    PRIMARY KEY (tombstone_key, place)
) WITHOUT ROWID;
CREATE INDEX removed_messages_record ON removed_messages (record_id) WHERE record_id IS NOT NULL;

CREATE TABLE prunings (
    key               SERIAL PRIMARY KEY,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    at                INTEGER NOT NULL,
    triggered_by      TEXT NOT NULL,
    why               TEXT NOT NULL,
    strategy          TEXT NOT NULL,
    tokens_before     INTEGER NOT NULL,
    tokens_after      INTEGER NOT NULL,
    through           INTEGER NOT NULL,        -- the last position of any of its spans
    spans             TEXT NOT NULL,
    UNIQUE (conversation_key, id)
);
CREATE INDEX prunings_through ON prunings (conversation_key, through);

-- How far the episodes of a session have become facts and history. By agent, as an agent reads
-- only its own episodes of a session, and those of nobody ('').
CREATE TABLE sessions (
    user_key         INTEGER NOT NULL REFERENCES users(key),
    session_id       TEXT NOT NULL,
    agent            TEXT NOT NULL,
    first_seen_at    INTEGER NOT NULL,
    consolidated_at  INTEGER,
    through          INTEGER NOT NULL DEFAULT -1,  -- position of the last episode that was read
    noted            INTEGER NOT NULL DEFAULT -1,  -- and of the last that the history tells
    PRIMARY KEY (user_key, session_id, agent)
) WITHOUT ROWID;
CREATE INDEX sessions_pending ON sessions (user_key) WHERE consolidated_at IS NULL;

CREATE TABLE recalls (
    user_key    INTEGER NOT NULL REFERENCES users(key),
    session_id  TEXT NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    at          INTEGER NOT NULL,
    PRIMARY KEY (user_key, session_id, record_key)
) WITHOUT ROWID;
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
    cost           REAL,                           -- US dollars; NULL where no price is known
    seconds        REAL NOT NULL,
    PRIMARY KEY (user_key, agent, stage, model)
) WITHOUT ROWID;

-- What a folder's MEMORY.md says of exactly one scope, by which edits by hand are known. The digest
-- of a line that was erased stays until the file was cleaned, see `Erase`.
CREATE TABLE notes_bases (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL,                       -- '' is the user without an agent
    folder    TEXT NOT NULL,
    lines     TEXT NOT NULL,                       -- [[id, digest, batch], …] from top to bottom
    PRIMARY KEY (user_key, agent, folder)
) WITHOUT ROWID;

-- What was done to records after they were stored, never the text itself: that lives in the
-- record alone, so that erasing the record erases it.
CREATE TABLE history (
    key        SERIAL PRIMARY KEY,
    at         INTEGER NOT NULL,
    user_key   INTEGER NOT NULL REFERENCES users(key),
    agent      TEXT,
    record_id  TEXT NOT NULL,
    action     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    detail     TEXT NOT NULL
);
CREATE INDEX history_record ON history (record_id);

-- Who may do alone what has this name, until when; and, for a scheduled job, which run was done.
CREATE TABLE leases (
    name         TEXT PRIMARY KEY,
    holder       TEXT,
    expires_at   INTEGER,
    claimed_due  INTEGER,
    done_due     INTEGER,
    done_at      INTEGER,
    done_counts  TEXT                          -- what that run did, as JSON
) WITHOUT ROWID;
