-- A message that was removed stays a row of its own, of a tombstone and at a position below zero,
-- and is no longer kept as JSON. Names that a person set apart are no decision any more.
ALTER TABLE messages ADD COLUMN tombstone_key INTEGER;
ALTER TABLE messages ADD COLUMN removed_from INTEGER;
INSERT INTO messages (id, conversation_key, position, role, content, timestamp, tokens, importance,
    pinned, tool_calls, tool_result, images, task, record_id, raw, part, user_key, tombstone_key,
    removed_from)
SELECT m ->> 'id', t.conversation_key, row_number() OVER places - 1 - count(*) OVER (
        PARTITION BY t.conversation_key), m ->> 'role', m ->> 'content', m ->> 'timestamp',
    m ->> 'tokens', m ->> 'importance', m ->> 'pinned', m ->> 'tool_calls', m ->> 'tool_result',
    m ->> 'images', m ->> 'task', m ->> 'record_id', m ->> 'raw', m ->> 'part', t.user_key, t.key,
    m ->> 'position'
FROM (SELECT tombstone_key, place, message AS m FROM removed_messages WHERE json_valid(message)) r
JOIN tombstones t ON t.key = r.tombstone_key WHERE TRUE
WINDOW places AS (PARTITION BY t.conversation_key ORDER BY t.key, r.place)
ON CONFLICT DO NOTHING;
DROP TABLE removed_messages;
DELETE FROM entity_decisions WHERE folded = target;
