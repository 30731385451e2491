-- As number 10 of SQLite: a removed message stays a row, and is no longer kept as JSON.
ALTER TABLE messages ADD COLUMN tombstone_key INTEGER;
ALTER TABLE messages ADD COLUMN removed_from INTEGER;
INSERT INTO messages (id, conversation_key, position, role, content, timestamp, tokens, importance,
    pinned, tool_calls, tool_result, images, task, record_id, raw, part, user_key, tombstone_key,
    removed_from)
SELECT m ->> 'id', t.conversation_key, row_number() OVER places - 1 - count(*) OVER (
        PARTITION BY t.user_key, t.conversation_key), m ->> 'role', m ->> 'content',
    CAST(m ->> 'timestamp' AS bigint), CAST(m ->> 'tokens' AS bigint),
    CAST(m ->> 'importance' AS double precision), CAST(m ->> 'pinned' AS bigint),
    m ->> 'tool_calls', m ->> 'tool_result', m ->> 'images', m ->> 'task', m ->> 'record_id',
    m ->> 'raw', CAST(m ->> 'part' AS bigint), t.user_key, t.key, CAST(m ->> 'position' AS bigint)
FROM (SELECT user_key, tombstone_key, place, CAST(message AS json) AS m FROM removed_messages) r
JOIN tombstones t ON t.user_key = r.user_key AND t.key = r.tombstone_key
WINDOW places AS (PARTITION BY t.user_key, t.conversation_key ORDER BY t.key, r.place)
ON CONFLICT DO NOTHING;
DROP TABLE removed_messages;
DELETE FROM entity_decisions WHERE folded = target;
