-- Pictures and tasks of messages, receipts of prunings, and what a reader who holds a transcript
-- in memory asks each time: how many messages there are, and whether those it knows have changed.

ALTER TABLE messages ADD COLUMN images TEXT NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN task TEXT;

ALTER TABLE conversations ADD COLUMN token_scale REAL NOT NULL DEFAULT 1.0;
ALTER TABLE conversations ADD COLUMN token_overhead INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN message_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN next_position INTEGER NOT NULL DEFAULT 0;  -- never used again
ALTER TABLE conversations ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;  -- see ConversationInfo

UPDATE conversations SET
    message_count = (SELECT count(*) FROM messages WHERE conversation_key = conversations.key),
    next_position = 1 + max(cleared_through, coalesce(
        (SELECT max(position) FROM messages WHERE conversation_key = conversations.key), -1));

CREATE TABLE prunings (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL,
    conversation_key  INTEGER NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    at                INTEGER NOT NULL,
    triggered_by      TEXT NOT NULL,
    why               TEXT NOT NULL,
    strategy          TEXT NOT NULL,
    tokens_before     INTEGER NOT NULL,
    tokens_after      INTEGER NOT NULL,
    cuts              TEXT NOT NULL,
    UNIQUE (conversation_key, id)
);

CREATE TRIGGER messages_insert AFTER INSERT ON messages BEGIN
    UPDATE conversations SET message_count = message_count + 1,
        next_position = max(next_position, new.position + 1) WHERE key = new.conversation_key;
END;
CREATE TRIGGER messages_update AFTER UPDATE ON messages BEGIN
    UPDATE conversations SET revision = revision + 1 WHERE key = new.conversation_key;
END;
CREATE TRIGGER messages_delete AFTER DELETE ON messages BEGIN
    UPDATE conversations SET message_count = message_count - 1, revision = revision + 1
    WHERE key = old.conversation_key;
END;
CREATE TRIGGER prunings_insert AFTER INSERT ON prunings BEGIN
    UPDATE conversations SET revision = revision + 1 WHERE key = new.conversation_key;
END;
CREATE TRIGGER prunings_update AFTER UPDATE ON prunings BEGIN
    UPDATE conversations SET revision = revision + 1 WHERE key = new.conversation_key;
END;
CREATE TRIGGER prunings_delete AFTER DELETE ON prunings BEGIN
    UPDATE conversations SET revision = revision + 1 WHERE key = old.conversation_key;
END;
CREATE TRIGGER conversations_clear AFTER UPDATE OF cleared_through ON conversations BEGIN
    UPDATE conversations SET revision = revision + 1 WHERE key = new.key;
END;
