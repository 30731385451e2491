-- The schema of a database of 0.2, as its store created it (number 5).
CREATE TABLE schema_steps (number bigint PRIMARY KEY);
INSERT INTO schema_steps SELECT generate_series(1, 5);

CREATE TABLE meta (
    name   text COLLATE "C" PRIMARY KEY,
    value  text COLLATE "C" NOT NULL
);

CREATE TABLE users (
    revision bigint NOT NULL DEFAULT 0,
    key          bigserial PRIMARY KEY,
    name         text COLLATE "C" UNIQUE,
    vector_seq   bigint NOT NULL DEFAULT 0,
    index_epoch  bigint NOT NULL DEFAULT 0,
    item_epoch   bigint NOT NULL DEFAULT 0,
    deletions    bigint NOT NULL DEFAULT 0,
    deleted      bigint NOT NULL DEFAULT 0,
    digest       text COLLATE "C" UNIQUE
);

CREATE TABLE records (
    revised bigint NOT NULL DEFAULT 0,
    key            bigint,
    id             text COLLATE "C" NOT NULL,
    user_key       bigint NOT NULL REFERENCES users(key),
    agent          text COLLATE "C",
    kind           text COLLATE "C" NOT NULL,
    content        text COLLATE "C" NOT NULL,
    content_hash   text COLLATE "C" NOT NULL,
    term_count     bigint NOT NULL,
    session_id     text COLLATE "C",
    position       bigint,
    event_time     bigint NOT NULL,
    event_until    bigint,
    created_at     bigint NOT NULL,
    valid_until    bigint,
    closed_at      bigint,
    superseded_by  text COLLATE "C",
    supersedes     text COLLATE "C",
    confidence     double precision NOT NULL,
    strength       double precision NOT NULL,
    strength_at    bigint NOT NULL,
    access_count   bigint NOT NULL DEFAULT 0,
    last_accessed  bigint,
    decay_rate     double precision NOT NULL,
    source_ids     text COLLATE "C" NOT NULL,
    source_role    text COLLATE "C",
    origin         text COLLATE "C" NOT NULL,
    trust          text COLLATE "C" NOT NULL,
    tags           text COLLATE "C" NOT NULL,
    metadata       text COLLATE "C" NOT NULL,
    reason         text COLLATE "C" NOT NULL,
    enriched_at    bigint,
    indexed        bigint NOT NULL DEFAULT 1,
    namespace      text COLLATE "C" NOT NULL,
    item_key       text COLLATE "C",
    subject        text COLLATE "C",
    attribute      text COLLATE "C",
    value          text COLLATE "C",
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id)
);

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

CREATE INDEX records_session_until ON records (user_key, session_id, valid_until)
    WHERE session_id IS NOT NULL AND valid_until IS NOT NULL AND closed_at IS NULL;

CREATE INDEX records_noteworthy ON records (
    user_key, (trust = 'person'), (decay_rate = 0), confidence, created_at, valid_until, agent
) WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external';

CREATE INDEX records_noteworthy_until ON records (user_key, (coalesce(agent, '')), valid_until)
    WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external'
    AND valid_until IS NOT NULL;

CREATE TABLE noteworthy_epochs (
    user_key  bigint NOT NULL REFERENCES users(key),
    agent     text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL,
    PRIMARY KEY (user_key, agent)
);

