-- Until when a process has taken a record: others derive nothing from it till then.
ALTER TABLE derivations ADD COLUMN claimed_until INTEGER NOT NULL DEFAULT 0;

-- The users of a scheduled run that is under way, whom processes divide among themselves.
CREATE TABLE job_users (
    user_key       INTEGER NOT NULL REFERENCES users(key),
    job            TEXT NOT NULL,
    due            INTEGER NOT NULL,
    claimed_until  INTEGER NOT NULL DEFAULT 0,  -- taken till then; or, where it failed, let be
    tries          INTEGER NOT NULL DEFAULT 0,  -- how often it failed
    done           INTEGER NOT NULL DEFAULT 0,
    counts         TEXT NOT NULL DEFAULT '{}',  -- what was done, as JSON
    PRIMARY KEY (user_key, job)
) WITHOUT ROWID;
CREATE INDEX job_users_waiting ON job_users (job, user_key) WHERE done = 0;
