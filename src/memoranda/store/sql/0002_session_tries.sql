-- How often reading the next episodes took too long, and how many were kept as they were for it.
ALTER TABLE sessions ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