CREATE TABLE record_sources (
    user_key    bigint NOT NULL,
    source_id   text COLLATE "C" NOT NULL,
    record_key  bigint NOT NULL,
    PRIMARY KEY (user_key, source_id, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX record_sources_record ON record_sources (record_key);

CREATE TABLE vectors (
    user_key    bigint NOT NULL REFERENCES users(key),
    seq         bigint NOT NULL,
    record_key  bigint NOT NULL,
    embedding   bytea NOT NULL,
    PRIMARY KEY (user_key, seq),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX vectors_record ON vectors (record_key);

CREATE TABLE token_vectors (
    record_key  bigint,
    user_key    bigint NOT NULL REFERENCES users(key),
    size        bigint NOT NULL,
    tokens      bytea NOT NULL,
    PRIMARY KEY (user_key, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);

CREATE TABLE derivations (
    claimed_until bigint NOT NULL DEFAULT 0,
    record_key  bigint NOT NULL,
    work        text COLLATE "C" NOT NULL,
    user_key    bigint NOT NULL,
    PRIMARY KEY (user_key, record_key, work),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);

CREATE TABLE entities (
    key       bigserial,
    id        text COLLATE "C" NOT NULL,
    user_key  bigint NOT NULL REFERENCES users(key),
    name      text COLLATE "C" NOT NULL,
    type      text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id)
);
CREATE INDEX entities_user ON entities (user_key);

CREATE TABLE entity_names (
    user_key    bigint NOT NULL,
    folded      text COLLATE "C" NOT NULL,
    entity_key  bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, folded, entity_key),
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX entity_names_entity ON entity_names (entity_key, folded);

CREATE TABLE entity_name_keys (
    user_key    bigint NOT NULL,
    name_key    text COLLATE "C" NOT NULL,
    entity_key  bigint NOT NULL,
    folded      text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, name_key, entity_key, folded),
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX entity_name_keys_entity ON entity_name_keys (entity_key, folded);

CREATE TABLE record_entities (
    user_key bigint NOT NULL DEFAULT 0,
    record_key  bigint NOT NULL,
    entity_key  bigint NOT NULL,
    folded      text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, record_key, entity_key, folded),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE,
    FOREIGN KEY (user_key, entity_key) REFERENCES entities (user_key, key) ON DELETE CASCADE
);
CREATE INDEX record_entities_entity ON record_entities (entity_key, record_key);

CREATE TABLE entity_decisions (
    user_key  bigint NOT NULL REFERENCES users(key),
    folded    text COLLATE "C" NOT NULL,
    target    text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, folded)
);
CREATE INDEX entity_decisions_target ON entity_decisions (user_key, target);

CREATE TABLE conversations (
    key              bigserial,
    user_key         bigint NOT NULL REFERENCES users(key),
    agent            text COLLATE "C",
    id               text COLLATE "C" NOT NULL,
    system           text COLLATE "C",
    model            text COLLATE "C",
    context_limit    bigint,
    created_at       bigint NOT NULL,
    ended_at         bigint,
    deleted_at       bigint,
    cleared_through  bigint NOT NULL DEFAULT -1,
    token_scale      double precision NOT NULL DEFAULT 1.0,
    token_overhead   bigint NOT NULL DEFAULT 0,
    message_count    bigint NOT NULL DEFAULT 0,
    next_position    bigint NOT NULL DEFAULT 0,
    revision         bigint NOT NULL DEFAULT 0,
    UNIQUE (user_key, id),
    PRIMARY KEY (user_key, key)
);

CREATE TABLE messages (
    user_key bigint NOT NULL DEFAULT 0,
    key               bigserial,
    id                text COLLATE "C" NOT NULL,
    conversation_key  bigint NOT NULL,
    position          bigint NOT NULL,
    role              text COLLATE "C" NOT NULL,
    content           text COLLATE "C" NOT NULL,
    timestamp         bigint NOT NULL,
    tokens            bigint NOT NULL,
    importance        double precision,
    pinned            bigint NOT NULL DEFAULT 0,
    tool_calls        text COLLATE "C" NOT NULL,
    tool_result       text COLLATE "C",
    images            text COLLATE "C" NOT NULL,
    task              text COLLATE "C",
    record_id         text COLLATE "C",
    raw               text COLLATE "C",
    part              bigint NOT NULL DEFAULT 0,
    UNIQUE (user_key, conversation_key, position),
    PRIMARY KEY (user_key, key),
    UNIQUE (user_key, id),
    FOREIGN KEY (user_key, conversation_key) REFERENCES conversations (user_key, key) ON DELETE CASCADE
);
CREATE INDEX messages_record ON messages (record_id) WHERE record_id IS NOT NULL;

CREATE TABLE tombstones (
    user_key bigint NOT NULL DEFAULT 0,
    key               bigserial,
    id                text COLLATE "C" NOT NULL,
    conversation_key  bigint NOT NULL,
    at                bigint NOT NULL,
    count             bigint NOT NULL,
    UNIQUE (user_key, conversation_key, id),
    PRIMARY KEY (user_key, key),
    FOREIGN KEY (user_key, conversation_key) REFERENCES conversations (user_key, key) ON DELETE CASCADE
);

CREATE TABLE removed_messages (
    user_key bigint NOT NULL DEFAULT 0,
    tombstone_key  bigint NOT NULL,
    place          bigint NOT NULL,
    record_id      text COLLATE "C",
    message        text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, tombstone_key, place),
    FOREIGN KEY (user_key, tombstone_key) REFERENCES tombstones (user_key, key) ON DELETE CASCADE
);
CREATE INDEX removed_messages_record ON removed_messages (record_id) WHERE record_id IS NOT NULL;

