-- What was removed is found by its tombstone, and not among all that was removed.
CREATE INDEX messages_removed ON messages (user_key, tombstone_key) WHERE tombstone_key IS NOT NULL;
