-- The life of a memory: what fades and from what, what ended by itself, how far sessions became
-- facts, which names a person gave to which entity, what was recalled where, what language models
-- took, and which runs of scheduled jobs are done. Canonical, but for the columns `indexed`.

ALTER TABLE records ADD COLUMN strength REAL NOT NULL DEFAULT 1.0
    CHECK (strength BETWEEN 0 AND 1);                            -- the confidence it fades from
ALTER TABLE records ADD COLUMN strength_at INTEGER NOT NULL DEFAULT 0;  -- and since when
ALTER TABLE records ADD COLUMN closed_at INTEGER;  -- forgotten or replaced; NULL: ended by itself
ALTER TABLE records ADD COLUMN indexed INTEGER NOT NULL DEFAULT 1;      -- 0: retired, words alone

UPDATE records SET strength = confidence, strength_at = coalesce(last_accessed, created_at),
    closed_at = (SELECT min(at) FROM history h WHERE h.record_id = records.id
                 AND h.user_key = records.user_key AND h.action = 'close');
-- Of what was imported after it had ended, no history says why: it counts as forgotten.
UPDATE records SET closed_at = valid_until
WHERE closed_at IS NULL AND valid_until <= 1000 * unixepoch() AND EXISTS (
    SELECT 1 FROM history h WHERE h.record_id = records.id
    AND h.user_key = records.user_key AND h.action = 'insert' AND h.reason = 'imported');

CREATE INDEX records_hash ON records (user_key, content_hash);
CREATE INDEX records_replaced ON records (user_key, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX records_age ON records (user_key, kind, created_at) WHERE indexed = 1;
CREATE INDEX records_fading ON records (user_key)
    WHERE kind = 'fact' AND decay_rate > 0 AND indexed = 1;
CREATE INDEX records_lapsed ON records (user_key, valid_until)
    WHERE valid_until IS NOT NULL AND closed_at IS NULL AND indexed = 1;
CREATE INDEX records_unenriched ON records (user_key)
    WHERE indexed = 1 AND json_extract(attributes, '$.enriched_at') IS NULL;

-- What rests on a record, to be found from that record. Derived, by triggers.
CREATE TABLE record_sources (
    user_key    INTEGER NOT NULL,
    source_id   TEXT NOT NULL,
    record_key  INTEGER NOT NULL REFERENCES records(key) ON DELETE CASCADE,
    PRIMARY KEY (user_key, source_id, record_key)
) WITHOUT ROWID;
CREATE INDEX record_sources_record ON record_sources (record_key);
INSERT OR IGNORE INTO record_sources SELECT r.user_key, j.value, r.key
    FROM records r, json_each(r.source_ids) j WHERE r.source_ids <> '[]';
CREATE TRIGGER record_sources_insert AFTER INSERT ON records WHEN new.source_ids <> '[]' BEGIN
    INSERT OR IGNORE INTO record_sources
    SELECT new.user_key, value, new.key FROM json_each(new.source_ids);
END;
CREATE TRIGGER record_sources_update AFTER UPDATE OF source_ids ON records BEGIN
    DELETE FROM record_sources WHERE record_key = new.key;
    INSERT OR IGNORE INTO record_sources
    SELECT new.user_key, value, new.key FROM json_each(new.source_ids);
END;

-- By agent, as an agent reads only its own episodes of a session, and those of nobody ('').
CREATE TABLE session_progress (
    user_key         INTEGER NOT NULL REFERENCES users(key),
    session_id       TEXT NOT NULL,
    agent            TEXT NOT NULL DEFAULT '',
    first_seen_at    INTEGER NOT NULL,
    consolidated_at  INTEGER,
    through          INTEGER NOT NULL DEFAULT -1,  -- position of the last episode that was read
    PRIMARY KEY (user_key, session_id, agent)
) WITHOUT ROWID;
INSERT INTO session_progress (user_key, session_id, agent, first_seen_at, consolidated_at, through)
    SELECT r.user_key, r.session_id, coalesce(r.agent, ''),
        coalesce(min(c.first_seen_at), min(r.created_at)), max(c.consolidated_at),
        CASE WHEN max(c.consolidated_at) IS NULL THEN -1 ELSE max(r.position) END
    FROM records r LEFT JOIN consolidations c
        ON c.user_key = r.user_key AND c.session_id = r.session_id
    WHERE r.kind = 'episode' AND r.session_id IS NOT NULL
    GROUP BY r.user_key, r.session_id, coalesce(r.agent, '');
DROP TABLE consolidations;
ALTER TABLE session_progress RENAME TO consolidations;
CREATE INDEX consolidations_pending ON consolidations (user_key) WHERE consolidated_at IS NULL;

-- What persons decided: the name `folded` belongs to the entity that `target` names. A name that
-- is its own target stands alone. A target never has a target of its own but itself.
CREATE TABLE entity_decisions (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    folded    TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (user_key, folded)
) WITHOUT ROWID;
CREATE INDEX entity_decisions_target ON entity_decisions (user_key, target);

-- Under which keys a name is looked for when another is to be linked. Derived, by triggers.
CREATE TABLE entity_name_keys (
    user_key    INTEGER NOT NULL,
    name_key    TEXT NOT NULL,
    entity_key  INTEGER NOT NULL,
    folded      TEXT NOT NULL,
    PRIMARY KEY (user_key, name_key, entity_key, folded)
) WITHOUT ROWID;
CREATE INDEX entity_name_keys_entity ON entity_name_keys (entity_key, folded);
INSERT INTO entity_name_keys SELECT n.user_key, k.value, n.entity_key, n.folded
    FROM entity_names n, json_each(memoranda_name_keys(n.name)) k;
CREATE TRIGGER entity_names_insert AFTER INSERT ON entity_names BEGIN
    INSERT OR IGNORE INTO entity_name_keys
    SELECT new.user_key, value, new.entity_key, new.folded
    FROM json_each(memoranda_name_keys(new.name));
END;
CREATE TRIGGER entity_names_update AFTER UPDATE ON entity_names BEGIN
    DELETE FROM entity_name_keys WHERE entity_key = old.entity_key AND folded = old.folded;
    INSERT OR IGNORE INTO entity_name_keys
    SELECT new.user_key, value, new.entity_key, new.folded
    FROM json_each(memoranda_name_keys(new.name));
END;
CREATE TRIGGER entity_names_delete AFTER DELETE ON entity_names BEGIN
    DELETE FROM entity_name_keys WHERE entity_key = old.entity_key AND folded = old.folded;
END;

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
    agent          TEXT NOT NULL DEFAULT '',
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

CREATE TABLE job_runs (
    job            TEXT PRIMARY KEY,
    due            INTEGER,                        -- of the last run that was finished
    finished_at    INTEGER,
    holder         TEXT,                           -- who runs it now
    claimed_due    INTEGER,
    claimed_until  INTEGER
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('records', 'records_hash', '100000 2000 1'),
    ('records', 'records_replaced', '5000 100 1'),
    ('records', 'records_age', '100000 2000 500 1'),
    ('records', 'records_fading', '20000 400'),
    ('records', 'records_lapsed', '1000 20 1'),
    ('records', 'records_unenriched', '50000 1000');
ANALYZE sqlite_schema;