CREATE TABLE prunings (
    user_key bigint NOT NULL DEFAULT 0,
    key               bigserial,
    id                text COLLATE "C" NOT NULL,
    conversation_key  bigint NOT NULL,
    at                bigint NOT NULL,
    triggered_by      text COLLATE "C" NOT NULL,
    why               text COLLATE "C" NOT NULL,
    strategy          text COLLATE "C" NOT NULL,
    tokens_before     bigint NOT NULL,
    tokens_after      bigint NOT NULL,
    through           bigint NOT NULL,
    spans             text COLLATE "C" NOT NULL,
    UNIQUE (user_key, conversation_key, id),
    PRIMARY KEY (user_key, key),
    FOREIGN KEY (user_key, conversation_key) REFERENCES conversations (user_key, key) ON DELETE CASCADE
);
CREATE INDEX prunings_through ON prunings (conversation_key, through);

CREATE TABLE sessions (
    unread bigint NOT NULL DEFAULT 0,
    tries bigint NOT NULL DEFAULT 0,
    user_key         bigint NOT NULL REFERENCES users(key),
    session_id       text COLLATE "C" NOT NULL,
    agent            text COLLATE "C" NOT NULL,
    first_seen_at    bigint NOT NULL,
    consolidated_at  bigint,
    through          bigint NOT NULL DEFAULT -1,
    noted            bigint NOT NULL DEFAULT -1,
    PRIMARY KEY (user_key, session_id, agent)
);
CREATE INDEX sessions_pending ON sessions (user_key) WHERE consolidated_at IS NULL;

CREATE TABLE recalls (
    user_key    bigint NOT NULL REFERENCES users(key),
    session_id  text COLLATE "C" NOT NULL,
    record_key  bigint NOT NULL,
    at          bigint NOT NULL,
    PRIMARY KEY (user_key, session_id, record_key),
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
);
CREATE INDEX recalls_record ON recalls (record_key);

CREATE TABLE model_usage (
    user_key       bigint NOT NULL REFERENCES users(key),
    agent          text COLLATE "C" NOT NULL,
    stage          text COLLATE "C" NOT NULL,
    model          text COLLATE "C" NOT NULL,
    requests       bigint NOT NULL,
    failures       bigint NOT NULL,
    input_tokens   bigint NOT NULL,
    output_tokens  bigint NOT NULL,
    cost           double precision,
    seconds        double precision NOT NULL,
    PRIMARY KEY (user_key, agent, stage, model)
);

CREATE TABLE notes_bases (
    user_key  bigint NOT NULL REFERENCES users(key),
    agent     text COLLATE "C" NOT NULL,
    folder    text COLLATE "C" NOT NULL,
    lines     text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, agent, folder)
);

CREATE TABLE history (
    key        bigserial,
    at         bigint NOT NULL,
    user_key   bigint NOT NULL REFERENCES users(key),
    agent      text COLLATE "C",
    record_id  text COLLATE "C" NOT NULL,
    action     text COLLATE "C" NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    detail     text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_key, key)
);
CREATE INDEX history_record ON history (record_id);

CREATE TABLE leases (
    name         text COLLATE "C" PRIMARY KEY,
    holder       text COLLATE "C",
    expires_at   bigint,
    claimed_due  bigint,
    done_due     bigint,
    done_at      bigint,
    done_counts  text COLLATE "C"
);

