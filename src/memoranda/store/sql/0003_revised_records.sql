-- Which records have changed since they were stored, in the order of their changes: a reader of the
-- index reads these again, and not all of the user's.
ALTER TABLE users ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN revised INTEGER NOT NULL DEFAULT 0;
CREATE INDEX records_revised ON records (user_key, revised) WHERE revised > 0;
