-- A vector that is removed, for whatever reason, leaves the table of a large user, too.
ALTER TABLE vectors ADD UNIQUE (user_key, record_key);
DO $$
DECLARE
    large text;
BEGIN
    FOR large IN
        SELECT table_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name LIKE 'nearest\_%'
            AND column_name = 'user_key'
    LOOP
        EXECUTE format('DELETE FROM %I n WHERE NOT EXISTS (SELECT 1 FROM vectors v
            WHERE v.user_key = n.user_key AND v.record_key = n.record_key)', large);
        EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (user_key, record_key)
            REFERENCES vectors (user_key, record_key) ON DELETE CASCADE', large);
    END LOOP;
END $$;