CREATE SEQUENCE record_keys;

CREATE UNLOGGED TABLE server_starts (
    id     bigint PRIMARY KEY,
    token  text COLLATE "C" NOT NULL
);

CREATE TABLE record_terms (
    user_key    bigint NOT NULL,
    record_key  bigint NOT NULL,
    terms       tsvector NOT NULL
);
ALTER TABLE record_terms ALTER COLUMN terms SET STATISTICS 0;
CREATE INDEX record_terms_record ON record_terms (record_key);

CREATE INDEX record_terms_terms ON record_terms USING gin (terms) WITH (fastupdate = off);

CREATE TABLE large_users (
    user_key    bigint PRIMARY KEY REFERENCES users (key),
    records     bigint NOT NULL,
    terms       double precision NOT NULL,
    dimensions  bigint NOT NULL,
    counted_at  bigint NOT NULL,
    listed      bigint NOT NULL,
    removed     bigint NOT NULL
);

CREATE TABLE common_terms (
    user_key   bigint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    first_key  bigint NOT NULL,
    keys       bytea NOT NULL,
    times      bytea NOT NULL,
    PRIMARY KEY (user_key, term, first_key)
);
ALTER TABLE common_terms ALTER COLUMN keys SET STORAGE EXTERNAL;
ALTER TABLE common_terms ALTER COLUMN times SET STORAGE EXTERNAL;

CREATE INDEX derivations_waiting ON derivations (work, record_key);

ALTER TABLE records DROP CONSTRAINT records_user_key_fkey;
ALTER TABLE derivations DROP CONSTRAINT derivations_user_key_record_key_fkey;

DROP INDEX records_user;

CREATE INDEX records_revised ON records (user_key, revised) WHERE revised > 0;

CREATE TABLE job_users (
    user_key       bigint NOT NULL REFERENCES users(key),
    job            text COLLATE "C" NOT NULL,
    due            bigint NOT NULL,
    claimed_until  bigint NOT NULL DEFAULT 0,
    tries          bigint NOT NULL DEFAULT 0,
    done           bigint NOT NULL DEFAULT 0,
    counts         text COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_key, job)
);
CREATE INDEX job_users_waiting ON job_users (job, user_key) WHERE done = 0;
ALTER TABLE users ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE users ALTER COLUMN digest SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN content_hash SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN source_ids SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN tags SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN namespace SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN item_key SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN subject SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN attribute SET STATISTICS 0;
ALTER TABLE records ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE vectors ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE token_vectors ALTER COLUMN tokens SET STATISTICS 0;
ALTER TABLE entities ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE entities ALTER COLUMN type SET STATISTICS 0;
ALTER TABLE entity_names ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE entity_names ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE entity_name_keys ALTER COLUMN name_key SET STATISTICS 0;
ALTER TABLE entity_name_keys ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE record_entities ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE entity_decisions ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE entity_decisions ALTER COLUMN target SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN id SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN system SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN tool_calls SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN tool_result SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN images SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN task SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN raw SET STATISTICS 0;
ALTER TABLE removed_messages ALTER COLUMN message SET STATISTICS 0;
ALTER TABLE prunings ALTER COLUMN why SET STATISTICS 0;
ALTER TABLE prunings ALTER COLUMN spans SET STATISTICS 0;
ALTER TABLE sessions ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE recalls ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE notes_bases ALTER COLUMN folder SET STATISTICS 0;
ALTER TABLE notes_bases ALTER COLUMN lines SET STATISTICS 0;
ALTER TABLE history ALTER COLUMN action SET STATISTICS 0;
ALTER TABLE history ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE history ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE common_terms ALTER COLUMN term SET STATISTICS 0;
ALTER TABLE common_terms ALTER COLUMN keys SET STATISTICS 0;
ALTER TABLE common_terms ALTER COLUMN times SET STATISTICS 0;
ALTER TABLE job_users ALTER COLUMN job SET STATISTICS 0;
ALTER TABLE job_users ALTER COLUMN counts SET STATISTICS 0;

