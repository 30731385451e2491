-- The Markdown layer: how far sessions are told in the history, what MEMORY.md last said, and
-- which facts are worth a line in it.

ALTER TABLE consolidations ADD COLUMN noted INTEGER NOT NULL DEFAULT -1;  -- position told last

-- What a folder's MEMORY.md says of exactly one scope, by which edits by hand are known. Canonical:
-- the digest of a line that was erased stays until the file was cleaned, see actions/erasing.py.
CREATE TABLE notes_bases (
    key       INTEGER PRIMARY KEY,
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL DEFAULT '',            -- '' is the user without an agent
    folder    TEXT NOT NULL,
    lines     TEXT NOT NULL CHECK (json_valid(lines)),  -- [[id, digest], …] from top to bottom
    UNIQUE (user_key, agent, folder)
);

-- The order in which facts get their lines. The last two columns are to tell without a look at the
-- record whether it is believed, and by whom it is seen.
CREATE INDEX records_standing ON records (
    user_key, trust = 'person', decay_rate = 0, confidence, created_at, valid_until, agent
) WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external';
-- When the next one of an agent ends by itself; records_kind tells it of the user's.
CREATE INDEX records_standing_until ON records (user_key, agent, valid_until)
WHERE kind = 'fact' AND superseded_by IS NULL AND trust <> 'external' AND valid_until IS NOT NULL;

-- How often the facts of an agent (or of none, '') that stand have changed, but for those that
-- ended by themselves. Kind, trust and agent of a record never change.
CREATE TABLE standing_epochs (
    user_key  INTEGER NOT NULL REFERENCES users(key),
    agent     TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    PRIMARY KEY (user_key, agent)
) WITHOUT ROWID;
CREATE TRIGGER standing_insert AFTER INSERT ON records
WHEN new.kind = 'fact' AND new.trust <> 'external' AND new.superseded_by IS NULL BEGIN
    INSERT INTO standing_epochs VALUES (new.user_key, coalesce(new.agent, ''), 1)
    ON CONFLICT DO UPDATE SET epoch = epoch + 1;
END;
CREATE TRIGGER standing_update AFTER UPDATE OF content, valid_until, superseded_by ON records
WHEN old.kind = 'fact' AND old.trust <> 'external' AND (
    old.valid_until IS NOT new.valid_until OR old.superseded_by IS NOT new.superseded_by
    OR old.content <> new.content) BEGIN
    INSERT INTO standing_epochs VALUES (new.user_key, coalesce(new.agent, ''), 1)
    ON CONFLICT DO UPDATE SET epoch = epoch + 1;
END;
CREATE TRIGGER standing_delete AFTER DELETE ON records
WHEN old.kind = 'fact' AND old.trust <> 'external' AND old.superseded_by IS NULL BEGIN
    INSERT INTO standing_epochs VALUES (old.user_key, coalesce(old.agent, ''), 1)
    ON CONFLICT DO UPDATE SET epoch = epoch + 1;
END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('records', 'records_standing', '50000 1000 500 250 20 1 1 1'),
    ('records', 'records_standing_until', '1000 20 5 1');
ANALYZE sqlite_schema;
