-- One counter of changes for each user, `users.revision`, raised by every write of theirs; beside it
-- which of these was the last to remove rows, and to change which facts there are. By these a reader
-- in memory knows whether it has to read, and what.
ALTER TABLE users ADD COLUMN removal_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN fact_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users DROP COLUMN index_epoch;
ALTER TABLE users DROP COLUMN item_epoch;
DROP TABLE noteworthy_epochs;
