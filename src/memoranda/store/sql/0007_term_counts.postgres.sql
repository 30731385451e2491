-- How often each term stands in each record is a number in a table, no longer a position in a
-- tsvector with the user before it; and what nothing uses any more goes.
ALTER TABLE record_terms RENAME TO former_terms;
ALTER INDEX record_terms_record RENAME TO former_terms_record;
CREATE TABLE record_terms (
    user_key    INTEGER NOT NULL,
    term        TEXT NOT NULL,
    record_key  INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (user_key, term, record_key) INCLUDE (n)
);
INSERT INTO record_terms (user_key, term, record_key, n)
SELECT t.user_key, substr(held.lexeme, length(CAST(t.user_key AS text)) + 2), t.record_key,
    least(sum(cardinality(held.positions)), 255)
FROM former_terms t CROSS JOIN LATERAL unnest(t.terms) held GROUP BY 1, 2, 3;
ALTER TABLE record_terms ALTER COLUMN term SET STATISTICS 0;
CREATE INDEX record_terms_record ON record_terms (user_key, record_key);
DROP FUNCTION IF EXISTS terms_matching(bigint, tsquery);
DROP TABLE former_terms;
DROP TABLE common_terms;
DROP TABLE server_starts;
DELETE FROM meta WHERE name LIKE 'purge_pending _%';
ALTER TABLE large_users DROP COLUMN listed, DROP COLUMN removed;
DROP INDEX IF EXISTS entities_user;
ALTER TABLE messages ALTER COLUMN user_key DROP DEFAULT;
ALTER TABLE tombstones ALTER COLUMN user_key DROP DEFAULT;
ALTER TABLE removed_messages ALTER COLUMN user_key DROP DEFAULT;
ALTER TABLE prunings ALTER COLUMN user_key DROP DEFAULT;
ALTER TABLE record_entities ALTER COLUMN user_key DROP DEFAULT;
