-- The records of every user are ranked in memory.
DO $$
DECLARE
    large bigint;
BEGIN
    FOR large IN SELECT user_key FROM large_users LOOP
        EXECUTE 'DROP TABLE IF EXISTS nearest_' || large;
    END LOOP;
END $$;
DROP TABLE large_users;
