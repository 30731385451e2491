-- What PostgreSQL has beside the tables of schema.sql and the numbered files up to 0006, in the place
-- of 0007: the user's key stands first in every key, so that a server can keep the rows of a user
-- together, in one partition or on one machine.

CREATE SEQUENCE record_keys;

ALTER TABLE records
    DROP CONSTRAINT records_pkey CASCADE, ADD PRIMARY KEY (user_key, key),
    DROP CONSTRAINT records_id_key, ADD UNIQUE (user_key, id),
    DROP CONSTRAINT records_user_key_fkey;
DROP INDEX records_user;
ALTER TABLE entities
    DROP CONSTRAINT entities_pkey CASCADE, ADD PRIMARY KEY (user_key, key),
    DROP CONSTRAINT entities_id_key, ADD UNIQUE (user_key, id);
DROP INDEX entities_user;
ALTER TABLE conversations
    DROP CONSTRAINT conversations_pkey CASCADE, ADD PRIMARY KEY (user_key, key);
ALTER TABLE tombstones
    DROP CONSTRAINT tombstones_pkey CASCADE, ADD PRIMARY KEY (user_key, key),
    DROP CONSTRAINT tombstones_conversation_key_id_key, ADD UNIQUE (user_key, conversation_key, id),
    ALTER user_key DROP DEFAULT,
    ADD FOREIGN KEY (user_key, conversation_key) REFERENCES conversations ON DELETE CASCADE;
ALTER TABLE messages
    DROP CONSTRAINT messages_pkey, ADD PRIMARY KEY (user_key, key),
    DROP CONSTRAINT messages_id_key, ADD UNIQUE (user_key, id),
    DROP CONSTRAINT messages_conversation_key_position_key,
    ADD UNIQUE (user_key, conversation_key, position),
    ALTER user_key DROP DEFAULT,
    ADD FOREIGN KEY (user_key, conversation_key) REFERENCES conversations ON DELETE CASCADE;
ALTER TABLE removed_messages
    DROP CONSTRAINT removed_messages_pkey, ADD PRIMARY KEY (user_key, tombstone_key, place),
    ALTER user_key DROP DEFAULT,
    ADD FOREIGN KEY (user_key, tombstone_key) REFERENCES tombstones ON DELETE CASCADE;
ALTER TABLE prunings
    DROP CONSTRAINT prunings_pkey, ADD PRIMARY KEY (user_key, key),
    DROP CONSTRAINT prunings_conversation_key_id_key, ADD UNIQUE (user_key, conversation_key, id),
    ALTER user_key DROP DEFAULT,
    ADD FOREIGN KEY (user_key, conversation_key) REFERENCES conversations ON DELETE CASCADE;
ALTER TABLE record_sources
    ADD FOREIGN KEY (user_key, record_key) REFERENCES records ON DELETE CASCADE;
ALTER TABLE vectors ADD FOREIGN KEY (user_key, record_key) REFERENCES records ON DELETE CASCADE;
ALTER TABLE token_vectors
    DROP CONSTRAINT token_vectors_pkey, ADD PRIMARY KEY (user_key, record_key),
    ADD FOREIGN KEY (user_key, record_key) REFERENCES records ON DELETE CASCADE;
ALTER TABLE derivations
    DROP CONSTRAINT derivations_pkey, ADD PRIMARY KEY (user_key, record_key, work);
ALTER TABLE entity_names
    ADD FOREIGN KEY (user_key, entity_key) REFERENCES entities ON DELETE CASCADE;
ALTER TABLE entity_name_keys
    ADD FOREIGN KEY (user_key, entity_key) REFERENCES entities ON DELETE CASCADE;
ALTER TABLE record_entities
    DROP CONSTRAINT record_entities_pkey,
    ADD PRIMARY KEY (user_key, record_key, entity_key, folded),
    ALTER user_key DROP DEFAULT,
    ADD FOREIGN KEY (user_key, record_key) REFERENCES records ON DELETE CASCADE,
    ADD FOREIGN KEY (user_key, entity_key) REFERENCES entities ON DELETE CASCADE;
ALTER TABLE recalls ADD FOREIGN KEY (user_key, record_key) REFERENCES records ON DELETE CASCADE;
ALTER TABLE history DROP CONSTRAINT history_pkey, ADD PRIMARY KEY (user_key, key);

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
