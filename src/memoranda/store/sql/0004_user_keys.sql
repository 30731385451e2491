-- Whose each row is, also where its conversation or its record tells: a server that spreads users
-- over partitions, or over machines, finds the row by it.
ALTER TABLE messages ADD COLUMN user_key INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tombstones ADD COLUMN user_key INTEGER NOT NULL DEFAULT 0;
ALTER TABLE removed_messages ADD COLUMN user_key INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prunings ADD COLUMN user_key INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record_entities ADD COLUMN user_key INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET user_key = c.user_key FROM conversations c
WHERE c.key = messages.conversation_key AND c.user_key <> messages.user_key;
UPDATE tombstones SET user_key = c.user_key FROM conversations c
WHERE c.key = tombstones.conversation_key AND c.user_key <> tombstones.user_key;
UPDATE removed_messages SET user_key = t.user_key FROM tombstones t
WHERE t.key = removed_messages.tombstone_key AND t.user_key <> removed_messages.user_key;
UPDATE prunings SET user_key = c.user_key FROM conversations c
WHERE c.key = prunings.conversation_key AND c.user_key <> prunings.user_key;
UPDATE record_entities SET user_key = r.user_key FROM records r
WHERE r.key = record_entities.record_key AND r.user_key <> record_entities.user_key;
