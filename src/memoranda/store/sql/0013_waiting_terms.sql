-- The last record of a user whose terms are in the full-text index, and how many records came since:
-- where a search reads the texts of these by itself, they are indexed some at a time.
ALTER TABLE users ADD COLUMN terms_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN terms_waiting INTEGER NOT NULL DEFAULT 0;
UPDATE users SET terms_through =
    coalesce((SELECT max(key) FROM records WHERE user_key = users.key), 0);
